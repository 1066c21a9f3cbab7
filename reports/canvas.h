// A picture: lines, boxes, markers, texts and pixels, written as PNG and as SVG.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace thtrain {

struct Colour {
  uint8_t red = 0, green = 0, blue = 0;
  bool operator==(const Colour&) const = default;
};
inline constexpr Colour kWhite{255, 255, 255};

/// From 1 to 21, of texts on a ground: WCAG 2.1, "contrast ratio". The colours are sRGB.
double contrast_ratio(Colour a, Colour b);
/// White or black, whichever has the larger contrast with the ground: 4.58 at least.
Colour text_colour_on(Colour ground);

/// A rectangle, in pixels from the upper left corner.
struct Box {
  double left, top, right, bottom;
  double width() const { return right - left; }
  double height() const { return bottom - top; }
  bool operator==(const Box&) const = default;
};

/// x and y, in pixels from the upper left corner; the middle of the first pixel is (0.5, 0.5).
using Point = std::pair<double, double>;

struct LineStyle {
  double thickness = 1;
  Colour colour = {};
  std::vector<double> dash = {};   // lengths drawn and left out in turn, in pixels; none: one line
  std::optional<Box> within = {};  // nothing is drawn outside of it
};

/// The part of a text that is at its x, read along the text; and at its y.
enum class Anchor { kLeft, kMiddle, kRight };
enum class TextLevel { kBase, kMiddle, kTop };  // the line that letters are on; the middle, and the top, of capitals

struct TextStyle {
  double size = 12;  // pixels of an em
  Colour colour = {};
  Anchor anchor = Anchor::kLeft;
  TextLevel level = TextLevel::kBase;
  bool bold = false;
  bool upward = false;  // turned by 90 degrees, to be read from below
};

enum class Marker { kDisc, kSquare, kDiamond, kTriangle, kTriangleDown, kStar, kCross, kPlus };

struct MarkerStyle {
  Marker shape = Marker::kDisc;
  double size = 6;  // its width
  Colour colour = {};
  bool hollow = false;     // an edge alone, white inside (kCross and kPlus are lines anyway)
  double thickness = 1.4;  // of the edge, and of the lines of kCross and kPlus
};

/// Rows of grey (1 channel) or red, green, blue (3 channels) pixels.
struct Pixels {
  int64_t width = 0, height = 0;
  int channels = 1;
  std::vector<uint8_t> values = {};
};

/// Records what is drawn, in its order. Coordinates may be anything: of what has none that are finite, nothing is
/// drawn, and what is outside of the picture is left out.
class Canvas {
 public:
  /// White. Pixels, at least 1.
  Canvas(int width, int height);

  int width() const { return width_; }
  int height() const { return height_; }

  /// What the files say of who made them: letters, digits and spaces. Nothing unless this is called.
  void set_maker(std::string maker) { maker_ = std::move(maker); }
  const std::string& maker() const { return maker_; }

  /// Round at corners and flat at ends. One point alone is a dot.
  void polyline(const std::vector<Point>& points, const LineStyle& style);
  void line(double x0, double y0, double x1, double y1, const LineStyle& style) {
    polyline({{x0, y0}, {x1, y1}}, style);
  }
  void fill(const Box& box, Colour colour);
  /// The edge of a box, its line along the middle of the edge.
  void frame(const Box& box, const LineStyle& style);
  void marker(double x, double y, const MarkerStyle& style);
  /// UTF-8, of one line.
  void text(double x, double y, std::string_view text, const TextStyle& style);
  /// Scaled to the box: each pixel becomes a rectangle of its colour.
  void image(const Box& box, Pixels pixels);

  /// In pixels, of the font that the picture will be drawn with; an estimate where there is none.
  static double text_width(std::string_view text, double size, bool bold = false);
  /// Capitals, and digits: 0.73 of the size.
  static double capital_height(double size);

  struct Text {
    std::string text;
    Box box;  // from the left end to the right end, and from the top of capitals to the base line
    TextStyle style;
  };
  /// Those drawn so far.
  std::vector<Text> texts() const;

  /// UserError where it cannot be written, or where it has text and the font is missing (reports/font.h). Atomic.
  void write_png(const std::string& path) const;
  /// UserError where it cannot be written. Atomic. Needs no font: texts name theirs.
  void write_svg(const std::string& path) const;
  /// PATH.png and PATH.svg; of a picture with text where the font is missing, PATH.svg alone. Returns what was written.
  std::vector<std::string> write(const std::string& path) const;

  // What was drawn, for those who write it.
  struct Polyline {
    std::vector<Point> points;
    LineStyle style;
    bool is_closed = false;
  };
  struct Filled {
    Box box;
    Colour colour;
  };
  struct Mark {
    double x, y;
    MarkerStyle style;
  };
  struct Placed {
    double x, y;
    std::string text;
    TextStyle style;
  };
  struct Image {
    Box box;
    Pixels pixels;
  };
  using Shape = std::variant<Polyline, Filled, Mark, Placed, Image>;
  const std::vector<Shape>& shapes() const { return shapes_; }

 private:
  int width_, height_;
  std::string maker_;
  std::vector<Shape> shapes_;
};

/// Is at `path` a file that a canvas with this maker wrote? False where it cannot be read.
bool is_made_by(const std::string& path, std::string_view maker);

}  // namespace thtrain
