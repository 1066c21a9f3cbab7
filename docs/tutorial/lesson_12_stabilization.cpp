// Lesson 12: the stabilization lab. A cross-entropy is written by hand from probabilities, as in a textbook:
// p = softmax(z), loss = -mean(log(p[y])). Computed as written it gives infinities, and gradients that are NaN. The
// rules make another form of it, and the same lines train. `./thtrain lesson 12` builds and runs it; docs/labs.md
// asks questions about it.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "compiler/api.h"
#include "compiler/ir/graph_difference.h"
#include "datasets/digits_generator.h"

using namespace thtrain;

static void expect(bool holds, const char* what) {
  std::printf("%-60s %s\n", what, holds ? "yes" : "NO");
  if (!holds) std::exit(1);
}

// The book's formulae, one by one. z: scores [examples, classes], y: class numbers [examples].
static Expr probabilities(const Expr& z) {
  return exp(z) / sum(exp(z), 1, true);
}
static Expr cross_entropy(const Expr& p, const Expr& y) {
  return -mean(log(pick_rows(p, y)));
}

// Trains a softmax regression on digits with `loss` as it is compiled at that level. Gives the loss of each step.
static std::vector<double> train(Level level, const Digits& digits, double rate, int steps) {
  const int64_t n = digits.labels.dim(0);
  Shared w(Tensor::zeros(DType::kFloat32, {784, 10}), "W"), b(Tensor::zeros(DType::kFloat32, {10}), "b");
  Expr x = tensor("x", {"n", 784}, DType::kFloat32), y = tensor("y", {"n"}, DType::kUInt8);
  Expr loss = cross_entropy(probabilities(dot(x, w) + b), y);
  const std::vector<Expr> g = grad(loss, {w, b});
  Function step = function({x, y}, {loss}, {{w, w - rate * g[0]}, {b, b - rate * g[1]}}, {.level = level});
  Tensor images = digits.images.cast(DType::kFloat32).reshape({n, 784});  // 0 to 255: nobody scaled them
  std::vector<double> losses;
  for (int i = 0; i < steps; ++i) losses.push_back(step({images, digits.labels})[0].as_double());
  return losses;
}

int main() {
  // 1. One example by hand: scores 0 and s, and the class is the first one. The loss is log(1 + exp(s)), about s for a
  // large s; its derivative by the scores is (-q, q), q = 1 / (1 + exp(-s)): for a large s (-1, 1).
  Expr z = matrix("z"), y = tensor("y", {"n"}, DType::kInt64);
  Expr loss = cross_entropy(probabilities(z), y), slope = grad(loss, z);
  Function as_written = function({z, y}, {loss, slope}, {}, {.level = Level::kStrict});
  Function by_rules = function({z, y}, {loss, slope});
  const Tensor first = Tensor::vector<int64_t>({0});
  std::printf("scores         as written: loss, derivative         with the rules: loss, derivative\n");
  for (double s : {1.0, 30.0, 700.0, 800.0, 1e5}) {
    const Tensor scores = Tensor::matrix({{0.0, s}});
    const std::vector<Tensor> plain = as_written({scores, first}), stable = by_rules({scores, first});
    std::printf("%-13s  %-12g %-22s  %-12.9g %s\n", scores.text().c_str(), plain[0].as_double(),
                plain[1].text().c_str(), stable[0].as_double(), stable[1].text().c_str());
    const double right = s + std::log1p(std::exp(-s)), q = 1 / (1 + std::exp(-s));
    expect(std::fabs(stable[0].as_double() - right) <= 1e-12 * right, "  the rules' loss is right");
    expect(std::fabs(stable[1].as_double(1) - q) < 1e-12, "  and so is its derivative");
    if (s < 700) expect(std::fabs(plain[0].as_double() - right) < 1e-9 * right, "  the loss as written is right too");
    if (s >= 800) expect(!std::isfinite(plain[0].as_double()), "  as written the loss is lost");
    if (s >= 800) expect(std::isnan(plain[1].as_double(1)), "  and its derivative is NaN");
  }

  // 2. Which rules did that? `thtrain explain FILE --stage=rewrites` prints such lines for an experiment.
  const Explanation told = by_rules.explain();
  const StableNumbers numbers(told.given);
  std::printf("\nRules that changed the range of numbers:\n");
  int count = 0;
  for (const Fired& fired : told.fired) {
    if (fired.safety != Safety::kRangeChanging) continue;
    ++count;
    std::printf("  %-12s %-34s %s -> %s\n", fired.pass.c_str(), fired.rule.c_str(),
                short_text(fired.before, numbers.of).c_str(), short_text(fired.after, numbers.of).c_str());
  }
  expect(count > 0, "range-changing rules fired");
  expect(as_written.explain().fused.find("log_softmax") == std::string::npos, "as written: no log_softmax");
  std::printf("\nThe loss after the stage `canonical`:\n%s\n", told.canonical.c_str());

  // 3. The same in training: 1,000 digits, pixels from 0 to 255, which somebody forgot to scale.
  const Digits digits = generate_digits(1000, 1);
  const std::vector<double> naive = train(Level::kStrict, digits, 0.001, 30);
  const std::vector<double> good = train(Level::kStandard, digits, 0.001, 30);
  std::printf("step   as written   with the rules\n");
  for (size_t i = 0; i < good.size(); i += i < 5 ? 1 : 5) std::printf("%4zu %12g %16g\n", i, naive[i], good[i]);
  bool finite = true;
  for (double value : good) finite = finite && std::isfinite(value);
  expect(std::fabs(naive[0] - std::log(10.0)) < 1e-5, "at the start both losses are log(10): ten classes, no idea");
  expect(!std::isfinite(naive.back()), "as written, training ends in infinity or NaN");
  expect(finite, "with the rules every loss is finite");
  std::printf("\nTo try: write p = softmax(z), or add 1e-8 to p. Which digits of the loss at s = 30 are wrong then?\n");
}
