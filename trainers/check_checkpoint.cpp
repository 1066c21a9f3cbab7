#include "trainers/check_checkpoint.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>

#include "compiler/ir/bad_values.h"

namespace thtrain {

namespace {

std::string hint_for(const std::string& path) {
  const std::filesystem::path best = std::filesystem::path(path).parent_path() / "best.npz";
  std::error_code ignored;
  std::string out = "the checkpoint is damaged or was changed: put it back from a copy";
  if (std::filesystem::exists(best, ignored))
    out += str(";\na new run can start from the weights in ", best.string(), ", as its model.weights");
  return out;
}

[[noreturn]] void refuse(const std::string& path, const std::string& what, std::string expected, std::string got) {
  throw UserError(Message{
      .what = str(path, ": ", what), .expected = std::move(expected), .got = std::move(got), .hint = hint_for(path)});
}

// ---- numbers -------------------------------------------------------------------------------------------------------

// Doubles count up to here; no run comes so far.
constexpr int64_t kMaxSteps = int64_t{1} << 53;

class NumberCheck {
 public:
  NumberCheck(const std::string& path, const Tensor& position, const Tensor& monitor, const Tensor& epoch,
              const HistoryArray& history, const MetricNames& metrics)
      : path_(path),
        position_(position),
        monitor_(monitor),
        epoch_(epoch),
        history_(history.array),
        earlier_(history.earlier),
        metrics_(metrics) {}

  void check() const {
    check_position();
    check_monitor();
    check_epoch();
    check_history();
  }

 private:
  struct Location {
    std::string array;
    std::string index;
    const char* meaning;
  };
  [[noreturn]] void fail(const Location& location, std::string expected, std::string got) const {
    refuse(path_, str(location.array, '[', location.index, "], ", location.meaning, ", is not what a run writes"),
           std::move(expected), std::move(got));
  }
  [[noreturn]] void fail(const Location& location, std::string expected, double got) const {
    if (!std::isfinite(got))
      refuse(path_, str(location.array, '[', location.index, "], ", location.meaning, ", is not finite"),
             std::move(expected), number_text(got));
    fail(location, std::move(expected), number_text(got));
  }
  void check_count(const Location& location, int64_t value, int64_t most, const std::string& what_most) const {
    if (value < 0 || value > most) fail(location, str("0 to ", what_most), std::to_string(value));
  }
  void check_flag(const Location& location, double value) const {
    if (value != 0 && value != 1) fail(location, "0 or 1", value);
  }
  void check_at_least(const Location& location, double value, double least) const {
    if (!std::isfinite(value) || value < least) fail(location, "a finite number, at least 0", value);
  }
  // A loss: that of counts and that of examples without targets may be negative.
  void check_finite(const Location& location, double value) const {
    if (!std::isfinite(value)) fail(location, "a finite number", value);
  }
  // NaN: of a batch method, or before the first minibatch.
  void check_rate(const Location& location, double value) const {
    if (std::isinf(value)) fail(location, "a finite number", value);
  }
  // A value of the metric, 0: the one that the run goes by.
  void check_error(const Location& location, double value, size_t metric = 0) const {
    if (std::isnan(value) || metrics_.at(metric).unit != "%") return;
    if (!(value >= 0 && value <= 100)) fail(location, "0 to 100, or NaN where it was not measured", value);
  }

  int64_t epochs() const { return position_.as_int(0); }

  void check_position() const {
    const char* name = "run.position";
    int64_t step = position_.as_int(2), batch = position_.as_int(1);
    check_count({name, "2", "the minibatches in all"}, step, kMaxSteps, std::to_string(kMaxSteps));
    const std::string of_all = str(step, ", the minibatches in all");
    check_count({name, "0", "the finished epochs"}, epochs(), step, of_all);
    check_count({name, "1", "the minibatches of this epoch"}, batch, step - epochs(),
                str(step - epochs(), ": each finished epoch had one at least"));
    check_flag({name, "3", "stopped early"}, static_cast<double>(position_.as_int(3)));
  }

