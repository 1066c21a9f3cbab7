#include "nn/batch_methods/conjugate_gradient.h"

#include <algorithm>

namespace thtrain {

// Of a direction, relative to the gradient's.
constexpr double kDescent = 0.01;

void ConjugateGradient::describe(Fields<BatchMethodKind<ConjugateGradient>>& f) {
  f.about("Nonlinear conjugate gradients (Polak-Ribiere+) with a line search, on all data at once.");
  describe_tolerances(f);
}

ConjugateGradient::ConjugateGradient(const Options& options, std::span<const double> start)
    : BatchMethod((check_options<BatchMethodKind<ConjugateGradient>>(kName, options), kName), start,
                  {.gradient = options.gradient_tolerance, .value = options.value_tolerance}, 0.4),
      direction_(add_state("direction", {static_cast<int64_t>(start.size())})) {}

static void steepest_descent(std::span<const double> gradient, std::span<double> direction) {
  std::transform(gradient.begin(), gradient.end(), direction.begin(), [](double g) { return -g; });
}

void ConjugateGradient::choose_direction(bool restart, std::span<double> direction) {
  std::span<double> next = vector_of(direction_);
  if (restart || iterations() == 0) steepest_descent(gradient(), next);
  std::copy(next.begin(), next.end(), direction.begin());
}

double ConjugateGradient::first_step(double slope, std::span<const double>) const {
  double step = 1.01 * 2 * (value() - previous_value()) / slope;
  return step > 0 ? std::min(step, 1.0) : 1;
}

// Polak and Ribiere's, never below 0.
static double beta_of(std::span<const double> gradient, std::span<const double> before) {
  double squares = 0, product = 0;
  for (size_t i = 0; i < gradient.size(); ++i) {
    squares += before[i] * before[i];
    product += gradient[i] * (gradient[i] - before[i]);
  }
  return squares > 0 ? std::max(0.0, product / squares) : 0;
}

bool ConjugateGradient::accepts(std::span<const double> next) const {
  const double squares = inner_product(next, next), along = inner_product(next, vector_of(direction_));
  return -squares + beta_of(next, gradient()) * along <= -kDescent * squares;
}

void ConjugateGradient::learn(std::span<const double>, std::span<const double> change) {
  std::span<const double> now = gradient();
  std::span<double> direction = vector_of(direction_);
  std::vector<double> before(now.begin(), now.end());
  for (size_t i = 0; i < now.size(); ++i) before[i] -= change[i];
  const double beta = beta_of(now, before);
  for (size_t i = 0; i < now.size(); ++i) direction[i] = beta * direction[i] - now[i];
  if (!(inner_product(now, direction) <= -kDescent * inner_product(now, now))) steepest_descent(now, direction);
}

Kind<OptimizerOptions> conjugate_gradient_optimizer() {
  return kind<BatchMethodKind<ConjugateGradient>, OptimizerOptions>();
}

}  // namespace thtrain
