// Convolutions as their builders have them: lengths of results, Theano's cases, empty batches, filters as large as the
// image, and what is said of operands that do not fit. (Values of every candidate: conv_candidates_test.cpp.)
#include "compiler/ops/conv/conv.h"

#include <gtest/gtest.h>

#include "compiler/api.h"
#include "tests/support/error_text.h"

namespace thtrain {
namespace {

Expr images(Dims dims, DType dtype = DType::kFloat64) {
  return make_input({.dtype = dtype, .dims = std::move(dims)}, "x");
}
Expr filters(Dims dims, DType dtype = DType::kFloat64) {
  return make_input({.dtype = dtype, .dims = std::move(dims)}, "w");
}

std::string lengths_of(const Expr& value) {
  return join(value.dims(), "x", [](const Dim& dim) { return dim.text(); });
}

Tensor ones(const Shape& shape) {
  int64_t count = 1;
  for (int64_t length : shape) count *= length;
  return Tensor::of(std::vector<double>(static_cast<size_t>(count), 1), shape);
}

// Shapes of Theano's test_abstract_conv.py: stride (1, 2), dilation (2, 1).
TEST(Conv, LengthsAreTheanos) {
  const Expr x = images({3, 2, 12, 9}), w = filters({4, 2, 5, 6});
  auto of = [&](const ConvPadding& padding) {
    return lengths_of(conv2d(x, w, {.padding = padding, .stride = {1, 2}, .dilation = {2, 1}}));
  };
  EXPECT_EQ(of(ConvPadding::valid()), "3x4x4x2");
  EXPECT_EQ(of(ConvPadding::half()), "3x4x12x5");
  EXPECT_EQ(of(ConvPadding::full()), "3x4x20x7");
  EXPECT_EQ(of(ConvPadding::zeros({{1, 1}, {2, 2}})), "3x4x6x4");
}

// Its sweep of one axis: images of 1 to 19 elements, filters of 1 to 9, strides and dilations of 1 to 3. The lengths
// are counted here place by place, and the transposed convolution gives back the least image with as many places.
TEST(Conv, LengthsOfOneAxisAreCounted) {
  for (int64_t kernel = 1; kernel <= 9; ++kernel)
    for (int64_t stride = 1; stride <= 3; ++stride)
      for (int64_t dilation = 1; dilation <= 3; ++dilation) {
        const int64_t span = (kernel - 1) * dilation + 1;
        const std::pair<ConvPadding, int64_t> paddings[] = {{ConvPadding::valid(), 0},
                                                            {ConvPadding::half(), span / 2},
                                                            {ConvPadding::full(), span - 1},
                                                            {ConvPadding::zeros({{2, 2}}), 2}};
        for (const auto& [padding, zeros] : paddings)
          for (int64_t length = 1; length <= 19; ++length) {
            int64_t places = 0;
            while (places * stride + span <= length + 2 * zeros) ++places;
            if (places == 0) continue;
            const ConvOptions options{.padding = padding, .stride = {stride}, .dilation = {dilation}};
            const std::string what = str(length, " elements, ", kernel, " taps, stride ", stride, ", dilation ",
                                         dilation, ", ", zeros, " zeros");
            const Expr w = filters({1, 1, kernel}), y = conv1d(images({1, 1, length}), w, options);
            ASSERT_EQ(lengths_of(y), str("1x1x", places)) << what;
            if (const int64_t least = (places - 1) * stride + span - 2 * zeros; least > 0) {
              const Expr back = conv_transposed(images({1, 1, places}), w, options);
              ASSERT_EQ(lengths_of(back), str("1x1x", least)) << what;
              ASSERT_LT(length - least, stride) << what;
            }
          }
      }
}

TEST(Conv, AnEmptyBatchHasEmptyResultsAndNoGradient) {
  const Expr x = images({"n", 2, 5, 6}), w = filters({3, 2, 3, 3});
  const Expr y = conv2d(x, w), loss = sum(y * y);
  Function f = function({x, w}, {y, grad(loss, x), grad(loss, w)});
  const std::vector<Tensor> out = f({Tensor::zeros(DType::kFloat64, {0, 2, 5, 6}), ones({3, 2, 3, 3})});
  EXPECT_EQ(out[0].shape(), (Shape{0, 3, 3, 4}));
  EXPECT_EQ(out[1].shape(), (Shape{0, 2, 5, 6}));
  ASSERT_EQ(out[2].shape(), (Shape{3, 2, 3, 3}));
  for (int64_t i = 0; i < out[2].size(); ++i) EXPECT_EQ(out[2].as_double(i), 0);
}

// Then each result is one sum of products: 1 4 + 2 3 + 3 2 + 4 1 flipped, 1 1 + ... + 4 4 as a correlation.
TEST(Conv, AFilterAsLargeAsTheImage) {
  const Expr x = images({1, 1, 2, 2}), w = filters({1, 1, 2, 2});
  const Tensor four = Tensor::of(std::vector<double>{1, 2, 3, 4}, {1, 1, 2, 2});
  for (const auto& [flip, expected] : {std::pair{true, 20.0}, {false, 30.0}}) {
    const Expr y = conv2d(x, w, {.flip = flip});
    const Tensor out = function({x, w}, {y})({four, four})[0];
    ASSERT_EQ(out.shape(), (Shape{1, 1, 1, 1}));
    EXPECT_EQ(out.as_double(0), expected);
  }
}

TEST(ConvErrors, OperandsThatDoNotFit) {
  EXPECT_EQ(error_text([] {
              conv2d(images({1, 2, 4, 5}), filters({3, 2, 5, 2}));
            }),
            "error: conv: the filter is larger than the image in spatial axis 0 of 2\n"
            "  expected: at most 4 elements, which the image has with its padding\n"
            "  got:      x float64[1, 2, 4, 5], float64[3, 2, 5, 2]\n"
            "  hint:     the filter spans 5");
  EXPECT_EQ(error_text([] {
              conv2d(images({1, 2, 4, 5}), filters({3, 2, 3, 3}),
                     {.padding = ConvPadding::zeros({{0, 0}, {1, 0}}), .dilation = {1, 3}});
            }),
            "error: conv: the filter is larger than the image in spatial axis 1 of 2\n"
            "  expected: at most 6 elements, which the image has with its padding\n"
            "  got:      x float64[1, 2, 4, 5], float64[3, 2, 3, 3]\n"
            "  hint:     the filter spans 7");
  EXPECT_EQ(error_text([] {
              conv2d(images({1, 5, 4, 5}), filters({4, 2, 3, 3}), {.groups = 2});
            }),
            "error: conv: the 5 channels of the image do not divide by the groups\n"
            "  expected: a multiple of 2\n"
            "  got:      x float64[1, 5, 4, 5], float64[4, 2, 3, 3]");
  EXPECT_EQ(error_text([] {
              conv2d(images({1, 4, 4, 5}), filters({5, 2, 3, 3}), {.groups = 2});
            }),
            "error: conv: the 5 filters do not divide by the groups\n"
            "  expected: a multiple of 2\n"
            "  got:      x float64[1, 4, 4, 5], float64[5, 2, 3, 3]");
  EXPECT_EQ(error_text([] {
              conv2d(images({1, 4, 4, 5}), filters({5, 3, 3, 3}));
            }),
            "error: conv: channels of image and filters differ\n"
            "  expected: 3 == 4\n"
            "  got:      x float64[1, 4, 4, 5], float64[5, 3, 3, 3]");
}

// Where only a call knows the lengths, it says the same.
TEST(ConvErrors, AnImageOfACallThatIsTooSmall) {
  const Expr x = images({"n", 1, "h", "w"}), w = filters({1, 1, 3, 3});
  Function f = function({x, w}, {conv2d(x, w)});
  const Tensor taps = ones({1, 1, 3, 3});
  EXPECT_EQ(f({ones({1, 1, 3, 3}), taps})[0].as_double(0), 9);
  EXPECT_EQ(error_text([&] {
              f({ones({1, 1, 2, 3}), taps});
            }),
            "error: conv: the filter is larger than the image in spatial axis 0 of 2\n"
            "  expected: 3 <= h\n"
            "  got:      3 and 2");
}

}  // namespace
}  // namespace thtrain
