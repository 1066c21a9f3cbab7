// The limited-memory BFGS method.
#pragma once

#include "nn/batch_method.h"

namespace thtrain {

/// Directions -H g, where H is made of the last `memory` pairs s = x_(k+1) - x_k, y = g_(k+1) - g_k by the recursion of
/// two loops, from gamma times the identity, gamma = s y / (y y) of the newest pair. A pair with s y at most 2e-16 y y
/// is left out. The first direction is -g with a step of length 1; later the step 1 is tried first. c2 = 0.9. Where a
/// line search fails, the pairs are forgotten. Memory: 2 `memory` + 3 vectors.
///
/// J. Nocedal, S. Wright, "Numerical optimization", 2nd ed., 2006, algorithms 7.4 and 7.5, eq. 7.20. C. Zhu, R. Byrd,
/// P. Lu, J. Nocedal, "L-BFGS-B", TOMS 23, 1997, which SciPy has, takes the same steps where no bound is active.
class Lbfgs : public BatchMethod {
 public:
  static constexpr std::string_view kName = "lbfgs";
  struct Options {
    double gradient_tolerance = 1e-5;
    double value_tolerance = 0;
    int64_t memory = 10;  // pairs
  };
  static void describe(Fields<BatchMethodKind<Lbfgs>>& f);

  /// UserError where an option is out of its range.
  Lbfgs(const Options& options, std::span<const double> start);

 protected:
  void choose_direction(bool restart, std::span<double> direction) override;
  double first_step(double slope, std::span<const double> direction) const override;
  void learn(std::span<const double> step, std::span<const double> change) override;

 private:
  // The pair that was learned as number `index`.
  std::span<double> step_of(int64_t index) const;
  std::span<double> change_of(int64_t index) const;
  double& learned() const { return vector_of(learned_)[0]; }

  int64_t memory_;
  Shared steps_, changes_, learned_;  // s, y: [memory, n], the oldest written over; how many there were
};

}  // namespace thtrain
