// How well implementations are chosen where nothing was measured: random computations, of which each candidate is
// timed, and the rule's choice compared with the fastest.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "compiler/ir/dtype.h"
#include "compiler/kernel/choice.h"
#include "compiler/tuning/candidate_trials.h"

namespace thtrain {

struct ChoicesOptions {
  int64_t seed = 0;
  std::vector<DType> dtypes = {DType::kFloat32, DType::kFloat64};  // drawn from them
  int threads = 1;
  bool untimed = false;  // only what the rule chooses
  bool quick = false;    // small computations, and few of them
};

/// 100 convolutions (of all three passes), 60 matrix products and 40 poolings. Lengths are log-uniform: batches to 128,
/// images to 256x256, channels and filters to 512, sides of products to 4,096; filters of 1 to 7 columns, windows of 2
/// or 3. None takes more than 4 * 10^9 operations or has more than 2^24 elements in an array. The same seed draws the
/// same keys on every machine.
std::vector<kernel::ChoiceKey> drawn_keys(const ChoicesOptions& options);

struct TimedChoice {
  kernel::ChoiceKey key;
  std::string chosen, fastest = {};  // candidates; untimed, the first alone
  double chosen_seconds = 0, fastest_seconds = 0;
  std::vector<CandidateTrial> trials = {};  // of all

  double ratio() const { return chosen_seconds / fastest_seconds; }
};

/// Unless `untimed`, times all candidates of each key (candidate_trials.h); then the rule's and the fastest, where they
/// are two, once more next to each other, and up to two times more while they are a tenth apart: of all these rounds
/// the fastest counts, so that what others do at the same time is not taken for a wrong choice. `found` gets each key
/// as soon as it is done; one of which no program ran is left out.
void measure_choices(const ChoicesOptions& options, const std::function<void(const std::string&)>& progress,
                     const std::function<void(const TimedChoice&)>& found);

/// For each computation, and for all: how many, the geometric mean of the ratios, the largest of the best nine tenths,
/// and the largest; then the ten largest with what would have been right.
std::string choices_table(const std::vector<TimedChoice>& all);
std::string json_line(const TimedChoice& choice);

}  // namespace thtrain
