// A matrix product by its definition: the same bits on every machine. Slow on a processor; on a device in tiles.
#include <algorithm>

#include "compiler/kernel/schedule/device.h"
#include "compiler/ops/candidates.h"
#include "compiler/ops/linalg/matrix_product.h"
#include "compiler/ops/shape/copy_loops.h"

namespace thtrain {

using kernel::AxisKind;
using kernel::Location;
using kernel::StepBuilder;
using kernel::Term;

namespace {

// The axis of rows, of columns, or of what is summed, behind those of a batch.
enum : size_t { kRow, kColumn, kSummed };

// Of an operand with these axes of the nest, and those of the batch.
Location along(const kernel::Operand& operand, size_t first, size_t second, size_t of_vector) {
  const Dims& steps = operand.layout.strides;
  const size_t batch = std::max<size_t>(steps.size(), 2) - 2;
  Location out{operand, Dims(batch + 3, Dim(0))};
  if (steps.size() == 1) out.strides[of_vector] = steps[0];
  if (steps.size() < 2) return out;
  std::copy(steps.begin(), steps.end() - 2, out.strides.begin());
  out.strides[batch + first] = steps[batch];
  out.strides[batch + second] = steps[batch + 1];
  return out;
}

std::vector<kernel::NestAxis> product_axes(const Type& a, const Type& b) {
  std::vector<kernel::NestAxis> out;
  for (size_t i = 0; i + 2 < a.rank(); ++i) out.push_back({a.dims[i]});
  out.push_back({a.rank() >= 2 ? a.dims[a.rank() - 2] : Dim(1)});
  out.push_back({b.rank() >= 2 ? b.dims.back() : Dim(1)});
  out.push_back({a.dims.back(), AxisKind::kSequential});
  return out;
}

// left right + total, of complex numbers in parts.
Parts multiply_add(const Parts& left, const Parts& right, const Parts& total) {
  if (!total.is_complex()) return total.re + left.re * right.re;
  return {total.re + (left.re * right.re - left.im * right.im), total.im + (left.re * right.im + left.im * right.re)};
}

}  // namespace

static void lower_in_tiles(StepBuilder& b, const std::optional<kernel::DeviceTiling>& tiling) {
  const ProductStep step = product_step(b);
  const DType dtype = b.output().type.dtype;
  ProductNest product(step.a, step.b, b.output());
  kernel::Nest& nest = product.nest;
  if (!is_float(dtype)) {
    product.store();
    return schedule_product(b, nest, "product_loops",
                            str("out0 = in0 . in1 of ", name_of(dtype), ", by its definition"), tiling);
  }
  // A factor that is known, or the scalar in an input.
  const auto factor = [&](const GemmFactor& of) {
    if (const double* number = std::get_if<double>(&of)) return kernel::constant(dtype, *number);
    return nest.load("factor", {b.input(static_cast<size_t>(std::get<int>(of))), Dims(3, Dim(0))});
  };
  Term value = nest.let("scaled", factor(step.alpha) * product.sum.re);
  if (step.reads_c) {
    const size_t of_vector = step.a.type.rank() == 2 ? kRow : kColumn;
    value = value + factor(step.beta) * nest.load("addend", along(b.input(0), kRow, kColumn, of_vector));
  }
  nest.store(product.to, value);
  schedule_product(b, nest, "product_loops", "out0 = alpha in . in + beta in0, by its definition", tiling);
}

void lower_loops_loop_products(StepBuilder& b) {
  lower_in_tiles(b, {});
}

void schedule_product(StepBuilder& b, const kernel::Nest& nest, const std::string& name, const std::string& comment,
                      const std::optional<kernel::DeviceTiling>& tiling) {
  if (!tiling || !kernel::schedule_device_product(b, nest, name, comment, tiling))
    kernel::schedule(b, nest, name, comment);
}

// Bools are the bytes that they are stored as: 0 and 1.
static kernel::Operand bytes_of(const kernel::Operand& operand) {
  return is_bool(operand.type.dtype) ? bits_of(operand) : operand;
}

ProductNest::ProductNest(const kernel::Operand& a, const kernel::Operand& b, const kernel::Operand& out)
    : nest(product_axes(a.type, b.type)), to(along(bytes_of(out), kRow, kColumn, a.type.rank() == 2 ? kRow : kColumn)) {
  const DType dtype = real_dtype(to.operand.type.dtype);
  const Term start = is_float(dtype) ? kernel::constant(dtype, 0) : kernel::constant_int(dtype, 0);
  const bool is_pair = is_complex(out.type.dtype);
  const Parts total{nest.carried("sum", start), is_pair ? nest.carried("sum_im", start) : Term()};
  const Parts left = load_value(nest, "left", along(bytes_of(a), kRow, kSummed, kSummed)),
              right = load_value(nest, "right", along(bytes_of(b), kSummed, kColumn, kSummed));
  const Parts next =
      is_bool(out.type.dtype) ? Parts(total.re | (left.re & right.re)) : multiply_add(left, right, total);
  nest.set(total.re, next.re);
  if (is_pair) nest.set(total.im, next.im);
  sum = {nest.last(total.re), is_pair ? nest.last(total.im) : Term()};
  nest.work = is_pair ? 8 : 2;
}

void ProductNest::store() {
  store_value(nest, to, sum);
}

// ---- candidates

namespace {

using kernel::ChoiceKey, kernel::DeviceTiling, kernel::Target;

constexpr const char* kLoopProducts = "loops";

Candidate of_loops(std::string name, const std::optional<DeviceTiling>& tiling) {
  return {.name = std::move(name), .version = "2", .rounding = RoundingClass::kSame, .lower = [tiling](StepBuilder& b) {
            lower_in_tiles(b, tiling);
          }};
}

// Are there tiles of it? Products of complex numbers and of few terms have none.
bool has_tiles(const MatrixProduct& p) {
  return !is_complex(p.dtype) && p.m > 1 && p.n > 1 && p.k >= kernel::kLeastTiledTerms;
}

// On a processor none is worth a trial: they are taken by name. On a device the first tiling is that of the loops.
std::vector<Candidate> offer_loops(const ChoiceKey& key, const Target& target) {
  constexpr double kNear = 2;
  std::vector<Candidate> out;
  if (!target.is_device()) return out;
  out.push_back(of_loops(kLoopProducts, {}));
  const MatrixProduct p = *product_of(key.properties);
  if (!has_tiles(p)) return out;
  const std::vector<DeviceTiling> tilings =
      kernel::near_tilings(target, p.dtype, p.m, p.n, std::max<int64_t>(p.count, 1), kNear);
  for (size_t i = 1; i < tilings.size(); ++i) out.push_back(of_loops(name_of(tilings[i]), tilings[i]));
  return out;
}

std::optional<Candidate> find_loops(const ChoiceKey& key, const std::string& name, const Target& target) {
  if (name == kLoopProducts) return of_loops(name, {});
  const MatrixProduct p = *product_of(key.properties);
  const std::optional<DeviceTiling> tiling = kernel::device_tiling_named(name);
  if (!target.is_device() || !tiling || !has_tiles(p) || !kernel::is_possible(*tiling, p.dtype)) return std::nullopt;
  return of_loops(name, tiling);
}

}  // namespace

bool is_by_loops(const std::string& candidate) {
  return candidate == kLoopProducts || kernel::device_tiling_named(candidate);
}

CandidateSource loop_products() {
  return {"matrix_product", offer_loops, find_loops, {kLoopProducts, "tile #x#"}};
}

CandidateSource loop_batches() {
  CandidateSource out = loop_products();
  out.computation = "batched_product";
  return out;
}

}  // namespace thtrain
