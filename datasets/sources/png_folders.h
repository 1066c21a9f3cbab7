// Folders of PNG pictures, one folder for each class.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "datasets/data_config.h"

namespace thtrain {

struct PngFolders {
  Tensor images;                     // uint8 [n, height, width], or [n, 3, height, width]
  Tensor labels;                     // int64 [n]
  std::vector<std::string> classes;  // the names of the subfolders
};

/// The pictures "FOLDER/CLASS/*.png" in the order of their names, byte by byte; the subfolders in that order are the
/// classes from 0 on, or those of `classes` where there are some. Grey or red, green and blue, 8 bits each, what is
/// transparent on black. UserError: no folder, no subfolders or one that `classes` has not, no pictures, one that
/// libpng cannot read, one of another size than the first, more numbers than fit in `memory_limit` bytes (0: any).
PngFolders read_png_folders(const std::string& folder, bool grey, const std::vector<std::string>& classes = {},
                            uint64_t memory_limit = 0);

struct PngFoldersConfig : SetFiles {
  static constexpr std::string_view kName = "png_folders";
  enum class Color { kGrey, kRgb };
  PngFoldersConfig() { scale = kPixelScale; }
  Color color = Color::kGrey;
  void fill(DatasetOptions& out) const override;
  static void describe(Fields<PngFoldersConfig>& f);
};

}  // namespace thtrain
