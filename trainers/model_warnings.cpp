#include "trainers/model_warnings.h"

#include "nn/images.h"

namespace thtrain {

static void add_wide_outputs(const Experiment& experiment, int64_t classes, std::vector<std::string>& out) {
  for (const OutputLossConfig& output : output_losses(experiment)) {
    if (output.compare_with != CompareWith::kTargets || !output.columns.empty()) continue;
    if (!output.objective->judges_classifier()) continue;
    for (const OneOf<LayerOptions>& layer : experiment.model.layers) {
      const LayerOptions::Maker& kind = layer.kind_of().maker;
      const int64_t units = layer->name == output.layer ? kind.outputs(*layer).value_or(0) : 0;
      if (units <= classes) continue;
      const char* remedy = kind.is_classifier ? "without units a softmax has as many as the data has classes"
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
  if (!data.train.is_sequence() && looks_channels_last(shape) &&
      has_layer(experiment, &LayerOptions::Maker::takes_images))
    out.push_back(str(data.train.x_array().origin, ": examples of shape ", shape_text(shape),
                      " are taken as [channels, height, width]; ", channels_last_hint()));
  if (data.targets() == Targets::kClasses) add_wide_outputs(experiment, data.classes(), out);
  return out;
}

}  // namespace thtrain
