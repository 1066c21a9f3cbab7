#include "compiler/passes/accumulations.h"

#include <algorithm>

#include "compiler/ir/graph.h"
#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/elemwise/scalar_table.h"
#include "compiler/ops/reduce/cumulative.h"
#include "compiler/ops/reduce/reduce.h"
#include "compiler/ops/shape/shape.h"

namespace thtrain {
namespace {

struct Form {
  const Op& op;
  Expr (*combine)(const Expr& a, const Expr& b);
  Expr (*over_iterations)(const Expr& terms);
};

const std::vector<Form>& forms() {
  static const std::vector<Form> all = {
      {add_op(), [](const Expr& a, const Expr& b) { return add(a, b); }, [](const Expr& x) { return sum(x, 0); }},
      {mul_op(), [](const Expr& a, const Expr& b) { return mul(a, b); }, [](const Expr& x) { return prod(x, 0); }},
      {maximum_op(), [](const Expr& a, const Expr& b) { return maximum(a, b); },
       [](const Expr& x) { return max(x, 0); }},
      {minimum_op(), [](const Expr& a, const Expr& b) { return minimum(a, b); },
       [](const Expr& x) { return min(x, 0); }},
  };
  return all;
}

const Form& form_of(const Op* op) {
  return *std::find_if(forms().begin(), forms().end(), [&](const Form& f) { return &f.op == op; });
}

// Integers are collected in int64, modulo the size of the state's.
Expr in_dtype_of(const Expr& state, const Expr& value) {
  return value.dtype() == state.dtype() ? value : cast(value, state.dtype());
}

}  // namespace

bool LoopAccumulation::has_running_values() const {
  return op == &add_op();
}

std::optional<LoopAccumulation> accumulation_of(const Expr& state, const Expr& next) {
  if (next.node().is_leaf() || next.type() != state.type()) return std::nullopt;
  const Op* op = next.node().op;
  if (std::none_of(forms().begin(), forms().end(), [&](const Form& f) { return &f.op == op; })) return std::nullopt;
  LoopAccumulation out{.op = op};
  std::vector<Expr> stack = {next};
  size_t found = 0;
  while (!stack.empty()) {
    const Expr value = stack.back();
    stack.pop_back();
    if (value.same(state))
      ++found;
    else if (value.node().op == op && value.type() == state.type())
      stack.insert(stack.end(), value.node().inputs.begin(), value.node().inputs.end());
    else
      out.terms.push_back(value);
  }
  if (found != 1 || out.terms.empty()) return std::nullopt;
  for (const Expr& term : out.terms)
    if (term.type() != state.type()) return std::nullopt;
  for (const Expr& leaf : leaves_of(out.terms))
    if (leaf.same(state)) return std::nullopt;
  return out;
}

Expr total(const LoopAccumulation& accumulation, const Expr& first, const std::vector<Expr>& terms) {
  const Form& form = form_of(accumulation.op);
  Expr out = first;
  for (const Expr& term : terms) out = form.combine(out, in_dtype_of(first, form.over_iterations(term)));
  return out;
}

Expr running_values(const LoopAccumulation&, const Expr& first, const std::vector<Expr>& terms) {
  Expr each = terms.at(0);
  for (size_t i = 1; i < terms.size(); ++i) each = add(each, terms[i]);
  const Expr start = expand_dims(first, {0});
  return join(0, {start, add(start, in_dtype_of(first, cumsum(each, 0)))});
}

}  // namespace thtrain
