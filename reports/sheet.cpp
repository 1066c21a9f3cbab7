#include "reports/sheet.h"

#include <algorithm>
#include <cmath>

#include "compiler/base/str.h"
#include "reports/plot.h"

namespace thtrain {

namespace {

constexpr double kMargin = 20, kSheetGap = 6, kLine = 15, kSheetTextSize = 11, kSheetTitleSize = 15, kSectionSize = 13;
constexpr double kSheetWidth = 960, kScaleWidth = 180, kScaleHeight = 34;
constexpr double kNameHeight = 14;  // of a scale's name below its numbers

// Where the parts of a section are.
struct Position {
  double tile_width = 0, tile_height = 0;  // of a picture
  double cell_width = 0, cell_height = 0;  // with its lines
  double names_width = 0;                  // of the rows
  double names_height = 0;                 // of the columns of pixels
  bool are_upward = false;                 // those names
  int64_t columns = 1, rows = 1;

  double width() const { return names_width + static_cast<double>(columns) * (cell_width + kSheetGap) - kSheetGap; }
};

double enlarged(int64_t longer, double side) {
  const double times = side / static_cast<double>(longer);
  return times >= 1 ? std::floor(times + 0.25) : times;
}

Position position_of(const SheetSection& section) {
  Position out;
  const Pixels& first = section.tiles.front().pixels;
  const double times = enlarged(std::max(first.width, first.height), section.side);
  out.tile_width = std::round(static_cast<double>(first.width) * times);
  out.tile_height = std::round(static_cast<double>(first.height) * times);
  size_t lines = 0;
  double text = 0;
  for (const SheetTile& tile : section.tiles) {
    lines = std::max(lines, tile.lines.size());
    for (const std::string& line : tile.lines) text = std::max(text, Canvas::text_width(line, kSheetTextSize));
  }
  constexpr double kLongest = 200;
  out.cell_width = std::max(out.tile_width, lines > 0 ? std::min(text, std::max(kLongest, out.tile_width)) + 8 : 0);
  out.cell_height = out.tile_height + (lines > 0 ? 4 + kLine * static_cast<double>(lines) : 0);
  for (const auto* names : {&section.row_names, &section.pixel_names})
    for (const std::string& name : *names)
      out.names_width = std::max(out.names_width, std::min(Canvas::text_width(name, kSheetTextSize), kLongest) + 10);
  if (!section.pixel_columns.empty()) {
    double widest = 0;
    for (const std::string& name : section.pixel_columns)
      widest = std::max(widest, std::min(Canvas::text_width(name, kSheetTextSize), kLongest));
    out.are_upward = widest + 4 > out.tile_width / static_cast<double>(section.pixel_columns.size());
    out.names_height = out.are_upward ? widest + 8 : kLine + 4;
    out.cell_height += out.names_height;
  }
  const auto count = std::ssize(section.tiles);
  out.columns = section.columns;
  if (out.columns == 0) {
    const double there = kSheetWidth - 2 * kMargin - out.names_width + kSheetGap;
    out.columns = std::clamp<int64_t>(static_cast<int64_t>(there / (out.cell_width + kSheetGap)), 1, count);
  }
  out.rows = (count + out.columns - 1) / out.columns;
  return out;
}

void draw_tile(Canvas& canvas, const SheetTile& tile, const Position& position, double left, double top) {
  const double x = left + (position.cell_width - position.tile_width) / 2;
  const Box box{std::floor(x), top, std::floor(x) + position.tile_width, top + position.tile_height};
  canvas.image(box, tile.pixels);
  canvas.frame({box.left - 0.5, box.top - 0.5, box.right + 0.5, box.bottom + 0.5}, {.colour = {200, 200, 200}});
  double y = box.bottom + 4 + kLine - 4;
  for (const std::string& line : tile.lines) {
    canvas.text(left + position.cell_width / 2, y, shortened(line, position.cell_width, kSheetTextSize),
                {.size = kSheetTextSize, .colour = plot::kAxis, .anchor = Anchor::kMiddle});
    y += kLine;
  }
}

std::string number_text(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3g", value);
  return text;
}

bool has_middle(const SheetScale& scale) {
  return scale.scale == ColourScale::kSigned;
}

void draw_scale(Canvas& canvas, const SheetScale& scale, double left, double top) {
  constexpr int64_t kSteps = 90;
  Pixels bar{.width = kSteps, .height = 1, .channels = 3};
  for (int64_t i = 0; i < kSteps; ++i) {
    const double part = static_cast<double>(i) / static_cast<double>(kSteps - 1);
    const Colour colour = scale_colour(scale.scale, part);
    bar.values.insert(bar.values.end(), {colour.red, colour.green, colour.blue});
  }
  const Box box{left, top, left + kScaleWidth, top + 10};
  canvas.image(box, bar);
  canvas.frame(box, {.colour = {200, 200, 200}});
  const double y = box.bottom + 14, middle = (box.left + box.right) / 2;
  const TextStyle centred{.size = kSheetTextSize, .colour = plot::kAxis, .anchor = Anchor::kMiddle};
  canvas.text(box.left, y, number_text(scale.range.low), {.size = kSheetTextSize, .colour = plot::kAxis});
  if (has_middle(scale)) {
    canvas.line(middle, box.bottom, middle, box.bottom + 3, {.colour = plot::kAxis});
    canvas.text(middle, y, number_text((scale.range.low + scale.range.high) / 2), centred);
  }
  canvas.text(middle, has_middle(scale) ? y + kNameHeight : y, scale.name, centred);
  canvas.text(box.right, y, number_text(scale.range.high),
              {.size = kSheetTextSize, .colour = plot::kAxis, .anchor = Anchor::kRight});
}

double title_height(const SheetSection& section) {
  return section.title.empty() ? 0 : 24;
}
double scales_height(const SheetSection& section) {
  if (section.scales.empty()) return 0;
  return kScaleHeight + (std::any_of(section.scales.begin(), section.scales.end(), has_middle) ? kNameHeight : 0);
}
double height_of(const SheetSection& section, const Position& position) {
  return title_height(section) + static_cast<double>(position.rows) * (position.cell_height + kSheetGap) +
         scales_height(section) + 8;
}

void draw_name(Canvas& canvas, const std::string& name, const Position& position, double middle) {
  const double width = position.names_width - 10;
  canvas.text(kMargin + width, middle, shortened(name, width, kSheetTextSize),
              {.size = kSheetTextSize, .colour = plot::kAxis, .anchor = Anchor::kRight, .level = TextLevel::kMiddle});
}

// Below a picture whose left lower corner is at (left, top).
void draw_column_names(Canvas& canvas, const std::vector<std::string>& names, const Position& position, double left,
                       double top) {
  const double width = position.tile_width / static_cast<double>(names.size());
  TextStyle style{.size = kSheetTextSize, .colour = plot::kAxis, .anchor = Anchor::kMiddle, .level = TextLevel::kTop};
  if (position.are_upward) style.anchor = Anchor::kRight, style.level = TextLevel::kMiddle, style.upward = true;
  for (size_t k = 0; k < names.size(); ++k)
    canvas.text(left + width * (static_cast<double>(k) + 0.5), top + 6,
                shortened(names[k], position.are_upward ? position.names_height - 8 : width, kSheetTextSize), style);
}

void draw_section(Canvas& canvas, const SheetSection& section, const Position& position, double top) {
  const double there = canvas.width() - 2 * kMargin;
  if (!section.title.empty())
    canvas.text(kMargin, top + 12, shortened(section.title, there, kSectionSize),
                {.size = kSectionSize, .colour = plot::kAxis});
  top += title_height(section);
  for (int64_t i = 0; i < std::ssize(section.tiles); ++i) {
    const double left =
        kMargin + position.names_width + static_cast<double>(i % position.columns) * (position.cell_width + kSheetGap);
    const double y = top + static_cast<double>(i / position.columns) * (position.cell_height + kSheetGap);
    const auto row = static_cast<size_t>(i / position.columns);
    if (i % position.columns == 0 && row < section.row_names.size())
      draw_name(canvas, section.row_names[row], position, y + position.tile_height / 2);
    const double pixel = position.tile_height / std::max(1.0, static_cast<double>(section.pixel_names.size()));
    for (size_t k = 0; k < section.pixel_names.size(); ++k)
      draw_name(canvas, section.pixel_names[k], position, y + pixel * (static_cast<double>(k) + 0.5));
    if (!section.pixel_columns.empty())
      draw_column_names(canvas, section.pixel_columns, position, left + (position.cell_width - position.tile_width) / 2,
                        y + position.tile_height);
    if (!section.tiles[static_cast<size_t>(i)].pixels.values.empty())
      draw_tile(canvas, section.tiles[static_cast<size_t>(i)], position, left, y);
  }
  double left = kMargin + position.names_width;
  for (const SheetScale& scale : section.scales) {
    draw_scale(canvas, scale, left, top + static_cast<double>(position.rows) * (position.cell_height + kSheetGap) + 4);
    left += kScaleWidth + 40;
  }
}

}  // namespace

Canvas draw_sheet(const Sheet& sheet) {
  std::vector<Position> positions;
  constexpr double kLeast = 320;
  double width = std::min(kSheetWidth - 2 * kMargin, Canvas::text_width(sheet.title, kSheetTitleSize, true)),
         height = kMargin + 28;
  for (const SheetSection& section : sheet.sections) {
    positions.push_back(position_of(section));
    const double scales = static_cast<double>(section.scales.size()) * (kScaleWidth + 40) - 40;
    width = std::max({width, positions.back().width(), positions.back().names_width + scales});
    height += height_of(section, positions.back());
  }
  width = std::max(width + 2 * kMargin, kLeast);
  Canvas canvas(static_cast<int>(std::ceil(width)), static_cast<int>(std::ceil(height + kMargin / 2)));
  canvas.text(kMargin, kMargin + 11, shortened(sheet.title, width - 2 * kMargin, kSheetTitleSize),
              {.size = kSheetTitleSize, .bold = true});
  double top = kMargin + 28;
  for (size_t i = 0; i < positions.size(); ++i) {
    draw_section(canvas, sheet.sections[i], positions[i], top);
    top += height_of(sheet.sections[i], positions[i]);
  }
  return canvas;
}

}  // namespace thtrain
