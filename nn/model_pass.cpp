#include "nn/model_pass.h"

#include "compiler/ir/op.h"
#include "compiler/ops/shape/length_list.h"
#include "compiler/ops/shape/shape.h"
#include "nn/sequences.h"

namespace thtrain {

static void check_value(const ModelInput& input, const Expr& value, DType dtype) {
  auto fail = [&](std::string what, std::string expected, std::string hint) {
    throw UserError(Message{.what = str("input ", input.name, " of the model: ", what),
                            .expected = std::move(expected),
                            .got = value_text(value),
                            .node = value.node().origin.text(),
                            .config = value.node().origin.config(),
                            .hint = std::move(hint)});
  };
  if (!value.has_value())
    throw UserError(Message{.what = str("input ", input.name, " of the model is an empty expression")});
  if (promote(value.dtype(), dtype) != dtype)
    fail(str("it is ", name_of(value.dtype()), ", and the weights are ", name_of(dtype)),
         str(name_of(dtype), ", or integers"),
         str("cast(x, DType::k", dtype == DType::kFloat32 ? "Float32" : "Float64", ")"));
  const size_t outer = input.is_sequence ? 2 : 1;
  bool fits = value.rank() == input.shape.size() + outer;
  for (size_t i = 0; fits && i < input.shape.size(); ++i) {
    const Dim& length = value.dims()[i + outer];
    fits = !length.is_known() || length.value() == input.shape[i];
  }
  if (!fits)
    fail("it is no minibatch of the model's examples",
         str(input.is_sequence ? "examples, steps, and for each step " : "examples, and for each ",
             shape_text(input.shape)),
         "");
}

ModelPass::ModelPass(const Model& model, std::vector<Expr> values, Phase phase, const Expr& lengths,
                     const SparseExamples* sparse)
    : model_(model), phase_(phase), values_(model.inputs_.size() + model.layers_.size()), sparse_(sparse) {
  if (values.size() != model.inputs_.size())
    throw UserError(Message{
        .what = "a model takes a value for each input",
        .expected = str(model.inputs_.size(), ": ", join(model.inputs_, ", ", [](const auto& in) { return in.name; })),
        .got = str(values.size())});
  Expr first;  // sequences
  for (size_t i = 0; i < values.size(); ++i) {
    check_value(model.inputs_[i], values[i], model.dtype_);
    if (!model.inputs_[i].is_sequence) {
      values_[i].rows = values[i];
      continue;
    }
    values_[i].sequences = time_major(values[i]);
    if (!first.has_value()) first = values_[i].sequences;
  }
  if (!first.has_value()) return;
  steps_ = first.dims()[0], batch_ = first.dims()[1];
  if (lengths.has_value()) mask_ = step_mask(lengths, first, model.dtype_);
}

const Expr& ModelPass::rows_at(size_t index) {
  compute(index);
  Value& value = values_[index];
  if (!value.rows.has_value()) value.rows = rows_of_steps(value.sequences);
  return value.rows;
}

const Expr& ModelPass::sequences_at(size_t index) {
  compute(index);
  Value& value = values_[index];
  if (!value.sequences.has_value()) value.sequences = steps_of_rows(value.rows, steps_, batch_);
  return value.sequences;
}

// What the layer takes of the input at that index, which is no sequence to it.
Expr ModelPass::taken_from(size_t layer, size_t index) {
  const Expr& rows = rows_at(index);
  return model_.kinds_[layer].takes_rows && model_.is_image_at(index) ? flatten(rows, 2) : rows;
}

// What a layer takes precedes it.
void ModelPass::compute(size_t index) {
  const size_t inputs = model_.inputs_.size();
  std::vector<bool> is_needed(values_.size(), false);
  is_needed[index] = true;
  for (size_t p = index + 1; p-- > inputs;)
    if (is_needed[p] && values_[p].is_empty())
      for (size_t source : model_.sources_[p - inputs]) is_needed[source] = true;
  for (size_t p = inputs; p <= index; ++p)
    if (is_needed[p] && values_[p].is_empty()) compute_layer(p - inputs);
}

void ModelPass::compute_layer(size_t number) {
  const Layer& layer = *model_.layers_[number];
  std::vector<Expr> inputs;
  for (size_t source : model_.sources_[number])
    inputs.push_back(layer.takes_sequences() ? sequences_at(source) : taken_from(number, source));
  const size_t updates_before = updates_.size();
  LayerPass pass{.phase = phase_, .updates = updates_, .mask = mask_, .sparse = sparse_, .is_shard = is_shard_};
  Expr out = layer(inputs, pass);
  TH_CHECK(phase_ != Phase::kEvaluation || updates_.size() == updates_before, "layer ", layer.name(),
           " updates its state in evaluation");
  Value& value = values_[model_.inputs_.size() + number];
  (layer.takes_sequences() && layer.gives_sequence() ? value.sequences : value.rows) = out;
}

static void require_layers(const Model& model) {
  if (model.layers().empty())
    throw UserError(Message{.what = "the model has no layers", .hint = "model.add(Dense::Options{{}, 10}) adds one"});
}

Expr ModelPass::output() {
  require_layers(model_);
  return rows_at(values_.size() - 1);
}
Expr ModelPass::output(const std::string& name) {
  return rows_at(model_.index_of(name));
}

ModelOutput ModelPass::model_output() {
  require_layers(model_);
  return model_output_at(values_.size() - 1);
}
ModelOutput ModelPass::model_output(const std::string& name) {
  return model_output_at(model_.index_of(name));
}

ModelOutput ModelPass::model_output_at(size_t index) {
  ModelOutput out{.value = rows_at(index), .is_sequence = model_.is_sequence_at(index)};
  if (out.is_sequence) {
    out.steps = steps_;
    out.batch = batch_;
    if (mask_.has_value()) out.mask = rows_of_steps(mask_);
  }
  if (index >= model_.inputs_.size()) {
    out.layer = model_.layers_[index - model_.inputs_.size()].get();
    const size_t layer = index - model_.inputs_.size();
    for (size_t source : model_.sources_[layer]) out.inputs.push_back(taken_from(layer, source));
  }
  const Node& node = out.value.node();
  if (model_.is_classifier_at(index)) {
    out.logits = logits_at(index);
    out.link = ModelOutput::Link::kSoftmax;
  } else if (node.op && node.op->name == "sigmoid") {
    out.logits = node.inputs[0];
    out.link = ModelOutput::Link::kSigmoid;
  }
  return out;
}

Expr ModelPass::logits_at(size_t index) {
  const Layer& classifier = model_.classifier_at(index);
  const size_t layer = index - model_.inputs_.size();
  return classifier.logits(taken_from(layer, model_.sources_[layer].front()), sparse_);
}
Expr ModelPass::logits() {
  require_layers(model_);
  return logits_at(values_.size() - 1);
}
Expr ModelPass::logits(const std::string& name) {
  return logits_at(model_.index_of(name));
}

}  // namespace thtrain
