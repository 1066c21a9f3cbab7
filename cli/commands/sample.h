// What other files need of `thtrain sample`.
#pragma once

#include <optional>
#include <string>

#include "cli/command.h"

namespace thtrain {

struct SampleArguments {
  std::string run_dir;
  std::string phase = {};              // "": the last one
  std::string weights = {};            // "": the run folder's
  std::string start = {};              // the text that is gone on with; "": a symbol that is drawn
  std::optional<int64_t> length = {};  // symbols that are written behind it, or steps; not given: 500 or 200
  std::optional<int64_t> gibbs = {};   // steps of Gibbs sampling for each step of an rnn_rbm; not given: 25
  int64_t seed = 1;
  double temperature = 1;
};

}  // namespace thtrain
