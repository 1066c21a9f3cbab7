// The expressions that a model makes of one minibatch.
#pragma once

#include <string>
#include <vector>

#include "nn/model.h"
#include "nn/predictions.h"

namespace thtrain {

/// The expressions of one minibatch in one phase. A layer is computed when it is first asked for, and once. Sequences
/// are given as rows [steps * batch, ...]: row t * batch + i is step t of example i.
class ModelPass {
 public:
  /// `values` and `lengths`, and errors, as Model::pass.
  ModelPass(const Model& model, std::vector<Expr> values, Phase phase, const Expr& lengths = {},
            const SparseExamples* sparse = nullptr);

  /// From now on the minibatch is a shard of a larger one (LayerPass::is_shard).
  void set_shard() { is_shard_ = true; }

  /// Of the last layer. UserError where there is none.
  Expr output();
  /// Of the layer or the input of that name. UserError where there is none.
  Expr output(const std::string& name);
  /// The same as objectives read it: with the logits of a softmax layer, and of a layer whose last operation is a
  /// sigmoid.
  ModelOutput model_output();
  /// The same of the layer of that name.
  ModelOutput model_output(const std::string& name);
  /// z of a softmax, the last layer or that of the name. UserError where it is another layer.
  Expr logits();
  Expr logits(const std::string& name);
  /// Of the state of the layers that were computed; none in evaluation.
  const std::vector<Update>& updates() const { return updates_; }

 private:
  // A value is computed in one of two forms; a sequence has the other one when it is asked for.
  struct Value {
    Expr rows = {};       // [batch, ...], of a sequence [steps * batch, ...]
    Expr sequences = {};  // [steps, batch, ...]
    bool is_empty() const { return !rows.has_value() && !sequences.has_value(); }
  };

  const Expr& rows_at(size_t index);
  const Expr& sequences_at(size_t index);
  Expr taken_from(size_t layer, size_t index);
  void compute(size_t index);
  void compute_layer(size_t layer);
  Expr logits_at(size_t index);
  ModelOutput model_output_at(size_t index);

  const Model& model_;
  Phase phase_;
  std::vector<Value> values_;  // by index; empty where it was not asked for yet
  Dim steps_ = 1, batch_ = 1;  // of the sequences
  const SparseExamples* sparse_;
  Expr mask_;  // floats [steps, batch]; empty where all sequences have the same length
  bool is_shard_ = false;
  std::vector<Update> updates_;
};

}  // namespace thtrain