  void check_monitor() const {
    const char* name = "run.monitor";
    check_at_least({name, "0", "the patience"}, monitor_.as_double(0), 0);
    double error = monitor_.as_double(1), epoch = monitor_.as_double(2);
    const bool has_best = epoch != 0;
    if (!(epoch >= 0 && epoch <= static_cast<double>(epochs() + 1) && epoch == std::floor(epoch)))
      fail({name, "2", "the epoch of the best validation error"}, str("0 (none yet) to ", epochs() + 1), epoch);
    const Location location{name, "1", "the best validation error"};
    if (has_best && metrics_[0].unit == "%" && !(error >= 0 && error <= 100)) fail(location, "0 to 100", error);
    if (has_best && std::isnan(error)) fail(location, "a number", error);
    if (!has_best && !(error == HUGE_VAL)) fail(location, "inf, as there is no epoch of it", number_text(error));
    check_error({name, "3", "the test error with the best validation error"}, monitor_.as_double(3));
  }

  void check_epoch() const {
    const char* name = "run.epoch";
    const auto length = static_cast<int64_t>(7 + 2 * (metrics_.size() - 1));
    const bool may_be_empty = epoch_.size() == 7;  // of a run before its first validation
    if (epoch_.size() != length && !may_be_empty)
      refuse(path_, "run.epoch is not what a checkpoint holds", str("float64[", length, "]"), epoch_.type_text());
    check_finite({name, "0", "the sum of the losses"}, epoch_.as_double(0));
    check_error({name, "1", "the validation error"}, epoch_.as_double(1));
    check_error({name, "2", "the test error"}, epoch_.as_double(2));
    check_flag({name, "3", "is it the best"}, epoch_.as_double(3));
    check_at_least({name, "4", "the seconds"}, epoch_.as_double(4), 0);
    check_rate({name, "6", "the learning rate"}, epoch_.as_double(6));
    for (int64_t i = 7; i < epoch_.size(); ++i)
      check_error({name, std::to_string(i), "a metric"}, epoch_.as_double(i), static_cast<size_t>(i - 7) / 2 + 1);
  }

  // A row for each finished epoch, and one for an epoch that a run was stopped within.
  void check_history() const {
    const int64_t rows = history_rows(), columns = history_columns(), wanted = epochs() - earlier_;
    const bool may_be_longer = position_.as_int(3) != 0 && position_.as_int(1) > 0;
    if (rows != wanted && !(may_be_longer && rows == wanted + 1))
      refuse(path_, "run.history is not what a run writes",
             str("float64[", wanted, ", ", columns, "], a row for each finished epoch",
                 earlier_ > 0 ? str(" after epoch ", earlier_) : ""),
             history_.type_text());
    check_rows("run.history");
  }
  int64_t measured_columns() const { return static_cast<int64_t>(9 + 3 * (metrics_.size() - 1)); }
  // A batch method's evaluations are in one more.
  int64_t history_columns() const {
    const bool has_evaluations = history_.rank() == 2 && history_.dim(1) == measured_columns() + 1;
    return measured_columns() + has_evaluations;
  }
  // -1: it is no history.
  int64_t history_rows() const {
    const bool is_matrix = history_.dtype() == DType::kFloat64 && history_.rank() == 2 &&
                           (history_.dim(1) == history_columns() || history_.dim(0) == 0);
    return is_matrix ? history_.dim(0) : -1;
  }

 public:
  void check_earlier(const std::string& name, const Tensor& earlier) const {
    const double count = earlier.as_double(0);
    const bool is_count = count >= 1 && count <= static_cast<double>(kMaxSteps) && count == std::floor(count);
    if (!is_count) fail({name, "0", "the epochs before run.history"}, str("1 to ", kMaxSteps), count);
    check_at_least({name, "1", "the seconds"}, earlier.as_double(1), 0);
    check_finite({name, "2", "the first training loss"}, earlier.as_double(2));
    check_flag({name, "3", "was one of them the best"}, earlier.as_double(3));
  }
  void check_history_alone(const std::string& name) const {
    if (history_rows() < 0)
      refuse(path_, str(name, " is not what a run writes"), str("float64[epochs, ", history_columns(), ']'),
             history_.type_text());
    check_rows(name);
  }

