// Training by a batch method: loss and gradients are sums over all training examples, made a chunk at a time.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "compiler/runtime/function.h"
#include "nn/batch_method.h"

namespace thtrain {

/// The function that is minimized is
///
///   f(W) = sum_c w_c cost_c(W) / sum_c w_c + penalties(W)
///
/// over the chunks c of the training examples, in their order: cost_c is a chunk's mean, w_c the number (or the sum of
/// the weights) of its examples. The sums are kept in float64, so f does not depend on where a chunk ends but for
/// rounding.
class BatchTraining {
 public:
  /// Compiles what makes f and its gradient of the sums. `penalties`: a scalar of penalized parameters, or empty.
  BatchTraining(const BatchMethodOptions& options, std::vector<Param> params, const Expr& penalties,
                const FunctionOptions& finish);

  /// What the function of a chunk adds to the sums. `cost`: its mean, without penalties; `weight`: a scalar.
  std::vector<Update> updates(const Expr& cost, const Expr& weight) const;
  /// One iteration. `run_chunk` calls the function of a chunk, 0 to chunks - 1, whenever all are needed. The parameters
  /// are then where the method is. The first chunk, from 0, whose loss or gradient is not finite where the method
  /// starts; nothing is done then.
  std::optional<int64_t> iterate(int64_t chunks, const std::function<void(int64_t)>& run_chunk);
  /// The sums of no chunk.
  void clear_sums();
  /// The weighted mean of the chunks' costs so far, without penalties.
  double mean_cost() const;

  const BatchMethod& method() const { return *method_; }
  BatchMethod& method() { return *method_; }
  /// What a checkpoint keeps: "lbfgs/x", "lbfgs/gradient", "lbfgs/counts", and what the method adds.
  const NamedState& state() const { return state_; }

 private:
  bool sums_are_finite() const;

  std::vector<Param> params_;
  Shared cost_, weight_;
  std::vector<Shared> gradients_;
  std::unique_ptr<BatchMethod> method_;
  NamedState state_;
  Function finish_;
};

/// UserError where the experiment's layers or objective cannot be trained by a batch method: it takes the same function
/// again and again, which what changes from minibatch to minibatch is not.
struct Experiment;
class Model;
class Objective;
struct ObjectiveStep;
void check_batch_training(const Experiment& experiment, const Model& model, const Objective& objective,
                          const ObjectiveStep& step);
/// What a batch method has no use for.
void check_batch_keys(const Experiment& experiment, Findings& findings);

}  // namespace thtrain
