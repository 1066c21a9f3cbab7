#include "datasets/augmentation.h"

#include <gtest/gtest.h>

#include <numeric>
#include <set>

#include "tests/support/datasets_support.h"
#include "tests/support/golden_lines.h"

namespace thtrain {
namespace {

AugmentConfig config_of(const std::vector<std::string>& arguments) {
  using Flip = AugmentConfig::Flip;
  const std::map<std::string, Flip> flips = {
      {"none", Flip::kNone}, {"horizontal", Flip::kHorizontal}, {"vertical", Flip::kVertical}, {"both", Flip::kBoth}};
  const std::map<std::string, Border> borders = {
      {"constant", Border::kConstant}, {"edge", Border::kEdge}, {"reflect", Border::kReflect}};
  AugmentConfig out;
  out.shift = std::stoll(arguments.at(0));
  out.flip = flips.at(arguments.at(1));
  if (arguments.at(2) != "0") out.crop = {std::stoll(arguments.at(2)), std::stoll(arguments.at(3))};
  out.padding = std::stoll(arguments.at(4));
  out.rotation = std::stod(arguments.at(5));
  out.noise = std::stod(arguments.at(6));
  out.border = borders.at(arguments.at(7));
  return out;
}

// Every number of every change is that of NumPy and SciPy, drawn from the same words.
TEST(Augmentation, IsNumPys) {
  Tensor images;
  const std::vector<int64_t> examples = {7, 0, 3, 9};
  int64_t cases = 0;
  for (const GoldenLine& line : golden_lines("augmentation.txt")) {
    if (line.name == "images") {
      images = line.result(DType::kFloat64);
      continue;
    }
    SCOPED_TRACE(line.text.substr(0, 80));
    const Augmentation augmentation(config_of(line.arguments), {2, 5, 6}, 1234, 1);
    const Tensor expected = line.result(DType::kFloat64);
    const auto [channels, height, width] = augmentation.output();
    ASSERT_EQ(expected.shape(), (Shape{4, channels, height, width}));
    for (DType dtype : {DType::kFloat32, DType::kFloat64}) {
      const Tensor got = Tensor::empty(dtype, expected.shape());
      augmentation.apply(images.cast(dtype), examples, 2, got);
      const double bound = dtype == DType::kFloat32 ? 1e-6 : 1e-11;
      for (int64_t i = 0; i < got.size(); ++i) ASSERT_NEAR(got.as_double(i), expected.as_double(i), bound) << i;
    }
    ++cases;
  }
  EXPECT_EQ(cases, 15);
}

Tensor augmented(const Augmentation& augmentation, const std::vector<int64_t>& examples, int64_t epoch) {
  const auto [channels, height, width] = augmentation.input();
  const auto count = std::ssize(examples);
  Tensor images = Tensor::empty(DType::kFloat32, {count, channels, height, width});
  for (int64_t i = 0; i < images.size(); ++i)
    images.data<float>()[i] = static_cast<float>(i % (channels * height * width) + 1);
  const ImageShape out = augmentation.output();
  Tensor into = Tensor::empty(DType::kFloat32, {count, out[0], out[1], out[2]});
  augmentation.apply(images, examples, epoch, into);
  return into;
}

// An example's change hangs on its number and the epoch, not on the examples with it.
TEST(Augmentation, IsAFunctionOfSeedPartEpochAndExample) {
  const AugmentConfig config = config_of({"2", "both", "0", "0", "0", "10", "0.5", "edge"});
  const Augmentation one(config, {3, 8, 8}, 5), other_seed(config, {3, 8, 8}, 6), other_part(config, {3, 8, 8}, 5, 1);
  const Tensor all = augmented(one, {4, 11, 2}, 3);
  EXPECT_TRUE(same_bits(augmented(one, {2}, 3), all.rows(2, 1).contiguous()));
  EXPECT_TRUE(same_bits(augmented(one, {11, 4}, 3).rows(0, 1).contiguous(), all.rows(1, 1).contiguous()));
  EXPECT_FALSE(same_bits(augmented(one, {4, 11, 2}, 4), all));
  EXPECT_FALSE(same_bits(augmented(other_seed, {4, 11, 2}, 3), all));
  EXPECT_FALSE(same_bits(augmented(other_part, {4, 11, 2}, 3), all));
}

// Each shift, crop and flip comes about equally often: of 18,000 draws, 500 for each of 36, within five deviations.
TEST(Augmentation, DrawsWithEqualChances) {
  const Augmentation augmentation(config_of({"1", "both", "0", "0", "0", "0", "0", "constant"}), {1, 3, 3}, 9);
  std::vector<int64_t> examples(18000);
  std::iota(examples.begin(), examples.end(), 0);
  const Tensor got = augmented(augmentation, examples, 0);
  std::map<std::vector<float>, int64_t> counts;
  for (int64_t i = 0; i < got.dim(0); ++i) ++counts[{got.data<float>() + 9 * i, got.data<float>() + 9 * i + 9}];
  EXPECT_EQ(counts.size(), 36u);
  for (const auto& [image, count] : counts) EXPECT_NEAR(static_cast<double>(count), 500, 5 * 22);

  const Augmentation crops(config_of({"0", "none", "3", "2", "1", "0", "0", "constant"}), {1, 4, 4}, 9);
  const Tensor parts = augmented(crops, examples, 0);
  counts.clear();
  for (int64_t i = 0; i < parts.dim(0); ++i) ++counts[{parts.data<float>() + 6 * i, parts.data<float>() + 6 * i + 6}];
  EXPECT_EQ(counts.size(), 20u);
  for (const auto& [image, count] : counts) EXPECT_NEAR(static_cast<double>(count), 900, 5 * 29.2);
}

TEST(Augmentation, RefusesWhatIsLargerThanTheImages) {
  auto error = [](const AugmentConfig& config) { return error_text([&] { Augmentation(config, {3, 8, 6}, 1); }); };
  EXPECT_EQ(error(config_of({"0", "none", "9", "6", "0", "0", "0", "constant"})),
            "error: trainer.augment.crop is larger than the images\n"
            "  expected: at most [8, 6]: the images are 8x6 pixels\n"
            "  got:      [9, 6]\n"
            "  hint:     trainer.augment.padding puts pixels around them");
  EXPECT_EQ(error(config_of({"0", "none", "10", "9", "1", "0", "0", "constant"})),
            "error: trainer.augment.crop is larger than the images\n"
            "  expected: at most [10, 8]: the images are 8x6 pixels, with 1 pixel of padding on each side\n"
            "  got:      [10, 9]\n"
            "  hint:     trainer.augment.padding puts pixels around them");
  EXPECT_EQ(error(config_of({"6", "none", "0", "0", "0", "0", "0", "constant"})),
            "error: trainer.augment.shift moves whole images away\n"
            "  expected: at most 5 (pixels): the images are 8x6 pixels\n"
            "  got:      6");
  EXPECT_EQ(error(config_of({"5", "none", "10", "8", "1", "0", "0", "constant"})), "no error");
}

}  // namespace
}  // namespace thtrain
