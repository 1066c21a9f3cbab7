// Candidates of shared objects that a user built (candidate_abi.h).
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "compiler/ops/candidates.h"

namespace thtrain {

// ---- functions -----------------------------------------------------------------------------------------------------

/// Adds the candidates of a shared object, until the process ends (of a file that changed, instead of those of
/// before). Each is tried in a process of its own for each key before it is taken for that key (trial_process.h): till
/// then nothing of it runs here. UserError where it is no such object, does not survive being loaded, or has
/// a candidate with the name of another one that is there.
void load_candidates(const std::string& path);
// ---- for other parts of the compiler -------------------------------------------------------------------------------
/// What a shared object says of one of its candidates.
struct DeclaredCandidate {
  std::string computation, name, version;
  RoundingClass rounding = RoundingClass::kReordered;
  double error_bound = 0;
};

/// A file as it is named and looked for: its content's hash is part of the version of its candidates.
struct CandidateFile {
  std::string path;  // absolute
  std::string hash;  // of the content, 12 digits
};
/// UserError where it cannot be read.
CandidateFile candidate_file(const std::string& path);

/// The file of a candidate that load_candidates() added, as it was then.
CandidateFile file_of(const Candidate& candidate);

/// Of the candidates of a file for a key: names and bytes of workspace of those that compute it.
using AppliesAnswer = std::map<std::string, int64_t>;

/// Loads the code of the candidate's file into this process, so that programs may call it for that key: of one that was
/// tried. UserError where the file changed since load_candidates(), or cannot be loaded any more. Nothing for a
/// candidate of the program.
void make_callable(const Candidate& candidate, const kernel::ChoiceKey& key);

/// In a process that is there to try candidates (trial_process.h): the file's code is loaded at once, and called for
/// what it says. UserError as load_candidates().
std::vector<DeclaredCandidate> load_for_trial(const CandidateFile& file);
/// Of the files that load_for_trial() took.
AppliesAnswer applying_in_trial(const kernel::ChoiceKey& key);

}  // namespace thtrain