 private:
  void check_rows(const std::string& name) const {
    const int64_t rows = history_rows(), columns = history_columns(), measured = measured_columns();
    for (int64_t i = 0; i < rows; ++i) {
      auto location = [&](int64_t column, const char* meaning) {
        return Location{name, str(i, ", ", column), meaning};
      };
      auto at = [&](int64_t column) { return history_.as_double(i * columns + column); };
      const int64_t epoch = earlier_ + i + 1;
      if (at(0) != static_cast<double>(epoch)) fail(location(0, "the epoch"), std::to_string(epoch), at(0));
      check_finite(location(1, "the training loss"), at(1));
      check_error(location(2, "the validation error"), at(2));
      check_error(location(3, "the test error"), at(3));
      check_at_least(location(4, "the seconds"), at(4), 0);
      check_flag(location(5, "was it the best"), at(5));
      check_error(location(6, "the training error"), at(6));
      if (columns > measured) check_at_least(location(measured, "the evaluations"), at(measured), 0);
      check_rate(location(8, "the learning rate"), at(8));
      for (int64_t k = 9; k < measured; ++k)
        check_error(location(k, "a metric"), at(k), static_cast<size_t>(k - 9) / 3 + 1);
    }
  }

  const std::string& path_;
  const Tensor &position_, &monitor_, &epoch_, &history_;
  int64_t earlier_;
  const MetricNames& metrics_;
};

// ---- arrays --------------------------------------------------------------------------------------------------------

// Of the run's own floatX: who resumes may have changed it since.
DType dtype_of(const Checkpoint& checkpoint, const NamedArrays& weights) {
  for (DType dtype : {DType::kFloat32, DType::kFloat64})
    if (checkpoint.config.find(str("\nfloatX = \"", name_of(dtype), '"')) != std::string::npos) return dtype;
  return weights.front().second.dtype();
}

struct ArrayType {
  DType dtype;
  Shape shape;
};

class ArrayCheck {
 public:
  ArrayCheck(const std::string& path, const Checkpoint& checkpoint, const NamedArrays& weights,
             const std::vector<Param>& state)
      : path_(path) {
    const DType dtype = dtype_of(checkpoint, weights);
    for (const auto& [name, array] : weights) types_[name] = {dtype, array.shape()};
    for (const Param& array : state) types_.at(array.name).dtype = array.variable.type().dtype;
  }

  // "run.best/" + the name of a weight.
  void check(const NamedArrays& arrays, const std::string& prefix, const std::string& inner) const {
    for (const auto& [name, array] : arrays) {
      auto found = name.starts_with(inner) ? types_.find(name.substr(inner.size())) : types_.end();
      if (found == types_.end())
        refuse(path_, str("the run has no ", prefix, name, ' ', array.type_text()), names(prefix + inner), "");
      check_one(prefix + name, array, found->second);
    }
  }
  // "velocity/" + the name of a weight, or an array of `kept`. What is not in `kept` is of another optimizer, before an
  // edit.
  void check_kept(const NamedArrays& arrays, const NamedState& kept) const {
    for (const auto& [name, array] : arrays) {
      auto found =
          std::find_if(kept.begin(), kept.end(), [&, &wanted = name](const auto& k) { return k.first == wanted; });
      const ArrayType* of_weight = weight_behind(name);
      const bool fits = of_weight && array.dtype() == of_weight->dtype && array.shape() == of_weight->shape;
      if (of_weight && (found != kept.end() || fits)) {
        check_one("run." + name, array, *of_weight);
        continue;
      }
      const bool is_of_schedule = name.starts_with("schedule/") || name.starts_with("momentum_schedule/");
      if (found == kept.end() && array.rank() > 0)
        refuse(path_, str("the run has no run.", name, ' ', array.type_text()), names("run.velocity/"), "");
      ArrayType type{array.dtype(), array.shape()};
      if (found != kept.end()) type = {found->second.type().dtype, found->second.type().known_shape()};
      check_one("run." + name, array, type, is_of_schedule);
    }
  }
  void check_complete(const NamedArrays& arrays, const std::string& prefix) const {
    for (const auto& [name, type] : types_)
      if (std::none_of(arrays.begin(), arrays.end(),
                       [&, &name = name](const auto& entry) { return entry.first == name; }))
        refuse(path_, str("there is no ", prefix, name), names(prefix),
               arrays.empty() ? "nothing of those names"
                              : join(arrays, ", ", [&](const auto& entry) { return prefix + entry.first; }));
  }

