#include "trainers/model_warnings.h"

#include <algorithm>

#include "nn/images.h"
#include "nn/layers/conv.h"
#include "nn/layers/pool.h"

namespace thtrain {

// Of the first layers, which take the examples as they are.
static bool has_image_layer(const Experiment& experiment) {
  const std::vector<OneOf<LayerOptions>>& layers = experiment.model.layers;
  return std::any_of(layers.begin(), layers.end(), [](const OneOf<LayerOptions>& layer) {
    return layer.is<Conv::Options>() || layer.is<Pool::Options>();
  });
}

// Columns of its scores; 0 where they are as many as the classes, or where its kind does not say it.
static int64_t units_of(const OneOf<LayerOptions>& layer) {
  if (const auto* softmax = layer.get_if<Softmax::Options>()) return softmax->units.value_or(0);
  if (const auto* dense = layer.get_if<Dense::Options>()) return dense->units;
  return 0;
}

static void add_wide_outputs(const Experiment& experiment, int64_t classes, std::vector<std::string>& out) {
  for (const OutputLossConfig& output : output_losses(experiment)) {
    if (output.compare_with != CompareWith::kTargets || !output.columns.empty()) continue;
    if (!output.objective.is<NegativeLogLikelihood::Options>()) continue;
    for (const OneOf<LayerOptions>& layer : experiment.model.layers) {
      const int64_t units = layer->name == output.layer ? units_of(layer) : 0;
      if (units <= classes) continue;
      const char* remedy = layer.is<Softmax::Options>() ? "without units a softmax has as many as the data has classes"
                                                        : "units = the number of classes leaves the others out";
      out.push_back(str("layer ", layer->name, " has ", units, " units, and the data has ", classes,
                        classes == 1 ? " class: " : " classes: ", remedy));
    }
  }
}

std::vector<std::string> model_warnings(const Experiment& experiment, const Dataset& data) {
  std::vector<std::string> out;
  if (data.train.size() == 0) return out;
  const Shape shape = data.train.step_shape();
  if (!data.train.is_sequence() && looks_channels_last(shape) && has_image_layer(experiment))
    out.push_back(str(data.train.x_array().origin, ": examples of shape ", shape_text(shape),
                      " are taken as [channels, height, width]; ", channels_last_hint()));
  if (data.targets() == Targets::kClasses) add_wide_outputs(experiment, data.classes(), out);
  return out;
}

}  // namespace thtrain
