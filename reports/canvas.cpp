#include "reports/canvas.h"

#include <algorithm>
#include <cmath>

#include "compiler/base/file.h"
#include "compiler/base/utf8.h"
#include "reports/font.h"
#include "reports/raster.h"
#include "reports/svg.h"

namespace thtrain {

namespace {

bool is_finite(const Box& box) {
  return std::isfinite(box.left) && std::isfinite(box.top) && std::isfinite(box.right) && std::isfinite(box.bottom);
}

bool is_right(const LineStyle& style) {
  return std::isfinite(style.thickness) && style.thickness > 0 && (!style.within || is_finite(*style.within));
}

// WCAG 2.1, "relative luminance"; the break is that of IEC 61966-2-1.
double luminance(Colour colour) {
  auto linear = [](uint8_t value) {
    const double part = value / 255.0;
    return part <= 0.04045 ? part / 12.92 : std::pow((part + 0.055) / 1.055, 2.4);
  };
  return 0.2126 * linear(colour.red) + 0.7152 * linear(colour.green) + 0.0722 * linear(colour.blue);
}

}  // namespace

double contrast_ratio(Colour a, Colour b) {
  const auto [darker, lighter] = std::minmax({luminance(a), luminance(b)});
  return (lighter + 0.05) / (darker + 0.05);
}

Colour text_colour_on(Colour ground) {
  constexpr Colour kBlack{0, 0, 0};
  return contrast_ratio(kWhite, ground) > contrast_ratio(kBlack, ground) ? kWhite : kBlack;
}

Canvas::Canvas(int width, int height) : width_(std::max(width, 1)), height_(std::max(height, 1)) {}

void Canvas::polyline(const std::vector<Point>& points, const LineStyle& style) {
  if (!is_right(style)) return;
  Polyline line{{}, style};
  for (const Point& p : points)
    if (line.points.empty() || p != line.points.back()) line.points.push_back(p);
  shapes_.emplace_back(std::move(line));
}

void Canvas::fill(const Box& box, Colour colour) {
  if (is_finite(box)) shapes_.emplace_back(Filled{box, colour});
}

void Canvas::frame(const Box& box, const LineStyle& style) {
  if (!is_finite(box) || !is_right(style)) return;
  shapes_.emplace_back(Polyline{
      {{box.left, box.top}, {box.right, box.top}, {box.right, box.bottom}, {box.left, box.bottom}}, style, true});
}

void Canvas::marker(double x, double y, const MarkerStyle& style) {
  // One that is far away would not fit into the rasterizer's numbers.
  if (!(style.size > 0) || !(style.size < 1e4) || !(style.thickness > 0) || !(style.thickness < 1e4)) return;
  if (x > -2 * style.size && x < width_ + 2 * style.size && y > -2 * style.size && y < height_ + 2 * style.size)
    shapes_.emplace_back(Mark{x, y, style});
}

void Canvas::text(double x, double y, std::string_view text, const TextStyle& style) {
  if (!(style.size > 0) || !(style.size < 1000)) return;
  const double before = style.anchor == Anchor::kLeft    ? 0
                        : style.anchor == Anchor::kRight ? text_width(text, style.size, style.bold)
                                                         : text_width(text, style.size, style.bold) / 2;
  const double capitals = capital_height(style.size);
  const double below = style.level == TextLevel::kBase ? 0 : style.level == TextLevel::kTop ? capitals : capitals / 2;
  Placed placed{style.upward ? x + below : x - before, style.upward ? y + before : y + below, std::string(text), style};
  constexpr double kFar = 1e5;
  if (std::abs(placed.x) < kFar && std::abs(placed.y) < kFar) shapes_.emplace_back(std::move(placed));
}

void Canvas::image(const Box& box, Pixels pixels) {
  TH_CHECK(pixels.channels == 1 || pixels.channels == 3, pixels.channels, " channels of an image");
  TH_CHECK(static_cast<int64_t>(pixels.values.size()) == pixels.width * pixels.height * pixels.channels,
           pixels.values.size(), " values of an image of ", pixels.width, " x ", pixels.height);
  if (is_finite(box) && box.width() > 0 && box.height() > 0 && !pixels.values.empty())
    shapes_.emplace_back(Image{box, std::move(pixels)});
}

double Canvas::text_width(std::string_view text, double size, bool bold) {
  if (const auto font = Font::find()) return font->width(text, size, bold);
  return (bold ? 0.7 : 0.62) * size * static_cast<double>(code_points(text).size());
}

double Canvas::capital_height(double size) {
  return 0.729 * size;
}

std::vector<Canvas::Text> Canvas::texts() const {
  std::vector<Text> out;
  for (const Shape& shape : shapes_)
    if (const auto* placed = std::get_if<Placed>(&shape)) {
      const auto& [x, y, text, style] = *placed;
      const double length = text_width(text, style.size, style.bold), height = capital_height(style.size);
      const Box box = style.upward ? Box{x - height, y - length, x, y} : Box{x, y - height, x + length, y};
      out.push_back({text, box, style});
    }
  return out;
}

void Canvas::write_png(const std::string& path) const {
  thtrain::write_png(path, raster_of(*this), maker_);
}

void Canvas::write_svg(const std::string& path) const {
  AtomicFile file(path);
  file.write(svg_of(*this));
  file.commit();
}

bool is_made_by(const std::string& path, std::string_view maker) {
  try {
    const std::string beginning = InputFile(path).beginning(1024);
    return beginning.find(svg_maker(maker)) != std::string::npos ||
           beginning.find(png_maker(maker)) != std::string::npos;
  } catch (const UserError&) {
    return false;
  }
}

std::vector<std::string> Canvas::write(const std::string& path) const {
  const bool has_text =
      std::any_of(shapes_.begin(), shapes_.end(), [](const Shape& s) { return std::holds_alternative<Placed>(s); });
  std::vector<std::string> out;
  if (!has_text || Font::find()) {
    write_png(path + ".png");
    out.push_back(path + ".png");
  }
  write_svg(path + ".svg");
  out.push_back(path + ".svg");
  return out;
}

}  // namespace thtrain
