// Candidates of computations that a library of CUDA computes too.
#pragma once

#include "compiler/ops/candidates.h"

namespace thtrain {

/// Candidates by their names, which `find` finds. Worth a trial are `library`, and `own` where `has_kernel` holds of
/// the key's properties (null: always): what the host computes is the answer where the library is not installed. The
/// `others` are taken by name alone.
CandidateSource own_and_library(std::string computation, const std::string& own, const std::string& library,
                                decltype(CandidateSource::find) find,
                                bool (*has_kernel)(const std::string& properties) = nullptr,
                                const std::vector<std::string>& others = {});

}  // namespace thtrain
