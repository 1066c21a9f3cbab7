// What a run writes for TensorBoard.
#pragma once

#include <memory>
#include <string>

#include "reports/event_file.h"
#include "trainers/run/context.h"
#include "trainers/run/training.h"

namespace thtrain {

/// Writes nothing where output.tensorboard is false.
class RunEvents {
 public:
  RunEvents(const Training& training, const RunContext& context) : training_(training), context_(context) {}

  /// What an earlier process wrote of the next epoch and of those behind it goes.
  void begin(bool was_resumed);
  /// Of the last epoch.
  void write_epoch_events();
  /// The pictures of the folder. They come one step behind the last epoch, so that they go too where a run is extended.
  void write_picture_events();

 private:
  int64_t step() const;
  std::string tag(const std::string& name) const;
  void write_values(const EpochReport& report);
  void write_weights();

  const Training& training_;
  const RunContext& context_;
  std::unique_ptr<EventFile> events_;
};

}  // namespace thtrain
