#include "datasets/images.h"

#include <gtest/gtest.h>

#include <cmath>

#include "datasets/dataset.h"
#include "datasets/load.h"
#include "datasets/npy.h"
#include "datasets/row_source.h"
#include "datasets/sources/digits.h"
#include "datasets/sources/npy.h"
#include "tests/support/datasets_support.h"
#include "tests/support/golden_lines.h"

namespace thtrain {
namespace {

TEST(Images, TheirShapeIsThatOfTwoOrThreeLengths) {
  EXPECT_EQ(image_shape({28, 20}), (ImageShape{1, 28, 20}));
  EXPECT_EQ(image_shape({3, 32, 30}), (ImageShape{3, 32, 30}));
  EXPECT_EQ(image_shape({784}), std::nullopt);
  EXPECT_EQ(image_shape({2, 3, 4, 5}), std::nullopt);
}

// numpy.pad(numpy.arange(4), 7, mode), of the modes constant (with -1), edge and reflect.
TEST(Images, BordersAreNumPys) {
  const std::map<Border, std::vector<int64_t>> expected = {
      {Border::kConstant, {-1, -1, -1, -1, -1, -1, -1, 0, 1, 2, 3, -1, -1, -1, -1, -1, -1, -1}},
      {Border::kEdge, {0, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3, 3, 3, 3, 3, 3, 3, 3}},
      {Border::kReflect, {1, 0, 1, 2, 3, 2, 1, 0, 1, 2, 3, 2, 1, 0, 1, 2, 3, 2}}};
  for (const auto& [border, pixels] : expected)
    for (int64_t i = 0; i < 18; ++i)
      EXPECT_EQ(pixel_at(i - 7, 4, border), pixels[static_cast<size_t>(i)]) << static_cast<int>(border) << " at " << i;
  EXPECT_EQ(pixel_at(5, 1, Border::kReflect), 0);
}

std::vector<float> window_of(const Window& window, Border border) {
  const Tensor image = counting({2, 2, 3}, 1).cast(DType::kFloat32);  // 1 2 3 / 4 5 6, and 7 8 9 / 10 11 12
  std::vector<float> out(static_cast<size_t>(2 * window.height * window.width));
  copy_window(image.data<float>(), {2, 2, 3}, window, border, out.data());
  return out;
}

TEST(Images, WindowsAreCutOutPaddedAndMirrored) {
  using Floats = std::vector<float>;
  EXPECT_EQ(window_of({2, 2, 0, 1}, Border::kConstant), (Floats{2, 3, 5, 6, 8, 9, 11, 12}));
  EXPECT_EQ(window_of({2, 3, 0, 0, false, true}, Border::kConstant), (Floats{3, 2, 1, 6, 5, 4, 9, 8, 7, 12, 11, 10}));
  EXPECT_EQ(window_of({2, 3, 0, 0, true, false}, Border::kConstant), (Floats{4, 5, 6, 1, 2, 3, 10, 11, 12, 7, 8, 9}));
  EXPECT_EQ(window_of({2, 3, -1, 1}, Border::kConstant), (Floats{0, 0, 0, 2, 3, 0, 0, 0, 0, 8, 9, 0}));
  EXPECT_EQ(window_of({2, 3, -1, 1}, Border::kEdge), (Floats{2, 3, 3, 2, 3, 3, 8, 9, 9, 8, 9, 9}));
  EXPECT_EQ(window_of({2, 3, -1, 1}, Border::kReflect), (Floats{5, 6, 5, 2, 3, 2, 11, 12, 11, 8, 9, 8}));
  EXPECT_EQ(window_of({1, 2, 0, 9}, Border::kConstant), (Floats{0, 0, 0, 0}));
  EXPECT_EQ(window_of({1, 2, 0, -9}, Border::kConstant), (Floats{0, 0, 0, 0}));
  EXPECT_EQ(window_of({1, 2, 0, -9}, Border::kEdge), (Floats{1, 1, 7, 7}));
}

TEST(Images, TheMiddleIsRoundedUpAndLeft) {
  auto first = [](int64_t height, int64_t width) {
    const Window window = ImageCrop{.height = height, .width = width, .padding = 4}.centre({3, 32, 31});
    return std::pair(window.first_row, window.first_column);
  };
  EXPECT_EQ(first(32, 31), std::pair(int64_t{0}, int64_t{0}));
  EXPECT_EQ(first(28, 28), std::pair(int64_t{2}, int64_t{1}));
  EXPECT_EQ(first(36, 36), std::pair(int64_t{-2}, int64_t{-3}));
}

// Three images [2, 4, 4] and labels.
Split images(bool streamed) {
  DataArray x{.raw = counting({3, 2, 4, 4}).cast(DType::kFloat32), .origin = "x.npy"};
  if (streamed) {
    x.source = std::make_shared<const MemoryRows>(x.raw);
    x.raw = outline(x.raw.dtype(), x.raw.shape());
  }
  return {x, {.raw = counting({3}), .origin = "y.npy"}, Targets::kClasses, 0.5};
}

// In memory and read from a source, alone and by a standardization of the cropped size.
TEST(ImageExamples, ACropIsTheMiddleOfEach) {
  for (bool streamed : {false, true}) {
    Split split = images(streamed);
    EXPECT_EQ(split.image_shape(), (ImageShape{2, 4, 4}));
    split.set_crop({.height = 2, .width = 3});
    EXPECT_EQ(split.input_shape(), (Shape{2, 2, 3}));
    const Batch got = split.read(std::vector<int64_t>{2, 0}, DType::kFloat32);
    ASSERT_EQ(got.x.shape(), (Shape{2, 2, 2, 3}));
    for (int64_t i = 0; i < 2; ++i)
      for (int64_t c = 0; c < 2; ++c)
        for (int64_t row = 0; row < 2; ++row)
          for (int64_t column = 0; column < 3; ++column)
            EXPECT_EQ(got.x.as_double(((i * 2 + c) * 2 + row) * 3 + column),
                      0.5 * static_cast<double>((i == 0 ? 64 : 0) + c * 16 + (row + 1) * 4 + column));
    EXPECT_EQ(got.y.as_int(0), 2);
    const Tensor whole = split.whole_images().read(0, 3, DType::kFloat32).x;
    EXPECT_TRUE(same_bits(whole, images(false).read(0, 3, DType::kFloat32).x));
    EXPECT_EQ(split.all(DType::kFloat32).x.shape(), (Shape{3, 2, 2, 3}));

    Standardization standard = learn_standardization(split, Standardization::By::kFeatures, false, DType::kFloat32);
    EXPECT_EQ(standard.inputs.mean.size(), 12u);
    split.set_standardization(std::make_shared<const Standardization>(standard));
    Tensor by_hand = got.x.copy();
    standard.inputs.apply(by_hand);
    EXPECT_TRUE(same_bits(split.read(std::vector<int64_t>{2, 0}, DType::kFloat32).x, by_hand));
    EXPECT_TRUE(same_bits(split.whole_images().read(0, 3, DType::kFloat32).x, whole));
  }
}

// What is not finite has its position in the file, not in the crop.
TEST(ImageExamples, ABadPixelIsToldByItsPositionInTheImage) {
  Split split = images(false);
  const_cast<float*>(split.x_array().raw.data<float>())[32 + 16 + 2 * 4 + 3] = std::nanf("");
  split.set_crop({.height = 2, .width = 2});  // columns 1 and 2
  check_batch(split, split.read(0, 3, DType::kFloat32), 0);
  split = split.whole_images();
  split.set_crop({.height = 4, .width = 4});
  const std::string error =
      "error: x.npy: row 1, element [1, 2, 3]: not a finite number\n"
      "  expected: numbers that are finite in float32\n"
      "  got:      nan\n"
      "  hint:     rows and columns count from 0";
  EXPECT_EQ(error_text([&] { check_batch(split, split.read(1, 2, DType::kFloat32), 1); }), error);
  const std::vector<int64_t> examples = {2, 1};
  EXPECT_EQ(error_text([&] { check_batch(split, split.read(examples, DType::kFloat32), examples); }), error);
}

TEST(ImageExamples, RowsGetAShape) {
  TemporaryFolder folder;
  write_npy(folder.path("x.npy"), counting({6, 24}).cast(DType::kFloat32));
  write_npy(folder.path("y.npy"), counting({6}));
  auto options = [&](uint64_t limit) {
    DatasetOptions out{.read = npy_reader(), .name = "npy", .valid = 2};
    out.files = {{"train_x", {folder.path("x.npy")}}, {"train_y", {folder.path("y.npy")}}};
    out.memory_limit = limit;
    out.image_shape = {2, 3, 4};
    return out;
  };
  for (uint64_t limit : {uint64_t{0}, uint64_t{100}}) {
    const Dataset data = load_dataset(options(limit), DType::kFloat32);
    EXPECT_EQ(data.streamed, limit > 0);
    EXPECT_EQ(data.image_shape(), (ImageShape{2, 3, 4}));
    EXPECT_EQ(data.valid.input_shape(), (Shape{2, 3, 4}));
    const Tensor x = data.train.read(1, 2, DType::kFloat32).x;
    EXPECT_EQ(x.shape(), (Shape{2, 2, 3, 4}));
    for (int64_t i = 0; i < 48; ++i) EXPECT_EQ(x.as_double(i), static_cast<double>(24 + i));
  }
  DatasetOptions wrong = options(0);
  wrong.image_shape = {1, 5, 5};
  EXPECT_EQ(error_text([&] { load_dataset(wrong, DType::kFloat32); }),
            "error: data.image_shape is not that of the examples in " + folder.path("x.npy") +
                "\n  expected: channels, height and width of 24 numbers\n"
                "  got:      [1, 5, 5], which are 25 numbers");
  DatasetOptions rows = options(0);
  rows.image_shape = {};
  rows.crop = {.height = 2, .width = 2};
  EXPECT_EQ(error_text([&] { load_dataset(rows, DType::kFloat32); }),
            "error: trainer.augment changes images, and the examples are none\n"
            "  expected: examples of [height, width] or [channels, height, width] numbers\n"
            "  got:      examples of [24]\n"
            "  hint:     data.image_shape, of the sources npy, idx and csv, says that rows are images");
}

// The shapes that the sources' examples have.
TEST(ImageExamples, DigitsHaveOneChannel) {
  const Dataset data = load_dataset({.read = digits_reader(),
                                     .name = "digits",
                                     .train = 4,
                                     .valid = 2,
                                     .test = 2,
                                     .crop = {{.height = 20, .width = 24}}},
                                    DType::kFloat32);
  EXPECT_EQ(data.train.whole_images().image_shape(), (ImageShape{1, 28, 28}));
  EXPECT_EQ(data.test.input_shape(), (Shape{20, 24}));
}

}  // namespace
}  // namespace thtrain
