// Lesson 4: Hybrid Monte Carlo. Samples of a distribution that is known up to a factor, as exp(-energy(x)): a particle
// with a random velocity moves without friction in the energy, by a loop of leapfrog steps, and where it ends is
// accepted by the rule of Metropolis and Hastings. The size of the steps adapts itself to a rate of acceptance.
// R. M. Neal, "MCMC using Hamiltonian dynamics", 2011; the example, its settings and its check are those of the Deep
// Learning Tutorials (hmc): three chains in a Gaussian of five dimensions. `./thtrain lesson 4` builds and runs
// it.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>

#include "compiler/api.h"

using namespace thtrain;

static void expect(bool holds, const char* what) {
  std::printf("%-60s %s\n", what, holds ? "yes" : "NO");
  if (!holds) std::exit(1);
}

// The energy of each row of x [chains, n]: [chains].
using Energy = std::function<Expr(const Expr& x)>;

static Expr slope(const Energy& energy, const Expr& x) {
  return grad(sum(energy(x)), x);
}

// Positions and velocities after `steps` leapfrog steps. Velocities are half a step behind the positions on the way.
static std::pair<Expr, Expr> simulate(const Energy& energy, const Expr& x, const Expr& v, const Expr& size, int steps) {
  Expr first_v = v - 0.5 * size * slope(energy, x), first_x = x + size * first_v;
  auto leapfrog = [&](Expr x, Expr v) {
    Expr next_v = v - size * slope(energy, x);
    return std::vector<Expr>{x + size * next_v, next_v};
  };
  auto [moved, updates] = reduce(leapfrog, {.outputs_info = {first_x, first_v}, .n_steps = steps - 1});
  return {moved[0], moved[1] - 0.5 * size * slope(energy, moved[0])};
}

struct Sampler {
  Shared x;                              // where the chains are, [chains, n]
  Shared size{1e-3, "size"};             // of a step
  Shared acceptance{0.9, "acceptance"};  // a running mean of the rate
  RandomStreams random{12345};

  // A function that moves all chains on, and gives where they are.
  Function move(const Energy& energy) {
    Expr v = random.normal(x.expr().dims());
    auto [next_x, next_v] = simulate(energy, x, v, size, 20);
    auto hamiltonian = [&](const Expr& x, const Expr& v) { return energy(x) + 0.5 * sum(sqr(v), 1); };
    Expr difference = hamiltonian(x, v) - hamiltonian(next_x, next_v);
    Expr accepted = exp(difference) >= random.uniform(difference.dims());
    Expr kept = where(expand_dims(accepted, {1}), next_x, x);
    Expr other_size = where(acceptance > 0.9, size * 1.02, size * 0.98);
    return function({}, {kept},
                    {{x, kept},
                     {size, clip(other_size, 0.001, 0.5)},
                     {acceptance, 0.9 * acceptance + 0.1 * mean(cast(accepted, DType::kFloat64))}});
  }
};

int main() {
  constexpr int64_t n = 5, chains = 3;
  constexpr int kBurnIn = 1000, kSamples = 1000;
  RandomState rng(123);
  Tensor mean_of = Tensor::of(rng.uniform(0, 1, n), {n}), covariance = Tensor::empty(DType::kFloat64, {n, n});
  for (int64_t i = 0; i < n; ++i) mean_of.data<double>()[i] *= 10;
  const std::vector<double> drawn = rng.uniform(0, 1, n * n);
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = 0; j < n; ++j)
      covariance.data<double>()[i * n + j] = i == j ? 1 : (drawn[i * n + j] + drawn[j * n + i]) / 2;
  Shared mu(mean_of, "mu"), precision(function({}, {inverse(make_constant(covariance))})({})[0], "precision");
  Energy gaussian = [&](const Expr& x) { return 0.5 * sum(dot(x - mu, precision) * (x - mu), 1); };

  Sampler sampler{Shared(Tensor::of(rng.normal(0, 1, chains * n), {chains, n}), "x")};
  Function move = sampler.move(gaussian);
  for (int i = 0; i < kBurnIn; ++i) move({});
  std::vector<double> all;
  for (int i = 0; i < kSamples; ++i) {
    Tensor x = move({})[0];
    all.insert(all.end(), x.data<double>(), x.data<double>() + x.size());
  }

  const auto count = static_cast<int64_t>(all.size()) / n;
  Expr x = matrix("x"), centre = mean(x, 0), apart = x - centre;
  std::vector<Tensor> found =
      function({x}, {centre, dot(transpose(apart), apart) / (cast(length(x, 0), DType::kFloat64) - 1)})(
          {Tensor::of(all, {count, n})});
  auto farthest = [](const Tensor& a, const Tensor& b) {
    double out = 0;
    for (int64_t i = 0; i < a.size(); ++i) out = std::max(out, std::fabs(a.as_double(i) - b.as_double(i)));
    return out;
  };
  std::printf("mean        %s\nof samples  %s\n", mean_of.text().c_str(), found[0].text().c_str());
  std::printf("covariance  %s\nof samples  %s\n", covariance.text().c_str(), found[1].text().c_str());
  const double size = sampler.size.get_value().as_double(), rate = sampler.acceptance.get_value().as_double();
  std::printf("size of a step %.4f, rate of acceptance %.4f\n", size, rate);
  expect(std::fabs(rate - 0.9) < 0.1, "the rate of acceptance is within 0.1 of 0.9");
  // RandomStreams draw what Theano's drew: these are the numbers that the tutorial prints.
  const Tensor printed = Tensor::vector({6.94, 2.82, 2.26, 5.47, 7.19});
  expect(farthest(printed, found[0]) < 0.005, "the mean is the one that the tutorial prints");
  expect(std::fabs(size - 0.4604) < 5e-5 && std::fabs(rate - 0.9225) < 5e-5, "and so are the size and the rate");
  expect(farthest(mean_of, found[0]) < 0.15, "the mean is within 0.15 of that of the Gaussian");
  expect(farthest(covariance, found[1]) < 0.2, "the covariance is within 0.2 of that of the Gaussian");
}
