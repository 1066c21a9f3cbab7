#include "datasets/sources/strokes.h"

#include <algorithm>
#include <array>

#include "compiler/base/random_state.h"
#include "datasets/data_fields.h"
#include "datasets/digit_strokes.h"

namespace thtrain {

namespace {

constexpr int64_t kGlyphUnit = 256;               // a unit of the glyphs' box, and a factor of 1
constexpr int64_t kLargestMove = 4 * kGlyphUnit;  // largest, of a point
constexpr int64_t kLargestSlant = 60;
constexpr int64_t kSmallest = 200, kLargest = 312;  // factors of width and height
constexpr int64_t kMovesOfCurve = 4;
constexpr double kScale = 10.0 * kGlyphUnit;  // of a move

struct BoxPoint {
  int64_t x = 0, y = 0;
};
using Move = std::array<double, 3>;
constexpr int64_t kLeastMoves = 4;  // of a digit

/// One digit's way of being written.
class Writer {
 public:
  explicit Writer(RandomState& random)
      : random_(random),
        slant_(random.integer(-kLargestSlant, kLargestSlant + 1)),
        width_(random.integer(kSmallest, kLargest + 1)),
        height_(random.integer(kSmallest, kLargest + 1)) {}

  std::vector<Move> write(const Glyph& glyph) {
    for (const Stroke& stroke : glyph) {
      const std::vector<BoxPoint> points = moved_points(stroke);
      if (has_begun_)
        go(points[0], false);
      else
        at_ = points[0];
      has_begun_ = true;
      for (size_t i = 0; i + 3 < points.size(); i += 3)
        for (int64_t step = 1; step <= kMovesOfCurve; ++step) go(on_curve(&points[i], step), true);
    }
    return moves_;
  }

 private:
  /// A point's handles, the points next to it, move with it.
  std::vector<BoxPoint> moved_points(const Stroke& stroke) {
    std::vector<BoxPoint> out;
    for (const StrokePoint& point : stroke) out.push_back({point.x * kGlyphUnit, point.y * kGlyphUnit});
    for (size_t i = 0; i < out.size(); i += 3) {
      const int64_t x = random_.integer(-kLargestMove, kLargestMove + 1),
                    y = random_.integer(-kLargestMove, kLargestMove + 1);
      for (size_t j = i > 0 ? i - 1 : 0; j <= std::min(i + 1, out.size() - 1); ++j)
        out[j] = {out[j].x + x, out[j].y + y};
    }
    for (BoxPoint& point : out) {
      const int64_t y = point.y * height_ / kGlyphUnit;
      point = {point.x * width_ / kGlyphUnit - y * slant_ / kGlyphUnit, y};
    }
    return out;
  }

  /// The Bezier curve through p[0] and p[3] at step / kMovesOfCurve.
  static BoxPoint on_curve(const BoxPoint* p, int64_t step) {
    constexpr int64_t kCube = kMovesOfCurve * kMovesOfCurve * kMovesOfCurve;
    const int64_t t = step, s = kMovesOfCurve - step;
    auto mix = [&](int64_t a, int64_t b, int64_t c, int64_t d) {
      return (s * s * s * a + 3 * s * s * t * b + 3 * s * t * t * c + t * t * t * d) / kCube;
    };
    return {mix(p[0].x, p[1].x, p[2].x, p[3].x), mix(p[0].y, p[1].y, p[2].y, p[3].y)};
  }

  void go(const BoxPoint& to, bool writes) {
    moves_.push_back(
        {static_cast<double>(to.x - at_.x) / kScale, static_cast<double>(to.y - at_.y) / kScale, writes ? 1.0 : 0.0});
    at_ = to;
  }

  RandomState& random_;
  int64_t slant_, width_, height_;
  bool has_begun_ = false;
  BoxPoint at_;
  std::vector<Move> moves_;
};

}  // namespace

Strokes generate_strokes(int64_t n, int64_t seed, int64_t part) {
  RandomState seeds(seed);
  for (int64_t i = 0; i < part; ++i) seeds.next_uint32();
  RandomState random(seeds.next_uint32());
  std::vector<std::vector<Move>> all;
  Strokes out{.x = {}, .y = Tensor::empty(DType::kInt64, {n}), .lengths = Tensor::empty(DType::kInt64, {n})};
  size_t steps = 1;
  for (int64_t i = 0; i < n; ++i) {
    const int64_t digit = random.integer(0, 10);
    const std::span<const Glyph> ways = glyphs_of(static_cast<int>(digit));
    const Glyph& way = ways[static_cast<size_t>(random.integer(0, std::ssize(ways)))];
    all.push_back(Writer(random).write(way));
    out.y.data<int64_t>()[i] = digit;
    out.lengths.data<int64_t>()[i] = std::ssize(all.back());
    steps = std::max(steps, all.back().size());
  }
  out.x = Tensor::zeros(DType::kFloat64, {n, static_cast<int64_t>(steps), 3});
  for (size_t i = 0; i < all.size(); ++i)
    std::copy_n(all[i].data()->data(), all[i].size() * 3, out.x.data<double>() + i * steps * 3);
  return out;
}

void StrokesConfig::fill(DatasetOptions& out) const {
  GeneratorConfig::fill(out);
  out.read = [](const DatasetOptions& options, DType floatx) {
    const std::string origin = str("the generator \"strokes\", seed ", options.seed);
    // Before any is made: what digits of the fewest moves need.
    const int64_t least = 3 * kLeastMoves * (options.train + options.valid + options.test);
    require_fits(options, origin, least, DType::kFloat64, floatx);
    auto set = [&](int64_t n, int64_t part) {
      Strokes made = generate_strokes(n, options.seed, part);
      require_fits(options, origin, made.x.size(), DType::kFloat64, floatx);
      auto array = [&](const Tensor& raw) { return DataArray{.raw = raw, .origin = origin, .where = options.where}; };
      return Split(array(made.x), array(made.y), Targets::kClasses, options.scale, {array(made.lengths)});
    };
    return SourceData{
        .train = set(options.train, 0), .valid = set(options.valid, 1), .test = set(options.test, 2), .classes = 10};
  };
}

void StrokesConfig::describe(Fields<StrokesConfig>& f) {
  f.about(
      "The built-in digits as the pen writes them: sequences of moves (to the right, down, and 1 where the pen is on "
      "the paper), each of one of the classes 0 to 9. They differ in length.");
  f.field("scale", &StrokesConfig::scale)
      .range(above(0))
      .help("What the moves, and the 1 of the pen, are multiplied by.");
  describe_generator(f);
}

Kind<DataConfig> strokes_source() {
  return kind<StrokesConfig, DataConfig>();
}

}  // namespace thtrain
