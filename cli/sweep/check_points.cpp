#include "cli/sweep/check_points.h"

#include <map>
#include <set>

#include "cli/load_experiment.h"
#include "cli/text.h"
#include "compiler/base/config_node.h"
#include "compiler/base/escape.h"
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
    for (size_t phase = 0; phase < phase_count(loaded.experiment); ++phase) note(*data.facts(phase));
  }

  const std::vector<std::string>& data() const { return data_; }

 private:
  void note(const PhaseData::Facts& facts) {
    for (const auto& [part, identity] : facts.data) {
      const auto files = facts.files.find(part);
      if (files == facts.files.end()) continue;  // without examples
      const std::string text = printable(str(files->second, ": ", part, ": ", identity));
      if (noted_.insert(text).second) data_.push_back(text);
    }
  }

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

  std::set<std::string> built_, noted_;
  std::vector<std::string> data_;
  std::string key_;
  std::optional<Dataset> last_;
};

}  // namespace

// "trainer.learning_rate=0.1 seed=2"
static std::string words_of(const SweepPoints& points, int64_t point) {
  const std::vector<std::string> values = points.values(point);
  std::string out;
  for (size_t i = 0; i < values.size(); ++i) out += str(i ? " " : "", points.keys()[i].key, '=', values[i]);
  return out;
}

// Two runs with the same bits. The place is that of the first value that differs.
static Message equal_points(const SweepPoints& points, int64_t first, int64_t second) {
  const std::vector<std::string> before = points.values(first), now = points.values(second);
  size_t key = 0;
  while (key + 1 < now.size() && before[key] == now[key]) ++key;
  const std::string override = points.overrides(second)[points.keys()[key].word];
  const size_t equals = override.find('=');
  Message out{.what = "two runs of the sweep are one experiment",
              .expected = "values that differ once they are read",
              .got = str(words_of(points, first), ", and ", words_of(points, second))};
  out.config.file = kCommandLine;
  out.config.line = static_cast<int>(points.keys()[key].word) + 1;
  out.config.column = character_count(std::string_view(override).substr(0, equals)) + 2;
  out.config.length = character_count(now[key]);
  out.config.source_line = override;
  return points.located(UserError(std::move(out)), second).front();
}

CheckedSweep check_points(const std::string& config, const SweepPoints& points) {
  CheckedSweep out;
  std::string experiments;
  Findings mistakes;
  std::set<std::string> told;
  std::map<std::string, int64_t> seen;  // points, by the hash of their experiments
  for (int64_t i = 0; i < points.count(); ++i) {
    try {
      const Experiment experiment = load_experiment(config, points.overrides(i)).experiment;
      if (i == 0) out.root = experiment.output.root;
      out.threads.push_back(experiment.compiler.threads);
      out.epochs.push_back(0);
      for (size_t phase = 0; phase < phase_count(experiment); ++phase)
        out.epochs.back() += phase_of(experiment, phase).trainer.epochs;
      const std::string text = resolved_toml(experiment);
      experiments = content_hash({experiments, text});
      const auto [known, is_new] = seen.emplace(content_hash({text}), i);
      if (is_new) continue;
      Message message = equal_points(points, known->second, i);
      if (told.insert(place_of(message)).second) mistakes.add(std::move(message));
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
  out.data = builder.data();
  return out;
}

}  // namespace thtrain
