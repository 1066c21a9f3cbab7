#include "trainers/checkpoint.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <sstream>

#include "datasets/npz.h"
#include "trainers/check_checkpoint.h"

namespace thtrain {

static Tensor bytes_array(const std::string& bytes) {
  Tensor out = Tensor::empty(DType::kUInt8, {static_cast<int64_t>(bytes.size())});
  if (!bytes.empty()) std::memcpy(out.raw(), bytes.data(), bytes.size());
  return out;
}
static std::string bytes_of(const Tensor& array) {
  return {static_cast<const char*>(array.raw()), array.bytes()};
}

static double number_of(const std::optional<double>& value) {
  return value.value_or(std::numeric_limits<double>::quiet_NaN());
}
static std::optional<double> optional_of(double value) {
  return std::isnan(value) ? std::optional<double>() : std::optional(value);
}

static Tensor metrics_array(const MetricNames& metrics) {
  return bytes_array(join(metrics, "\n", [](const MetricName& metric) { return str(metric.name, ' ', metric.unit); }));
}

static void add_history(NamedArrays& arrays, const std::string& prefix, const std::vector<EpochReport>& epochs,
                        const EarlierEpochs& earlier) {
  arrays.emplace_back(prefix + "history", history_array(epochs));
  if (earlier.count == 0) return;
  arrays.emplace_back(prefix + "earlier", Tensor::vector<double>({static_cast<double>(earlier.count), earlier.seconds,
                                                                  earlier.first_loss, earlier.has_best ? 1.0 : 0.0}));
}

double training_seconds(const std::vector<PhaseHistory>& before, const RunState& state) {
  double out = 0;
  for (const PhaseHistory& phase : before) out += seconds_of(phase.epochs, phase.earlier);
  out += seconds_of(state.history, state.earlier);
  return state.reported() <= state.epochs ? out + state.report.seconds : out;
}

static void add_phases(NamedArrays& arrays, const Checkpoint& checkpoint) {
  arrays.emplace_back("run.phase", Tensor::vector<int64_t>({*checkpoint.phase}));
  if (checkpoint.before.empty()) return;
  arrays.emplace_back("run.before/names",
                      bytes_array(join(checkpoint.before, "\n", [](const PhaseHistory& p) { return p.phase; })));
  for (size_t i = 0; i < checkpoint.before.size(); ++i) {
    add_history(arrays, str("run.before/", i, '/'), checkpoint.before[i].epochs, checkpoint.before[i].earlier);
    arrays.emplace_back(str("run.before/", i, "/metrics"), metrics_array(checkpoint.before[i].metrics));
  }
}

void write_checkpoint(const std::string& path, const Checkpoint& checkpoint, const std::function<void()>& check) {
  const RunState& s = checkpoint.state;
  NamedArrays arrays = checkpoint.weights;
  for (const auto& [name, array] : checkpoint.optimizer) arrays.emplace_back("run." + name, array);
  for (const auto& [name, array] : checkpoint.best) arrays.emplace_back("run.best/" + name, array);
  arrays.emplace_back("run.position", Tensor::vector<int64_t>({s.epochs, s.batch, s.step, int64_t{s.stopped_early}}));
  if (s.unmeasured != Unmeasured::kNothing)
    arrays.emplace_back("run.unmeasured", Tensor::vector<int64_t>({static_cast<int64_t>(s.unmeasured)}));
  arrays.emplace_back("run.random", bytes_array(s.random.to_bytes()));
  arrays.emplace_back(
      "run.monitor", Tensor::vector<double>({s.monitor.patience, s.monitor.best_error,
                                             static_cast<double>(s.monitor.best_epoch), number_of(s.best_test_error)}));
  std::vector<double> epoch = {
      s.loss_sum,       number_of(s.report.valid_error), number_of(s.report.test_error),   s.report.best ? 1.0 : 0.0,
      s.report.seconds, number_of(s.report.valid_loss),  number_of(s.report.learning_rate)};
  for (const EpochReport::Other& other : s.report.others)
    for (const std::optional<double>& value : {other.valid, other.test}) epoch.push_back(number_of(value));
  arrays.emplace_back("run.epoch", Tensor::of(epoch, {static_cast<int64_t>(epoch.size())}));
  add_history(arrays, "run.", s.history, s.earlier);
  if (checkpoint.metrics != MetricNames{{}}) arrays.emplace_back("run.metrics", metrics_array(checkpoint.metrics));
  if (s.out_of_time) arrays.emplace_back("run.out_of_time", Tensor::vector<int64_t>({1}));
  if (checkpoint.phase) add_phases(arrays, checkpoint);
  arrays.emplace_back("run.pins", bytes_array(fingerprint_text(checkpoint.fingerprint)));
  arrays.emplace_back("run.config", bytes_array(checkpoint.config));
  write_npz(path, arrays, check);
}

namespace {

constexpr std::string_view kOwnNames[] = {"run.position",   "run.random",      "run.monitor", "run.epoch",
                                          "run.unmeasured", "run.history",     "run.pins",    "run.config",
                                          "run.metrics",    "run.out_of_time", "run.phase",   "run.earlier"};

class CheckpointReader {
 public:
  explicit CheckpointReader(const std::string& path) : path_(path), file_(path) {}

