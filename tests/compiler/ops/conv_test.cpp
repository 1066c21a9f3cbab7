// Convolutions as their builders have them: lengths of results, Theano's cases, empty batches, filters as large as the
// image, and what is said of operands that do not fit. (Values of every candidate: conv_candidates_test.cpp.)
#include "compiler/ops/conv/conv.h"

#include <gtest/gtest.h>

#include "compiler/api.h"
#include "tests/support/error_text.h"

namespace thtrain::conv_test {
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

// Of three axes: stride (1, 2, 1), dilation (2, 1, 1).
TEST(Conv, LengthsOfThreeAxesAreTheanos) {
  const Expr x = images({3, 2, 12, 9, 7}), w = filters({4, 2, 5, 6, 4});
  auto of = [&](const ConvPadding& padding) {
    return lengths_of(conv3d(x, w, {.padding = padding, .stride = {1, 2, 1}, .dilation = {2, 1, 1}}));
  };
  EXPECT_EQ(of(ConvPadding::valid()), "3x4x4x2x4");
  EXPECT_EQ(of(ConvPadding::half()), "3x4x12x5x8");
  EXPECT_EQ(of(ConvPadding::full()), "3x4x20x7x10");
  EXPECT_EQ(of(ConvPadding::zeros({{1, 1}, {2, 2}, {3, 3}})), "3x4x6x4x10");
}

// Its sweep of one axis: images of 1 to 19 elements, filters of 1 to 9, strides and dilations of 1 to 3. The lengths
// are counted here position by position, and the transposed convolution gives back the least image with as many
// positions.
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
            int64_t positions = 0;
            while (positions * stride + span <= length + 2 * zeros) ++positions;
            if (positions == 0) continue;
            const ConvOptions options{.padding = padding, .stride = {stride}, .dilation = {dilation}};
            const std::string what = str(length, " elements, ", kernel, " taps, stride ", stride, ", dilation ",
                                         dilation, ", ", zeros, " zeros");
            const Expr w = filters({1, 1, kernel}), y = conv1d(images({1, 1, length}), w, options);
            ASSERT_EQ(lengths_of(y), str("1x1x", positions)) << what;
            if (const int64_t least = (positions - 1) * stride + span - 2 * zeros; least > 0) {
              const Expr back = conv_transposed(images({1, 1, positions}), w, options);
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

// The other empty rows of Theano's tables: no channels give zeros, and no filters nothing.
TEST(Conv, NoChannelsAndNoFilters) {
  for (const size_t rank : {2, 3}) {
    auto with = [&](int64_t first, int64_t second, int64_t length) {
      Shape out{first, second};
      out.resize(rank + 2, length);
      return out;
    };
    auto run = [&](const Shape& of_x, const Shape& of_w) {
      const Tensor a = ones(of_x), b = ones(of_w);
      const Expr x = make_input(type_of(a), "x"), w = make_input(type_of(b), "w"), y = conv(x, w), loss = sum(y * y);
      return function({x, w}, {y, grad(loss, x), grad(loss, w)})({a, b});
    };
    const std::vector<Tensor> no_channels = run(with(1, 0, 5), with(1, 0, 2)),
                              no_filters = run(with(1, 1, 5), with(0, 1, 2));
    ASSERT_EQ(no_channels[0].shape(), with(1, 1, 4));
    for (int64_t i = 0; i < no_channels[0].size(); ++i) EXPECT_EQ(no_channels[0].as_double(i), 0);
    EXPECT_EQ(no_channels[1].shape(), with(1, 0, 5));
    EXPECT_EQ(no_channels[2].shape(), with(1, 0, 2));
    EXPECT_EQ(no_filters[0].shape(), with(1, 0, 4));
    ASSERT_EQ(no_filters[1].shape(), with(1, 1, 5));
    for (int64_t i = 0; i < no_filters[1].size(); ++i) EXPECT_EQ(no_filters[1].as_double(i), 0);
    EXPECT_EQ(no_filters[2].shape(), with(0, 1, 2));
  }
}

// Theano's test of conv2d_transpose: ones, with a stride of 2.
TEST(Conv, TransposedOfOnesCountsTheFilters) {
  const Tensor y = ones({2, 2, 4, 4}), w = ones({2, 1, 4, 4});
  const Expr dy = make_input(type_of(y), "dy"), filter = make_input(type_of(w), "w");
  const Tensor out = function({dy, filter}, {conv_transposed(dy, filter, {.stride = {2, 2}})})({y, w})[0];
  ASSERT_EQ(out.shape(), (Shape{2, 1, 10, 10}));
  for (int64_t i = 0; i < out.size(); ++i) {
    auto times = [](int64_t at) { return at < 2 || at > 7 ? 1.0 : 2.0; };
    EXPECT_EQ(out.as_double(i), 2 * times(i / 10 % 10) * times(i % 10)) << i;
  }
}

// Its causal convolution, of dilation 2.
TEST(Conv, CausalSeesNothingThatComesLater) {
  const Tensor x = Tensor::of(std::vector<double>{2, 4, 9, 5, 8, 0, 0, 4, 0, 5, 2, 5, 8, 5, 5,
                                                  1, 3, 0, 7, 9, 7, 0, 7, 1, 0, 0, 1, 4, 7, 2},
                              {3, 2, 5}),
               w = Tensor::of(std::vector<double>{5, 3, 1, 3, 1, 0, 6, 4, 9, 2, 2, 7}, {2, 2, 3});
  const std::vector<double> expected{10, 20, 63, 37, 88,  12, 24, 70, 46, 120, 13, 34, 47, 64, 78,
                                     14, 36, 58, 70, 105, 35, 3,  68, 27, 38,  42, 2,  78, 22, 103};
  const Expr steps = make_input(type_of(x), "x"), taps = make_input(type_of(w), "w");
  const Tensor out = function({steps, taps}, {causal_conv1d(steps, taps, {.dilation = {2}})})({x, w})[0];
  ASSERT_EQ(out.shape(), (Shape{3, 2, 5}));
  for (int64_t i = 0; i < out.size(); ++i) EXPECT_EQ(out.as_double(i), expected[static_cast<size_t>(i)]) << i;
}

// With lengths that only a call knows, and a stride: every second step of the same.
TEST(Conv, CausalOfNamedLengths) {
  const Expr x = images({"n", 1, "t"}), w = filters({1, 1, "k"});
  Function f = function({x, w}, {causal_conv1d(x, w, {.stride = {2}})});
  const Tensor out = f({Tensor::of(std::vector<double>{1, 2, 3, 4, 5, 6, 7}, {1, 1, 7}),
                        Tensor::of(std::vector<double>{1, 10, 100}, {1, 1, 3})})[0];
  ASSERT_EQ(out.shape(), (Shape{1, 1, 4}));
  for (const auto& [i, expected] : {std::pair{0, 1}, {1, 123}, {2, 345}, {3, 567}})
    EXPECT_EQ(out.as_double(i), expected);
}

// Its separable convolution, of two axes, and of three where the images and the filters are repeated along the first.
struct Separable {
  std::vector<double> x{1, 2, 3, 4, 5, 3, 2, 1, 4, 5, 3, 3, 1, 3, 6, 5, 3, 2, 1, 1, 4, 7, 1, 2, 1,
                        3, 3, 1, 2, 6, 6, 5, 4, 3, 1, 3, 4, 5, 2, 3, 6, 4, 1, 3, 4, 2, 3, 4, 2, 5};
  std::vector<double> depthwise{3, 2, 1, 5, 3, 2, 6, 4, 2, 5, 5, 2, 3, 7, 4, 3, 5, 4,
                                7, 4, 7, 5, 3, 3, 1, 3, 1, 4, 4, 4, 2, 4, 6, 0, 0, 7};
  std::vector<double> pointwise{4, 1, 3, 5, 2, 1, 2, 8};
  std::vector<double> valid{1385, 1333, 1339, 1382, 1243, 1291, 1303, 1120, 1228,
                            1532, 1410, 1259, 1522, 1346, 1314, 1379, 1192, 1286};
  // Of the first three rows and columns.
  std::vector<double> full{140, 266, 343, 206,  59,   395, 697, 979, 585, 245, 429, 863, 1385, 919, 453, 243,  499,
                           864, 627, 371, 90,   183,  291, 254, 202, 149, 289, 359, 213, 58,   400, 750, 1076, 662,
                           266, 387, 854, 1532, 1091, 540, 174, 411, 971, 786, 518, 51,  110,  286, 299, 298};
};

// Planes of `rows` x `columns`, of which the upper left part is left, each `depth` times.
Tensor planes(const std::vector<double>& values, int64_t columns, int64_t part, int64_t depth, Shape shape) {
  std::vector<double> out;
  const int64_t plane = columns * columns;
  for (int64_t p = 0; p < static_cast<int64_t>(values.size()) / plane; ++p)
    for (int64_t d = 0; d < depth; ++d)
      for (int64_t i = 0; i < part * part; ++i)
        out.push_back(values[static_cast<size_t>(p * plane + i / part * columns + i % part)]);
  return Tensor::of(out, std::move(shape));
}

TEST(Conv, SeparableOfTwoAxesIsTheanos) {
  const Separable s;
  auto run = [&](const Tensor& x, const ConvOptions& options) {
    const Tensor d = Tensor::of(s.depthwise, {4, 1, 3, 3}), p = Tensor::of(s.pointwise, {2, 4, 1, 1});
    const Expr in = make_input(type_of(x), "x"), depth = make_input(type_of(d), "d"),
               point = make_input(type_of(p), "p");
    return function({in, depth, point}, {separable_conv2d(in, depth, point, options)})({x, d, p})[0];
  };
  auto expect = [](const Tensor& got, const Tensor& want) {
    ASSERT_EQ(got.type_text(), want.type_text());
    for (int64_t i = 0; i < got.size(); ++i) EXPECT_EQ(got.as_double(i), want.as_double(i)) << i;
  };
  expect(run(planes(s.x, 5, 5, 1, {1, 2, 5, 5}), {}), Tensor::of(s.valid, {1, 2, 3, 3}));
  expect(run(planes(s.x, 5, 5, 1, {1, 2, 5, 5}), {.stride = {2, 2}}),
         Tensor::of(std::vector<double>{1385, 1339, 1303, 1228, 1532, 1259, 1379, 1286}, {1, 2, 2, 2}));
  expect(run(planes(s.x, 5, 3, 1, {1, 2, 3, 3}), {.padding = ConvPadding::full()}), Tensor::of(s.full, {1, 2, 5, 5}));
}

TEST(Conv, SeparableOfThreeAxesIsTheanos) {
  const Separable s;
  auto run = [&](const Tensor& x, const ConvOptions& options) {
    const Tensor d = planes(s.depthwise, 3, 3, 3, {4, 1, 3, 3, 3}), p = Tensor::of(s.pointwise, {2, 4, 1, 1, 1});
    const Expr in = make_input(type_of(x), "x"), depth = make_input(type_of(d), "d"),
               point = make_input(type_of(p), "p");
    return function({in, depth, point}, {separable_conv3d(in, depth, point, options)})({x, d, p})[0];
  };
  const Tensor valid = run(planes(s.x, 5, 5, 5, {1, 2, 5, 5, 5}), {});
  ASSERT_EQ(valid.shape(), (Shape{1, 2, 3, 3, 3}));
  for (int64_t i = 0; i < valid.size(); ++i)
    EXPECT_EQ(valid.as_double(i), 3 * s.valid[static_cast<size_t>(i / 27 * 9 + i % 9)]) << i;
  const Tensor corners = run(planes(s.x, 5, 5, 5, {1, 2, 5, 5, 5}), {.stride = {2, 2, 2}});
  ASSERT_EQ(corners.shape(), (Shape{1, 2, 2, 2, 2}));
  for (int64_t i = 0; i < corners.size(); ++i) {
    const int64_t at = i / 8 * 9 + i / 2 % 2 * 6 + i % 2 * 2;
    EXPECT_EQ(corners.as_double(i), 3 * s.valid[static_cast<size_t>(at)]) << i;
  }
  const Tensor full = run(planes(s.x, 5, 3, 3, {1, 2, 3, 3, 3}), {.padding = ConvPadding::full()});
  ASSERT_EQ(full.shape(), (Shape{1, 2, 5, 5, 5}));
  const double overlaps[] = {1, 2, 3, 2, 1};
  for (int64_t i = 0; i < full.size(); ++i)
    EXPECT_EQ(full.as_double(i), overlaps[i / 25 % 5] * s.full[static_cast<size_t>(i / 125 * 25 + i % 25)]) << i;
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
  EXPECT_EQ(text_without_node([] {
              conv2d(images({1, 2, 4, 5}), filters({3, 2, 5, 2}));
            }),
            "error: conv: the filter is larger than the image in spatial axis 0 of 2\n"
            "  expected: at most 4 elements, which the image has with its padding\n"
            "  got:      x float64[1, 2, 4, 5], float64[3, 2, 5, 2]\n"
            "  hint:     the filter spans 5");
  EXPECT_EQ(text_without_node([] {
              conv2d(images({1, 2, 4, 5}), filters({3, 2, 3, 3}),
                     {.padding = ConvPadding::zeros({{0, 0}, {1, 0}}), .dilation = {1, 3}});
            }),
            "error: conv: the filter is larger than the image in spatial axis 1 of 2\n"
            "  expected: at most 6 elements, which the image has with its padding\n"
            "  got:      x float64[1, 2, 4, 5], float64[3, 2, 3, 3]\n"
            "  hint:     the filter spans 7");
  EXPECT_EQ(text_without_node([] {
              conv2d(images({1, 5, 4, 5}), filters({4, 2, 3, 3}), {.groups = 2});
            }),
            "error: conv: the 5 channels of the image do not divide by the groups\n"
            "  expected: a multiple of 2\n"
            "  got:      x float64[1, 5, 4, 5], float64[4, 2, 3, 3]");
  EXPECT_EQ(text_without_node([] {
              conv2d(images({1, 4, 4, 5}), filters({5, 2, 3, 3}), {.groups = 2});
            }),
            "error: conv: the 5 filters do not divide by the groups\n"
            "  expected: a multiple of 2\n"
            "  got:      x float64[1, 4, 4, 5], float64[5, 2, 3, 3]");
  EXPECT_EQ(text_without_node([] {
              conv2d(images({1, 4, 4, 5}), filters({5, 3, 3, 3}));
            }),
            "error: conv: channels of image and filters differ\n"
            "  expected: 3 == 4\n"
            "  got:      x float64[1, 4, 4, 5], float64[5, 3, 3, 3]");
}

// Theano's gradients to images for results that the convolution would not have.
TEST(ConvErrors, AResultThatTheConvolutionWouldNotHave) {
  for (const size_t rank : {2, 3})
    for (const auto& [padding, positions] :
         {std::pair{ConvPadding::valid(), 5}, {ConvPadding::half(), 7}, {ConvPadding::full(), 9}})
      for (const int64_t length : {5, 7, 8, 9, 12}) {
        auto with = [&, rank = rank](int64_t first, int64_t lengths) {
          Dims out{first, 1};
          out.resize(rank + 2, Dim(lengths));
          return out;
        };
        const Dims of_x(rank, 7);
        const Expr w = filters(with(1, 3)), dy = images(with(1, length));
        if (length == positions) {
          EXPECT_EQ(conv_transposed(dy, w, {.padding = padding}, of_x).dims(), with(1, 7));
          continue;
        }
        EXPECT_EQ(text_without_node([&, padding = padding] { conv_transposed(dy, w, {.padding = padding}, of_x); }),
                  str("error: conv_input_gradient: the gradient of the result does not have the result's length in "
                      "spatial axis 0 of ",
                      rank, "\n  expected: ", length, " == ", positions, "\n  got:      ",
                      Type{.dtype = DType::kFloat64, .dims = with(1, 3)}.text(), ", x ", dy.type().text()));
      }
}

TEST(ConvErrors, OfCausalAndSeparableConvolutions) {
  EXPECT_EQ(text_without_node([] {
              causal_conv1d(images({1, 2, 5}), filters({3, 2, 2}), {.padding = ConvPadding::half()});
            }),
            "error: causal_conv1d: the options have a padding\n"
            "  expected: none: what a causal filter needs is added\n"
            "  got:      another one than ConvPadding::valid()");
  EXPECT_EQ(text_without_node([] {
              separable_conv2d(images({1, 2, 5}), filters({4, 1, 3}), filters({3, 4, 1}));
            }),
            "error: separable_conv2d: the value is not a list of images\n"
            "  expected: 4 axes: images, channels, and 2 spatial ones\n"
            "  got:      x float64[1, 2, 5]");
  EXPECT_EQ(text_without_node([] {
              separable_conv2d(images({1, 2, 5, 5}), filters({4, 1, 3, 3}), filters({3, 4, 1, 1}), {.groups = 2});
            }),
            "error: separable_conv2d: the options have groups\n"
            "  expected: groups = 1 and unshared = false: each channel has filters of its own\n"
            "  got:      groups = 2");
  EXPECT_EQ(text_without_node([] {
              separable_conv2d(images({1, "c", 5, 5}), filters({4, 1, 3, 3}), filters({3, 4, 1, 1}));
            }),
            "error: separable_conv2d: only the call knows the number of channels\n"
            "  expected: a number\n"
            "  got:      x float64[1, c, 5, 5]");
  EXPECT_EQ(text_without_node([] {
              separable_conv3d(images({1, 2, 5, 5, 5}), filters({4, 1, 3, 3, 3}), filters({3, 4, 1, 2, 1}));
            }),
            "error: separable_conv3d: the pointwise filters have more than one tap\n"
            "  expected: [F, 4, 1, 1, 1]\n"
            "  got:      w float64[3, 4, 1, 2, 1]");
}

// Where only a call knows the lengths, it says the same.
TEST(ConvErrors, AnImageOfACallThatIsTooSmall) {
  const Expr x = images({"n", 1, "h", "w"}), w = filters({1, 1, 3, 3});
  Function f = function({x, w}, {conv2d(x, w)});
  const Tensor taps = ones({1, 1, 3, 3});
  EXPECT_EQ(f({ones({1, 1, 3, 3}), taps})[0].as_double(0), 9);
  EXPECT_EQ(text_without_node([&] {
              f({ones({1, 1, 2, 3}), taps});
            }),
            "error: conv: the filter is larger than the image in spatial axis 0 of 2\n"
            "  expected: 3 <= h\n"
            "  got:      3 and 2");
}

}  // namespace
}  // namespace thtrain::conv_test
