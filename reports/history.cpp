#include "reports/history.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <limits>

#include "compiler/base/file.h"
#include "datasets/text_lines.h"
#include "reports/json.h"

namespace thtrain {

// Besides the metrics that are not the run's own.
constexpr int64_t kColumns = 9;

std::string metrics_line(const EpochReport& report, const MetricNames& names, const std::string& phase) {
  JsonObject line;
  if (!phase.empty()) line.add("phase", phase);
  line.add("epoch", report.epoch).add("train_loss", report.train_loss);
  auto add = [&](const char* set, const MetricName& metric, const std::optional<double>& value) {
    const std::string key = str(set, '_', metric.name);
    if (metric.unit == "%")
      line.add_error(key, value);
    else if (value)
      line.add(key, *value);
  };
  const bool has_loss = std::any_of(names.begin(), names.end(), [](const MetricName& n) { return n.name == "loss"; });
  add("train", names.at(0), names[0].name == "loss" ? std::nullopt : report.train_error);
  if (report.valid_loss && !has_loss) line.add("valid_loss", *report.valid_loss);
  add("valid", names[0], report.valid_error);
  add("test", names[0], report.test_error);
  for (size_t i = 0; i < report.others.size(); ++i) {
    if (names.at(i + 1).name != "loss") add("train", names[i + 1], report.others[i].train);
    add("valid", names.at(i + 1), report.others[i].valid);
    add("test", names.at(i + 1), report.others[i].test);
  }
  if (report.evaluations) line.add("evaluations", *report.evaluations);
  if (report.learning_rate) line.add("learning_rate", *report.learning_rate);
  line.add_raw("seconds", json_fixed(report.seconds, 6));
  return line.line() + "\n";
}

void drop_earlier(std::vector<EpochReport>& epochs, EarlierEpochs& earlier) {
  if (epochs.size() < 2 * kHeldEpochs) return;
  const size_t count = (epochs.size() / kHeldEpochs - 1) * kHeldEpochs;
  const auto end = epochs.begin() + static_cast<std::ptrdiff_t>(count);
  if (earlier.count == 0) earlier.first_loss = epochs.front().train_loss;
  for (auto epoch = epochs.begin(); epoch != end; ++epoch) {
    earlier.seconds += epoch->seconds;
    earlier.has_best |= epoch->best;
  }
  earlier.count += static_cast<int64_t>(count);
  epochs.erase(epochs.begin(), end);
}

double seconds_of(const std::vector<EpochReport>& epochs, const EarlierEpochs& earlier) {
  double out = earlier.seconds;
  for (const EpochReport& epoch : epochs) out += epoch.seconds;
  return out;
}

std::string loss_text(double loss) {
  char text[32];
  std::snprintf(text, sizeof text, "%.6g", loss);
  return text;
}

Tensor history_array(const std::vector<EpochReport>& history) {
  constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
  const auto others = history.empty() ? int64_t{0} : static_cast<int64_t>(history.front().others.size());
  const bool counts = !history.empty() && history.front().evaluations;
  Tensor out = Tensor::empty(DType::kFloat64, {static_cast<int64_t>(history.size()), kColumns + 3 * others + counts});
  double* row = out.data<double>();
  for (const EpochReport& r : history) {
    const double values[kColumns] = {static_cast<double>(r.epoch),
                                     r.train_loss,
                                     r.valid_error.value_or(kNone),
                                     r.test_error.value_or(kNone),
                                     r.seconds,
                                     r.best ? 1.0 : 0.0,
                                     r.train_error.value_or(kNone),
                                     r.valid_loss.value_or(kNone),
                                     r.learning_rate.value_or(kNone)};
    row = std::copy(values, values + kColumns, row);
    TH_CHECK(static_cast<int64_t>(r.others.size()) == others, "an epoch with other metrics");
    for (const EpochReport::Other& other : r.others)
      for (const std::optional<double>& value : {other.train, other.valid, other.test}) *row++ = value.value_or(kNone);
    if (counts) *row++ = static_cast<double>(r.evaluations.value_or(0));
  }
  return out;
}

std::vector<EpochReport> history_of(const Tensor& array) {
  if (array.dtype() != DType::kFloat64 || array.rank() != 2 || array.dim(1) < kColumns ||
      (array.dim(1) - kColumns) % 3 == 2)
    throw UserError(Message{.what = "this is no history of a checkpoint",
                            .expected = "a float64 matrix of 9 columns, and 3 for each other metric",
                            .got = array.type_text()});
  auto measured = [](double value) { return std::isnan(value) ? std::optional<double>() : std::optional(value); };
  const int64_t counts = (array.dim(1) - kColumns) % 3, end = array.dim(1) - counts;
  std::vector<EpochReport> out;
  for (int64_t i = 0; i < array.dim(0); ++i) {
    const double* row = array.data<double>() + i * array.dim(1);
    out.push_back({.epoch = static_cast<int64_t>(row[0]),
                   .train_loss = row[1],
                   .valid_error = measured(row[2]),
                   .test_error = measured(row[3]),
                   .seconds = row[4],
                   .best = row[5] != 0,
                   .train_error = measured(row[6]),
                   .valid_loss = measured(row[7]),
                   .learning_rate = measured(row[8])});
    for (int64_t k = kColumns; k < end; k += 3)
      out.back().others.push_back({measured(row[k]), measured(row[k + 1]), measured(row[k + 2])});
    if (counts) out.back().evaluations = static_cast<int64_t>(row[end]);
  }
  return out;
}

// 0, or the error that ended it.
static int write_all(int file, std::string_view bytes) {
  while (!bytes.empty()) {
    ssize_t written = ::write(file, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return errno;
    if (written == 0) return ENOSPC;
    bytes.remove_prefix(static_cast<size_t>(written));
  }
  return 0;
}

void append_metrics(const std::string& path, const EpochReport& report, const MetricNames& names,
                    const std::string& phase) {
  int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (file < 0) throw write_error(path, errno);
  off_t end = ::lseek(file, 0, SEEK_END);
  int error = write_all(file, metrics_line(report, names, phase));
  if (error != 0 && end >= 0) (void)!::ftruncate(file, end);  // no half of a line stays
  if (::close(file) != 0 && error == 0) error = errno;
  if (error != 0) throw write_error(path, error);
}

// The epoch of a line as metrics_line() begins it; none of a line of another phase.
static std::optional<int64_t> epoch_of(std::string_view line, const std::string& phase) {
  const std::string begin = phase.empty() ? "{\"epoch\": " : str("{\"phase\": ", json_string(phase), ", \"epoch\": ");
  if (!line.starts_with(begin)) return {};
  int64_t out = 0;
  const auto [end, error] = std::from_chars(line.data() + begin.size(), line.data() + line.size(), out);
  return error == std::errc() ? std::optional(out) : std::nullopt;
}

namespace {

// Copies lines of epochs that are no longer held, and writes the others behind them, phase by phase.
class MetricsRewriter {
 public:
  MetricsRewriter(AtomicFile& file, const std::vector<PhaseHistory>& phases) : file_(file), phases_(phases) {}

  void take(std::string_view line) {
    for (size_t i = at_; i < phases_.size(); ++i) {
      const std::optional<int64_t> epoch = epoch_of(line, phases_[i].phase);
      if (!epoch) continue;
      while (at_ < i) finish_phase();
      if (*epoch <= last_ || *epoch > phases_[i].earlier.count) return;
      file_.write(line);
      file_.write("\n");
      last_ = *epoch;
      ++copied_;
      return;
    }
  }
  int64_t finish() {
    while (at_ < phases_.size()) finish_phase();
    return missing_;
  }

 private:
  void finish_phase() {
    const PhaseHistory& phase = phases_[at_++];
    for (const EpochReport& report : phase.epochs) file_.write(metrics_line(report, phase.metrics, phase.phase));
    missing_ += phase.earlier.count - copied_;
    last_ = copied_ = 0;
  }

  AtomicFile& file_;
  const std::vector<PhaseHistory>& phases_;
  size_t at_ = 0;
  int64_t last_ = 0, copied_ = 0, missing_ = 0;
};

}  // namespace

int64_t rewrite_metrics(const std::string& path, const std::vector<PhaseHistory>& phases) {
  AtomicFile file(path);
  MetricsRewriter rewriter(file, phases);
  const bool are_held =
      std::all_of(phases.begin(), phases.end(), [](const PhaseHistory& phase) { return phase.earlier.count == 0; });
  if (std::error_code ignored; !are_held && std::filesystem::exists(path, ignored)) {
    const InputFile before(path);
    TextLines lines(before);
    for (std::string_view line; lines.next(line);) rewriter.take(line);
  }
  const int64_t missing = rewriter.finish();
  file.commit();
  return missing;
}

}  // namespace thtrain