  Checkpoint read() {
    Checkpoint out;
    for (const std::string& name : file_.names()) {
      if (!name.starts_with("run."))
        out.weights.emplace_back(name, file_.read(name));
      else if (name.starts_with("run.best/"))
        out.best.emplace_back(name.substr(9), file_.read(name));
      else if (!name.starts_with("run.before/") &&
               std::find(std::begin(kOwnNames), std::end(kOwnNames), name) == std::end(kOwnNames))
        out.optimizer.emplace_back(name.substr(4), file_.read(name));
    }
    read_progress(out);
    return out;
  }

  void read_progress(Checkpoint& out) {
    RunState& s = out.state;
    Tensor position = array("run.position", DType::kInt64, 4), monitor = array("run.monitor", DType::kFloat64, 4),
           epoch = array("run.epoch", DType::kFloat64, -1), history = file_.read("run.history");
    for (const std::string& name : file_.names())
      if (name == "run.metrics") out.metrics = metric_names(bytes_of(array(name, DType::kUInt8, -1)));
    s.earlier = earlier_epochs("run.");
    check_checkpoint_numbers(path_, position, monitor, epoch, {history, s.earlier.count}, out.metrics);
    s.epochs = position.as_int(0);
    s.batch = position.as_int(1);
    s.step = position.as_int(2);
    s.stopped_early = position.as_int(3) != 0;
    for (const std::string& name : file_.names())
      if (name == "run.unmeasured") s.unmeasured = unmeasured(array(name, DType::kInt64, 1).as_int(0), s);
    for (const std::string& name : file_.names())
      if (name == "run.out_of_time") s.out_of_time = array(name, DType::kInt64, 1).as_int(0) != 0;
    read_phases(out);
    s.random = random_state(bytes_of(array("run.random", DType::kUInt8, RandomState::kStateBytes)));
    s.monitor = {monitor.as_double(0), monitor.as_double(1), static_cast<int64_t>(monitor.as_double(2))};
    s.best_test_error = optional_of(monitor.as_double(3));
    s.loss_sum = epoch.as_double(0);
    s.report = {.valid_error = optional_of(epoch.as_double(1)),
                .test_error = optional_of(epoch.as_double(2)),
                .seconds = epoch.as_double(4),
                .best = epoch.as_double(3) != 0,
                .valid_loss = optional_of(epoch.as_double(5)),
                .learning_rate = optional_of(epoch.as_double(6))};
    for (int64_t i = 7; i < epoch.size(); i += 2)
      s.report.others.push_back({{}, optional_of(epoch.as_double(i)), optional_of(epoch.as_double(i + 1))});
    s.history = history_of(history);
    out.fingerprint = fingerprint_of(bytes_of(array("run.pins", DType::kUInt8, -1)));
    out.config = bytes_of(array("run.config", DType::kUInt8, -1));
  }

