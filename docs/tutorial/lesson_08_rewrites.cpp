// Lesson 8: rewrites. The third stage: passes turn the graph into another one that computes the same, in fewer or safer
// operations. We watch rules fire, leave passes out, compare the levels, and add a pass of our own.
// `./thtrain lesson 8` builds and runs it.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "compiler/api.h"
#include "compiler/ir/graph_difference.h"

using namespace thtrain;

static void expect(bool holds, const char* what) {
  std::printf("%-60s %s\n", what, holds ? "yes" : "NO");
  if (!holds) std::exit(1);
}

static const char* words(Safety safety) {
  return safety == Safety::kExact           ? "exact"
         : safety == Safety::kReassociating ? "reassociating"
         : safety == Safety::kRangeChanging ? "range-changing"
                                            : "finite-math";
}

// What each rule did: an expression before, and after.
static void print_rules(const Explanation& explanation) {
  const StableNumbers numbers(explanation.given);
  for (const Fired& fired : explanation.fired)
    std::printf("  %-13s %-14s %s  ->  %s\n", fired.pass.c_str(), words(fired.safety),
                short_text(fired.before, numbers.of).c_str(), short_text(fired.after, numbers.of).c_str());
}

static bool has_fired(const Explanation& explanation, const std::string& pass) {
  for (const Fired& fired : explanation.fired)
    if (fired.pass == pass) return true;
  return false;
}

int main() {
  Expr x = vector("x");

  // Needless work, as derivatives are full of: -(-x), a product with 1, a constant to be computed, one value twice.
  Expr wasteful = -(-x) * 1 + exp(make_constant(Tensor(0.0))) + tanh(x) * tanh(x);
  Function f = function({x}, {wasteful});
  const Explanation told = f.explain();
  std::printf("As written:\n%s\nRules that fired:\n", told.graph.c_str());
  print_rules(told);
  std::printf("After the stage `canonical`:\n%s\n", told.canonical.c_str());
  expect(has_fired(told, "canonicalize"), "canonicalize found something");
  expect(told.passes.back().nodes_after < told.passes.front().nodes_before, "the graph became smaller");

  // Each pass can be left out by name. The numbers stay.
  Function plain = function({x}, {wasteful}, {}, {.without = {"merge", "constant_fold", "canonicalize"}});
  const Tensor at = Tensor::vector({-2.0, 0.5, 3.0});
  const Tensor a = f({at})[0], b = plain({at})[0];
  bool equal = true;
  for (int64_t i = 0; i < 3; ++i) equal = equal && std::fabs(a.as_double(i) - b.as_double(i)) < 1e-14;
  expect(equal, "without these passes: the same numbers, up to rounding");

  // Stabilization: log(1 + exp(x)) overflows for x = 1000 although its value is 1000. A rule knows the function.
  Expr risky = log(1 + exp(x));
  Function stable = function({x}, {risky});
  Function strict = function({x}, {risky}, {}, {.level = Level::kStrict});  // exact rules only
  const Tensor large = Tensor::vector({1.0, 1000.0});
  std::printf("\nlog(1 + exp(x)) at 1 and 1000: %s at the level strict, %s at the standard one, by\n",
              strict({large})[0].text().c_str(), stable({large})[0].text().c_str());
  print_rules(stable.explain());
  expect(std::isinf(strict({large})[0].as_double(1)), "strict keeps the expression, and it overflows");
  expect(stable({large})[0].as_double(1) == 1000, "the stable form does not");

  // What may a rule do? `x - x` is 0, unless x is infinite. Only the level `fast` takes that for granted.
  Expr nothing = x - x;
  Function careful = function({x}, {nothing}), fast = function({x}, {nothing}, {}, {.level = Level::kFast});
  const Tensor infinite = Tensor::vector({1.0, HUGE_VAL});
  std::printf("\nx - x at 1 and infinity: %s at the standard level, %s at the level fast\n",
              careful({infinite})[0].text().c_str(), fast({infinite})[0].text().c_str());
  expect(std::isnan(careful({infinite})[0].as_double(1)), "the standard level keeps the NaN");
  expect(fast({infinite})[0].as_double(1) == 0, "the level fast forgets it");

  // A pass of our own is a function from graph to graph. This one looks, and changes nothing; extra passes run first.
  static size_t seen = 0;
  const Pass look{"look", "counts the nodes", [](const Graph& graph, const PassContext&) {
                    seen = node_count(graph);
                    return graph;
                  }};
  function({x}, {wasteful}, {}, {.extra_passes = {look}})({at});
  std::printf("\nour own pass saw %zu nodes\n", seen);
  expect(seen == told.passes.front().nodes_before, "it saw the graph as it was written");

  std::printf("\nThe passes in their order, each with an example:\n");
  for (const PassRecord& pass : told.passes) std::printf("  %-20s %s\n", pass.name.c_str(), pass.what.c_str());
  std::printf("\nTo try: which rule makes log(x * y) - log(y) smaller? At which level, and why not at the others?\n");
}
