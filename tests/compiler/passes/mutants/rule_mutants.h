// Mutants of rewriting rules: each differs from a rule in one location, as a slip of its author would.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "compiler/passes/rules.h"

namespace thtrain {

struct RuleMutant {
  std::string name;  // "log1p: expm1 for log1p"
  Rule rule;
  /// Of a function: did the result of some rewrite have the location that is mutated? Empty for patterns, which all
  /// have.
  std::shared_ptr<bool> differed = {};
};

/// The mutants of a rule.
/// - In its right side: operands swapped, an op exchanged for a sibling, a number one larger, a function of one operand
///   left out, a variable exchanged for another one, a property (an axis, a flag, a bound of a slice) changed.
/// - In its left side: a number one larger, and a variable that occurs twice taken for two.
/// - Without its condition; for values of one kind more; under the tag `exact`.
/// Of a rule that is a function, its results are mutated in these ways and by adding one. What it asks of the value
/// before it rewrites cannot be taken out of it, nor can its kinds be told from that: rows hold those.
/// Mutants whose result has another type, and those that are the rule again (commuted operands), are not made.
std::vector<RuleMutant> mutants_of(const Rule& rule);

}  // namespace thtrain
