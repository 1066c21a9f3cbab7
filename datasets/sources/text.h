// A text as characters, and as targets the character that follows each.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "datasets/data_config.h"

namespace thtrain {

/// The characters of UTF-8 text: code points. UserError in the name of `path`, with the line, for bytes that are none.
std::vector<char32_t> characters_of(std::string_view text, const std::string& path);

/// Windows of `steps` characters of a text of numbers: x[i, t] is a number, and y[i, t] the number behind it.
struct TextWindows {
  Tensor x, y;  // int64 [n, steps]
};

/// The text is cut into `tracks` parts of w * steps characters each, one behind the other, with the largest w that
/// there is room for (and one character behind the last part); what is left at the end is not used. Window k of part j
/// is row k * tracks + j: minibatches of `tracks` rows in order go on where the minibatch before them ended, row by
/// row. No windows where the text is too short.
TextWindows text_windows(const std::vector<int64_t>& text, int64_t steps, int64_t tracks);

struct TextConfig : DataConfig {
  static constexpr std::string_view kName = "text";
  std::string file;
  int64_t steps = 50;
  int64_t window_tracks = 1;
  bool one_hot = true;
  double valid_fraction = 0, test_fraction = 0;
  bool has_sequences() const override { return true; }
  int64_t tracks() const override { return window_tracks; }
  SetSizes sizes() const override { return {-1, valid_fraction > 0 ? -1 : 0, test_fraction > 0 ? -1 : 0}; }
  std::vector<DataFile> files() override;
  void fill(DatasetOptions& out) const override;
  /// The whole text in windows, as training cuts it without tracks. UserError for a character that is not known.
  std::optional<Split> read_examples(const std::string& path, const KnownData& known) const override;
  static void describe(Fields<TextConfig>& f);
};

}  // namespace thtrain
