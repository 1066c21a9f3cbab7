#include "datasets/digit_strokes.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "compiler/base/error.h"

namespace thtrain {

namespace {

/// M x y: put the pen down. L x y: a line. C x y x y x y: a curve with its two handles.
struct WayOfWriting {
  int digit;
  std::string_view path;
};

constexpr WayOfWriting kWays[] = {
    // 0: an oval; a slanted one with its ends crossing; a small round one
    {0, "M 55 2 C 18 -4 2 40 6 80 C 10 122 34 140 54 138 C 84 134 98 96 94 60 C 90 22 76 4 50 3"},
    {0, "M 68 10 C 40 -8 8 30 10 82 C 12 130 40 146 62 128 C 88 106 94 50 78 20 C 70 6 56 2 42 12"},
    {0, "M 52 22 C 16 20 2 52 6 86 C 10 122 30 134 52 134 C 82 132 96 102 94 72 C 92 42 76 22 46 26"},
    // 0: crossed through; with a curl inside
    {0, "M 52 4 C 16 0 4 40 8 78 C 12 120 34 138 54 136 C 84 132 96 96 92 60 C 88 24 74 4 50 4 M 86 18 L 16 124"},
    {0, "M 56 6 C 16 2 0 58 10 98 C 22 142 82 140 92 90 C 100 48 80 6 54 8 C 38 10 42 30 64 26"},
    // 1: a line; with a flag; with flag and foot; leaning
    {1, "M 52 2 L 48 138"},
    {1, "M 26 34 C 38 26 48 16 56 4 L 54 138"},
    {1, "M 28 30 C 40 24 50 14 54 4 L 54 134 M 22 136 L 84 134"},
    {1, "M 64 2 C 58 50 48 96 38 138"},
    // 1: a long flag; leaning the other way; serifs on both sides
    {1, "M 10 64 C 28 48 46 26 60 4 L 60 138"},
    {1, "M 40 2 C 46 48 54 92 60 138"},
    {1, "M 30 14 L 52 4 L 50 134 M 30 136 L 72 132"},
    // 2: flat foot; a loop at the foot; angular; swan-necked
    {2, "M 10 34 C 14 6 46 -6 68 6 C 92 20 88 50 66 76 C 46 100 24 116 8 136 L 92 132"},
    {2, "M 12 30 C 22 2 62 -8 78 16 C 92 42 70 84 34 118 C 14 136 4 122 18 114 C 36 104 58 138 98 128"},
    {2, "M 16 12 C 40 2 76 2 80 24 C 82 48 40 92 8 134 L 90 136"},
    {2, "M 8 44 C 4 16 30 2 52 4 C 84 8 90 40 70 68 C 54 92 30 112 12 130 C 36 118 60 140 96 122"},
    // 2: like a Z; a wide loop at the top; a straight back
    {2, "M 12 10 L 86 8 L 12 132 L 92 130"},
    {2, "M 40 44 C 18 44 10 14 40 6 C 82 -4 96 34 74 66 C 54 94 30 112 6 132 C 40 126 66 130 94 134"},
    {2, "M 14 26 C 30 -2 84 0 78 36 C 74 54 40 104 14 136 C 32 126 40 128 52 134 C 68 140 84 136 90 120"},
    // 3: two bows; a flat top; with a small loop in the middle; shallow bows
    {3, "M 12 20 C 28 -4 76 -6 80 26 C 82 50 56 62 38 64 C 66 62 94 76 90 104 C 84 140 34 146 8 120"},
    {3, "M 14 6 L 82 6 L 44 56 C 74 54 94 74 90 102 C 84 140 30 146 8 122"},
    {3,
     "M 18 14 C 40 -6 86 4 78 34 C 72 56 48 68 34 66 C 30 58 46 56 58 64 C 96 78 90 118 64 134 C 44 142 20 136 8 128"},
    {3, "M 20 8 C 60 0 84 10 76 34 C 70 50 54 58 46 60 C 70 64 84 80 78 104 C 72 128 44 138 14 134"},
    // 3: angular; a bar between; the lower bow large
    {3, "M 14 8 L 80 6 L 78 66 L 34 68 M 78 66 L 80 132 L 12 134"},
    {3, "M 14 16 C 36 -4 80 2 76 32 C 74 52 56 62 36 62 L 60 62 C 92 70 92 116 64 132 C 44 142 20 136 8 118"},
    {3, "M 26 10 C 46 -2 70 4 68 24 C 66 40 54 48 40 50 C 78 46 100 76 92 106 C 84 138 34 146 4 116"},
    // 4: open, two strokes; closed, one stroke; a bowl and a stem; open with a long bar
    {4, "M 24 4 C 22 30 14 60 10 78 L 92 76 M 74 6 C 72 50 70 90 66 138"},
    {4, "M 68 138 L 70 4 C 52 36 28 66 6 92 L 98 90"},
    {4, "M 18 6 C 8 40 4 74 24 78 C 46 82 68 66 80 40 M 86 6 C 80 50 72 100 70 138"},
    {4, "M 34 2 C 26 34 14 62 4 88 C 34 84 66 82 98 82 M 62 40 C 60 72 58 106 56 138"},
    // 4: like lightning; closed with a curved stem; angular
    {4, "M 62 2 C 46 28 30 52 18 72 C 42 74 70 66 92 56 M 68 40 C 62 74 54 106 46 138"},
    {4, "M 60 4 C 44 30 24 56 8 80 C 34 90 66 84 94 78 M 76 44 C 76 80 66 112 44 136"},
    {4, "M 16 4 L 16 74 L 84 74 M 84 4 L 82 138"},
    // 5: one stroke with corners; the bar last; curved like an S; small belly
    {5, "M 84 6 L 24 6 L 18 60 C 50 44 92 56 90 92 C 86 138 36 146 8 122"},
    {5, "M 28 10 L 20 58 C 46 48 88 56 86 94 C 82 138 32 144 10 124 M 26 8 C 48 10 70 8 94 2"},
    {5, "M 88 8 C 52 2 26 10 24 34 C 22 62 84 60 84 98 C 84 138 32 146 10 126"},
    {5, "M 76 4 L 30 8 L 26 66 C 44 58 76 64 76 96 C 76 128 46 140 20 136"},
    // 5: angular; the bar rising; a long neck
    {5, "M 84 8 L 20 6 L 18 66 L 82 68 L 82 132 L 14 134"},
    {5, "M 30 24 L 24 70 C 44 54 88 58 88 94 C 88 136 40 146 12 124 M 30 22 C 50 24 74 14 92 0"},
    {5, "M 80 4 L 34 6 C 32 32 30 56 26 84 C 46 70 82 74 80 104 C 78 134 44 142 16 132"},
    // 6: a wide bow; a straight back; a small high loop; a round one
    {6, "M 76 6 C 40 14 8 66 10 104 C 12 142 74 150 84 108 C 90 76 44 62 14 98"},
    {6, "M 58 2 C 36 34 14 74 14 106 C 16 142 74 144 80 110 C 84 82 46 76 20 102"},
    {6, "M 84 10 C 52 0 14 40 12 90 C 12 136 60 148 78 120 C 94 90 54 70 26 96 C 20 104 18 112 18 116"},
    {6, "M 40 2 C 22 40 10 84 20 114 C 32 142 82 142 86 108 C 88 84 52 80 28 112"},
    // 6: angular; like a b; leaning with a flat loop
    {6, "M 80 6 L 22 8 L 18 134 L 82 132 L 84 72 L 22 70"},
    {6, "M 24 2 C 20 46 16 90 18 132 C 48 146 88 134 84 102 C 80 72 40 72 20 96"},
    {6, "M 92 4 C 56 18 14 74 8 110 C 6 138 58 142 76 122 C 92 98 60 84 12 104"},
    // 7: plain; with a bar; with a serif; curved
    {7, "M 8 10 L 88 10 C 70 50 50 90 40 138"},
    {7, "M 10 12 L 90 8 C 72 50 56 94 48 138 M 26 72 L 82 66"},
    {7, "M 10 30 C 10 20 12 14 14 8 L 90 10 C 66 46 52 86 50 138"},
    {7, "M 6 18 C 36 4 64 14 92 8 C 84 44 40 80 36 138"},
    // 7: a vertical stem; with serif and bar; like a reversed gamma
    {7, "M 10 8 L 84 8 L 82 138"},
    {7, "M 10 28 L 14 10 L 90 10 C 72 48 58 90 52 138 M 36 74 L 88 70"},
    {7, "M 12 20 C 30 4 50 16 66 14 C 78 12 84 8 90 4 C 78 40 62 84 26 136"},
    // 8: one turn from the top right; two bowls; open at the top; slim
    {8, "M 80 22 C 66 -8 16 -2 20 30 C 24 62 86 72 84 108 C 82 146 18 146 16 110 C 14 74 84 60 82 26"},
    {8, "M 50 4 C 14 4 12 60 50 64 C 92 68 92 136 50 137 C 6 137 10 68 50 64 C 88 58 86 4 50 4"},
    {8, "M 84 12 C 60 2 26 6 24 30 C 22 56 78 76 76 110 C 74 142 26 142 24 112 C 22 84 70 52 86 20"},
    {8, "M 56 2 C 30 2 28 44 50 62 C 76 84 74 136 48 138 C 22 138 24 86 48 64 C 74 42 78 4 52 3"},
    // 8: two circles; crossed like a ribbon; angular
    {8, "M 50 4 C 20 4 18 58 50 58 C 82 58 80 4 48 4 M 50 60 C 4 62 6 138 50 138 C 94 138 96 62 48 60"},
    {8, "M 14 8 C 36 40 82 96 84 120 C 84 144 14 144 16 120 C 20 94 66 42 86 6"},
    {8, "M 18 8 L 82 8 L 80 134 L 18 134 L 18 8 M 18 70 L 80 68"},
    // 9: a straight tail; a hooked tail; a stem; the bowl open
    {9, "M 80 30 C 66 -8 12 0 12 40 C 12 80 70 76 82 32 C 82 70 74 110 60 138"},
    {9, "M 82 34 C 76 -6 14 -2 14 40 C 14 84 78 72 84 24 C 90 90 76 150 18 130"},
    {9, "M 76 38 C 70 -2 18 -2 16 36 C 16 74 66 74 76 28 L 74 138"},
    {9, "M 78 14 C 48 -6 14 14 16 42 C 18 70 62 68 80 38 C 84 70 72 112 44 138"},
    // 9: angular; a tail to the right; like a g
    {9, "M 82 68 L 18 68 L 18 8 L 82 8 L 82 134 L 18 134"},
    {9, "M 76 30 C 58 -6 10 4 14 42 C 18 76 68 70 76 26 C 74 64 70 104 70 126 C 72 140 86 136 94 120"},
    {9, "M 76 24 C 54 -2 12 6 16 42 C 22 72 64 68 76 26 C 84 76 84 116 62 132 C 44 142 24 130 20 112"},
};

/// Reads numbers and letters separated by single spaces.
class PathReader {
 public:
  explicit PathReader(std::string_view path) : rest_(path) {}

