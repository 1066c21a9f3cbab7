// cuBLAS as a candidate of the products on a device.
#include <algorithm>

#include "compiler/kernel/schedule/schedule.h"
#include "compiler/ops/candidates.h"
#include "compiler/ops/key_reader.h"
#include "compiler/ops/linalg/library_functions.h"
#include "compiler/ops/linalg/linalg.h"
#include "compiler/ops/linalg/matrix_layout.h"
#include "compiler/ops/linalg/vector_product.h"
#include "compiler/ops/shape/shape.h"

namespace thtrain {
namespace {

using kernel::ChoiceKey;
using kernel::PointerTo;
using kernel::StepBuilder;
using kernel::Target;
using kernel::Term;

constexpr const char *kCublas = "cuBLAS", *kCublasTf32 = "cuBLAS TF32", *kVectors = "matrix_vector_product";

// cuBLAS does not look at what a factor of 0 multiplies. One that a call decides may be 0, so it is multiplied before.
bool is_of_cublas(const GemmFactor& factor) {
  const double* known = std::get_if<double>(&factor);
  return known && *known != 0;
}

Term factor_term(StepBuilder& b, kernel::Nest& nest, const GemmFactor& factor) {
  if (const double* known = std::get_if<double>(&factor)) return kernel::constant(b.output().type.dtype, *known);
  return nest.load("factor", {b.input(static_cast<size_t>(std::get<int>(factor))), Dims(nest.axes().size(), Dim(0))});
}

// to = factor times from.
void scale_kernel(StepBuilder& b, const GemmFactor& factor, const kernel::Operand& from, const kernel::Operand& to) {
  kernel::Nest nest(from.type.dims);
  const Term scaled = factor_term(b, nest, factor) * nest.load("x", kernel::placed(from));
  nest.store(kernel::placed(to), scaled);
  kernel::schedule(b, nest, "scale", "a factor times what it multiplies");
}

// The factors that remain are known and not 0; what is added to lies in the output.
void apply_factors(StepBuilder& b, ProductStep& step) {
  if (step.reads_c && is_of_cublas(step.beta)) copy_addend(b);
  if (step.reads_c && !is_of_cublas(step.beta)) {
    scale_kernel(b, step.beta, b.input(0), b.output());
    step.beta = 1.0;
  }
  if (is_of_cublas(step.alpha)) return;
  kernel::Operand& smaller = step.b.type.elements().value() < step.a.type.elements().value() ? step.b : step.a;
  kernel::Operand scaled = b.workspace(smaller.type.dtype, smaller.type.elements());
  scaled.type = smaller.type;
  scaled.layout = row_major(smaller.type.dims);
  scale_kernel(b, step.alpha, smaller, scaled);
  smaller = scaled;
  step.alpha = 1.0;
}

int64_t workspace_of(DType dtype, int64_t a, int64_t b) {
  return static_cast<int64_t>(size_of(dtype)) * std::min(a, b);
}

// ---- products of matrices

Candidate of_matrices(const MatrixProduct& p, const Target& target, bool tf32) {
  const kernel::LibraryFunction function =
      p.count ? cublas_batched_gemm_function(target, p.dtype, tf32) : cublas_gemm_function(target, p.dtype, tf32);
  Candidate out{.name = tf32 ? kCublasTf32 : kCublas,
                .workspace_bytes = p.count ? 0 : workspace_of(p.dtype, p.m * p.k, p.k * p.n),
                .functions = {function.name},
                .lower =
                    [function](StepBuilder& b) {
                      ProductStep step = product_step(b);
                      apply_factors(b, step);
                      call_product(b, function, step);
                    },
                .is_of_device = true};
  if (tf32) out.rounding = RoundingClass::kOther;
  return out;
}

std::optional<Candidate> find_of_matrices(const ChoiceKey& key, const std::string& name, const Target& target) {
  const MatrixProduct p = *product_of(key.properties);
  if (!is_for_cublas(p.dtype, target)) return std::nullopt;
  if (name == kCublasTf32 && p.dtype == DType::kFloat32) return of_matrices(p, target, true);
  return name == kCublas ? std::optional(of_matrices(p, target, false)) : std::nullopt;
}

CandidateSource matrices(const char* computation) {
  return {computation,
          [](const ChoiceKey& key, const Target& target) {
            const std::optional<Candidate> found = find_of_matrices(key, kCublas, target);
            return found ? std::vector{*found} : std::vector<Candidate>();
          },
          find_of_matrices,
          {kCublas, kCublasTf32}};
}

// ---- of a matrix and a vector

// The step with the matrix first, as dot and gemv have it.
struct VectorStep {
  ProductStep step;  // a: the matrix as it is read; b: the vector
  VectorProduct product;
};

std::optional<VectorStep> vector_step_of(StepBuilder& b) {
  VectorStep out{product_step(b), {.dtype = b.output().type.dtype}};
  kernel::Operand &matrix = out.step.a, &vector = out.step.b;
  if (vector.type.rank() == 2) {  // x . A is A^T . x
    std::swap(matrix, vector);
    std::swap(matrix.type.dims[0], matrix.type.dims[1]);
    std::swap(matrix.layout.strides[0], matrix.layout.strides[1]);
  } else if (matrix.type.rank() == 1) {
    matrix.type.dims.insert(matrix.type.dims.begin(), Dim(1));
    matrix.layout.strides.insert(matrix.layout.strides.begin(), matrix.type.dims[1] * matrix.layout.strides[0]);
  }
  const std::optional<MatrixLayout> layout = matrix_layout(matrix.type.dims, matrix.layout);
  const std::optional<Dim> step = vector_step(vector.type.dims, vector.layout);
  const Dim &m = matrix.type.dims[0], &k = matrix.type.dims[1];
  if (!layout || !step || !layout->leading.is_known() || !step->is_known() || !m.is_known() || !k.is_known() ||
      m.is(0) || k.is(0))
    return std::nullopt;
  out.product.m = m.value();
  out.product.k = k.value();
  out.product.trans = layout->transposed;
  out.product.accumulates = out.step.reads_c;
  return out;
}

void call_gemv(StepBuilder& b) {
  VectorStep of = *vector_step_of(b);
  ProductStep& step = of.step;
  apply_factors(b, step);
  const MatrixLayout p = *matrix_layout(step.a.type.dims, step.a.layout);
  const size_t rows = p.transposed ? 1 : 0;
  b.call_library(
      {cublas_gemv_function(b.target(), of.product.dtype),
       {Dim(p.transposed), step.a.type.dims[rows], step.a.type.dims[1 - rows], factor_at(b, step.alpha),
        PointerTo{step.a.index}, p.leading, PointerTo{step.b.index}, *vector_step(step.b.type.dims, step.b.layout),
        factor_at(b, step.beta), Dim(step.reads_c), PointerTo{b.output().index}, Dim(1)}});
}

std::optional<Graph> example_of_vectors(const std::string& properties) {
  const std::optional<VectorProduct> p = vector_product_of(properties);
  if (!p) return std::nullopt;
  const Expr a = make_input({.dtype = p->dtype, .dims = p->trans ? Dims{p->k, p->m} : Dims{p->m, p->k}}, "a"),
             x = make_input({.dtype = p->dtype, .dims = {p->k}}, "x"), matrix = p->trans ? transpose(a) : a;
  if (!p->accumulates) return Graph{{a, x}, {dot(matrix, x)}, {}};
  const Expr y = make_input({.dtype = p->dtype, .dims = {p->m}}, "y");
  const auto number = [&](double value) { return make_constant(Tensor(value).cast(p->dtype)); };
  return Graph{{y, a, x}, {apply(gemv_op(), {y, number(-0.01), matrix, x, number(1)})}, {}};
}

}  // namespace

CandidateSource cublas_products() {
  return matrices("matrix_product");
}

CandidateSource cublas_batches() {
  return matrices("batched_product");
}

const Computation& matrix_vector_product() {
  static const Computation computation{
      kVectors, "loops", example_of_vectors,
      [](const ChoiceKey&, const Target&, int, double) { return std::string("loops"); }};
  return computation;
}

CandidateSource vector_product_loops() {
  return {kVectors,
          [](const ChoiceKey&, const Target&) {
            return std::vector{
                Candidate{.name = "loops", .rounding = RoundingClass::kSame, .lower = lower_loops_loop_products}};
          },
          nullptr,
          {"loops"}};
}

CandidateSource cublas_vector_products() {
  return {kVectors,
          [](const ChoiceKey& key, const Target& target) {
            const VectorProduct p = *vector_product_of(key.properties);
            if (!target.is_device()) return std::vector<Candidate>();
            return std::vector{Candidate{.name = kCublas,
                                         .workspace_bytes = workspace_of(p.dtype, p.m * p.k, p.k),
                                         .functions = {cublas_gemv_function(target, p.dtype).name},
                                         .lower = call_gemv,
                                         .is_of_device = true}};
          },
          nullptr,
          {kCublas}};
}

ChoiceKey key_of(const VectorProduct& p) {
  return {kVectors, str(name_of(p.dtype), " ", p.m, "x", p.k, p.trans ? " T" : " N", p.accumulates ? " added" : "")};
}

std::optional<VectorProduct> vector_product_of(const std::string& properties) {
  VectorProduct out;
  KeyReader reader(properties);
  const std::string dtype = properties.substr(0, properties.find(' '));
  const std::optional<DType> named = dtype_named(dtype);
  if (!named || !is_float(*named) || !reader.take(dtype) || !reader.take(" ")) return std::nullopt;
  out.dtype = *named;
  if (!reader.numbers({&out.m, &out.k}, 1, int64_t{1} << 40) || !reader.take(" ")) return std::nullopt;
  out.trans = reader.take("T");
  if (!out.trans && !reader.take("N")) return std::nullopt;
  out.accumulates = reader.take(" added");
  return reader.is_at_end() ? std::optional(out) : std::nullopt;
}

void lower_vector_product(StepBuilder& b) {
  const std::optional<VectorStep> known = vector_step_of(b);
  if (!known) return lower_loops_loop_products(b);
  lower_chosen(b, key_of(known->product));
}

}  // namespace thtrain
