// What a user sees of a run while it goes: a bar on a terminal, a line for each epoch, and its result.
#pragma once

#include <cstdio>
#include <string>

#include "trainers/trainer.h"

namespace thtrain {

/// Lines go to standard output, or to standard error where the other is kept for JSON; the bar to standard error, if
/// that is a terminal.
class Progress {
 public:
  struct Options {
    bool json = false, quiet = false, verbose = false;
    int64_t epochs = 0;  // at most
  };
  explicit Progress(const Options& options);
  /// Removes the bar.
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// They hold `this`.
  TrainHooks hooks();
  /// The result of the run, for people or as one line of JSON.
  void finish(const TrainSummary& summary);
  /// Why the lines could not be written, an errno; 0 where they could. After the first failure none is tried.
  int output_error() const { return output_error_; }

 private:
  void resume(const ResumePoint& point);
  void begin_phase(const PhaseReport& phase);
  void end_phase(const TrainSummary& summary);
  void start(const ModelSummary& model);
  void draw(const BatchProgress& batch);
  void print_epoch(const EpochReport& report);
  void print_line(const std::string& line);
  void print_summary(const TrainSummary& summary);
  void print_values(const TrainSummary& summary);
  void clear_bar();

  Options options_;
  std::FILE* lines_;
  bool has_bar_, bar_shown_ = false;
  int output_error_ = 0;
  MetricNames names_ = {{}};
};

/// `batch` as a bar of at most `width` characters.
std::string bar_text(const BatchProgress& batch, int64_t epochs, int width);

/// "epoch  3  train loss 0.4123, error 7.00 %  valid 0.4000, 7.50 %  test 7.25 %  1.250 s  best": a value is named
/// where it comes first. Four decimals of a loss (six below 0.1) and two of per cents: metrics.jsonl has all digits.
std::string epoch_text(const EpochReport& report, int64_t epochs, const MetricNames& names = {{}});

}  // namespace thtrain
