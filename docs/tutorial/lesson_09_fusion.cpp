// Lesson 9: fusion. The fourth stage: several nodes become one loop over the elements, so that the values between them
// stay in registers and are never written to memory. We compile one expression with fusion and without, count steps and
// bytes, time both, and see that the numbers are the same bits. `./thtrain lesson 9` builds and runs it.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <set>
#include <string>

#include "compiler/api.h"
#include "compiler/plan/program.h"

using namespace thtrain;

static void expect(bool holds, const char* what) {
  std::printf("%-60s %s\n", what, holds ? "yes" : "NO");
  if (!holds) std::exit(1);
}

// What one call of a function does to memory, by its program.
struct Traffic {
  int steps = 0;
  double bytes = 0;  // that the steps read and write, each operand once
};

static Traffic traffic_of(const Function& f, int64_t n) {
  Traffic out;
  const Explanation told = f.explain();
  for_each_step(told.plan->body, [&](const Step& step) {
    ++out.steps;
    for (size_t k = 0; k < step.inputs + step.outputs; ++k) {
      const Type& type = step.operands[k].type;
      // A vector here has the length n, whatever its name; a scalar has one element.
      out.bytes += static_cast<double>(type.rank() == 0 ? 1 : n) * static_cast<double>(size_of(type.dtype));
    }
  });
  return out;
}

// Seconds of a call, the best of some.
static double seconds(Function& f, const Tensor& x) {
  double best = 1e9;
  for (int i = 0; i < 20; ++i) {
    const auto start = std::chrono::steady_clock::now();
    f({x});
    best = std::min(best, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  return best;
}

int main() {
  constexpr int64_t n = 4'000'000;  // float64: 32 MB, more than caches hold
  Expr x = vector("x");
  Expr y = maximum(2 * x + 1, 0) * (x - 3) + abs(x);

  const std::set<std::string> fusions = {"fuse_elementwise", "fuse_reductions", "fuse_epilogues", "fuse_scatters"};
  Function fused = function({x}, {Out(y, true)}, {}, {.threads = 1});
  Function single = function({x}, {Out(y, true)}, {}, {.threads = 1, .without = fusions});
  std::printf("The graph after the stage `fused`: one node, whose body has the operations.\n%s\n",
              fused.explain().fused.c_str());
  std::printf("The program without fusion: each operation is a step with a loop of its own.\n%s\n",
              single.explain().program.c_str());

  const Tensor at = Tensor::of(RandomState(1).normal(0, 1, n), {n});
  const Traffic one = traffic_of(fused, n), many = traffic_of(single, n);
  const double time_one = seconds(fused, at), time_many = seconds(single, at);
  std::printf("              steps   megabytes   milliseconds   gigabytes a second\n");
  auto row = [](const char* name, const Traffic& t, double time) {
    std::printf("%-12s %6d %11.0f %14.2f %20.1f\n", name, t.steps, 1e-6 * t.bytes, 1e3 * time, 1e-9 * t.bytes / time);
  };
  row("fused", one, time_one);
  row("not fused", many, time_many);
  expect(one.steps == 1 && many.steps > 4, "fusion made one step of many");
  expect(one.bytes == 16.0 * n, "it reads x once and writes y once: 16 bytes for each element");
  expect(many.bytes > 3 * one.bytes, "without it, more than three times the bytes move");
  expect(same_bits(fused({at})[0], single({at})[0]), "fusion is exact: the same bits");

  // A sum can be the end of such a loop: no array is written at all. And the rows of a softmax are one kernel.
  Function total = function({x}, {sum(y)}, {}, {.threads = 1});
  expect(traffic_of(total, n).steps == 1, "the sum of y: one step, and no array in memory");
  Expr m = matrix("m");
  Function rows = function({m}, {exp(m) / sum(exp(m), 1, true)}, {}, {.threads = 1});
  std::printf("\nsoftmax by hand is, after fusion:\n%s\n", rows.explain().fused.c_str());
  expect(rows.info().kernels == 1, "softmax of rows: one kernel");

  // A product of matrices has a kernel of its own, which takes the operations after it as its end: a whole layer in one
  // step. (The lengths must be known: without them the product is left to a library, and the end to another step.)
  Expr a = matrix("a", {64, 784}), w = matrix("w", {784, 100}), b = vector("b", {100});
  Function layer = function({a, w, b}, {tanh(dot(a, w) + b)}, {}, {.threads = 1});
  std::printf("a layer, tanh(dot(a, w) + b):\n%s\n", layer.explain().program.c_str());
  std::printf("To try: add sin(x) to y. Why do both times grow, and why is the ratio smaller then?\n");
}
