// A page of small pictures in rows, with titles and a line or two below each picture.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "reports/canvas.h"
#include "reports/pixels.h"

namespace thtrain {

/// One picture of a sheet.
struct SheetTile {
  Pixels pixels = {};
  std::vector<std::string> lines = {};  // below it
};

/// A scale of colours with the numbers of its ends, and of the middle of ColourScale::kSigned, below the last row of a
/// section.
struct SheetScale {
  ColourScale scale = ColourScale::kBlue;
  ValueRange range = {};
  std::string name = {};
};

/// Some rows of pictures, all of one size.
struct SheetSection {
  std::string title = {};  // above them; "": none
  std::vector<SheetTile> tiles = {};
  int64_t columns = 0;                      // of each row; 0: as many as fit
  std::vector<std::string> row_names = {};  // on the left of each row; none: no names
  /// Of one picture, each for an equal part of its height, instead of names of rows; and of its width, below it.
  std::vector<std::string> pixel_names = {}, pixel_columns = {};
  double side = 56;  // of a picture's longer side on the page, about; pixels stay squares
  std::vector<SheetScale> scales = {};
};

struct Sheet {
  std::string title = {};
  std::vector<SheetSection> sections = {};
};

/// As wide as its rows, and 960 pixels at most, unless given columns need more; as high as it has to be. A picture is
/// enlarged by a whole number where it is smaller than `side`. Text that is too long for its area is cut.
Canvas draw_sheet(const Sheet& sheet);

}  // namespace thtrain
