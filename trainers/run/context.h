// Where a run writes, and whom it tells.
#pragma once

#include <string>

#include "trainers/run_folder.h"
#include "trainers/trainer.h"

namespace thtrain {

struct RunContext {
  RunFolder& folder;
  const TrainHooks& hooks;
  TrainOptions options;
  std::string config;  // the experiment as checkpoints keep it: config_text()

  bool stop_wanted() const { return options.stop && options.stop->load(std::memory_order_relaxed) != 0; }
  /// May this process write the folder?
  bool writes() const { return writes_folder(options); }
  /// A line for people.
  void tell(const std::string& line) const {
    if (hooks.on_message) hooks.on_message(line);
  }
};

}  // namespace thtrain
