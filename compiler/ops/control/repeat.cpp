#include "compiler/ops/control/repeat.h"

#include "compiler/ops/control/body.h"
#include "compiler/ops/control/scan_parts.h"
#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/shape/length_list.h"

namespace thtrain {

// What the body gave for the states, under their lengths. UserError unless there is one value for each.
static std::vector<Expr> next_states(std::string_view builder, const std::vector<Expr>& given,
                                     const std::vector<Expr>& initial, const std::source_location& where) {
  if (given.size() != initial.size())
    fail_build(where,
               str(builder, ": the body gives ", given.size(), given.size() == 1 ? " state" : " states",
                   ", the loop has ", initial.size()),
               "the next value of each state, in their order", {});
  std::vector<Expr> out;
  for (size_t i = 0; i < given.size(); ++i) {
    require_value(given[i], str(builder, ": the next value of a state"), where);
    out.push_back(typed_as(given[i], initial[i].type(), str(builder, ": state ", i), where));
    if (!(out[i].type() == initial[i].type()))
      fail_build(where,
                 str(builder, ": state ", i, " changes its type: the body gives ", readable(out[i].type().text())),
                 readable(initial[i].type().text()));
  }
  return out;
}

static void require_iterations(std::string_view builder, int64_t iterations, int64_t least,
                               const std::source_location& where) {
  if (iterations < least)
    fail_build(where, str(builder, ": the number of iterations is less than ", least), str("at least ", least),
               std::to_string(iterations));
  if (iterations >= int64_t{1} << 62)
    fail_build(where, str(builder, ": the number of iterations is too large"), "less than 2^62",
               std::to_string(iterations));
}

static std::vector<Expr> states_like(const std::vector<Expr>& initial, const std::source_location& where) {
  std::vector<Expr> out;
  for (const Expr& e : initial)
    out.push_back(make_body_input(require_value(e, "repeat: an initial state", where).type(), "state", where));
  return out;
}

std::vector<Expr> repeat(int64_t count, const std::vector<Expr>& initial,
                         const std::function<std::vector<Expr>(const std::vector<Expr>& state)>& body,
                         std::source_location where) {
  require_iterations("repeat", count, 0, where);
  const std::vector<Expr> state = states_like(initial, where);
  Body made = make_body(
      state, [&] { return next_states("repeat", body(state), initial, where); }, where);
  std::vector<Expr> inputs = initial;
  inputs.insert(inputs.end(), made.captures.begin(), made.captures.end());
  std::vector<Expr> out = make_scan({.count = count, .taps = plain_states(initial.size())}, std::move(made.graph),
                                    std::move(inputs), where);
  out.resize(initial.size());
  return out;
}

Repeated repeat_until(int64_t limit, const std::vector<Expr>& initial,
                      const std::function<Iteration(const std::vector<Expr>& state)>& body,
                      std::source_location where) {
  require_iterations("repeat_until", limit, 1, where);
  std::vector<Expr> first = initial;
  first.push_back(make_constant(Tensor(int64_t{0}), where));
  const std::vector<Expr> state = states_like(first, where);
  Body made = make_body(
      state,
      [&] {
        Iteration iteration = body({state.begin(), state.end() - 1});
        iteration.state = next_states("repeat_until", iteration.state, initial, where);
        iteration.state.push_back(add(state.back(), 1));
        iteration.state.push_back(iteration.done);
        return iteration.state;
      },
      where);
  std::vector<Expr> inputs = first;
  inputs.insert(inputs.end(), made.captures.begin(), made.captures.end());
  std::vector<Expr> out = make_scan({.count = limit, .taps = plain_states(first.size()), .until = true},
                                    std::move(made.graph), std::move(inputs), where);
  return {{out.begin(), out.begin() + static_cast<std::ptrdiff_t>(initial.size())}, out[initial.size()]};
}

}  // namespace thtrain
