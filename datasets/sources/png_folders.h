// Folders of PNG pictures, one folder for each class.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "datasets/data_config.h"

namespace thtrain {

struct PngFolders {
  Tensor images;  // uint8 [n, height, width], or [n, 3, height, width]; lengths only where they stayed in their files
  Tensor labels;  // int64 [n]
  std::vector<std::string> classes;              // the names of the subfolders
  std::shared_ptr<const RowSource> source = {};  // of images that stayed in their files
  std::vector<std::string> files = {};           // "CLASS/name.png" of each image
};

/// The pictures "FOLDER/CLASS/*.png" in the order of their names, byte by byte; the subfolders in that order are the
/// classes from 0 on, or those of `classes` where there are some. Grey or red, green and blue, 8 bits each, of the
/// stored values: v of 16 bits is round(v / 257), gamma (gAMA) is not applied, what is transparent is round(v alpha /
/// 255), that is on black, and grey of colors is (19595 red + 38470 green + 7471 blue + 32768) >> 16, as Pillow's mode
/// "L" computes the luma of ITU-R BT.601; blended first. Pictures of more than `most_bytes` stay in their files.
/// UserError: no folder, no subfolders or one that `classes` has not, no pictures, one that libpng cannot read, one of
/// another size than the first; of those that stay in their files the last two come when they are read.
PngFolders read_png_folders(const std::string& folder, bool grey, const std::vector<std::string>& classes = {},
                            uint64_t most_bytes = std::numeric_limits<uint64_t>::max());

struct PngFoldersConfig : SetFiles {
  static constexpr std::string_view kName = "png_folders";
  enum class Color { kGrey, kRgb };
  PngFoldersConfig() { scale = kPixelScale; }
  Color color = Color::kGrey;
  void fill(DatasetOptions& out) const override;
  /// Of such a folder, or of pictures without classes: "FOLDER/*.png", or one file.
  std::optional<Split> read_examples(const std::string& path, const KnownData& known) const override;
  static void describe(Fields<PngFoldersConfig>& f);
};

}  // namespace thtrain
