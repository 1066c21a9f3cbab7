#include "trainers/history.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cmath>
#include <cstdio>
#include <limits>

#include "datasets/file.h"
#include "trainers/json.h"

namespace thtrain {

constexpr int64_t kColumns = 6;

std::string metrics_line(const EpochReport& report) {
  JsonObject line;
  line.add("epoch", report.epoch).add("train_loss", report.train_loss);
  line.add_error("valid_error", report.valid_error).add_error("test_error", report.test_error);
  line.add_raw("seconds", json_fixed(report.seconds, 6));
  return line.line() + "\n";
}

std::string loss_text(double loss) {
  char text[32];
  std::snprintf(text, sizeof text, "%.6g", loss);
  return text;
}

Tensor history_array(const std::vector<EpochReport>& history) {
  constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
  Tensor out = Tensor::empty(DType::kFloat64, {static_cast<int64_t>(history.size()), kColumns});
  double* row = out.data<double>();
  for (const EpochReport& r : history) {
    const double values[kColumns] = {static_cast<double>(r.epoch), r.train_loss, r.valid_error.value_or(kNone),
                                     r.test_error.value_or(kNone), r.seconds,    r.best ? 1.0 : 0.0};
    row = std::copy(values, values + kColumns, row);
  }
  return out;
}

std::vector<EpochReport> history_of(const Tensor& array) {
  if (array.dtype() != DType::kFloat64 || array.rank() != 2 || array.dim(1) != kColumns)
    throw UserError(
        Message{.what = "a checkpoint's history is no float64 matrix of 6 columns", .got = array.type_text()});
  auto measured = [](double value) { return std::isnan(value) ? std::optional<double>() : std::optional(value); };
  std::vector<EpochReport> out;
  for (int64_t i = 0; i < array.dim(0); ++i) {
    const double* row = array.data<double>() + i * kColumns;
    out.push_back({.epoch = static_cast<int64_t>(row[0]),
                   .train_loss = row[1],
                   .valid_error = measured(row[2]),
                   .test_error = measured(row[3]),
                   .seconds = row[4],
                   .best = row[5] != 0});
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

void append_metrics(const std::string& path, const EpochReport& report) {
  int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (file < 0) throw write_error(path, errno);
  off_t end = ::lseek(file, 0, SEEK_END);
  int error = write_all(file, metrics_line(report));
  if (error != 0 && end >= 0) (void)!::ftruncate(file, end);  // no half of a line stays
  if (::close(file) != 0 && error == 0) error = errno;
  if (error != 0) throw write_error(path, error);
}

void rewrite_metrics(const std::string& path, const std::vector<EpochReport>& history) {
  AtomicFile file(path);
  for (const EpochReport& report : history) file.write(metrics_line(report));
  file.commit();
}

}  // namespace thtrain
