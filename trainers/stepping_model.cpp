#include "trainers/stepping_model.h"

#include "trainers/build_model.h"
#include "trainers/data_state.h"

namespace thtrain {

Experiment step_by_step(Experiment experiment, const std::string& what) {
  experiment.trainer.batch_size = 1;
  for (OneOf<LayerOptions>& layer : experiment.model.layers) layer.kind_of().maker.go_step_by_step(*layer, what);
  return experiment;
}

// Of a sequence of one step in each call, a layer sees the steps before only in a state of its own.
static void check_steps(const Experiment& experiment, const Model& model) {
  for (size_t i = 0; i < model.layers().size(); ++i) {
    const Layer& layer = *model.layers()[i];
    const bool needs_state = layer.takes_sequences() && layer.gives_sequence() && layer.carried_state().empty();
    if (!needs_state || experiment.model.layers[i].kind_of().maker.generates_sequences) continue;
    throw UserError(Message{.what = str("layer ", layer.name(), " (", layer.type(),
                                        ") computes with whole sequences: it cannot go on from step to step"),
                            .expected = "layers that keep a state from step to step, or look at one step alone",
                            .config = layer.position()});
  }
}

Model stepping_model(const Experiment& experiment, const Shape& step, int64_t classes, const std::string& weights,
                     const std::string& what) {
  Model model = build_model(experiment, model_input(experiment, step, true), classes);
  check_steps(experiment, model);
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