 private:
  // The phase, and the histories of those before it.
  void read_phases(Checkpoint& out) {
    const std::vector<std::string> names = file_.names();
    if (std::find(names.begin(), names.end(), "run.phase") == names.end()) return;
    constexpr int64_t kMostPhases = 10000;
    out.phase = array("run.phase", DType::kInt64, 1).as_int(0);
    if (*out.phase < 0 || *out.phase > kMostPhases)
      throw UserError(Message{.what = str(path_, ": run.phase[0], the phase, is not what a run writes"),
                              .expected = str("0 to ", kMostPhases),
                              .got = std::to_string(*out.phase)});
    if (*out.phase == 0) return;
    std::istringstream lines(bytes_of(array("run.before/names", DType::kUInt8, -1)));
    for (std::string name; std::getline(lines, name);) out.before.push_back({.phase = name});
    if (static_cast<int64_t>(out.before.size()) != *out.phase)
      throw UserError(Message{.what = str(path_, ": run.before/names is not what a run writes"),
                              .expected = str("a line for each phase before phase ", *out.phase),
                              .got = str(out.before.size(), out.before.size() == 1 ? " line" : " lines")});
    for (size_t i = 0; i < out.before.size(); ++i) {
      const std::string prefix = str("run.before/", i, '/');
      out.before[i].metrics = metric_names(bytes_of(array(prefix + "metrics", DType::kUInt8, -1)));
      const Tensor history = file_.read(prefix + "history");
      out.before[i].earlier = earlier_epochs(prefix);
      check_history_numbers(path_, prefix + "history", {history, out.before[i].earlier.count}, out.before[i].metrics);
      out.before[i].epochs = history_of(history);
    }
  }
  EarlierEpochs earlier_epochs(const std::string& prefix) {
    const std::string wanted = prefix + "earlier";
    for (const std::string& name : file_.names())
      if (name == wanted) {
        const Tensor found = array(name, DType::kFloat64, 4);
        check_earlier_numbers(path_, name, found);
        return {static_cast<int64_t>(found.as_double(0)), found.as_double(1), found.as_double(2),
                found.as_double(3) != 0};
      }
    return {};
  }
  static MetricNames metric_names(const std::string& text) {
    MetricNames out;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
      const size_t space = std::min(line.find(' '), line.size());
      out.push_back({line.substr(0, space), line.substr(std::min(space + 1, line.size()))});
    }
    if (out.empty()) out.emplace_back();
    return out;
  }
  // Only after a minibatch of this epoch there is something to measure.
  Unmeasured unmeasured(int64_t value, const RunState& state) const {
    const bool has_minibatch = state.batch > 0;
    if (value == 0 || (has_minibatch && (value == 1 || value == 2))) return static_cast<Unmeasured>(value);
    throw UserError(
        Message{.what = str(path_, ": run.unmeasured is not what a run writes"),
                .expected = has_minibatch ? "0, 1 or 2" : "0, as this epoch has no minibatches (run.position[1])",
                .got = str(value)});
  }
  RandomState random_state(const std::string& bytes) const {
    try {
      RandomState out = RandomState::from_bytes(bytes);
      if (std::isfinite(out.state().gauss)) return out;
    } catch (const UserError& error) {
      Message message = error.messages().front();
      message.what = str(path_, ": run.random: ", message.what);
      throw UserError(std::move(message));
    }
    throw UserError(Message{.what = str(path_, ": run.random holds a value that is not finite"),
                            .expected = "the state of a generator, whose numbers are finite",
                            .hint = "the checkpoint is damaged or was changed: put it back from a copy"});
  }
  // A vector of that dtype and length (-1: any).
  Tensor array(const std::string& name, DType dtype, int64_t length) {
    Tensor out = file_.read(name);
    if (out.dtype() != dtype || out.rank() != 1 || (length >= 0 && out.dim(0) != length))
      throw UserError(Message{.what = str(path_, ": ", name, " is not what a checkpoint holds"),
                              .expected = str(name_of(dtype), "[", length < 0 ? "n" : std::to_string(length), "]"),
                              .got = out.type_text()});
    return out;
  }

  const std::string& path_;
  NpzFile file_;
};

}  // namespace

Checkpoint read_checkpoint(const std::string& path) {
  return CheckpointReader(path).read();
}
Checkpoint read_progress(const std::string& path) {
  Checkpoint out;
  CheckpointReader(path).read_progress(out);
  return out;
}

}  // namespace thtrain
