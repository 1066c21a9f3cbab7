// Lesson 16: linear algebra. A Gaussian process fits a smooth curve to noisy points, and says how far it can be
// trusted. We write the likelihood of the points with solve() and slogdet(), let grad() differentiate through the
// Cholesky factor, and find the length, the height and the noise of the curve by gradient descent. `./thtrain lesson
// 16` runs it.
//
// Source: C. E. Rasmussen, C. K. I. Williams, Gaussian Processes for Machine Learning, MIT Press, 2006, chapters 2
// and 5.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <random>

#include "compiler/api.h"

using namespace thtrain;

static void expect(bool holds, const char* what) {
  std::printf("%-70s %s\n", what, holds ? "yes" : "NO");
  if (!holds) std::exit(1);
}

constexpr int64_t kPoints = 80;
constexpr double kNoise = 0.2, kPi = 3.14159265358979;

// The logarithms of length, height and noise: any number is allowed.
struct Parameters {
  Expr length, height, noise;
};

// How much the curve at two places has in common: the less, the farther they are apart.
static Expr covariance(const Expr& a, const Expr& b, const Parameters& p) {
  Expr distance = (expand_dims(a, {1}) - expand_dims(b, {0})) / exp(p.length);
  return exp(2.0 * p.height) * exp(-0.5 * sqr(distance));
}

int main() {
  std::mt19937 random(3);
  std::uniform_real_distribution<double> place(0, 2 * kPi);
  std::normal_distribution<double> noise(0, kNoise);
  std::vector<double> xs, ys;
  for (int64_t i = 0; i < kPoints; ++i) {
    xs.push_back(place(random));
    ys.push_back(std::sin(xs.back()) + noise(random));
  }

  Shared theta(Tensor::vector({1.0, 0.0, 0.0}), "theta");
  Parameters p{theta.expr()[0], theta.expr()[1], theta.expr()[2]};
  Expr x = make_constant(Tensor::of(xs, {kPoints})), y = make_constant(Tensor::of(ys, {kPoints}));
  Expr k = covariance(x, x, p) + exp(2.0 * p.noise) * eye(kPoints);
  // k is positive definite: solve and slogdet share one Cholesky factor, and so do their derivatives.
  Expr weights = solve(k, y, MatrixKind::kPositiveDefinite);
  Expr loss = 0.5 * dot(y, weights) + 0.5 * slogdet(k, MatrixKind::kPositiveDefinite).log +
              0.5 * static_cast<double>(kPoints) * std::log(2 * kPi);
  Expr slope = grad(loss, theta.expr());
  Function step = function({}, {loss}, {{theta, theta - 0.01 * slope}});
  const double before = step({})[0].as_double();
  double after = before;
  for (int i = 0; i < 300; ++i) after = step({})[0].as_double();
  const Tensor found = theta.get_value();
  std::printf("negative log likelihood: %.2f, and %.2f after 300 steps\n", before, after);
  std::printf("length %.2f, height %.2f, noise %.2f\n", std::exp(found.as_double(0)), std::exp(found.as_double(1)),
              std::exp(found.as_double(2)));
  expect(after < before - 10, "the points are more likely after the descent");
  expect(std::abs(std::exp(found.as_double(2)) - kNoise) < 0.05, "the noise that was added is found");

  // The curve between the points: its mean, and the deviation that the points leave it.
  Expr at = vector("at", {"places"}), shared = covariance(at, x, p);
  Expr mean = dot(shared, weights);
  Expr left =
      exp(2.0 * p.height) - sum(shared * transpose(solve(k, transpose(shared), MatrixKind::kPositiveDefinite)), 1);
  Function predict = function({at}, {mean, sqrt(left)});
  const auto curve = predict({Tensor::vector({0.5, 1.5707963, 3.0, 5.0, 9.0})});
  const double places[] = {0.5, 1.5707963, 3.0, 5.0, 9.0};
  int inside = 0;
  for (int i = 0; i < 5; ++i) {
    const double m = curve[0].as_double(i), s = curve[1].as_double(i);
    std::printf("at %.2f: %6.3f +- %.3f, the sine is %6.3f\n", places[i], m, 2 * s, std::sin(places[i]));
    inside += std::abs(m - std::sin(places[i])) < 3 * s;
  }
  expect(inside == 5, "the sine lies within three deviations");
  expect(curve[1].as_double(4) > 5 * curve[1].as_double(1), "far from all points nothing is certain");
  return 0;
}

// To try: print step.explain().program, and count the steps cholesky_f64. Write slogdet(k).log without the kind: how
// many factorizations are there then? Draw curves of the process: cholesky(k) times a vector of normal numbers.
