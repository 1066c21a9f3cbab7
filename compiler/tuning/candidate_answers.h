// Which keys the candidates of a shared object compute, remembered with the times: a process that is asked for each
// key takes some milliseconds of every start.
#pragma once

#include <optional>

#include "compiler/tuning/user_candidates.h"

namespace thtrain {

/// What a process answered for that content of the file, on this machine; nullopt where none was asked.
std::optional<AppliesAnswer> remembered_answer(const CandidateFile& file, const kernel::ChoiceKey& key);
/// Remembers it, on disk too. Any thread and any process may call.
void remember_answer(const CandidateFile& file, const kernel::ChoiceKey& key, const AppliesAnswer& answer);

}  // namespace thtrain
