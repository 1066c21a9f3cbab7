#include "reports/canvas.h"

#include <png.h>

#include <algorithm>
#include <cmath>

#include "datasets/file.h"

namespace thtrain {

namespace {

// Nine rows from the top, seven above the line that letters stand on; the bits of a row are its pixels, 0x10 the
// leftmost.
struct Glyph {
  char letter;
  uint8_t rows[9];
};

const Glyph kFont[] = {
    {' ', {0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00}},
    {'%', {0x19, 0x19, 0x02, 0x04, 0x08, 0x13, 0x13, 0x00, 0x00}},
    {'(', {0x02, 0x04, 0x08, 0x08, 0x08, 0x04, 0x02, 0x00, 0x00}},
    {')', {0x08, 0x04, 0x02, 0x02, 0x02, 0x04, 0x08, 0x00, 0x00}},
    {'*', {0x00, 0x04, 0x15, 0x0e, 0x15, 0x04, 0x00, 0x00, 0x00}},
    {'+', {0x00, 0x04, 0x04, 0x1f, 0x04, 0x04, 0x00, 0x00, 0x00}},
    {',', {0x00, 0x00, 0x00, 0x00, 0x00, 0x04, 0x04, 0x08, 0x00}},
    {'-', {0x00, 0x00, 0x00, 0x0e, 0x00, 0x00, 0x00, 0x00, 0x00}},
    {'.', {0x00, 0x00, 0x00, 0x00, 0x00, 0x04, 0x04, 0x00, 0x00}},
    {'/', {0x01, 0x01, 0x02, 0x04, 0x08, 0x10, 0x10, 0x00, 0x00}},
    {'0', {0x0e, 0x11, 0x11, 0x15, 0x11, 0x11, 0x0e, 0x00, 0x00}},
    {'1', {0x04, 0x0c, 0x14, 0x04, 0x04, 0x04, 0x1f, 0x00, 0x00}},
    {'2', {0x0e, 0x11, 0x01, 0x02, 0x04, 0x08, 0x1f, 0x00, 0x00}},
    {'3', {0x0e, 0x11, 0x01, 0x06, 0x01, 0x11, 0x0e, 0x00, 0x00}},
    {'4', {0x02, 0x06, 0x0a, 0x12, 0x1f, 0x02, 0x02, 0x00, 0x00}},
    {'5', {0x1f, 0x10, 0x1e, 0x01, 0x01, 0x11, 0x0e, 0x00, 0x00}},
    {'6', {0x06, 0x08, 0x10, 0x1e, 0x11, 0x11, 0x0e, 0x00, 0x00}},
    {'7', {0x1f, 0x01, 0x02, 0x02, 0x04, 0x04, 0x04, 0x00, 0x00}},
    {'8', {0x0e, 0x11, 0x11, 0x0e, 0x11, 0x11, 0x0e, 0x00, 0x00}},
    {'9', {0x0e, 0x11, 0x11, 0x0f, 0x01, 0x02, 0x0c, 0x00, 0x00}},
    {':', {0x00, 0x04, 0x04, 0x00, 0x04, 0x04, 0x00, 0x00, 0x00}},
    {'G', {0x0e, 0x11, 0x10, 0x13, 0x11, 0x11, 0x0e, 0x00, 0x00}},
    {'M', {0x11, 0x1b, 0x15, 0x15, 0x11, 0x11, 0x11, 0x00, 0x00}},
    {'_', {0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x1f, 0x00}},
    {'a', {0x00, 0x00, 0x0e, 0x01, 0x0f, 0x11, 0x0f, 0x00, 0x00}},
    {'b', {0x10, 0x10, 0x1e, 0x11, 0x11, 0x11, 0x1e, 0x00, 0x00}},
    {'c', {0x00, 0x00, 0x0f, 0x10, 0x10, 0x10, 0x0f, 0x00, 0x00}},
    {'d', {0x01, 0x01, 0x0f, 0x11, 0x11, 0x11, 0x0f, 0x00, 0x00}},
    {'e', {0x00, 0x00, 0x0e, 0x11, 0x1f, 0x10, 0x0e, 0x00, 0x00}},
    {'f', {0x06, 0x08, 0x1e, 0x08, 0x08, 0x08, 0x08, 0x00, 0x00}},
    {'g', {0x00, 0x00, 0x0f, 0x11, 0x11, 0x11, 0x0f, 0x01, 0x0e}},
    {'h', {0x10, 0x10, 0x1e, 0x11, 0x11, 0x11, 0x11, 0x00, 0x00}},
    {'i', {0x04, 0x00, 0x0c, 0x04, 0x04, 0x04, 0x0e, 0x00, 0x00}},
    {'j', {0x02, 0x00, 0x06, 0x02, 0x02, 0x02, 0x02, 0x02, 0x0c}},
    {'k', {0x10, 0x10, 0x12, 0x14, 0x18, 0x14, 0x12, 0x00, 0x00}},
    {'l', {0x0c, 0x04, 0x04, 0x04, 0x04, 0x04, 0x0e, 0x00, 0x00}},
    {'m', {0x00, 0x00, 0x1a, 0x15, 0x15, 0x15, 0x15, 0x00, 0x00}},
    {'n', {0x00, 0x00, 0x1e, 0x11, 0x11, 0x11, 0x11, 0x00, 0x00}},
    {'o', {0x00, 0x00, 0x0e, 0x11, 0x11, 0x11, 0x0e, 0x00, 0x00}},
    {'p', {0x00, 0x00, 0x1e, 0x11, 0x11, 0x11, 0x1e, 0x10, 0x10}},
    {'q', {0x00, 0x00, 0x0f, 0x11, 0x11, 0x11, 0x0f, 0x01, 0x01}},
    {'r', {0x00, 0x00, 0x16, 0x18, 0x10, 0x10, 0x10, 0x00, 0x00}},
    {'s', {0x00, 0x00, 0x0f, 0x10, 0x0e, 0x01, 0x1e, 0x00, 0x00}},
    {'t', {0x08, 0x08, 0x1e, 0x08, 0x08, 0x08, 0x06, 0x00, 0x00}},
    {'u', {0x00, 0x00, 0x11, 0x11, 0x11, 0x11, 0x0f, 0x00, 0x00}},
    {'v', {0x00, 0x00, 0x11, 0x11, 0x0a, 0x0a, 0x04, 0x00, 0x00}},
    {'w', {0x00, 0x00, 0x11, 0x15, 0x15, 0x15, 0x0a, 0x00, 0x00}},
    {'x', {0x00, 0x00, 0x11, 0x0a, 0x04, 0x0a, 0x11, 0x00, 0x00}},
    {'y', {0x00, 0x00, 0x11, 0x11, 0x11, 0x11, 0x0f, 0x01, 0x0e}},
    {'z', {0x00, 0x00, 0x1f, 0x02, 0x04, 0x08, 0x1f, 0x00, 0x00}},
};
const Glyph kUnknown = {0, {0x1f, 0x11, 0x11, 0x11, 0x11, 0x11, 0x1f, 0x00, 0x00}};

const Glyph& glyph_of(char letter) {
  for (const Glyph& glyph : kFont)
    if (glyph.letter == letter) return glyph;
  return kUnknown;
}

bool is_finite(const Box& box) {
  return std::isfinite(box.left) && std::isfinite(box.top) && std::isfinite(box.right) && std::isfinite(box.bottom);
}

// The part of a line in a box, by Liang and Barsky; false where there is none. A line within the box stays as it is.
bool clip_line(double& x0, double& y0, double& x1, double& y1, const Box& box) {
  const double dx = x1 - x0, dy = y1 - y0;
  double from = 0, to = 1;
  auto cut = [&](double towards, double room) {  // where at * towards > room, it is outside
    if (towards == 0) return room >= 0;
    (towards < 0 ? from : to) = towards < 0 ? std::max(from, room / towards) : std::min(to, room / towards);
    return from <= to;
  };
  if (!cut(-dx, x0 - box.left) || !cut(dx, box.right - x0) || !cut(-dy, y0 - box.top) || !cut(dy, box.bottom - y0))
    return false;
  if (to < 1) x1 = x0 + to * dx, y1 = y0 + to * dy;
  if (from > 0) x0 += from * dx, y0 += from * dy;
  return true;
}

}  // namespace

Canvas::Canvas(int width, int height)
    : width_(width), height_(height), pixels_(static_cast<size_t>(width) * static_cast<size_t>(height) * 3, 255) {}

void Canvas::blend(int x, int y, double coverage, Colour colour) {
  if (x < 0 || y < 0 || x >= width_ || y >= height_ || coverage <= 0) return;
  uint8_t* pixel = &pixels_[(static_cast<size_t>(y) * static_cast<size_t>(width_) + static_cast<size_t>(x)) * 3];
  const uint8_t wanted[] = {colour.red, colour.green, colour.blue};
  double part = std::min(coverage, 1.0);
  for (int i = 0; i < 3; ++i) pixel[i] = static_cast<uint8_t>(std::lround(pixel[i] + part * (wanted[i] - pixel[i])));
}

// A pixel is covered by how far its middle is inside the line's edge. Far ends are cut off first, outside of what is
// seen: no loop is longer than the picture, and no square overflows.
void Canvas::line(double x0, double y0, double x1, double y1, double thickness, Colour colour, const Box& within) {
  if (!std::isfinite(x0 + y0) || !std::isfinite(x1 + y1) || !is_finite(within) || !std::isfinite(thickness)) return;
  const Box clip{std::max(within.left, 0.0), std::max(within.top, 0.0), std::min<double>(within.right, width_),
                 std::min<double>(within.bottom, height_)};
  constexpr double kFar = 1e9;
  for (double* end : {&x0, &y0, &x1, &y1}) *end = std::clamp(*end, -kFar, kFar);
  const double beyond = 2 * std::min(std::abs(thickness), kFar) + 4;
  const Box near{clip.left - beyond, clip.top - beyond, clip.right + beyond, clip.bottom + beyond};
  if (!clip_line(x0, y0, x1, y1, near)) return;
  double dx = x1 - x0, dy = y1 - y0, squared = dx * dx + dy * dy, half = thickness / 2;
  double margin = half + 1;
  auto first = [&](double a, double b, double low) {
    return static_cast<int>(std::max(std::floor(std::min(a, b) - margin), low));
  };
  auto last = [&](double a, double b, double high) {
    return static_cast<int>(std::min(std::ceil(std::max(a, b) + margin), high));
  };
  for (int y = first(y0, y1, clip.top); y < last(y0, y1, clip.bottom); ++y)
    for (int x = first(x0, x1, clip.left); x < last(x0, x1, clip.right); ++x) {
      double px = x + 0.5 - x0, py = y + 0.5 - y0;
      double along = squared > 0 ? std::clamp((px * dx + py * dy) / squared, 0.0, 1.0) : 0;
      blend(x, y, half + 0.5 - std::hypot(px - along * dx, py - along * dy), colour);
    }
}

void Canvas::fill(const Box& box, Colour colour) {
  if (!is_finite(box)) return;
  auto pixel = [](double at, int last) { return static_cast<int>(std::lround(std::clamp<double>(at, 0, last))); };
  for (int y = pixel(box.top, height_); y < pixel(box.bottom, height_); ++y)
    for (int x = pixel(box.left, width_); x < pixel(box.right, width_); ++x) blend(x, y, 1, colour);
}

void Canvas::ring(double x, double y, double radius, double thickness, Colour colour) {
  double outer = radius + thickness;
  if (!std::isfinite(x) || !std::isfinite(y) || !std::isfinite(outer)) return;
  auto pixel = [](double at, int count) { return static_cast<int>(std::clamp<double>(at, -2, count + 1)); };
  for (int row = pixel(y - outer, height_) - 1; row <= pixel(y + outer, height_) + 1; ++row)
    for (int column = pixel(x - outer, width_) - 1; column <= pixel(x + outer, width_) + 1; ++column) {
      double distance = std::abs(std::hypot(column + 0.5 - x, row + 0.5 - y) - radius);
      blend(column, row, thickness / 2 + 0.5 - distance, colour);
    }
}

void Canvas::text(int x, int y, std::string_view text, Colour colour) {
  for (char letter : text) {
    const Glyph& glyph = glyph_of(letter);
    for (int row = 0; row < 9; ++row)
      for (int column = 0; column < 5; ++column)
        if (glyph.rows[row] >> (4 - column) & 1) blend(x + column, y + row, 1, colour);
    x += 6;
  }
}

void Canvas::write_png(const std::string& path) const {
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  image.width = static_cast<png_uint_32>(width_);
  image.height = static_cast<png_uint_32>(height_);
  image.format = PNG_FORMAT_RGB;
  png_alloc_size_t bytes = 0;
  bool sized = png_image_write_to_memory(&image, nullptr, &bytes, 0, pixels_.data(), 0, nullptr) != 0;
  std::string encoded(bytes, '\0');
  bool written = sized && png_image_write_to_memory(&image, encoded.data(), &bytes, 0, pixels_.data(), 0, nullptr) != 0;
  TH_CHECK(written, "libpng: ", image.message);
  AtomicFile file(path);
  file.write(encoded.data(), bytes);
  file.commit();
}

}  // namespace thtrain
