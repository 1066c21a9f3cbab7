// Random numbers in graphs, as in the section "Using Random Numbers" of Theano's tutorial. `./thtrain
// lesson 3` builds and runs it; docs/random.md says more.
#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "compiler/api.h"

using namespace thtrain;

static void expect(bool holds, const char* what) {
  std::printf("%-60s %s\n", what, holds ? "yes" : "NO");
  if (!holds) std::exit(1);
}

int main() {
  // Random variables: each has a generator of its own, whose state is a shared variable.
  RandomStreams srng(234);
  Expr rv_u = srng.uniform({2, 2});
  Expr rv_n = srng.normal({2, 2});
  Function f = function({}, {rv_u});
  Function g = function({}, {rv_n}, {}, {.no_default_updates = true});  // not updating rv_n's generator
  Function nearly_zeros = function({}, {rv_u + rv_u - 2 * rv_u});

  Tensor f_val0 = f({})[0], f_val1 = f({})[0];
  std::printf("f() = %s\nf() = %s\n", f_val0.text().c_str(), f_val1.text().c_str());
  expect(!same_bits(f_val0, f_val1), "f() gives other numbers in each call");
  expect(same_bits(g({})[0], g({})[0]), "g() gives the same ones");
  expect(std::fabs(nearly_zeros({})[0].as_double()) < 1e-12, "within one call a random variable is one value");

  // The state can be read, kept and put back: what a checkpoint does.
  Tensor kept = srng.states()[0].get_value();
  Tensor next = f({})[0];
  srng.states()[0].set_value(kept);
  expect(same_bits(next, f({})[0]), "the same state gives the same numbers");

  // All generators of a stream anew.
  srng.seed(902340);
  Tensor first = f({})[0];
  srng.seed(902340);
  expect(same_bits(first, f({})[0]), "and so does the same seed");

  // Noise on an input, with the numbers of MRG31k3p, and its gradient by the strength of the noise.
  MrgRandomStreams mrg(12345);
  Expr x = matrix("x"), strength = scalar("strength");
  Expr noisy = x + mrg.normal(x.dims(), 0.0, strength);
  Expr cost = mean(sqr(noisy));
  Function h = function({x, strength}, {cost, grad(cost, strength)});
  std::vector<Tensor> result = h({Tensor::zeros(DType::kFloat64, {100, 50}), Tensor(0.5)});
  std::printf("mean of the noise's squares %.4f, its derivative %.4f\n", result[0].as_double(), result[1].as_double());
  expect(std::fabs(result[1].as_double() - 4 * result[0].as_double()) < 1e-9, "the derivative of 0.5^2 z^2 is z^2");
}
