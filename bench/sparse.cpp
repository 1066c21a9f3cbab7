// Products of sparse matrices, their gradients and a training step, as compiled functions.
#include <algorithm>
#include <cmath>
#include <memory>

#include "bench/workloads.h"
#include "compiler/api.h"

namespace thtrain {

namespace {

// Drawn as bench/peers/sparse.py does: so many columns in each row, of which those that come twice count once.
SparseTensor drawn_matrix(RandomState& random, int64_t rows, int64_t columns, double percent, DType dtype) {
  const int64_t draws = std::max<int64_t>(1, std::llrint(static_cast<double>(columns) * percent / 100));
  std::vector<int32_t> indices, indptr{0}, row;
  for (int64_t i = 0; i < rows; ++i) {
    row.clear();
    for (int64_t k = 0; k < draws; ++k) row.push_back(static_cast<int32_t>(random.integer(0, columns)));
    std::sort(row.begin(), row.end());
    indices.insert(indices.end(), row.begin(), std::unique(row.begin(), row.end()));
    indptr.push_back(static_cast<int32_t>(indices.size()));
  }
  const auto stored = static_cast<int64_t>(indices.size());
  return {.data = Tensor::of(random.uniform(-1, 1, indices.size()), {stored}).cast(dtype),
          .indices = Tensor::of(indices, {stored}),
          .indptr = Tensor::of(indptr, {rows + 1}),
          .rows = rows,
          .columns = columns};
}

Tensor drawn_operand(RandomState& random, const Shape& shape, DType dtype) {
  return Tensor::of(random.uniform(-1, 1, static_cast<size_t>(Tensor::empty(dtype, shape).size())), shape).cast(dtype);
}

struct SparseCall {
  Function call;
  std::vector<Tensor> arguments;
  double flops;
};

SparseCall product_of_two(RandomState& random, const SparseCase& what, const SparseTensor& a,
                          const WorkloadOptions& options) {
  const SparseTensor b = drawn_matrix(random, a.columns, a.columns, what.percent, options.dtype);
  double flops = 0;
  for (int64_t e = 0; e < a.stored(); ++e) {
    const int64_t k = a.indices.as_int(e);
    flops += 2 * static_cast<double>(b.indptr.as_int(k + 1) - b.indptr.as_int(k));
  }
  const SharedSparse left(a, "a"), right(b, "b");
  const Sparse c = dot(left, right);
  return {
      function({}, {{c.data, true}, {c.indices, true}, {c.indptr, true}}, {}, {.threads = options.threads}), {}, flops};
}

SparseCall logistic_step(RandomState& random, const SparseTensor& value, const WorkloadOptions& options) {
  std::vector<double> labels = random.uniform(-1, 1, static_cast<size_t>(value.rows));
  for (double& label : labels) label = label > 0 ? 1 : 0;
  const Sparse a = csr_matrix("a", value.rows, value.columns, options.dtype);
  const Expr t = tensor("t", {value.rows}, options.dtype);
  const Shared w(Tensor::zeros(options.dtype, {value.columns}), "w");
  const Expr z = dot(a, w), cost = mean(softplus(z) - t * z);
  return {function(inputs_of({a, t}), {}, {{w, w - 0.1 * grad(cost, {w})[0]}}, {.threads = options.threads}),
          arguments_of({value, Tensor::of(labels, {value.rows}).cast(options.dtype)}),
          4 * static_cast<double>(value.stored())};
}

SparseCall sparse_call(const std::string& text, const WorkloadOptions& options) {
  const SparseCase what = sparse_case(text);
  RandomState random(7);
  const SparseTensor value = drawn_matrix(random, what.rows, what.columns, what.percent, options.dtype);
  if (what.what == "sparse") return product_of_two(random, what, value, options);
  if (what.what == "logistic") return logistic_step(random, value, options);
  const Tensor x_value = drawn_operand(random, {what.columns, what.n}, options.dtype),
               d_value = drawn_operand(random, {what.rows, what.n}, options.dtype);
  const SharedSparse a(value, "a");
  const Expr x = tensor("x", {what.columns, what.n}, options.dtype),
             d = tensor("d", {what.rows, what.n}, options.dtype);
  const Expr cost = sum(dot(a, x) * d);
  const double flops = 2 * static_cast<double>(value.stored() * what.n);
  const FunctionOptions threads{.threads = options.threads};
  if (what.what == "dot") return {function({x}, {{dot(a, x), true}}, {}, threads), {x_value}, flops};
  if (what.what == "dense") return {function({d}, {{grad(cost, {x})[0], true}}, {}, threads), {d_value}, flops};
  return {function({x, d}, {{grad(cost, {a.data()})[0], true}}, {}, threads), {x_value, d_value}, flops};
}

}  // namespace

Workload sparse_workload(const std::string& text, const WorkloadOptions& options) {
  auto made = std::make_shared<SparseCall>(sparse_call(text, options));
  return {[made](long calls) {
            for (; calls > 0; --calls) made->call(std::span<const Tensor>(made->arguments));
          },
          1e-9 * made->flops};
}

std::vector<Tensor> sparse_results(const std::string& text, const WorkloadOptions& options) {
  SparseCall made = sparse_call(text, options);
  return made.call(std::span<const Tensor>(made.arguments));
}

}  // namespace thtrain
