// Loops, branches and ops of users: builders that take bodies.
#include "tests/fuzz/garbage_calls.h"

namespace thtrain {
namespace {

// A body of a loop or a branch: what garbage of its arguments and of what is drawn anew.
std::vector<Expr> body_of(Garbage& garbage, std::vector<Expr> arguments) {
  std::vector<Expr> out;
  for (Expr& value : arguments)
    if (!garbage.one_in(6))
      out.push_back(garbage.one_in(3) ? garbage.draw<Expr>() : value.has_value() ? value * 2 : value);
  if (garbage.one_in(4)) out.push_back(garbage.draw<Expr>());
  return out;
}

GarbageCall with_garbage(std::string name, std::function<std::vector<Expr>(Garbage&)> run) {
  return {std::move(name), std::move(run)};
}

}  // namespace

void add_control(std::vector<GarbageCall>& calls) {
  auto step = [](Garbage& g) { return [&g](const std::vector<Expr>& arguments) { return body_of(g, arguments); }; };
  auto add = [&](const char* name, auto make) {
    calls.push_back(with_garbage(name, [=](Garbage& g) { return exprs_of(make(step(g), g.draw<ScanOptions>(), g)); }));
  };
  add("scan", [](auto body, const ScanOptions& o, Garbage&) { return scan(body, o); });
  add("map", [](auto body, const ScanOptions& o, Garbage&) { return map(body, o); });
  calls.push_back(with_garbage("vmap", [=](Garbage& g) {
    return vmap(step(g), g.draw<std::vector<Operand>>(), g.draw<std::vector<int64_t>>());
  }));
  add("reduce", [](auto body, const ScanOptions& o, Garbage&) { return reduce(body, o); });
  add("foldl", [](auto body, const ScanOptions& o, Garbage&) { return foldl(body, o); });
  add("foldr", [](auto body, const ScanOptions& o, Garbage&) { return foldr(body, o); });
  add("checkpointed_scan", [](auto body, const ScanOptions& o, Garbage& g) {
    return checkpointed_scan(body, o, g.draw<std::optional<int64_t>>());
  });
  calls.push_back(with_garbage("if_else", [](Garbage& g) {
    const Expr x = g.draw<Expr>(), y = g.draw<Expr>();
    return if_else(
        g.draw<Operand>(),
        [&] {
          return body_of(g, {x, y});
        },
        [&] {
          return body_of(g, {x, y});
        });
  }));
  calls.push_back(with_garbage("repeat", [step](Garbage& g) {
    const std::vector<Expr> states = g.draw<std::vector<Expr>>();
    return repeat(g.draw<int64_t>(), states, step(g));
  }));
  calls.push_back(with_garbage("repeat_until", [](Garbage& g) {
    const std::vector<Expr> states = g.draw<std::vector<Expr>>();
    return repeat_until(g.draw<int64_t>(), states,
                        [&](const std::vector<Expr>& state) {
                          return Iteration{body_of(g, state),
                                           g.one_in(2) && !state.empty() ? sum(state[0]) > 3 : g.draw<Expr>()};
                        })
        .state;
  }));
  calls.push_back(with_garbage("OpFromGraph.operator()", [](Garbage& g) {
    const OpFromGraph op([&](const std::vector<Expr>& inputs) { return body_of(g, inputs); },
                         [&](const auto& inputs, const auto&, const auto&) { return body_of(g, inputs); });
    return op(g.draw<std::vector<Expr>>());
  }));
  calls.push_back(with_garbage("OpFromFunction.operator()", [](Garbage& g) {
    const OpFromFunction op({.name = g.one_in(2) ? "mine" : g.draw<std::string>(),
                             .version = g.draw<std::string>(),
                             .compute = [](const std::vector<Tensor>& inputs) { return inputs; }});
    return op(g.draw<std::vector<Expr>>());
  }));
  calls.push_back(
      garbage_call("updated", [](const std::vector<Update>& updates, const Expr& x) { return updated(updates, x); }));
}

}  // namespace thtrain
