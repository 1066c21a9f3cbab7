#include "cli/sweep/check_points.h"

#include <set>

#include "cli/load_experiment.h"
#include "compiler/runtime/content_hash.h"
#include "trainers/image_data.h"
#include "trainers/load_data.h"
#include "trainers/phases.h"

namespace thtrain {

namespace {

// What it says beside its seed, which decides nothing that can be wrong.
std::string text_without_seed(const Experiment& experiment) {
  Experiment other = experiment;
  other.seed = 0;
  return resolved_toml(other);
}

// Points that have a mistake in common have it once.
std::string place_of(const Message& message) {
  return str(message.what, '\n', message.config.file, ':', message.config.line, ':', message.config.column);
}

/// Builds models, and reads data again only where it is another than that of the model before.
class Builder {
 public:
  void build(const LoadedExperiment& loaded, bool is_first) {
    if (!built_.insert(text_without_seed(loaded.experiment)).second) return;
    PhaseData data(loaded.experiment, [&](const Experiment& phase) { return data_of(phase, loaded, is_first); });
    data.check(0, loaded.config_folder);
  }

 private:
  Dataset data_of(const Experiment& phase, const LoadedExperiment& loaded, bool is_first) {
    OneOf<DataConfig> section = phase.data;
    std::string key =
        str(section.name(), '\n', toml_text(resolved_config(section.kind_of().schema(), section.object())));
    if (const std::optional<ImageCrop> crop = crop_of(phase))
      key += str(crop->height, ' ', crop->width, ' ', crop->padding, ' ', static_cast<int>(crop->border));
    if (key != key_) {
      last_ = load_data(phase, loaded.config_folder);
      key_ = key;
    }
    if (is_first) print_warnings(phase, *last_);
    return *last_;
  }

  std::set<std::string> built_;
  std::string key_;
  std::optional<Dataset> last_;
};

}  // namespace

CheckedSweep check_points(const std::string& config, const SweepPoints& points) {
  CheckedSweep out;
  std::string experiments;
  Findings mistakes;
  std::set<std::string> told;
  for (int64_t i = 0; i < points.count(); ++i) {
    try {
      const Experiment experiment = load_experiment(config, points.overrides(i)).experiment;
      if (i == 0) out.root = experiment.output.root;
      out.threads.push_back(experiment.compiler.threads);
      out.epochs.push_back(0);
      for (size_t phase = 0; phase < phase_count(experiment); ++phase)
        out.epochs.back() += phase_of(experiment, phase).trainer.epochs;
      experiments = content_hash({experiments, resolved_toml(experiment)});
    } catch (const UserError& error) {
      for (Message& message : points.located(error, i))
        if (told.insert(place_of(message)).second) mistakes.add(std::move(message));
    }
  }
  mistakes.raise();
  out.hash = experiments;
  Builder builder;
  for (size_t key = 0; key < points.keys().size(); ++key)
    for (size_t value = 0; value < points.keys()[key].values.size(); ++value) {
      const int64_t point = points.point_of(key, value);
      try {
        builder.build(load_experiment(config, points.overrides(point)), key == 0 && value == 0);
      } catch (const UserError& error) {
        throw UserError(points.located(error, point));
      }
    }
  return out;
}

}  // namespace thtrain
