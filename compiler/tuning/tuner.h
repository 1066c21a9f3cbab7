// Which candidate computes what has several implementations: what was measured on this machine, else a rule.
// docs/decisions/0014.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "compiler/kernel/choice.h"
#include "compiler/ops/candidates.h"
#include "compiler/tuning/candidate_lists.h"
#include "compiler/tuning/machine.h"
#include "compiler/tuning/tuning_table.h"

namespace thtrain {

// ---- functions ------------------------------------------------------------------------------------------------------

/// How one of several implementations is chosen.
enum class Tune {
  kNever,   // the built-in rule
  kCached,  // what `thtrain tune` remembered, else the rule
  kAlways,  // what is remembered, else measured now and remembered
};

/// A candidate that a function takes for a computation, wherever it applies.
struct TakenCandidate {
  std::string computation, candidate;  // "matrix_product", "library"

  friend bool operator==(const TakenCandidate&, const TakenCandidate&) = default;
};

// ---- for other parts of the compiler --------------------------------------------------------------------------------

struct TunerOptions {
  kernel::Target target = machine();
  Tune policy = Tune::kCached;
  int threads = 1;
  /// A candidate whose errors may be larger (RoundingClass::kOther) answers where its error_bound is at most this.
  double tolerance = 0;
  std::vector<TakenCandidate> taken = {};
  CandidateLists lists = {};  // of what is not taken by name
  /// Candidates of shared objects whose results were found wrong answer all the same where they are named: the debug
  /// mode compares every step itself.
  bool allow_wrong_results = false;
};

/// The version of a candidate and of the libraries that it calls; nullopt where one is not installed.
std::optional<std::string> version_of(const Candidate& candidate);

/// Candidates that a trial may take: they apply, are installed, are deterministic, if they are kOther have an
/// error_bound of at most `tolerance`, and the lists allow them.
std::vector<Candidate> usable_candidates(const kernel::ChoiceKey& key, double tolerance,
                                         const CandidateLists& lists = {}, const kernel::Target& target = machine());

/// Chooses for functions that are compiled for a target, and keeps what it was asked.
class Tuner : public kernel::Chooser {
 public:
  /// `answers`: given before, and given again. UserError where a taken candidate is of no computation, or has a
  /// name that none of the computation's sources states.
  explicit Tuner(TunerOptions options, std::vector<kernel::Choice> answers = {});
  std::string choose(const kernel::ChoiceKey& key) const override;
  /// In the order of the first question.
  const std::vector<kernel::Choice>& answers() const { return answers_; }
  /// Would it answer the same today?
  bool agrees(const std::vector<kernel::Choice>& answers) const;

 private:
  std::string chosen(const kernel::ChoiceKey& key) const;
  std::optional<std::string> remembered_choice(const kernel::ChoiceKey& key) const;
  bool must_be_timed(const kernel::ChoiceKey& key, const std::vector<Candidate>& usable,
                     const TuningTable& table) const;
  std::string choice_by_rule(const kernel::ChoiceKey& key) const;
  bool is_admitted(const kernel::ChoiceKey& key, const Candidate& candidate) const;

  TunerOptions options_;
  mutable std::vector<kernel::Choice> answers_;
};

/// How many programs want each core of the process, in the mean over the last minute; 0 where the system does not say.
double load_of_cores();

/// What times are remembered by: the processor, the instructions of the target, the threads, and the way of measuring.
/// Of a device: the device, the driver, the compiler of kernels, and the way of measuring.
std::string tuned_machine_text(int threads, const kernel::Target& target);
/// What was measured on this machine (its processor) for that many threads of code for the target.
TuningTable remembered(int threads, const kernel::Target& target = machine());
/// Adds `table` to what is remembered, on disk too.
void remember(const TuningTable& table, int threads, const kernel::Target& target = machine());

}  // namespace thtrain
