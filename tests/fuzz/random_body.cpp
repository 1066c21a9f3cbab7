#include "tests/fuzz/random_body.h"

#include "compiler/base/str.h"
#include "compiler/ops/control/if_else.h"
#include "compiler/ops/control/repeat.h"
#include "compiler/ops/effect/effect.h"
#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/reduce/reduce.h"

namespace thtrain {
namespace {

struct Draw {
  std::function<size_t(size_t)> below;
  int* label = nullptr;  // of the next print; null: no prints

  size_t operator()(size_t n) const { return below(n); }
};

RandomBody random_body(const Draw& below, size_t depth);

RandomBody leaf(const Draw& below) {
  if (below(3) == 0) return {"c", [](const Expr&, const Expr& c) { return c; }};
  return {"s", [](const Expr& s, const Expr&) { return s; }};
}

RandomBody arithmetic(const Draw& below, size_t depth) {
  const RandomBody x = depth == 0 ? leaf(below) : random_body(below, depth - 1), y = leaf(below);
  switch (below(4)) {
    case 0:
      return {str("tanh(", x.text, " * ", y.text, ")"),
              [=](const Expr& s, const Expr& c) { return tanh(x.build(s, c) * y.build(s, c)); }};
    case 1:
      return {str("sin(", x.text, ") + 0.25 * ", y.text),
              [=](const Expr& s, const Expr& c) { return sin(x.build(s, c)) + 0.25 * y.build(s, c); }};
    case 2:
      return {str("sigmoid(", x.text, ") - ", y.text),
              [=](const Expr& s, const Expr& c) { return sigmoid(x.build(s, c)) - y.build(s, c); }};
    default:
      return {str("0.5 * (", x.text, ") + tanh(", y.text, ")"),
              [=](const Expr& s, const Expr& c) { return 0.5 * x.build(s, c) + tanh(y.build(s, c)); }};
  }
}

// The value is printed, or another one besides.
RandomBody printed(const Draw& below, const RandomBody& x) {
  const std::string label = std::to_string((*below.label)++);
  if (below(2) == 0)
    return {str("print(", x.text, ", \"", label, "\")"),
            [=](const Expr& s, const Expr& c) { return print(x.build(s, c), label); }};
  return {str("[&] { print(s, \"", label, "\"); return Expr(", x.text, "); }()"), [=](const Expr& s, const Expr& c) {
            print(s, label);
            return x.build(s, c);
          }};
}

RandomBody loop(const Draw& below, size_t depth) {
  const RandomBody first = leaf(below), body = random_body(below, depth - 1);
  const auto iterations = static_cast<int64_t>(below(4));
  return {
      str("repeat(", iterations, ", {", first.text, "}, [&](const std::vector<Expr>& t) { const Expr s = t[0]; return ",
          "std::vector<Expr>{", body.text, "}; })[0]"),
      [=](const Expr& s, const Expr& c) {
        return repeat(iterations, {first.build(s, c)},
                      [&](const std::vector<Expr>& t) { return std::vector<Expr>{body.build(t[0], c)}; })[0];
      }};
}

RandomBody loop_until(const Draw& below, size_t depth) {
  const RandomBody first = leaf(below), body = random_body(below, depth - 1);
  const auto limit = static_cast<int64_t>(1 + below(4));
  const double threshold = static_cast<double>(below(5)) / 2 - 1.1;
  return {str("repeat_until(", limit, ", {", first.text,
              "}, [&](const std::vector<Expr>& t) { const Expr s = t[0]; const Expr next = ", body.text,
              "; return Iteration{{next}, gt(sum(next), ", threshold, ")}; }).state[0]"),
          [=](const Expr& s, const Expr& c) {
            return repeat_until(limit, {first.build(s, c)},
                                [&](const std::vector<Expr>& t) {
                                  const Expr next = body.build(t[0], c);
                                  return Iteration{{next}, gt(sum(next), threshold)};
                                })
                .state[0];
          }};
}

RandomBody branch(const Draw& below, size_t depth) {
  const RandomBody decides = leaf(below), then = random_body(below, depth - 1), other = random_body(below, depth - 1);
  const double threshold = static_cast<double>(below(5)) / 2 - 1.1;
  return {str("if_else(gt(sum(", decides.text, "), ", threshold, "), [&] { return Expr(", then.text,
              "); }, [&] { return Expr(", other.text, "); })"),
          [=](const Expr& s, const Expr& c) {
            return if_else(
                gt(sum(decides.build(s, c)), threshold), [&] { return then.build(s, c); },
                [&] { return other.build(s, c); });
          }};
}

RandomBody random_body(const Draw& below, size_t depth) {
  if (below.label && below(4) == 0) {
    Draw silent = below;
    silent.label = nullptr;
    return printed(below, random_body(below(2) == 0 ? silent : below, depth));
  }
  if (depth == 0) return below(2) == 0 ? leaf(below) : arithmetic(below, 0);
  switch (below(5)) {
    case 0:
      return loop(below, depth);
    case 1:
      return loop_until(below, depth);
    case 2:
      return branch(below, depth);
    default:
      return arithmetic(below, depth);
  }
}

}  // namespace

RandomBody random_body(const std::function<size_t(size_t)>& below, size_t depth) {
  return random_body(Draw{below}, depth);
}

RandomBody random_printing_body(const std::function<size_t(size_t)>& below, size_t depth, int& label) {
  return random_body(Draw{below, &label}, depth);
}

}  // namespace thtrain
