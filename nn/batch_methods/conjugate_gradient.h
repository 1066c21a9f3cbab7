// The nonlinear conjugate gradient method.
#pragma once

#include "nn/batch_method.h"

namespace thtrain {

/// Directions d_0 = -g_0, d_k = -g_k + beta d_(k-1), beta = max(0, g_k (g_k - g_(k-1)) / (g_(k-1) g_(k-1))): Polak and
/// Ribiere's, never below 0. A line search goes on until the next direction is one of enough descent (g d <= -0.01 g
/// g); where it finds no such point, and where it fails, d_k = -g_k. Memory: four vectors.
///
/// J. Nocedal, S. Wright, "Numerical optimization", 2nd ed., 2006, algorithm 5.4 with eq. 5.45; the first step of a
/// line search by eq. 3.60; c2 = 0.4, as SciPy's method CG. The condition of descent: J. Gilbert, J. Nocedal, "Global
/// convergence properties of conjugate gradient methods for optimization", SIAM J. Optimization 2, 1992.
class ConjugateGradient : public BatchMethod {
 public:
  static constexpr std::string_view kName = "conjugate_gradient";
  struct Options {
    double gradient_tolerance = 1e-5;
    double value_tolerance = 0;
  };
  static void describe(Fields<BatchMethodKind<ConjugateGradient>>& f);

  /// UserError where an option is out of its range.
  ConjugateGradient(const Options& options, std::span<const double> start);

 protected:
  void choose_direction(bool restart, std::span<double> direction) override;
  double first_step(double slope, std::span<const double> direction) const override;
  bool accepts(std::span<const double> gradient) const override;
  void learn(std::span<const double> step, std::span<const double> change) override;

 private:
  Shared direction_;  // the next one
};

}  // namespace thtrain
