// The epochs of a run so far: metrics.jsonl, the learning curves and checkpoints are made from it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "compiler/ir/tensor.h"

namespace thtrain {

/// A metric as a run's files name it.
struct MetricName {
  std::string name = "error";
  std::string unit = "%";  // or ""
  bool larger_is_better = false;
  bool operator==(const MetricName&) const = default;
};
/// Those of a run: first the one that it goes by.
using MetricNames = std::vector<MetricName>;

/// One epoch. Not given: not measured.
struct EpochReport {
  /// A metric besides the one that the run goes by.
  struct Other {
    std::optional<double> train = {}, valid = {}, test = {};
  };
  int64_t epoch = 0;                       // from 1
  double train_loss = 0;                   // mean of the minibatches' losses, penalties included
  std::optional<double> valid_error = {};  // the metric that the run goes by; the last one measured in this epoch
  std::optional<double> test_error = {};   // the last one measured in this epoch
  double seconds = 0;                      // validation included
  bool best = false;                       // the best validation value so far was measured in this epoch
  std::optional<double> train_error = {};  // the same metric on training examples, after the epoch
  std::optional<double> valid_loss = {};   // without penalties
  std::vector<Other> others = {};
  std::optional<int64_t> evaluations = {};   // of the loss of all training examples, by a batch method
  std::optional<double> learning_rate = {};  // of the last minibatch, as the schedule has it; no batch method has one
};

/// {"epoch": 3, "train_loss": 0.41, "train_error": 7.5, "valid_loss": 0.38, "valid_error": 8.000000, "test_error":
/// 8.250000, "learning_rate": 0.1, "seconds": 1.2}: what was measured, errors with six decimals, of the metric "error";
/// those of other metrics are behind it. Of a run in phases, the name of its phase comes first: {"phase": "pretrain",
/// "epoch": 3, ...}.
std::string metrics_line(const EpochReport& report, const MetricNames& names = {{}}, const std::string& phase = "");

/// What is remembered of epochs that are no longer held.
struct EarlierEpochs {
  int64_t count = 0;
  double seconds = 0;     // their sum
  double first_loss = 0;  // training loss of the first one
  bool has_best = false;  // was one of them the best so far?
};

/// How many of its last epochs a run holds at least, in memory and in checkpoints; metrics.jsonl has all of them.
inline constexpr size_t kHeldEpochs = 1000;
/// Takes the first ones out of twice as many or more, kHeldEpochs at a time: how many are held follows from how many
/// there were.
void drop_earlier(std::vector<EpochReport>& epochs, EarlierEpochs& earlier);

/// The finished epochs of one phase; of a run without phases `phase` is "".
struct PhaseHistory {
  std::string phase = {};
  std::vector<EpochReport> epochs = {};  // those that are held, or of a picture those that are drawn
  MetricNames metrics = {{}};
  EarlierEpochs earlier = {};  // before these
};
/// Of all of them, one added to the other in their order.
double seconds_of(const std::vector<EpochReport>& epochs, const EarlierEpochs& earlier);

/// Six significant digits, "0.41" or "1.5e+300": a loss for people.
std::string loss_text(double loss);

/// float64 [epochs, 9 + 3 others] and back: what a checkpoint holds. NaN stands for what was not measured. Columns: the
/// epoch, training loss, validation error, test error, seconds, best, training error, validation loss, learning rate;
/// of each other metric the training, validation and test value; of a batch method one more, its evaluations.
Tensor history_array(const std::vector<EpochReport>& history);
std::vector<EpochReport> history_of(const Tensor& array);

/// metrics.jsonl. UserError where it cannot be written; it is as before then.
void append_metrics(const std::string& path, const EpochReport& report, const MetricNames& names = {{}},
                    const std::string& phase = "");
/// Puts exactly these epochs into it: what a killed run had written after its last checkpoint goes. Lines of epochs
/// that are no longer held stay. Returns how many of these are missing.
int64_t rewrite_metrics(const std::string& path, const std::vector<PhaseHistory>& phases);

}  // namespace thtrain
