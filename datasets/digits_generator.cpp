#include "datasets/digits_generator.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <vector>

#include "datasets/digit_strokes.h"
#include "datasets/split_mix.h"

namespace thtrain {

namespace {

// Lengths are in 1/256 of a pixel, factors in 1/256; the unit of the glyphs' box is kUnit long.
constexpr int32_t kOne = 256;
constexpr int32_t kSide = 28;
constexpr int32_t kUnit = 37;  // 140 units are 20 pixels
constexpr int32_t kBoxWidth = 100 * kUnit, kBoxHeight = 140 * kUnit;

// How much varies from digit to digit; where nothing else is said, the largest deviation to either side. Chosen by
// measurement: from 10,000 digits a logistic regression reaches 8.7 % errors, a tanh network of 500 units to 3.8 %
// (MNIST: 9.0, 5.6 %).
constexpr int32_t kPointMove = 5 * kUnit;    // of a point of the path
constexpr int32_t kHandleMove = 5 * kUnit;   // of a handle against its point
constexpr int32_t kElasticMove = 8 * kUnit;  // of a corner of the elastic grid
constexpr int32_t kElasticCells = 3;         // the grid's cells on each side
constexpr int32_t kSlant = 200;              // x by y
constexpr int32_t kTurn = 60;                // the tangent of the angle
constexpr int32_t kStretch = 105;            // of width and of height, each for itself
constexpr int32_t kShift = 350;
constexpr int32_t kThinnest = 200, kThickest = 460;  // half the width of the pen, from and to
constexpr int32_t kSoftEdge = 420;                   // the way over which the ink fades
constexpr int32_t kFaintest = 190;                   // ink, of 255, from
constexpr int32_t kMaxNoise = 24;                    // of 255, to
constexpr int kCurveSteps = 8;                       // straight lines for each curve

struct Point {
  int32_t x = 0, y = 0;
};
struct PenPoint {
  Point at;
  int32_t radius = 0;
};
using Line = std::vector<PenPoint>;

/// A smooth displacement of the glyphs' box: random at the corners of a grid, bilinear between.
class Elastic {
 public:
  explicit Elastic(SplitMix& random) {
    for (Point& corner : corners_) corner = {random.small(kElasticMove), random.small(kElasticMove)};
  }
  Point operator()(Point p) const {
    auto [column, right] = cell(p.x, kBoxWidth);
    auto [row, down] = cell(p.y, kBoxHeight);
    auto corner = [&](int32_t r, int32_t c) { return corners_[static_cast<size_t>(r * (kElasticCells + 1) + c)]; };
    Point a = corner(row, column), b = corner(row, column + 1), c = corner(row + 1, column),
          d = corner(row + 1, column + 1);
    auto mix = [right = right, down = down](int32_t a, int32_t b, int32_t c, int32_t d) {
      int32_t top = a * (kOne - right) + b * right, bottom = c * (kOne - right) + d * right;
      return (top / kOne * (kOne - down) + bottom / kOne * down) / kOne;
    };
    return {p.x + mix(a.x, b.x, c.x, d.x), p.y + mix(a.y, b.y, c.y, d.y)};
  }

 private:
  /// The cell that holds `at` and how far into it, in 1/256.
  static std::pair<int32_t, int32_t> cell(int32_t at, int32_t length) {
    int32_t scaled = std::clamp(at, 0, length - 1) * kElasticCells * 16 / length * 16;
    return {scaled / kOne, scaled % kOne};
  }
  std::array<Point, (kElasticCells + 1) * (kElasticCells + 1)> corners_;
};

/// Slant, turn, stretch and shift, about the middle of the box and onto the image.
class Placement {
 public:
  explicit Placement(SplitMix& random)
      : slant_(random.small(kSlant)),
        turn_(random.small(kTurn)),
        width_(kOne + random.even(kStretch)),
        height_(kOne + random.even(kStretch)),
        shift_{random.small(kShift), random.small(kShift)} {}
  Point operator()(Point p) const {
    int32_t x = (p.x - kBoxWidth / 2) * width_ / kOne, y = (p.y - kBoxHeight / 2) * height_ / kOne;
    x -= y * slant_ / kOne;
    int32_t turned_x = x + y * turn_ / kOne, turned_y = y - x * turn_ / kOne;
    constexpr int32_t kMiddle = kSide * kOne / 2;
    return {turned_x + kMiddle + shift_.x, turned_y + kMiddle + shift_.y};
  }

