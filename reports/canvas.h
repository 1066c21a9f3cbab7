// A small picture: smooth lines, text in a bitmap font, and a PNG file of it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace thtrain {

struct Colour {
  uint8_t red = 0, green = 0, blue = 0;
};

/// A rectangle, in pixels from the upper left corner.
struct Box {
  double left, top, right, bottom;
};

class Canvas {
 public:
  Canvas(int width, int height);  // white

  /// A line of that thickness, smooth at its edges and round at its ends, drawn where it is inside `within`
  /// and the picture. Coordinates may be anything; of a line, a rectangle or a ring that has no finite ones, nothing is
  /// drawn.
  void line(double x0, double y0, double x1, double y1, double thickness, Colour colour, const Box& within);
  void line(double x0, double y0, double x1, double y1, double thickness, Colour colour) {
    line(x0, y0, x1, y1, thickness, colour, {0, 0, static_cast<double>(width_), static_cast<double>(height_)});
  }
  /// A rectangle, to the nearest pixels.
  void fill(const Box& box, Colour colour);
  void ring(double x, double y, double radius, double thickness, Colour colour);
  /// Letters of 5 x 9 pixels, 6 apart, whose line begins at (x, y), the upper left corner. What the font has not is a
  /// box.
  void text(int x, int y, std::string_view text, Colour colour);
  static int text_width(std::string_view text) { return static_cast<int>(text.size()) * 6; }

  /// UserError where it cannot be written. Atomic.
  void write_png(const std::string& path) const;

 private:
  void blend(int x, int y, double coverage, Colour colour);

  int width_, height_;
  std::vector<uint8_t> pixels_;  // red, green, blue
};

}  // namespace thtrain
