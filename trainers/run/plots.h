// The pictures of a run: learning curves, and what [output] asks for.
#pragma once

#include <string>

#include "trainers/pictures.h"
#include "trainers/run/context.h"
#include "trainers/run/training.h"

namespace thtrain {

/// "filters_at_epoch_0012": of four digits or more, so that names sort by epoch up to 9,999.
std::string filters_name(int64_t epoch);

/// In plots/ of the folder. UserError where a picture cannot be written.
class RunPlots {
 public:
  /// UserError as Pictures.
  RunPlots(const Training& training, const RunContext& context, const Dataset& data)
      : training_(training), context_(context), pictures_(training.experiment, data, training.program.model()) {}

  void draw_augmented();
  /// After an epoch.
  void draw_filters();
  /// False where the user asked to stop meanwhile; who resumes the run draws all of them.
  bool draw_samples();
  /// The path of the picture; "" where none is asked for.
  std::string draw_curves();

 private:
  std::string path_of(const std::string& name) const;

  const Training& training_;
  const RunContext& context_;
  Pictures pictures_;
};

}  // namespace thtrain
