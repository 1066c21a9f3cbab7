// A matrix product by its definition. Slow, and the same bits on every machine.
#include "compiler/kernel/schedule/schedule.h"
#include "compiler/ops/candidates.h"
#include "compiler/ops/linalg/matrix_product.h"
#include "compiler/ops/shape/copy_loops.h"

namespace thtrain {

using kernel::AxisKind;
using kernel::Location;
using kernel::StepBuilder;
using kernel::Term;

namespace {

// The axis of rows, of columns, or of what is summed.
enum : size_t { kRow, kColumn, kSummed };

// Of an operand with these axes of the nest.
Location along(const kernel::Operand& operand, size_t first, size_t second, size_t of_vector) {
  Location out{operand, Dims(3, Dim(0))};
  const Dims& steps = operand.layout.strides;
  if (steps.size() == 1) out.strides[of_vector] = steps[0];
  if (steps.size() == 2) {
    out.strides[first] = steps[0];
    out.strides[second] = steps[1];
  }
  return out;
}

std::vector<kernel::NestAxis> product_axes(const Type& a, const Type& b) {
  return {{a.rank() == 2 ? a.dims[0] : Dim(1)},
          {b.rank() == 2 ? b.dims[1] : Dim(1)},
          {a.dims.back(), AxisKind::kSequential}};
}

}  // namespace

void lower_loops_loop_products(StepBuilder& b) {
  const ProductStep step = product_step(b);
  const DType dtype = b.output().type.dtype;
  ProductNest product(step.a, step.b, b.output());
  kernel::Nest& nest = product.nest;
  // A factor that is known, or the scalar in an input.
  const auto factor = [&](const GemmFactor& of) {
    if (const double* number = std::get_if<double>(&of)) return kernel::constant(dtype, *number);
    return nest.load("factor", {b.input(static_cast<size_t>(std::get<int>(of))), Dims(3, Dim(0))});
  };
  Term value = nest.let("scaled", factor(step.alpha) * product.sum);
  if (step.reads_c) {
    const size_t of_vector = step.a.type.rank() == 2 ? kRow : kColumn;
    value = value + factor(step.beta) * nest.load("addend", along(b.input(0), kRow, kColumn, of_vector));
  }
  nest.store(product.to, value);
  kernel::schedule(b, nest, "product_loops", "out0 = alpha in . in + beta in0, by its definition");
}

// Bools are the bytes that they are stored as: 0 and 1.
ProductNest::ProductNest(const kernel::Operand& a, const kernel::Operand& b, const kernel::Operand& out)
    : nest(product_axes(a.type, b.type)), to(along(bits_of(out), kRow, kColumn, a.type.rank() == 2 ? kRow : kColumn)) {
  const DType dtype = to.operand.type.dtype;
  const Term start = is_float(dtype) ? kernel::constant(dtype, 0) : kernel::constant_int(dtype, 0);
  const Term total = nest.carried("sum", start), left = nest.load("left", along(bits_of(a), kRow, kSummed, kSummed)),
             right = nest.load("right", along(bits_of(b), kSummed, kColumn, kSummed));
  nest.set(total, is_bool(out.type.dtype) ? total | (left & right) : total + left * right);
  sum = nest.last(total);
  nest.work = 2;
}

// Not worth a trial: it is taken by name.
CandidateSource loop_products() {
  using kernel::ChoiceKey, kernel::Target;
  return {"matrix_product",
          [](const ChoiceKey&, const Target&) { return std::vector<Candidate>(); },
          [](const ChoiceKey&, const std::string& name, const Target&) {
            const Candidate loops{
                .name = "loops", .rounding = RoundingClass::kSame, .lower = lower_loops_loop_products};
            return name == loops.name ? std::optional(loops) : std::nullopt;
          },
          {"loops"}};
}

}  // namespace thtrain
