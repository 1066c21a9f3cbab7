// Whether the ranks of a job compute alike.
#pragma once

#include "trainers/fingerprint.h"
#include "trainers/ranks/ranks.h"

namespace thtrain {

/// All ranks call it. UserError at each of them, with the same text, where one differs from rank 0 in what decides
/// bits: its name, and each difference.
void require_alike(Ranks& ranks, const Fingerprint& own);

}  // namespace thtrain
