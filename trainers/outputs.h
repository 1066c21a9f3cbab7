// The outputs of an experiment's model: what each is compared with, by which objective, and how much that counts.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "datasets/dataset.h"
#include "nn/model.h"
#include "nn/outputs.h"
#include "trainers/experiment.h"

namespace thtrain {

struct TrainedOutput : OutputObjective {
  CompareWith compare_with = CompareWith::kTargets;
  std::string compare_layer = {};                           // of kLayer
  std::optional<std::pair<int64_t, int64_t>> columns = {};  // of the targets: the first, and the one after the last
  Expr class_weights = {};                                  // floats; empty: each counts as 1
  Standard standard = {};                                   // of what it gives; empty: it has the data's units
  ConfigPosition position = {};
  bool has_step_targets = false;  // do the data's targets belong to the steps of sequences?
  std::string row_targets =
      {};                      // "float32[400, 12] in y.npy", where such a row for each sequence has its steps' length
  Shape as_step_targets = {};  // [400, 12, 1]: those as one number of each step
  bool has_recurrent_layer = true, has_flatten_layer = false;  // has the model?

  /// Is what it should give the number of a class, in one column of the targets?
  bool takes_class_column() const;
  /// Do the data's targets stand for classes that it decides between?
  bool classifies(const Dataset& data) const;
  /// Is what it should give a class, or yes or no for each of several labels, and not values?
  bool decides(const Dataset& data) const;
  /// What replaces the examples where it is compared with a layer; otherwise x.
  Expr compared(ModelPass& pass, const Expr& x) const;
  /// What the output should give, besides `output`, which it gives, of a minibatch x (compared()), y and weights
  /// (empty: none).
  /// For a sequence they are those of the steps, as rows [steps * batch, ...]; a step counts as much as its
  /// sequence's weight, and behind its end nothing; without targets all steps of sequences count alike. UserError where
  /// one is for each step, and the other for each sequence.
  TargetInput targets(const ModelOutput& output, const Expr& x, const Expr& y, const Expr& weights) const;
  /// How much of the data's units one of the output's is: MetricInput::unit.
  Expr unit(const ModelOutput& output) const;

 private:
  void check_kind(const ModelOutput& output) const;
  std::string kind_hint(bool gives_steps) const;
};

/// In the order of loss.outputs; the last layer where there are none.
std::vector<TrainedOutput> outputs_of(const Experiment& experiment);
/// Those of the data's numbers that each output gives. Null: they are not standardized.
void set_standards(std::vector<TrainedOutput>& outputs, const Standardization* standardization);
/// Whether these targets belong to the steps of sequences, and what they might be.
void set_step_targets(std::vector<TrainedOutput>& outputs, const Split& split);

/// UserError: an output takes classes alone and the examples have others, or columns that the targets have not.
void check_targets(const std::vector<TrainedOutput>& outputs, const Dataset& data, const Split& split);
/// The layer of that name, which the model has.
const Layer& layer_of(const Model& model, const std::string& name);
/// UserError: a layer that no other takes is judged by nothing, an output has fewer numbers than there are classes, a
/// column of classes holds something else, or numbers that the binary cross-entropy learns are none from 0 to 1.
void check_outputs(const std::vector<TrainedOutput>& outputs, const Model& model, const Dataset& data);

}  // namespace thtrain
