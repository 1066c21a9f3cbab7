// Which candidates a user allows: lists of names with `*`, and a limit for their workspaces.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/base/error.h"
#include "compiler/ops/candidates.h"

namespace thtrain {

// ---- functions ------------------------------------------------------------------------------------------------------

/// A pattern is a candidate's name in which `*` matches any characters: "rows *", "oneDNN". Of one computation alone
/// it is "COMPUTATION:NAME": "conv*:rows *".
struct CandidateLists {
  std::vector<std::string> only = {};     // where one of these applies, no other is taken
  std::vector<std::string> include = {};  // names, without `*`, that are timed although they are not worth a trial
  std::vector<std::string> exclude = {};  // these are never taken
  int64_t workspace_limit = 0;            // no candidate that needs more bytes; 0: no limit

  bool is_empty() const { return only.empty() && include.empty() && exclude.empty() && workspace_limit == 0; }
  friend bool operator==(const CandidateLists&, const CandidateLists&) = default;
};

// ---- for other parts of the compiler --------------------------------------------------------------------------------

/// Is `text` the pattern, in which each `*` matches any characters, or none?
bool matches_pattern(std::string_view pattern, std::string_view text);

/// What applies to the key and the lists allow: candidates that are offered for trials, then those that the lists name.
std::vector<Candidate> listed_candidates(const CandidateLists& lists, const kernel::ChoiceKey& key,
                                         const kernel::Target& target);
/// Do the lists allow this candidate of the key?
bool is_listed(const CandidateLists& lists, const kernel::ChoiceKey& key, const Candidate& candidate,
               const kernel::Target& target);

/// What messages call the list that has a pattern, and where it is: "--only", or "compiler.only_candidates" and a line.
struct ListLocation {
  std::string name;
  ConfigPosition config = {};
};
/// Of a pattern of `only_candidates`, `include_candidates` or `exclude_candidates`.
using LocationOfPattern = std::function<ListLocation(const std::string& list, const std::string& pattern)>;

/// UserError for each pattern that no candidate of any of these keys has, with those that there are. Nothing where
/// there are no keys. `location`: null for the names of the lists alone.
void check_lists(const CandidateLists& lists, const std::vector<kernel::ChoiceKey>& keys, const kernel::Target& target,
                 const LocationOfPattern& location = nullptr);

/// What is said where the lists leave nothing for a key.
[[noreturn]] void fail_without_candidates(const CandidateLists& lists, const kernel::ChoiceKey& key,
                                          const kernel::Target& target);

}  // namespace thtrain
