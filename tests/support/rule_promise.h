// What every rule of the tables must keep: its class of safety, on hard values of every dtype that it is for. Also for
// rules that are in no table.
#pragma once

#include <string>

#include "compiler/passes/rules.h"

namespace thtrain {

// What is wrong with the rule, in words; empty where nothing is. The first, third and fourth look at rules that are
// written as patterns, the second at those that are functions: others have nothing to break.

/// On hard values of every dtype, on equal ones and on shapes that broadcast, the rule fires for each of its kinds and
/// keeps the promise of its safety.
std::string broken_on_hard_values(const Rule& rule);
/// The same on each of its examples; and NaN in, NaN out, of each input.
std::string broken_on_examples(const Rule& rule);
/// Where the plain form of a float32 value overflows, float64 often does not: an oracle for the other form of
/// range-changing rules.
std::string broken_against_wider_type(const Rule& rule);
/// On ordinary values no rule makes anything infinite; and NaN in, NaN out: but for finite-math, no rule drops a value
/// that it was given.
std::string broken_by_nan(const Rule& rule);

/// All of them in turn.
std::string broken_rule(const Rule& rule);

/// Can the left side of a rule that is written as a pattern be of a dtype of this kind?
bool can_be_of(const Rule& rule, unsigned kind);

}  // namespace thtrain
