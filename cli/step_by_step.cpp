#include "cli/step_by_step.h"

#include "nn/layers/bidirectional.h"
#include "nn/layers/gru.h"
#include "nn/layers/lstm.h"
#include "nn/layers/rnn.h"
#include "trainers/build_model.h"
#include "trainers/data_state.h"

namespace thtrain {

template <class Options>
static void let_carry(OneOf<LayerOptions>& layer, const std::string& what) {
  auto* options = layer.get_if<Options>();
  if (!options) return;
  if (options->go_backwards)
    throw UserError(Message{.what = str("layer ", options->name, " walks sequences backwards: it cannot write ", what),
                            .expected = "go_backwards = false",
                            .config = options->section.at("go_backwards")});
  options->carry = true;
}

Experiment step_by_step(Experiment experiment, const std::string& what) {
  experiment.trainer.batch_size = 1;
  for (OneOf<LayerOptions>& layer : experiment.model.layers) {
    if (layer.is<Bidirectional::Options>())
      throw UserError(Message{.what = str("layer ", layer->name, " walks sequences backwards: it cannot write ", what),
                              .expected = "layers of one direction, such as type = \"lstm\"",
                              .config = layer->section.at("type")});
    let_carry<Rnn::Options>(layer, what);
    let_carry<Lstm::Options>(layer, what);
    let_carry<Gru::Options>(layer, what);
  }
  return experiment;
}

Model stepping_model(const Experiment& experiment, const Shape& step, int64_t classes, const std::string& weights,
                     const std::string& what) {
  Model model = build_model(experiment, model_input(experiment, step, true), classes);
  std::map<std::string, Tensor> arrays = read_weights(weights);
  if (take_standardization(arrays, weights))
    throw UserError(Message{.what = str(weights, ": these weights are those of standardized examples"),
                            .expected = str("a model of ", what)});
  for (const Param& state : model.carried_state())  // of minibatches of another size
    arrays[state.name] = Tensor::zeros(state.variable.type().dtype, state.variable.type().known_shape());
  model.load(arrays, weights);
  return model;
}

}  // namespace thtrain