  Glyph read() {
    Glyph glyph;
    while (!rest_.empty()) {
      std::string_view command = word();
      if (command == "M") {
        glyph.push_back({point()});
        continue;
      }
      Stroke& stroke = glyph.back();
      if (command == "C") {
        for (int i = 0; i < 3; ++i) stroke.push_back(point());
        continue;
      }
      TH_CHECK(command == "L", "the path of a digit has ", command);
      StrokePoint from = stroke.back(), to = point();
      stroke.push_back({(2 * from.x + to.x) / 3, (2 * from.y + to.y) / 3});
      stroke.push_back({(from.x + 2 * to.x) / 3, (from.y + 2 * to.y) / 3});
      stroke.push_back(to);
    }
    return glyph;
  }

 private:
  std::string_view word() {
    size_t end = std::min(rest_.find(' '), rest_.size());
    std::string_view out = rest_.substr(0, end);
    rest_.remove_prefix(std::min(end + 1, rest_.size()));
    return out;
  }
  int32_t number() {
    std::string_view digits = word();
    bool negative = digits.starts_with('-');
    if (negative) digits.remove_prefix(1);
    int32_t value = 0;
    for (char c : digits) value = value * 10 + (c - '0');
    return negative ? -value : value;
  }
  StrokePoint point() {
    int32_t x = number();
    return {x, number()};
  }

  std::string_view rest_;
};

std::array<std::vector<Glyph>, 10> read_all() {
  std::array<std::vector<Glyph>, 10> out;
  for (const WayOfWriting& way : kWays) out[static_cast<size_t>(way.digit)].push_back(PathReader(way.path).read());
  return out;
}

}  // namespace

std::span<const Glyph> glyphs_of(int digit) {
  static const std::array<std::vector<Glyph>, 10> kGlyphs = read_all();
  TH_CHECK(digit >= 0 && digit <= 9, "glyphs of ", digit);
  return kGlyphs[static_cast<size_t>(digit)];
}

}  // namespace thtrain
