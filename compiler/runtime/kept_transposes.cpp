#include "compiler/runtime/kept_transposes.h"

#include <algorithm>

#include "compiler/base/escape.h"
#include "compiler/ir/op.h"
#include "compiler/ops/sparse/parts.h"
#include "compiler/runtime/sparse_values.h"
#include "compiler/runtime/value_number.h"

namespace thtrain {
namespace {

bool is_updated(const Graph& graph, const Expr& leaf) {
  return std::any_of(graph.updates.begin(), graph.updates.end(),
                     [&](const Update& update) { return update.variable.same(leaf); });
}

Expr leaf_of(Type type, const std::string& name) {
  auto storage = std::make_shared<SharedStorage>();
  storage->name = name;
  storage->value = Tensor::empty(type.dtype, {0});
  storage->type = std::move(type);
  return make_shared_leaf(std::move(storage), std::source_location::current());
}

KeptTranspose transpose_of(const Expr& data, const Expr& indices, const Expr& indptr, const Dim& columns) {
  const auto named = [](const Expr& part) { return part.name().empty() ? "" : part.name() + ".transposed"; };
  Type ends = indptr.type();
  ends.dims = {columns + Dim(1)};
  return {.of = {data, indices, indptr},
          .transposed = {leaf_of(data.type(), named(data)), leaf_of(indices.type(), named(indices)),
                         leaf_of(ends, named(indptr))}};
}

void require_matrix(const SharedStorage& data, const SharedStorage& indices, const SharedStorage& indptr,
                    int64_t columns) {
  const SparseTensor value{.data = data.value,
                           .indices = indices.value,
                           .indptr = indptr.value,
                           .rows = indptr.value.size() - 1,
                           .columns = columns};
  if (const std::optional<SparseTensor::Fault> fault = value.fault())
    throw UserError({.what = str("the sparse matrix of ", escaped(data.name), ", ", escaped(indices.name), " and ",
                                 escaped(indptr.name), ": ", fault->what),
                     .expected = fault->expected});
}

// By counting: what csr_transposed computes.
template <class Index>
void sort_pattern(const Tensor& indices, const Tensor& indptr, Tensor& to_indices, Tensor& to_indptr, Tensor& order) {
  const int64_t stored = indices.size(), rows = indptr.size() - 1, columns = to_indptr.size() - 1;
  const Index* const at = indices.data<Index>();
  std::vector<int64_t> next(static_cast<size_t>(columns) + 1, 0);
  for (int64_t e = 0; e < stored; ++e) ++next[static_cast<size_t>(at[e]) + 1];
  for (size_t j = 1; j < next.size(); ++j) next[j] += next[j - 1];
  std::transform(next.begin(), next.end(), to_indptr.data<Index>(), [](int64_t n) { return static_cast<Index>(n); });
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t e = indptr.data<Index>()[i]; e < indptr.data<Index>()[i + 1]; ++e) {
      const int64_t place = next[static_cast<size_t>(at[e])]++;
      to_indices.data<Index>()[place] = static_cast<Index>(i);
      order.data<int64_t>()[place] = e;
    }
}

void copy_in_order(const Tensor& from, const Tensor& order, Tensor& to) {
  visit(from.dtype(), [&](auto zero) {
    using T = decltype(zero);
    const int64_t* const at = order.data<int64_t>();
    const T* const source = from.data<T>();
    T* const out = to.data<T>();
    for (int64_t e = 0; e < order.size(); ++e) out[e] = source[at[e]];
  });
}

}  // namespace

Graph with_kept_transposes(const Graph& graph, std::vector<KeptTranspose>& kept) {
  return rewrite_graph(graph, [&](const Node& node, const std::vector<Expr>& inputs) -> std::vector<Expr> {
    if (node.op != &csr_dot_op() || inputs.size() != 4) return {};
    const Dims& columns = node.props.get<Dims>("columns");
    if (columns.empty() || !columns[0].is_known()) return {};
    for (size_t i = 0; i < 3; ++i)
      if (!inputs[i].node().shared || is_updated(graph, inputs[i])) return {};
    auto at = std::find_if(kept.begin(), kept.end(), [&](const KeptTranspose& one) {
      return one.of.data.same(inputs[0]) && one.of.indices.same(inputs[1]) && one.of.indptr.same(inputs[2]);
    });
    if (at == kept.end()) at = kept.insert(at, transpose_of(inputs[0], inputs[1], inputs[2], columns[0]));
    return {csr_dot(at->transposed.data, at->transposed.indices, at->transposed.indptr, inputs[3])};
  });
}

void keep_up(KeptTranspose& kept, const std::function<SharedStorage&(const Expr& leaf)>& storage_of) {
  const SharedStorage &data = storage_of(kept.of.data), &indices = storage_of(kept.of.indices),
                      &indptr = storage_of(kept.of.indptr);
  SharedStorage &to_data = storage_of(kept.transposed.data), &to_indices = storage_of(kept.transposed.indices),
                &to_indptr = storage_of(kept.transposed.indptr);
  const uint64_t of_data = value_number(data), of_indices = value_number(indices), of_indptr = value_number(indptr);
  const int64_t stored = data.value.size();
  const bool has_pattern = kept.of_indices == of_indices && kept.of_indptr == of_indptr && kept.order.size() == stored;
  if (has_pattern && kept.of_data == of_data) return;
  kept.of_data = 0;
  if (!has_pattern) {
    kept.of_indices = 0;
    const int64_t columns = to_indptr.type.dims[0].value() - 1;
    require_matrix(data, indices, indptr, columns);
    to_data.value = Tensor::empty(data.type.dtype, {stored});
    to_indices.value = Tensor::empty(indices.type.dtype, {stored});
    to_indptr.value = Tensor::empty(indptr.type.dtype, {columns + 1});
    kept.order = Tensor::empty(DType::kInt64, {stored});
    if (indices.type.dtype == DType::kInt32)
      sort_pattern<int32_t>(indices.value, indptr.value, to_indices.value, to_indptr.value, kept.order);
    else
      sort_pattern<int64_t>(indices.value, indptr.value, to_indices.value, to_indptr.value, kept.order);
    kept.of_indices = of_indices;
    kept.of_indptr = of_indptr;
  }
  copy_in_order(data.value, kept.order, to_data.value);
  kept.of_data = of_data;
}

}  // namespace thtrain
