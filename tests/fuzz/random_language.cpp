// Statements of indices, orders, cumulated values, batched products and functions of many values at once.
#include <algorithm>

#include "tests/fuzz/random_statements.h"

namespace thtrain {

// A leaf's values are the same to the last bit in every mode, so that what follows from their order is too.
size_t RandomStatements::some_leaf(const std::function<bool(const Expr&)>& fits) {
  std::vector<size_t> fit;
  for (size_t leaf = 0; leaf < plan_.leaves.size(); ++leaf)
    if (fits(values_[leaf])) fit.push_back(leaf);
  return fit.empty() ? kNone : fit[below(fit.size())];
}

// A part that indices of any kind name, read, replaced or increased.
void RandomStatements::add_indexed() {
  const size_t x =
      find([](const Expr& e) { return e.rank() > 0 && e.dims()[0].is_known() && e.dims()[0].value() > 0; });
  const size_t i = some_leaf([](const Expr& e) {
    return is_int(e.dtype()) && e.rank() == 1 && e.dims()[0].is_known() && e.dims()[0].value() > 0;
  });
  if (x == kNone || i == kNone) return;
  const int64_t n = values_[x].dims()[0].value();
  const auto number = [n](const Expr& numbers) { return cast(numbers, DType::kInt64) % n; };
  const std::string numbers = str("cast($1, DType::kInt64) % ", n);
  struct Form {
    std::string text;
    std::function<Expr(const Expr& x, const Expr& numbers)> part;
  };
  const Form forms[] = {
      {"$0[{ellipsis(), -1}]",
       [](const Expr& v, const Expr&) {
         return v[{ellipsis(), -1}];
       }},
      {"$0[{new_axis(), Slice{.start = 1}}]",
       [](const Expr& v, const Expr&) {
         return v[{new_axis(), Slice{.start = 1}}];
       }},
      {str("$0[{", numbers, ", new_axis()}]"),
       [=](const Expr& v, const Expr& at) {
         return v[{number(at), new_axis()}];
       }},
      {str("$0[{", numbers, ", Slice{.step = -1}}]"),
       [=](const Expr& v, const Expr& at) {
         return v[{number(at), Slice{.step = -1}}];
       }},
      {str("$0[{", numbers, ", 0}]"),
       [=](const Expr& v, const Expr& at) {
         return v[{number(at), 0}];
       }},
      {str("$0[{0, all(), ", numbers, "}]"),
       [=](const Expr& v, const Expr& at) {
         return v[{0, all(), number(at)}];
       }},
      {str("$0[{", numbers, ", ellipsis(), ", numbers, "}]"),
       [=](const Expr& v, const Expr& at) {
         return v[{number(at), ellipsis(), number(at)}];
       }},
      {str("$0[Slice{.stop = (", numbers, ")[0]}]"),
       [=](const Expr& v, const Expr& at) { return v[Slice{.stop = number(at)[0]}]; }},
      {str("$0[Slice{.start = (", numbers, ")[0], .step = -1}]"),
       [=](const Expr& v, const Expr& at) { return v[Slice{.start = number(at)[0], .step = -1}]; }},
      {"take($0, $1, -1, OutOfRange::kWrapped)",
       [](const Expr& v, const Expr& at) { return take(v, at, -1, OutOfRange::kWrapped); }},
      {"take($0, $1, 0, OutOfRange::kClipped)",
       [](const Expr& v, const Expr& at) { return take(v, at, 0, OutOfRange::kClipped); }},
      {"$0[{eq($1, $1), new_axis()}]",
       [](const Expr& v, const Expr& at) {
         return v[{eq(at, at), new_axis()}];
       }},
      {"$0[{new_axis(), gt($1, 0), ellipsis()}]",
       [](const Expr& v, const Expr& at) {
         return v[{new_axis(), gt(at, 0), ellipsis()}];
       }},
  };
  const Form& form = forms[below(std::size(forms))];
  const size_t scalar = of_rank(0);
  switch (below(4)) {
    case 0:
    case 1:
      add(form.text, {x, i}, [part = form.part](Args a) { return part(a[0], a[1]); });
      break;
    case 2:
      add("set_subtensor(" + form.text + ", $2)", {x, i, scalar},
          [part = form.part](Args a) { return set_subtensor(part(a[0], a[1]), a[2]); });
      break;
    default:
      add("inc_subtensor(" + form.text + ", $2)", {x, i, scalar},
          [part = form.part](Args a) { return inc_subtensor(part(a[0], a[1]), a[2]); });
  }
}

void RandomStatements::add_ordered() {
  const size_t x = some_leaf([](const Expr& e) { return e.rank() > 0 && !is_complex(e.dtype()); });
  if (x == kNone) return;
  const auto axis = static_cast<int64_t>(below(values_[x].rank()));
  const size_t vector = some_leaf([&](const Expr& e) { return e.rank() == 1 && e.dtype() == values_[x].dtype(); });
  switch (below(7)) {
    case 0:
      add(str("sort($0, ", axis, ")"), {x}, [=](Args a) { return sort(a[0], axis); });
      break;
    case 1:
      add(str("argsort($0, ", axis, ")"), {x}, [=](Args a) { return argsort(a[0], axis); });
      break;
    case 2:
      add(str("topk($0, 1, ", axis, ")"), {x}, [=](Args a) { return topk(a[0], 1, axis); });
      break;
    case 3:
      add(str("argtopk($0, 1, ", axis, ", Extreme::kSmallest)"), {x},
          [=](Args a) { return argtopk(a[0], 1, axis, Extreme::kSmallest); });
      break;
    case 4:
      add("searchsorted(sort($1), $0)", {x, vector}, [](Args a) { return searchsorted(sort(a[1]), a[0]); });
      break;
    case 5:
      add("unique($0).values", {x}, [](Args a) { return unique(a[0]).values; });
      break;
    default:
      add(str("take_along_axis($0, argsort($0, ", axis, "), ", axis, ")"), {x},
          [=](Args a) { return take_along_axis(a[0], argsort(a[0], axis), axis); });
  }
}

void RandomStatements::add_cumulated() {
  const size_t x = find([](const Expr& e) { return e.rank() > 0; });
  if (x == kNone) return;
  const auto axis = static_cast<int64_t>(below(values_[x].rank()));
  switch (below(5)) {
    case 0:
      add(str("cumsum($0, ", axis, ")"), {x}, [=](Args a) { return cumsum(a[0], axis); });
      break;
    case 1:
      add(str("cumprod($0, ", axis, ")"), {x}, [=](Args a) { return cumprod(a[0], axis); });
      break;
    case 2:
      add(str("cummax($0, ", axis, ")"), {x}, [=](Args a) { return cummax(a[0], axis); });
      break;
    case 3:
      add(str("cummin($0, ", axis, ")"), {x}, [=](Args a) { return cummin(a[0], axis); });
      break;
    default:
      add(str("diff($0, 1, ", axis, ")"), {x}, [=](Args a) { return diff(a[0], 1, axis); });
  }
}

void RandomStatements::add_batched() {
  const size_t x = find([](const Expr& e) { return e.rank() >= 2; });
  if (x == kNone) return;
  const size_t rank = values_[x].rank();
  const size_t y = find([&](const Expr& e) { return e.type() == values_[x].type(); });
  switch (below(6)) {
    case 0:
      add("matmul($0, swapaxes($1, -1, -2))", {x, y}, [](Args a) { return matmul(a[0], swapaxes(a[1], -1, -2)); });
      break;
    case 1:
      if (rank == 2)
        add("einsum(\"ij,kj->ki\", {$0, $1})", {x, y}, [](Args a) { return einsum("ij,kj->ki", {a[0], a[1]}); });
      if (rank == 3)
        add("einsum(\"bij,bkj->ikb\", {$0, $1})", {x, y}, [](Args a) { return einsum("bij,bkj->ikb", {a[0], a[1]}); });
      break;
    case 2:
      if (rank == 3)
        add("batched_dot($0, swapaxes($1, 1, 2))", {x, y},
            [](Args a) { return batched_dot(a[0], swapaxes(a[1], 1, 2)); });
      else
        add("tensordot($0, $1, {0}, {0})", {x, y}, [](Args a) { return tensordot(a[0], a[1], {0}, {0}); });
      break;
    case 3:
      add("sum(expand_dims($0, {1}) * expand_dims($1, {0}), 2)", {x, y},
          [](Args a) { return sum(expand_dims(a[0], {1}) * expand_dims(a[1], {0}), 2); });
      break;
    case 4:
      add("vmap([](const Expr& a, const Expr& b) { return sum(a * b); }, {$0, $1})", {x, y}, [](Args a) {
        return vmap([](const Expr& one, const Expr& other) { return sum(one * other); }, {a[0], a[1]});
      });
      break;
    default:
      add("vmap([&](const Expr& a) { return softmax(a, 0) * sum($1); }, {$0}, {-1})", {x, y},
          [](Args a) { return vmap([&](const Expr& one) { return softmax(one, 0) * sum(a[1]); }, {a[0]}, {-1}); });
  }
}

}  // namespace thtrain
