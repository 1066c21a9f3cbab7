// Candidates of shared objects are tried in a process of their own: one that crashes or hangs ends that process and not
// this one. It is a program that is executed anew, so that no thread of this process is in it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "compiler/tuning/user_candidates.h"

namespace thtrain {

/// The program that tries candidates, with the first words of its command line: that which set_trial_program() named,
/// else `thtrain-trial` in the folder of this process's program, else $THTRAIN_TRIAL; nullopt where there is none.
std::optional<std::vector<std::string>> trial_program();
/// Of a program whose main() calls run_trial_process() itself: {"/proc/self/exe", "trial"}.
void set_trial_program(std::vector<std::string> words);

/// How long one call into a candidate may take, in seconds: THTRAIN_TRIAL_LIMIT, else 20; 0 for no limit. UserError
/// where the variable holds no such number.
double trial_limit();

/// What a trial found of a candidate for a key.
struct TrialVerdict {
  double seconds = 0, flops = 0, load = 0;  // of CandidateTrial
  std::string refusal = {};                 // why it must not be taken, for people; empty: it may
  std::string unavailable = {};             // why nothing was found out
};

/// Tries the candidate, of a shared object that load_candidates() took, on `threads` threads: its results compared with
/// those of the computation's plain candidate, whether they are the same in each call, and its time. Interrupted where
/// the user asks to stop. One that ended two such processes, or hung in them, is not tried for further keys, and
/// refused.
TrialVerdict try_candidate(const Candidate& candidate, const kernel::ChoiceKey& key, int threads);
inline constexpr const char* kWrongResult = "wrong result";
/// Does the refusal say that results differ? The debug mode computes with such a candidate all the same, and names it.
bool is_of_wrong_result(const std::string& refusal);

/// What the file declares, found out in a process of its own; empty, with one warning on standard error, where there is
/// no program for that. UserError as load_candidates().
std::vector<DeclaredCandidate> ask_what_is_declared(const CandidateFile& file);
/// The same for the candidates that compute a key, which is remembered (candidate_answers.h); empty, with a warning,
/// where the file's code fails. It is not asked any more after that happened twice.
AppliesAnswer ask_what_applies(const CandidateFile& file, const kernel::ChoiceKey& key);

// ---- the process that tries ----------------------------------------------------------------------------------------

/// Is this process there to try candidates?
bool is_trial_process();

/// Answers one question: the words behind those of trial_program(). Returns the process's exit status. Nothing is read,
/// standard output takes the answer.
int run_trial_process(const std::vector<std::string>& words);

}  // namespace thtrain
