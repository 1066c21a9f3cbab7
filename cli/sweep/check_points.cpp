#include "cli/sweep/check_points.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <map>
#include <set>

#include "cli/command_listing.h"
#include "cli/load_experiment.h"
#include "cli/runs_table.h"
#include "cli/text.h"
#include "compiler/base/content_hash.h"
#include "compiler/base/escape.h"
#include "compiler/base/file.h"
#include "compiler/base/utf8.h"
#include "config/config_node.h"
#include "trainers/image_data.h"
#include "trainers/inspect.h"
#include "trainers/load_data.h"
#include "trainers/phases.h"
#include "trainers/trainer.h"

namespace thtrain {

namespace {

// What it says besides its seed, which decides nothing that can be wrong.
std::string text_without_seed(const Experiment& experiment) {
  Experiment other = experiment;
  other.seed = 0;
  return resolved_toml(other);
}

// Points that have a mistake in common have it once.
std::string position_of(const Message& message) {
  return str(message.what, '\n', message.config.file, ':', message.config.line, ':', message.config.column);
}

// The section as text, and what the model cuts the images to.
std::string data_key(const Experiment& phase) {
  OneOf<DataConfig> section = phase.data;
  std::string out = str(section.name(), '\n', toml_text(resolved_config(section.kind_of().schema(), section.object())));
  if (const std::optional<ImageCrop> crop = crop_of(phase))
    out += str(crop->height, ' ', crop->width, ' ', crop->padding, ' ', static_cast<int>(crop->border));
  return out;
}

/// Builds models, and reads data again only where it is another than that of the model before.
class Builder {
 public:
  void build(const LoadedExperiment& loaded, bool is_first) {
    const Experiment& experiment = loaded.experiment;
    PhaseData data(experiment, [&](const Experiment& phase) { return data_of(phase, loaded, is_first); });
    data.check(0, loaded.config_folder);
    check_candidate_lists(
        experiment, [&](size_t phase) -> const Dataset& { return data.of(phase); }, loaded.config_folder);
    for (size_t phase = 0; phase < phase_count(experiment); ++phase) note(*data.facts(phase));
    if (const std::optional<std::string>& weights = phase_of(experiment, 0).model.weights) note_weights(*weights);
  }

  /// Those of weights behind those of data.
  std::vector<std::string> files() const {
    std::vector<std::string> out = data_;
    out.insert(out.end(), weights_.begin(), weights_.end());
    return out;
  }

 private:
  void note(const PhaseData::Facts& facts) {
    for (const auto& [part, identity] : facts.data) {
      const auto files = facts.files.find(part);
      if (files == facts.files.end()) continue;  // without examples
      const std::string text = printable(str(files->second, ": ", part, ": ", identity));
      if (noted_.insert(text).second) data_.push_back(text);
    }
  }

  // The path is absolute.
  void note_weights(const std::string& path) {
    if (!read_.insert(path).second) return;
    const std::string bytes = read_file(path);
    weights_.push_back(printable(str(path, ": first weights: ", count_text(static_cast<int64_t>(bytes.size())),
                                     " bytes ", content_hash({bytes}))));
  }

  Dataset data_of(const Experiment& phase, const LoadedExperiment& loaded, bool is_first) {
    const std::string key = data_key(phase);
    if (key != key_) {
      last_ = load_data(phase, loaded.config_folder);
      key_ = key;
    }
    if (is_first) print_warnings(phase, *last_);
    return *last_;
  }

  std::set<std::string> noted_, read_;
  std::vector<std::string> data_, weights_;
  std::string key_;
  std::optional<Dataset> last_;
};

// A key whose values nothing else of the experiment can contradict, where each of them is right by itself.
bool is_independent(const std::string& key) {
  static const std::vector<ListedKey> keys = listed_keys();
  std::string own = key;
  if (own.starts_with("phase.")) own = own.substr(std::min(own.size(), own.find('.', 6) + 1));
  return own.starts_with("output.") ||
         std::any_of(keys.begin(), keys.end(), [&](const ListedKey& k) { return k.independent && k.path == own; });
}

/// What a point is built from, as hashes.
struct PointKeys {
  std::string data, all;  // of all phases; all but the seed
};

/// The points whose data is looked at and whose model is built.
struct PointsToBuild {
  std::vector<int64_t> single;        // each value of each list, with the first values of the others
  std::vector<int64_t> combinations;  // of values of several lists; those of one data behind each other
};

PointsToBuild points_to_build(const SweepPoints& points, const std::vector<PointKeys>& keys) {
  PointsToBuild out;
  std::set<std::string> known;
  for (size_t key = 0; key < points.keys().size() && !points.is_drawn(); ++key)
    for (size_t value = 0; value < points.keys()[key].values.size(); ++value) {
      const int64_t point = points.point_of(key, value);
      if (known.insert(keys[static_cast<size_t>(point)].all).second) out.single.push_back(point);
    }
  std::vector<bool> alone;
  for (const SweptKey& key : points.keys()) alone.push_back(is_independent(key.key));
  std::map<std::string, std::vector<int64_t>> by_data;
  std::set<std::vector<std::string>> combined;
  for (int64_t point = 0; point < points.count(); ++point) {
    std::vector<std::string> values = points.values(point);
    for (size_t key = 0; key < values.size(); ++key)
      if (alone[key]) values[key].clear();
    const PointKeys& of_point = keys[static_cast<size_t>(point)];
    if (combined.insert(values).second && known.insert(of_point.all).second) by_data[of_point.data].push_back(point);
  }
  for (const auto& [data, of_data] : by_data)
    out.combinations.insert(out.combinations.end(), of_data.begin(), of_data.end());
  return out;
}

/// A line on a terminal that says how far the checks are, from the first second on.
class CheckProgress {
 public:
  CheckProgress(size_t count, bool quiet) : count_(count), is_shown_(!quiet && is_terminal(stderr)) {}
  ~CheckProgress() {
    if (was_drawn_) std::fputs("\r\x1b[K", stderr);
  }
  CheckProgress(const CheckProgress&) = delete;
  CheckProgress& operator=(const CheckProgress&) = delete;

