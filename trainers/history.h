// The epochs of a run so far: metrics.jsonl, the learning curves and checkpoints are made from it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "compiler/ir/tensor.h"

namespace thtrain {

/// One epoch. Errors in per cent of the examples; not given: not measured.
struct EpochReport {
  int64_t epoch = 0;                       // from 1
  double train_loss = 0;                   // mean of the minibatches' losses, penalties included
  std::optional<double> valid_error = {};  // the last one measured in this epoch
  std::optional<double> test_error = {};   // the last one measured in this epoch
  double seconds = 0;                      // validation included
  bool best = false;                       // the best validation error so far was measured in this epoch
};

/// {"epoch": 3, "train_loss": 0.41, "valid_error": 8.000000, "test_error": 8.250000, "seconds": 1.2}: what was
/// measured, errors with six decimals.
std::string metrics_line(const EpochReport& report);

/// Six significant digits, "0.41" or "1.5e+300": a loss for people.
std::string loss_text(double loss);

/// float64 [epochs, 6] and back: what a checkpoint holds. NaN stands for what was not measured.
Tensor history_array(const std::vector<EpochReport>& history);
std::vector<EpochReport> history_of(const Tensor& array);

/// metrics.jsonl. UserError where it cannot be written; it stands as before then.
void append_metrics(const std::string& path, const EpochReport& report);
/// Puts exactly these epochs into it: what a killed run had written after its last checkpoint goes.
void rewrite_metrics(const std::string& path, const std::vector<EpochReport>& history);

}  // namespace thtrain
