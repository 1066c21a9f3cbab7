// Piano rolls: which keys sound at each step of pieces of music, and as targets which sound at the next step.
//
// The form of the four collections of N. Boulanger-Lewandowski, Y. Bengio, P. Vincent, "Modeling temporal dependencies
// in high-dimensional sequences", ICML 2012, as text: a line "@ set steps keys" begins each piece, set is train, valid
// or test; then comes a line for each step, with the numbers of the keys that sound, from 0 on. An empty line is a step
// without a sound.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "datasets/data_config.h"
#include "datasets/row_source.h"

namespace thtrain {

/// The pieces of one set, one after the other. Of a piece of k steps the example is a sequence of k - 1: x are its
/// steps 0 to k - 2, y its steps 1 to k - 1.
struct PianoRolls {
  Tensor steps;                 // uint8 [steps of all pieces, keys]: 1 where a key sounds
  std::vector<int64_t> starts;  // of each piece among them
  Tensor lengths;               // int64 [n], k - 1

  /// [n, steps, keys], the steps those of the longest sequence.
  Shape shape() const;
  /// x or y as rows of that shape, with zeros behind the ends, made when they are read.
  std::shared_ptr<const RowSource> x_rows() const;
  std::shared_ptr<const RowSource> y_rows() const;
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