 private:
  std::string names(const std::string& prefix) const {
    return join(types_, ", ", [&](const auto& entry) { return prefix + entry.first; });
  }
  // Of the weight that the name ends with, behind a slash.
  const ArrayType* weight_behind(const std::string& name) const {
    const size_t slash = name.find('/');
    if (slash == std::string::npos) return nullptr;
    auto found = types_.find(name.substr(slash + 1));
    return found == types_.end() ? nullptr : &found->second;
  }
  void check_one(const std::string& name, const Tensor& array, const ArrayType& type, bool may_be_nan = false) const {
    if (array.dtype() != type.dtype || array.shape() != type.shape)
      refuse(path_, str(name, " is not what this run writes"), str(name_of(type.dtype), shape_text(type.shape)),
             array.type_text());
    if (may_be_nan && array.size() == 1 && std::isnan(array.as_double(0))) return;
    if (std::optional<int64_t> bad = first_non_finite(array))
      refuse(path_, str(name, " holds a value that is not finite"), "finite numbers",
             str(array.as_double(*bad), " at element ", *bad, " of ", array.type_text()));
  }

  const std::string& path_;
  std::map<std::string, ArrayType> types_;
};

}  // namespace

void check_checkpoint_numbers(const std::string& path, const Tensor& position, const Tensor& monitor,
                              const Tensor& epoch, const HistoryArray& history, const MetricNames& metrics) {
  NumberCheck(path, position, monitor, epoch, history, metrics).check();
}

void check_history_numbers(const std::string& path, const std::string& name, const HistoryArray& history,
                           const MetricNames& metrics) {
  const Tensor none;
  NumberCheck(path, none, none, none, history, metrics).check_history_alone(name);
}

void check_earlier_numbers(const std::string& path, const std::string& name, const Tensor& earlier) {
  const Tensor none;
  const MetricNames error = {{}};
  NumberCheck(path, none, none, none, {none}, error).check_earlier(name, earlier);
}

void check_checkpoint(const std::string& path, const Checkpoint& checkpoint, const NamedArrays& weights,
                      const std::vector<Param>& state, const NamedState& kept) {
  if (weights.empty()) return;
  const ArrayCheck arrays(path, checkpoint, weights, state);
  arrays.check(checkpoint.weights, "", "");
  arrays.check_kept(checkpoint.optimizer, kept);
  arrays.check(checkpoint.best, "run.best/", "");
  if (checkpoint.state.monitor.best_epoch > 0)
    arrays.check_complete(checkpoint.best, "run.best/");
  else if (!checkpoint.best.empty())
    refuse(path, "there are best weights of no epoch", "run.monitor[2], the epoch of the best validation error, from 1",
           str("0, and run.best/", checkpoint.best.front().first));
}

NamedArrays best_of(const Checkpoint& checkpoint, const NamedArrays& weights) {
  NamedArrays out;
  const std::map<std::string, Tensor> best(checkpoint.best.begin(), checkpoint.best.end());
  if (best.empty()) return out;
  for (const auto& [name, array] : weights) out.emplace_back(name, best.at(name).cast(array.dtype()));
  return out;
}

}  // namespace thtrain