 private:
  int32_t slant_, turn_, width_, height_;
  Point shift_;
};

/// The stroke's points, moved at random. A point's handles move with it and turn about it, so that a smooth path stays
/// smooth.
std::vector<Point> moved_points(const Stroke& stroke, SplitMix& random) {
  std::vector<Point> out;
  for (const StrokePoint& point : stroke) out.push_back({point.x * kUnit, point.y * kUnit});
  for (size_t i = 0; i < out.size(); i += 3) {
    Point move{random.small(kPointMove), random.small(kPointMove)},
        turn{random.even(kHandleMove), random.even(kHandleMove)};
    out[i] = {out[i].x + move.x, out[i].y + move.y};
    if (i > 0) out[i - 1] = {out[i - 1].x + move.x - turn.x, out[i - 1].y + move.y - turn.y};
    if (i + 1 < out.size()) out[i + 1] = {out[i + 1].x + move.x + turn.x, out[i + 1].y + move.y + turn.y};
  }
  return out;
}

/// The Bezier curve through p[0] and p[3] at step / kCurveSteps.
Point on_curve(const Point* p, int step) {
  int64_t t = step, s = kCurveSteps - step;
  constexpr int64_t kCube = int64_t{kCurveSteps} * kCurveSteps * kCurveSteps;
  auto mix = [&](int64_t a, int64_t b, int64_t c, int64_t d) {
    return static_cast<int32_t>((s * s * s * a + 3 * s * s * t * b + 3 * s * t * t * c + t * t * t * d) / kCube);
  };
  return {mix(p[0].x, p[1].x, p[2].x, p[3].x), mix(p[0].y, p[1].y, p[2].y, p[3].y)};
}

/// Square roots of multiples of 256, in 1/256 of a pixel: what a distance is made of.
class RootTable {
 public:
  RootTable() {
    int32_t root = 0;
    for (size_t i = 0; i < roots_.size(); ++i) {
      while ((root + 1) * (root + 1) <= static_cast<int32_t>(i) * kOne) ++root;
      roots_[i] = root;
    }
  }
  /// Of a number below kReach^2.
  int32_t operator()(int32_t square) const { return roots_[static_cast<size_t>(square / kOne)]; }
  static constexpr int32_t kReach = 4 * kOne;

