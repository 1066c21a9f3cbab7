// What training makes small: a cost of a model's output and its targets, or updates of the objective's own.
//
//   Huber::Options options;
//   options.delta = 2;
//   Huber huber(options);
//   Expr cost = huber.cost({.value = y}, {.value = t});
//
// A kind is a class in two files under nn/objectives/, with its options.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "compiler/ir/graph.h"
#include "config/config.h"
#include "nn/param.h"
#include "nn/predictions.h"

namespace thtrain {

class Objective;

/// What the options of every kind begin with. A kind's own have `static constexpr std::string_view kName` and
/// `static void describe(Fields<Options>&)`.
struct ObjectiveOptions : Section {
  virtual ~ObjectiveOptions() = default;
  virtual std::unique_ptr<Objective> make() const = 0;
  /// Is it the loss of a classifier: of the last layer's softmax, or of a row of logits for each example?
  virtual bool judges_classifier() const { return false; }
  /// Does it train a MachineLayer by updates of its own? Its cost tells little then, and examples have no weights.
  virtual bool trains_machine() const { return false; }
  /// Of label sequences: the label that stands for none, where a path over the steps has to spell them.
  virtual std::optional<int64_t> blank_label() const { return {}; }
  /// Those of nn/objective_list.inc: a line `TH_OBJECTIVE(hinge)` stands for `Kind<ObjectiveOptions>
  /// hinge_objective()`.
  static const std::vector<Kind<ObjectiveOptions>>& kinds();
};

/// What an objective sees of a minibatch.
struct ObjectiveInput {
  Expr x;  // [n, ...], what the model gets
  ModelOutput output;
  TargetInput targets;
  std::vector<Param> params;  // that are trained
};

/// What a step of training is made of.
struct ObjectiveStep {
  /// A scalar: what is shown and summed over an epoch.
  Expr cost;
  /// What stands for d cost / d parameter, in the order of the parameters; an empty expression: the optimizer leaves
  /// that parameter alone. Without a value: the cost is differentiated.
  std::optional<std::vector<Expr>> gradients = {};
  /// Of the objective's own state, and of parameters whose gradient is an empty expression.
  std::vector<Update> updates = {};
};

/// A loss l of every example, and for several outputs of every example and output, and their mean:
///
///   cost = sum_i w_i l_i / sum_i w_i,  l_i = the mean of l_ij over the outputs j
///
/// Without weights w_i = 1, so that it is the mean over examples and outputs, as PyTorch's reduction="mean". w_i is the
/// weight of the example times, where targets are classes, the weight of its class. Where targets are values, the
/// weights c_j of the classes are those of the outputs: l_i = sum_j c_j l_ij / sum_j c_j. An objective that sums its
/// outputs has l_i = sum_j l_ij, or sum_j c_j l_ij. Only proportions of weights
/// matter, and examples of weight 0 do not count (but 0 times an infinite loss is NaN); where all weights are 0, the
/// cost is 0. PyTorch's cross_entropy, mse_loss and l1_loss divide by the sum of the weights too, but its
/// binary_cross_entropy, huber_loss and multi_margin_loss by the number of elements.
class Objective {
 public:
  virtual ~Objective() = default;
  Objective(const Objective&) = delete;
  Objective& operator=(const Objective&) = delete;

  const std::string& name() const { return name_; }  // of the kind, "hinge"
  /// The forms of targets that it takes.
  virtual std::vector<TargetForm> target_forms() const = 0;

  /// Which form these targets have. UserError where the objective cannot take the output, the targets or their weights:
  /// see form_of; class_weights are floats, one for each class or output.
  TargetForm check(const ModelOutput& output, const TargetInput& targets) const;
  /// The cost: a scalar of the output's dtype. UserError as check().
  Expr cost(const ModelOutput& output, const TargetInput& targets) const;
  /// l_i and w_i. UserError as check().
  ExampleLosses losses(const ModelOutput& output, const TargetInput& targets) const;
  /// What metrics and predictions read: the value of the output, unless a kind says otherwise.
  virtual Scores scores(const ModelOutput& output) const { return {.value = output.value}; }
  /// What predictions show of an output.
  virtual Scores predictions(const ModelOutput& output) const { return scores(output); }
  /// Are these probabilities, whatever layer gives the output?
  virtual bool gives_probabilities() const { return false; }

  /// A step of training: the cost, to be differentiated, unless a kind has gradients or updates of its own. The
  /// objective's state is made at the first call.
  virtual ObjectiveStep step(const ObjectiveInput& input) { return {.cost = cost(input.output, input.targets)}; }
  /// What a checkpoint keeps of an objective that has updates of its own.
  virtual std::vector<std::pair<std::string, Shared>> state() const { return {}; }
  /// What keeps a run from going on from what a checkpoint holds besides its weights, which is not of this objective;
  /// nothing where all is well. Arrays of state() whose types differ are found without it.
  virtual std::optional<Message> misfit_of_state(const std::vector<std::pair<std::string, Tensor>>& /*kept*/) const {
    return {};
  }

 protected:
  Objective(std::string_view name, const ObjectiveOptions& options) : name_(name), position_(options.position) {}

  /// What is wrong with an output for targets of that form, `expected`, `got` and `hint`; nothing if all is well.
  virtual std::optional<Message> misfit(const ModelOutput& output, TargetForm form) const;
  /// Is the loss of an example the sum over its outputs, and not their mean?
  virtual bool sums_outputs() const { return false; }
  /// l: [n] of classes; of the shape of the output of values, which have its shape and dtype.
  virtual Expr elements(const ModelOutput& output, const Expr& targets, TargetForm form) const = 0;

 private:
  Expr checked_elements(const ModelOutput& output, const TargetInput& targets, TargetForm form) const;
  ExampleLosses weighted(const Expr& elements, const TargetInput& targets, TargetForm form) const;

  std::string name_;
  ConfigPosition position_;
};

/// Of an objective of values with `bool sum_outputs`.
template <class T>
void describe_sum_outputs(Fields<T>& f) {
  f.field("sum_outputs", &T::sum_outputs)
      .synonyms({"reduction_sum"})
      .help(
          "Whether the loss of an example is the sum over its outputs, and not their mean: for a cross-entropy, minus "
          "the "
          "logarithm of the probability of all outputs together.");
}

}  // namespace thtrain
