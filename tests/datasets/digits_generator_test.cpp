#include "datasets/digits_generator.h"

#include <algorithm>

#include "datasets/digit_strokes.h"
#include "tests/support/checksum.h"
#include "tests/support/datasets_support.h"

namespace thtrain {
namespace {

TEST(DigitsGenerator, GivesTheSameBytesOnEveryMachine) {
  struct Pinned {
    uint64_t seed, part;
    uint32_t images, labels;
  };
  const Pinned pinned[] = {
      {1, 0, 3632247132, 2995662118}, {1, 1, 2793648724, 3871935683}, {2, 0, 4236370586, 2279883484}};
  for (const Pinned& p : pinned) {
    Digits digits = generate_digits(1000, p.seed, p.part);
    EXPECT_EQ(checksum(digits.images), p.images) << "seed " << p.seed << " part " << p.part;
    EXPECT_EQ(checksum(digits.labels), p.labels) << "seed " << p.seed << " part " << p.part;
  }
}

TEST(DigitsGenerator, ShapesAndTypes) {
  Digits digits = generate_digits(7, 1);
  EXPECT_EQ(digits.images.type_text(), "uint8[7, 28, 28]");
  EXPECT_EQ(digits.labels.type_text(), "uint8[7]");
  EXPECT_EQ(generate_digits(0, 1).images.type_text(), "uint8[0, 28, 28]");
  EXPECT_THROW(generate_digits(-1, 1), InternalError);
}

TEST(DigitsGenerator, ClassesAreBalancedAndShuffled) {
  for (int64_t n : {1000, 1004}) {
    Digits digits = generate_digits(n, 5);
    int64_t counts[10] = {}, in_order = 0;
    for (int64_t i = 0; i < n; ++i) {
      int64_t label = digits.labels.as_int(i);
      ASSERT_LT(label, 10);
      ++counts[label];
      in_order += label == i % 10;
    }
    auto [least, most] = std::minmax_element(std::begin(counts), std::end(counts));
    EXPECT_LE(*most - *least, 1);
    EXPECT_LT(in_order, n / 5);
  }
}

TEST(DigitsGenerator, EveryImageHasInkWithinReason) {
  Digits digits = generate_digits(2000, 3);
  const auto* pixels = digits.images.data<uint8_t>();
  for (int64_t i = 0; i < 2000; ++i, pixels += 784) {
    int64_t bright = std::count_if(pixels, pixels + 784, [](uint8_t v) { return v > 127; });
    EXPECT_GT(bright, 10) << "digit " << i;
    EXPECT_LT(bright, 784 / 2) << "digit " << i;
  }
}

TEST(DigitsGenerator, NoTwoDigitsAreAlike) {
  std::vector<uint32_t> seen;
  for (uint64_t part : {0, 1}) {
    Digits digits = generate_digits(500, 1, part);
    for (int64_t i = 0; i < 500; ++i) seen.push_back(checksum(digits.images.rows(i, 1)));
  }
  std::sort(seen.begin(), seen.end());
  EXPECT_EQ(std::unique(seen.begin(), seen.end()), seen.end());
}

TEST(DigitStrokes, EveryDigitIsWrittenInSeveralWays) {
  for (int digit = 0; digit < 10; ++digit) {
    EXPECT_GE(glyphs_of(digit).size(), 5u) << digit;
    for (const Glyph& glyph : glyphs_of(digit)) {
      for (const Stroke& stroke : glyph) {
        EXPECT_GE(stroke.size(), 4u) << digit;
        EXPECT_EQ(stroke.size() % 3, 1u) << digit;
        for (size_t i = 0; i < stroke.size(); i += 3) {
          EXPECT_TRUE(stroke[i].x >= 0 && stroke[i].x <= 100 && stroke[i].y >= 0 && stroke[i].y <= 140) << digit;
        }
      }
    }
  }
  EXPECT_THROW(glyphs_of(10), InternalError);
}

}  // namespace
}  // namespace thtrain
