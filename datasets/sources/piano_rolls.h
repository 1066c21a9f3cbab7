// Piano rolls: which keys sound at each step of pieces of music, and as targets which sound at the next step.
//
// The form of the four collections of N. Boulanger-Lewandowski, Y. Bengio, P. Vincent, "Modeling temporal dependencies
// in high-dimensional sequences", ICML 2012, as text: a line "@ set steps keys" begins each piece, set is train, valid
// or test; then comes a line for each step, with the numbers of the keys that sound, from 0 on. An empty line is a step
// without a sound.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "datasets/data_config.h"

namespace thtrain {

/// The pieces of one set. Of a piece of k steps: x: uint8 [n, steps, keys], 1 where a key sounds, its steps 0 to k - 2;
/// y: the same of its steps 1 to k - 1; lengths: int64 [n], k - 1. `steps` are those of the longest piece; zeros behind
/// the ends.
struct PianoRolls {
  Tensor x, y, lengths;
};
struct PianoRollSets {
  PianoRolls train, valid, test;
};

/// UserError with its line: a line before the first "@", one that is no "@ set steps keys", another number of keys than
/// before, a piece of fewer than 2 steps or of other steps than its line says, a key that is no number of the keys;
/// also: no pieces in the set train, no text.
PianoRollSets read_piano_rolls(const std::string& path);

struct PianoRollsConfig : DataConfig {
  static constexpr std::string_view kName = "piano_rolls";
  PianoRollsConfig() { target = Targets::kLabels; }
  std::string file;
  bool has_sequences() const override { return true; }
  bool has_lengths() const override { return true; }
  SetSizes sizes() const override { return {}; }
  std::vector<DataFile> files() override;
  void fill(DatasetOptions& out) const override;
  /// The pieces of the set train.
  std::optional<Split> read_examples(const std::string& path, const KnownData& known) const override;
  static void describe(Fields<PianoRollsConfig>& f);
};

}  // namespace thtrain
