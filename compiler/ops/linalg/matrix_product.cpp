#include "compiler/ops/linalg/matrix_product.h"

#include "compiler/ops/candidates.h"
#include "compiler/ops/linalg/library_functions.h"
#include "compiler/ops/linalg/linalg.h"
#include "compiler/ops/linalg/matrix_layout.h"
#include "compiler/ops/shape/copy_loops.h"

namespace thtrain {

using kernel::PointerTo;
using kernel::StepBuilder;

bool is_matrix_product(const Node& node) {
  if (!is_float(node.types[0].dtype)) return false;
  if (node.op == &gemm_op()) return true;
  return node.op == &dot_op() && node.inputs[0].rank() == 2 && node.inputs[1].rank() == 2;
}

// By its inputs c, alpha, a, b, beta; dot has a and b alone.
static bool is_gemm(const Node& product) {
  return product.inputs.size() == 5;
}

size_t first_factor(const Node& product) {
  return is_gemm(product) ? 2 : 0;
}

static std::optional<int64_t> known_count(const Dims& lengths) {
  int64_t count = 1;
  for (size_t i = 0; i + 2 < lengths.size(); ++i) {
    if (!lengths[i].is_known() || lengths[i].value() < 1) return std::nullopt;
    count *= lengths[i].value();
  }
  return lengths.size() > 2 ? count : 0;
}

std::optional<MatrixProduct> known_product(const Node& node, const Layout& a, const Layout& b) {
  const size_t first = first_factor(node);
  const Dims &left = node.inputs[first].dims(), &right = node.inputs[first + 1].dims();
  const std::optional<MatrixLayout> p = matrix_layout(left, a), q = matrix_layout(right, b);
  if (!p || !q || !p->leading.is_known() || !q->leading.is_known()) return std::nullopt;
  const Dim &m = left[left.size() - 2], &k = left.back(), &n = right.back();
  for (const Dim& length : {m, k, n})
    if (!length.is_known() || length.value() < 1) return std::nullopt;
  const std::optional<int64_t> count = known_count(left);
  if (!count || (*count == 0 && (m.is(1) || n.is(1)))) return std::nullopt;
  const bool accumulates = is_gemm(node) && constant_number(node.inputs[4]) != 0.0;
  return MatrixProduct{node.types[0].dtype, m.value(),     n.value(),   k.value(),
                       p->transposed,       q->transposed, accumulates, *count};
}

GemmFactor factor_of(const Node& node, size_t input) {
  if (const std::optional<double> number = constant_number(node.inputs[input])) return *number;
  return static_cast<int>(input);
}

ProductStep product_step(StepBuilder& builder) {
  const Node& node = builder.node();
  const size_t first = first_factor(node);
  ProductStep out{builder.input(first), builder.input(first + 1)};
  if (!is_gemm(node)) return out;
  out.alpha = factor_of(node, 1);
  out.beta = factor_of(node, 4);
  // A literal 0 forgets what it multiplies (docs/semantics.md); a beta that turns out to be 0 does not.
  out.reads_c = constant_number(node.inputs[4]) != 0.0;
  return out;
}

void lower_matrix_product(StepBuilder& builder) {
  const ProductStep step = product_step(builder);
  const bool is_batch = step.a.type.rank() > 2;
  const DType dtype = builder.output().type.dtype;
  // A library's function goes over two axes that lie apart.
  const bool is_plain = !is_batch || batch_axes(step.a, step.b, builder.output()).size() <= 2;
  if (!is_plain || !(has_tilings(dtype) || is_for_cublas(dtype, builder.target())))
    return lower_loops_loop_products(builder);
  if (std::optional<MatrixProduct> known = known_product(builder.node(), step.a.layout, step.b.layout))
    return lower_chosen(builder, key_of(*known));
  if (!builder.target().has_libraries() || !is_float(dtype)) return lower_loops_loop_products(builder);
  call_product(builder, is_batch ? batched_gemm_function(dtype) : gemm_function(dtype));
}

kernel::LibraryArgument factor_at(const StepBuilder& builder, const GemmFactor& factor) {
  const double* known = std::get_if<double>(&factor);
  if (known) return kernel::NumberAt{*known, real_dtype(builder.output().type.dtype)};
  return PointerTo{builder.input(static_cast<size_t>(std::get<int>(factor))).index};
}

void call_product(StepBuilder& builder, const kernel::LibraryFunction& function) {
  const ProductStep step = product_step(builder);
  if (step.reads_c) copy_addend(builder);
  call_product(builder, function, step);
}

void call_product(StepBuilder& builder, const kernel::LibraryFunction& function, const ProductStep& step) {
  const MatrixLayout p = *matrix_layout(step.a.type.dims, step.a.layout),
                     q = *matrix_layout(step.b.type.dims, step.b.layout);
  const Dims& left = step.a.type.dims;
  const Dim &m = left[left.size() - 2], &k = left.back(), &n = step.b.type.dims.back();
  kernel::LibraryCall call{
      function,
      {Dim(p.transposed), Dim(q.transposed), m, n, k, factor_at(builder, step.alpha), PointerTo{step.a.index},
       p.leading, PointerTo{step.b.index}, q.leading, factor_at(builder, step.beta), Dim(step.reads_c),
       PointerTo{builder.output().index}, max(n, 1)}};
  if (left.size() > 2) {
    std::vector<BatchAxis> batch = batch_axes(step.a, step.b, builder.output());
    batch.insert(batch.begin(), 2 - batch.size(), {1, 0, 0, 0});
    for (const BatchAxis& axis : batch)
      for (const Dim& argument : {axis.length, axis.a, axis.b, axis.out}) call.arguments.emplace_back(argument);
  }
  builder.call_library(std::move(call));
}

void lower_tiled_product(StepBuilder& builder, const MatrixProduct& product, const GemmTiling& tiling) {
  const ProductStep step = product_step(builder);
  GemmCall call{product,
                step.a,
                step.b,
                builder.output(),
                matrix_layout(step.a.type.dims, step.a.layout)->leading.value(),
                matrix_layout(step.b.type.dims, step.b.layout)->leading.value(),
                product.n,
                step.alpha,
                step.beta};
  // The kernel reads what is added where it lies; a library adds in place.
  if (step.reads_c && !builder.overwrites(0)) {
    if (is_row_major(builder.input(0).type.dims, builder.input(0).layout))
      call.addend = &builder.input(0);
    else
      copy_addend(builder);
  }
  if (product.count) call.batch = batch_axes(step.a, step.b, builder.output());
  lower_gemm(builder, call, tiling);
}

void copy_addend(StepBuilder& b) {
  if (b.overwrites(0)) return;
  move_kernel(b, kernel::placed(b.input(0)), kernel::placed(b.output()), "copy", "out0 = in0, to be accumulated into",
              true);
}

}  // namespace thtrain