  void next() {
    ++at_;
    if (!is_shown_ || std::chrono::steady_clock::now() - began_ < std::chrono::seconds(1)) return;
    const std::string text = str("checking combination ", at_, " of ", count_);
    std::fprintf(stderr, "\r\x1b[K%s", first_characters(text, terminal_width(stderr) - 1).c_str());
    std::fflush(stderr);
    was_drawn_ = true;
  }

 private:
  size_t count_, at_ = 0;
  bool is_shown_, was_drawn_ = false;
  std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
};

}  // namespace

// "trainer.learning_rate=0.1 seed=2"
static std::string words_of(const SweepPoints& points, int64_t point) {
  const std::vector<std::string> values = points.values(point);
  std::string out;
  for (size_t i = 0; i < values.size(); ++i) out += str(i ? " " : "", points.keys()[i].key, '=', values[i]);
  return out;
}

// Two runs with the same bits. The position is that of the first value that differs.
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

// The messages of an error of a point, with its values where no single one of them is at fault.
static std::vector<Message> told_of(const UserError& error, const SweepPoints& points, int64_t point) {
  std::vector<Message> out = points.located(error, point);
  const std::vector<size_t> at = points.indices(point);
  const bool is_combination = std::count(at.begin(), at.end(), size_t{0}) + 1 < std::ssize(at);
  for (Message& message : out)
    if (is_combination || (point != 0 && message.config.file != kCommandLine))
      message.hint += str(message.hint.empty() ? "" : ";\n", "of the run ", printable(words_of(points, point)));
  return out;
}

CheckedSweep check_points(const std::string& config, const SweepPoints& points, bool quiet) {
  CheckedSweep out;
  std::string experiments;
  Findings mistakes;
  std::set<std::string> told;
  std::vector<PointKeys> keys;
  std::map<std::string, int64_t> seen;  // points, by the hash of their experiments
  for (int64_t i = 0; i < points.count(); ++i) {
    try {
      const Experiment experiment = load_experiment(config, points.overrides(i)).experiment;
      if (i == 0) out.root = experiment.output.root;
      out.threads.push_back(experiment.compiler.threads);
      out.epochs.push_back(0);
      out.has_phases |= phase_count(experiment) > 1;
      std::string data;
      for (size_t phase = 0; phase < phase_count(experiment); ++phase) {
        out.epochs.back() += phase_of(experiment, phase).trainer.epochs;
        data += data_key(phase_of(experiment, phase));
      }
      keys.push_back({content_hash({data}), content_hash({text_without_seed(experiment)})});
      const std::string text = resolved_toml(experiment);
      experiments = content_hash({experiments, text});
      const auto [known, is_new] = seen.emplace(content_hash({text}), i);
      if (is_new) continue;
      Message message = equal_points(points, known->second, i);
      if (told.insert(position_of(message)).second) mistakes.add(std::move(message));
    } catch (const UserError& error) {
      for (Message& message : told_of(error, points, i))
        if (told.insert(position_of(message)).second) mistakes.add(std::move(message));
    }
  }
  mistakes.raise();
  out.hash = experiments;
  const PointsToBuild wanted = points_to_build(points, keys);
  CheckProgress progress(wanted.single.size() + wanted.combinations.size(), quiet);
  Builder builder;
  for (const std::vector<int64_t>& of_kind : {wanted.single, wanted.combinations})
    for (const int64_t point : of_kind) {
      progress.next();
      try {
        builder.build(load_experiment(config, points.overrides(point)), point == 0);
      } catch (const UserError& error) {
        throw UserError(told_of(error, points, point));
      }
    }
  out.files = builder.files();
  return out;
}

}  // namespace thtrain
