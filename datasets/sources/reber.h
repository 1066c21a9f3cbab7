// Strings of the embedded Reber grammar, a built-in problem of memory over many steps.
//
// A. S. Reber, "Implicit learning of artificial grammars", Journal of Verbal Learning and Verbal Behavior 6, 1967; the
// embedded one: A. Cleeremans, D. Servan-Schreiber, J. L. McClelland, "Finite state automata and simple recurrent
// networks", Neural Computation 1, 1989; S. Hochreiter, J. Schmidhuber, "Long short-term memory", Neural Computation 9,
// 1997, section 5.1.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "datasets/data_config.h"

namespace thtrain {

/// The symbols by their numbers, 0 to 6.
inline constexpr std::string_view kReberSymbols = "BTPSXVE";

/// A string is "B", then T or P, then a string of the inner grammar, the same T or P again, and "E". A string of the
/// inner grammar begins with B and ends with E; between them
///
///   state 1: T to 2, P to 3      state 3: T to 3, V to 5      state 5: P to 4, V to 6
///   state 2: S to 2, X to 4      state 4: X to 3, S to 6      state 6: E
///
/// each of the two ways with probability 1/2. Which symbols may follow `prefix`, the numbers of a string's first
/// symbols; none behind its last E. InternalError where no string begins so.
std::array<bool, kReberSymbols.size()> legal_successors(std::span<const int64_t> prefix);

/// The numbers of the symbols of each of `n` strings, drawn with their probabilities in the grammar; a string that
/// is in `others` is drawn anew. The numbers are those of RandomState(s).randint(0, 2), one for each choice, where
/// s is the number `part` (from 0) that RandomState(seed).next_uint32() gives.
using ReberStrings = std::vector<std::vector<int64_t>>;
ReberStrings generate_reber(int64_t n, int64_t seed, int64_t part, std::span<const ReberStrings> others = {});

/// x: uint8 [n, steps, 7], the symbols of a string but its last one, each with a one at its number; y: int64 [n,
/// steps], the numbers of the symbols that follow them; lengths: int64 [n]; `steps` are those of the longest string.
struct ReberArrays {
  Tensor x, y, lengths;
};
ReberArrays reber_arrays(const ReberStrings& strings);

struct ReberConfig : GeneratorConfig {
  static constexpr std::string_view kName = "reber";
  bool has_sequences() const override { return true; }
  bool has_lengths() const override { return true; }
  void fill(DatasetOptions& out) const override;
  static void describe(Fields<ReberConfig>& f);
};

}  // namespace thtrain