 private:
  std::array<int32_t, kReach * kReach / kOne + 1> roots_;
};

using Image = std::array<int32_t, kSide * kSide>;

/// part / whole in 1/256, at least 0 and at most 1. (A double divides faster than integers do, and its quotient of such
/// numbers never rounds up to a whole one.)
int32_t share(int32_t part, int32_t whole) {
  if (part <= 0) return 0;
  return part >= whole ? kOne : static_cast<int32_t>(double{kOne} * part / whole);
}

/// Adds the ink of a thick line with round ends; each pixel takes the darkest ink that touches it.
void draw_line(Image& image, const PenPoint& from, const PenPoint& to, int32_t ink) {
  static const RootTable kRoot;
  int32_t reach = std::min(std::max(from.radius, to.radius) + kSoftEdge / 2, RootTable::kReach - 1);
  auto pixel = [](int32_t length) { return std::clamp(length / kOne, 0, kSide - 1); };
  int32_t left = pixel(std::min(from.at.x, to.at.x) - reach), right = pixel(std::max(from.at.x, to.at.x) + reach);
  int32_t top = pixel(std::min(from.at.y, to.at.y) - reach), bottom = pixel(std::max(from.at.y, to.at.y) + reach);
  int32_t dx = to.at.x - from.at.x, dy = to.at.y - from.at.y;
  int32_t square = std::max(dx * dx + dy * dy, 1);
  for (int32_t row = top; row <= bottom; ++row) {
    for (int32_t column = left; column <= right; ++column) {
      int32_t x = column * kOne + kOne / 2 - from.at.x, y = row * kOne + kOne / 2 - from.at.y;
      int32_t along = share(x * dx + y * dy, square);
      x -= dx * along / kOne;
      y -= dy * along / kOne;
      int32_t distance = x * x + y * y;
      if (distance >= reach * reach) continue;
      auto radius = from.radius + (to.radius - from.radius) * along / kOne;
      int32_t cover = std::clamp(radius + kSoftEdge / 2 - kRoot(distance), 0, kSoftEdge);
      int32_t& value = image[static_cast<size_t>(row * kSide + column)];
      value = std::max(value, ink * cover / kSoftEdge);
    }
  }
}

/// The pen's lines, one for each stroke.
std::vector<Line> pen_lines(const Glyph& glyph, SplitMix& random) {
  Elastic elastic(random);
  Placement position(random);
  int32_t width = kThinnest + static_cast<int32_t>(random.below(kThickest - kThinnest + 1));
  std::vector<Line> lines;
  for (const Stroke& stroke : glyph) {
    std::vector<Point> points = moved_points(stroke, random);
    Line line = {{position(elastic(points[0])), width + random.even(width / 4)}};
    for (size_t curve = 0; curve + 3 < points.size(); curve += 3) {
      int32_t start = line.back().radius, goal = width + random.even(width / 4);
      for (int step = 1; step <= kCurveSteps; ++step) {
        line.push_back(
            {position(elastic(on_curve(&points[curve], step))), start + (goal - start) * step / kCurveSteps});
      }
    }
    lines.push_back(std::move(line));
  }
  return lines;
}

/// Shifts a digit that leaves the image back into it, or to the middle if it is too large.
void keep_inside(std::vector<Line>& lines, int32_t Point::*axis) {
  int32_t low = kSide * kOne, high = 0;
  for (const Line& line : lines) {
    for (const PenPoint& point : line) {
      low = std::min(low, point.at.*axis - point.radius);
      high = std::max(high, point.at.*axis + point.radius);
    }
  }
  int32_t shift = 0;
  if (high - low > kSide * kOne)
    shift = (kSide * kOne - high - low) / 2;
  else if (low < 0)
    shift = -low;
  else if (high > kSide * kOne)
    shift = kSide * kOne - high;
  for (Line& line : lines) {
    for (PenPoint& point : line) point.at.*axis += shift;
  }
}

void draw_digit(int digit, SplitMix& random, uint8_t* out) {
  std::span<const Glyph> ways = glyphs_of(digit);
  std::vector<Line> lines = pen_lines(ways[random.below(ways.size())], random);
  keep_inside(lines, &Point::x);
  keep_inside(lines, &Point::y);
  int32_t ink = 255 - static_cast<int32_t>(random.below(256 - kFaintest));
  Image image{};
  for (const Line& line : lines) {
    for (size_t i = 1; i < line.size(); ++i) draw_line(image, line[i - 1], line[i], ink);
  }
  auto noise = static_cast<int32_t>(random.below(kMaxNoise + 1));
  for (size_t i = 0; i < image.size(); ++i) {
    // Four bytes of one draw, summed: nearly normal, deviation 148.
    uint64_t bits = random.next();
    auto sum = static_cast<int32_t>((bits & 255) + (bits >> 8 & 255) + (bits >> 16 & 255) + (bits >> 24 & 255)) - 510;
    out[i] = static_cast<uint8_t>(std::clamp(image[i] + sum * noise / 512, 0, 255));
  }
}

}  // namespace

Digits generate_digits(int64_t n, uint64_t seed, uint64_t part) {
  TH_CHECK(n >= 0, "generate ", n, " digits");
  Digits out{Tensor::empty(DType::kUInt8, {n, kSide, kSide}), Tensor::empty(DType::kUInt8, {n})};
  auto* labels = out.labels.data<uint8_t>();
  for (int64_t i = 0; i < n; ++i) labels[i] = static_cast<uint8_t>(i % 10);
  SplitMix order = SplitMix::of(seed, part, ~uint64_t{0});
  for (int64_t i = n - 1; i > 0; --i) std::swap(labels[i], labels[order.below(static_cast<uint64_t>(i) + 1)]);
  for (int64_t i = 0; i < n; ++i) {
    SplitMix random = SplitMix::of(seed, part, static_cast<uint64_t>(i));
    draw_digit(labels[i], random, out.images.data<uint8_t>() + i * kSide * kSide);
  }
  return out;
}

}  // namespace thtrain
