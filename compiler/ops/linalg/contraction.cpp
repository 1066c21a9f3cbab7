#include "compiler/ops/linalg/contraction.h"

#include <algorithm>

#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/linalg/linalg.h"
#include "compiler/ops/reduce/reduce.h"
#include "compiler/ops/shape/shape.h"

namespace thtrain {
namespace {

bool contains(const std::vector<int>& labels, int label) {
  return std::find(labels.begin(), labels.end(), label) != labels.end();
}

Dims lengths_of(const Labelled& x, const std::vector<int>& labels) {
  Dims out;
  for (int label : labels) out.push_back(x.value.dims()[*axis_named(x, label)]);
  return out;
}

// Without the axes of length 1 that are as long in the other one, or longer: they are repeated, or nothing to sum over.
Labelled without_repeated(const Labelled& x, const Labelled& other) {
  std::vector<int64_t> dropped;
  Labelled out = x;
  for (size_t i = x.labels.size(); i-- > 0;) {
    if (!x.value.dims()[i].is(1) || !axis_named(other, x.labels[i])) continue;
    dropped.push_back(static_cast<int64_t>(i));
    out.labels.erase(out.labels.begin() + static_cast<std::ptrdiff_t>(i));
  }
  if (!dropped.empty()) out.value = squeeze(x.value, dropped);
  return out;
}

// The names of both operands, by what a product does with them.
struct Roles {
  std::vector<int> batch, left, right, summed;
};

Roles roles_of(const Labelled& a, const Labelled& b, const std::vector<int>& kept) {
  Roles out;
  for (int label : kept) {
    const bool in_a = contains(a.labels, label), in_b = contains(b.labels, label);
    if (in_a && in_b)
      out.batch.push_back(label);
    else if (in_a)
      out.left.push_back(label);
    else if (in_b)
      out.right.push_back(label);
  }
  for (int label : a.labels)
    if (!contains(kept, label)) out.summed.push_back(label);
  return out;
}

// [batch..., first..., second...] with the axes of each of the two as one, which is left out where there are none.
Expr as_matrices(const Labelled& x, const std::vector<int>& batch, const std::vector<int>& first,
                 const std::vector<int>& second) {
  std::vector<int> order = batch;
  Dims lengths = lengths_of(x, batch);
  for (const std::vector<int>* labels : {&first, &second}) {
    order.insert(order.end(), labels->begin(), labels->end());
    if (!labels->empty()) lengths.push_back(product(lengths_of(x, *labels)));
  }
  const Expr out = ordered(x, order).value;
  return out.dims() == lengths ? out : reshape(out, lengths);
}

// Elementwise, with the axes in the order of `labels`, of which an operand may lack some.
Expr aligned(const Labelled& x, const std::vector<int>& labels) {
  std::vector<int64_t> order;
  for (int label : labels) {
    const std::optional<size_t> axis = axis_named(x, label);
    order.push_back(axis ? static_cast<int64_t>(*axis) : -1);
  }
  return dimshuffle(x.value, order);
}

}  // namespace

std::optional<size_t> axis_named(const Labelled& x, int label) {
  const auto at = std::find(x.labels.begin(), x.labels.end(), label);
  return at == x.labels.end() ? std::nullopt : std::optional(static_cast<size_t>(at - x.labels.begin()));
}

Labelled ordered(const Labelled& x, const std::vector<int>& labels) {
  return {aligned(x, labels), labels};
}

Labelled summed(const Labelled& x, const std::vector<int>& kept) {
  std::vector<int64_t> axes;
  Labelled out{x.value, {}};
  for (size_t i = 0; i < x.labels.size(); ++i) {
    if (contains(kept, x.labels[i]))
      out.labels.push_back(x.labels[i]);
    else
      axes.push_back(static_cast<int64_t>(i));
  }
  if (!axes.empty()) out.value = cast(sum(x.value, axes), x.value.dtype());
  return out;
}

Labelled contract(const Labelled& first, const Labelled& second, const std::vector<int>& kept) {
  // What one operand alone has and nobody keeps is summed first.
  auto needed = [&](const Labelled& other) {
    std::vector<int> out = kept;
    out.insert(out.end(), other.labels.begin(), other.labels.end());
    return out;
  };
  const Labelled x = without_repeated(first, second), y = without_repeated(second, x);
  Labelled a = summed(x, needed(y)), b = summed(y, needed(x));
  Roles roles = roles_of(a, b, kept);
  const bool has_vector = roles.left.empty() || roles.right.empty();
  if (roles.summed.empty() || (has_vector && !roles.batch.empty())) {
    std::vector<int> all = roles.batch;
    for (const std::vector<int>* more : {&roles.left, &roles.right, &roles.summed})
      all.insert(all.end(), more->begin(), more->end());
    return ordered(summed({mul(aligned(a, all), aligned(b, all)), all}, kept), kept);
  }
  // The operand whose name comes first in the result is on the left.
  auto position = [&](const std::vector<int>& labels) {
    return labels.empty() ? kept.end() : std::find(kept.begin(), kept.end(), labels.front());
  };
  if (position(roles.right) < position(roles.left)) {
    std::swap(a, b);
    std::swap(roles.left, roles.right);
  }
  const Expr rows = as_matrices(a, roles.batch, roles.left, roles.summed),
             columns = as_matrices(b, roles.batch, roles.summed, roles.right);
  Labelled out{roles.batch.empty() ? dot(rows, columns) : matmul(rows, columns), roles.batch};
  Dims lengths = lengths_of(a, roles.batch);
  for (const auto& [of, labels] : {std::pair(&a, &roles.left), {&b, &roles.right}}) {
    out.labels.insert(out.labels.end(), labels->begin(), labels->end());
    for (const Dim& length : lengths_of(*of, *labels)) lengths.push_back(length);
  }
  if (out.value.dims() != lengths) out.value = reshape(out.value, lengths);
  return ordered(out, kept);
}

}  // namespace thtrain
