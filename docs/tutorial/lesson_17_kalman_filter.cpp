// Lesson 17: a loop with linear algebra. A Kalman filter follows a body that nobody sees: each step predicts where it
// is, and corrects that by a noisy measurement. scan() runs the steps, solve() weighs prediction and measurement, and
// slogdet() gives the likelihood of all measurements, of which grad() finds how noisy they are. `./thtrain lesson 17`
// runs it.
//
// Source: R. E. Kalman, A New Approach to Linear Filtering and Prediction Problems, 1960; S. Sarkka, Bayesian Filtering
// and Smoothing, Cambridge University Press, 2013, chapters 4 and 12.
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

constexpr int64_t kSteps = 400;
constexpr double kPush = 0.05, kNoise = 0.5,
                 kPi = 3.14159265358979;  // how the body is pushed, and how far measurements are off

int main() {
  // A body in the plane: place and speed, of which the place is measured.
  std::mt19937 random(7);
  std::normal_distribution<double> normal;
  std::vector<double> places, measured;
  double at[4] = {0, 0, 0.1, 0};
  for (int64_t t = 0; t < kSteps; ++t)
    for (int k = 0; k < 2; ++k) {
      at[2 + k] += kPush * normal(random);
      at[k] += at[2 + k];
      places.push_back(at[k]);
      measured.push_back(at[k] + kNoise * normal(random));
    }

  Shared theta(Tensor::vector({-1.0, 0.5}), "theta");  // the logarithms of push and noise
  const Expr step = make_constant(
      Tensor::matrix({{1.0, 0.0, 1.0, 0.0}, {0.0, 1.0, 0.0, 1.0}, {0.0, 0.0, 1.0, 0.0}, {0.0, 0.0, 0.0, 1.0}}));
  const Expr seen = eye(2, 4),
             pushed = transpose(make_constant(Tensor::matrix({{1.0, 0.0, 1.0, 0.0}, {0.0, 1.0, 0.0, 1.0}})));
  const Expr q = exp(2.0 * theta.expr()[0]) * dot(pushed, transpose(pushed)), r = exp(2.0 * theta.expr()[1]) * eye(2);
  const MatrixKind definite = MatrixKind::kPositiveDefinite;
  const Expr y = matrix("y", {kSteps, 2});
  const auto [all, updates] = scan(
      [&](const Expr& y_t, const Expr& mean, const Expr& spread) {
        // What is expected, how far it may be off, and what the measurement says of that.
        Expr m = dot(step, mean), p = dot(dot(step, spread), transpose(step)) + q;
        Expr off = y_t - dot(seen, m), s = dot(dot(seen, p), transpose(seen)) + r;
        Expr gain = transpose(solve(s, dot(seen, p), definite));
        Expr loss = 0.5 * dot(off, solve(s, off, definite)) + 0.5 * slogdet(s, definite).log + std::log(2 * kPi);
        return std::vector{m + dot(gain, off), p - dot(dot(gain, s), transpose(gain)), loss};
      },
      {.sequences = {y}, .outputs_info = {zeros({4}), eye(4), std::nullopt}});
  const Expr loss = sum(all[2]) / static_cast<double>(kSteps);
  Function learn = function({y}, {loss}, {{theta, theta - 0.2 * grad(loss, theta.expr())}});
  Function follow = function({y}, {all[0]});

  const Tensor seen_places = Tensor::of(measured, {kSteps, 2});
  const double before = learn({seen_places})[0].as_double();
  double after = before;
  for (int i = 0; i < 200; ++i) after = learn({seen_places})[0].as_double();
  const double push = std::exp(theta.get_value().as_double(0)), noise = std::exp(theta.get_value().as_double(1));
  std::printf("negative log likelihood of a measurement: %.3f, and %.3f after 200 steps\n", before, after);
  std::printf("push %.3f, noise %.3f\n", push, noise);
  expect(after < before, "the measurements are more likely after the descent");
  expect(std::abs(noise - kNoise) < 0.05 && std::abs(push - kPush) < 0.02, "push and noise are found");

  const Tensor found = follow({seen_places})[0];
  double of_filter = 0, of_measurements = 0;
  for (int64_t t = 0; t < kSteps; ++t)
    for (int64_t k = 0; k < 2; ++k) {
      const double place = places[static_cast<size_t>(2 * t + k)];
      of_filter += std::pow(found.as_double(4 * t + k) - place, 2);
      of_measurements += std::pow(measured[static_cast<size_t>(2 * t + k)] - place, 2);
    }
  std::printf("mean distance: measured %.3f, filtered %.3f\n", std::sqrt(of_measurements / kSteps),
              std::sqrt(of_filter / kSteps));
  expect(of_filter < 0.5 * of_measurements, "the filter is closer to the body than the measurements");
  return 0;
}

// To try: print learn.explain().program, and find the loop. Measure one coordinate alone: what is `seen` then? Leave
// out every second measurement with where().
