// A cost of shared parameters as a function of one vector, for the batch methods.
#pragma once

#include <vector>

#include "compiler/runtime/function.h"
#include "nn/batch_method.h"

namespace thtrain {

/// The parameters' values now, one parameter after the other, each in row-major order.
std::vector<double> values_of(const std::vector<Param>& params);
/// Gives them these values, rounded to their dtypes. InternalError where there are more or fewer numbers.
void set_values(const std::vector<Param>& params, std::span<const double> x);

/// The cost of all data, whose parameters lie in one float64 vector as values_of() has them.
class BatchObjective {
 public:
  /// Compiles a function of `inputs` that gives the cost and its gradients. `cost`: a floating scalar that all
  /// parameters reach. UserError as function() and grad() have it.
  BatchObjective(std::vector<Param> params, const Expr& cost, const std::vector<In>& inputs,
                 const FunctionOptions& options = {});

  /// The parameters' values now: where a method starts.
  std::vector<double> start() const { return values_of(params_); }
  /// Gives the parameters these values, rounded to their dtypes.
  void set(std::span<const double> x) const { set_values(params_, x); }
  /// Value and gradient at x with these arguments, which stay alive by it; the parameters then hold x. float32
  /// parameters are rounded to, and their gradients have float32's errors: tolerances below 1e-4 may not be reached.
  ValueAndGradient at(std::vector<Tensor> arguments);

 private:
  std::vector<Param> params_;
  Function function_;
};

}  // namespace thtrain
