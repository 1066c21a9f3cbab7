// Second derivatives of padding, windows and upsampling against differences, and their errors.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "compiler/autodiff/gradient.h"
#include "compiler/base/random_state.h"
#include "compiler/ops/conv/conv.h"
#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/evaluate.h"
#include "compiler/ops/image/neighbours.h"
#include "compiler/ops/image/pad.h"
#include "compiler/ops/image/upsample.h"
#include "compiler/ops/image/windows.h"
#include "compiler/ops/reduce/reduce.h"
#include "compiler/ops/shape/shape.h"
#include "compiler/runtime/function.h"
#include "tests/support/error_text.h"

namespace thtrain::image_test {
namespace {

Tensor random_tensor(RandomState& rng, const Shape& shape) {
  Tensor out = Tensor::empty(DType::kFloat64, shape);
  for (int64_t i = 0; i < out.size(); ++i) out.data<double>()[i] = rng.uniform(-2, 2);
  return out;
}

// d sum(w2 * d sum(w1 * f(x)^2) / dx) / dx against differences of the inner derivative.
void check_second(const std::string& name, const Shape& shape, const std::function<Expr(Expr)>& f) {
  SCOPED_TRACE(name);
  RandomState rng(77);
  const Tensor value = random_tensor(rng, shape);
  const Expr x = make_input(type_of(value), "x"), y = f(x);
  const Expr first = grad(sum(sqr(y) * make_constant(random_tensor(rng, y.type().known_shape()))), x);
  const Expr cost = sum(first * make_constant(random_tensor(rng, shape)));
  const Tensor exact = evaluate({grad(cost, x)}, {{x, value}})[0];
  for (int64_t i = 0; i < exact.size(); ++i) {
    const double step = 1e-6;
    auto cost_at = [&](double change) {
      Tensor moved = value.copy();
      moved.data<double>()[i] += change;
      return evaluate({cost}, {{x, moved}})[0].as_double();
    };
    EXPECT_NEAR((cost_at(step) - cost_at(-step)) / (2 * step), exact.as_double(i),
                1e-6 * std::max(1.0, std::abs(exact.as_double(i))))
        << i;
  }
}

TEST(ImageOps, SecondDerivativesAgreeWithDifferences) {
  for (PadMode mode : {PadMode::kConstant, PadMode::kEdge, PadMode::kReflect, PadMode::kWrap})
    check_second(str("pad ", static_cast<int>(mode)), {2, 3, 4}, [&](Expr x) {
      return pad(x, {{2, 1}, {1, 3}}, mode, 0.5);
    });
  for (NeighbourMode mode : {NeighbourMode::kValid, NeighbourMode::kIgnoreBorders, NeighbourMode::kWrapCentered,
                             NeighbourMode::kHalf, NeighbourMode::kFull})
    check_second(str("neighbours ", static_cast<int>(mode)), {1, 2, 3, 4}, [&](Expr x) {
      return images_to_neighbours(x, {3, 3}, RowsColumns{1, 1}, mode);
    });
  check_second("back", {4, 4}, [](Expr x) {
    return neighbours_to_images(x, {2, 2}, {1, 1, 5, 4}, NeighbourMode::kIgnoreBorders);
  });
  check_second("nearest", {1, 2, 2, 3}, [](Expr x) { return nearest_upsampling(x, 2); });
  check_second("bilinear", {1, 2, 2, 3}, [](Expr x) { return bilinear_upsampling(x, 2); });
  check_second("fractional", {1, 2, 3, 2}, [](Expr x) { return bilinear_upsampling(x, {4, 3}, {5, 2}); });
}

void expect_near(const Tensor& a, const Tensor& b, double bound) {
  ASSERT_EQ(a.type_text(), b.type_text());
  for (int64_t i = 0; i < a.size(); ++i) EXPECT_NEAR(a.as_double(i), b.as_double(i), bound) << i;
}

// Theano's test_bilinear_kernel_1D and _2D: ratios of 2 to 9, as whole numbers and normalized.
TEST(BilinearUpsampling, KernelsArePyramids) {
  expect_near(evaluate({bilinear_kernel_1d(3, false, DType::kFloat64)}, {})[0], Tensor::vector<double>({1, 2, 3, 2, 1}),
              0);
  expect_near(evaluate({bilinear_kernel_2d(2, 3, false, DType::kFloat64)}, {})[0],
              Tensor::matrix<double>({{1, 2, 3, 2, 1}, {2, 4, 6, 4, 2}, {1, 2, 3, 2, 1}}), 0);
  for (int64_t ratio = 2; ratio <= 9; ++ratio) {
    std::vector<double> line, plane;
    for (int64_t k = 1; k < 2 * ratio; ++k) line.push_back(static_cast<double>(std::min(k, 2 * ratio - k)));
    for (double row : line)
      for (double column : line) plane.push_back(row * column);
    for (const bool normalize : {false, true}) {
      const double whole = normalize ? static_cast<double>(ratio) : 1;
      std::vector<double> one = line, two = plane;
      for (double& element : one) element /= whole;
      for (double& element : two) element /= whole * whole;
      const int64_t n = 2 * ratio - 1;
      expect_near(evaluate({bilinear_kernel_1d(ratio, normalize, DType::kFloat64)}, {})[0], Tensor::of(one, {n}), 0);
      expect_near(evaluate({bilinear_kernel_2d(ratio, ratio, normalize, DType::kFloat64)}, {})[0],
                  Tensor::of(two, {n, n}), 0);
    }
  }
  EXPECT_EQ(bilinear_kernel_1d(4).type().text(), str(name_of(floatX()), "[7]"));
}

// Theano's use_1D_kernel: transposed convolutions of rows and then of columns, or of both at once, of images whose ends
// are repeated, are the upsampling.
TEST(BilinearUpsampling, IsTransposedConvolutionsWithTheKernels) {
  RandomState rng(5);
  const Tensor value = random_tensor(rng, {2, 3, 4, 5});
  const Expr x = make_input(type_of(value), "x");
  for (int64_t ratio = 2; ratio <= 9; ++ratio) {
    SCOPED_TRACE(ratio);
    const int64_t zeros = 2 * ratio - (ratio - 1) / 2 - 1, rows = 4 * ratio, columns = 5 * ratio;
    const Expr ends = reshape(pad(x, {{1, 1}, {1, 1}}, PadMode::kEdge), {6, 1, 6, 7}),
               line = bilinear_kernel_1d(ratio, true, DType::kFloat64),
               plane = bilinear_kernel_2d(ratio, ratio, true, DType::kFloat64);
    const Expr by_rows =
        conv_transposed(ends, dimshuffle(line, {-1, -1, 0, -1}),
                        {.padding = ConvPadding::zeros({{zeros, zeros}, {0, 0}}), .stride = {ratio, 1}}, {rows, 7});
    const Expr by_lines = conv_transposed(
        by_rows, dimshuffle(line, {-1, -1, -1, 0}),
        {.padding = ConvPadding::zeros({{0, 0}, {zeros, zeros}}), .stride = {1, ratio}}, {rows, columns});
    const Expr by_plane = conv_transposed(
        ends, dimshuffle(plane, {-1, -1, 0, 1}),
        {.padding = ConvPadding::zeros({{zeros, zeros}, {zeros, zeros}}), .stride = {ratio, ratio}}, {rows, columns});
    const Dims dims{2, 3, rows, columns};
    const std::vector<Tensor> got =
        evaluate({bilinear_upsampling(x, ratio), reshape(by_lines, dims), reshape(by_plane, dims)}, {{x, value}});
    expect_near(got[1], got[0], 1e-14);
    expect_near(got[2], got[0], 1e-14);
  }
}

// Theano's test_fractional_bilinear_upsampling: of 2 x 2 elements by 7 / 4 and 5 / 3.
TEST(BilinearUpsampling, ByFractions) {
  const Tensor value = Tensor::of(std::vector<double>{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, {1, 3, 2, 2});
  const Expr x = make_input(type_of(value), "x");
  std::vector<double> expected;
  for (double first : {1, 5, 9})
    for (double row : {0.0, 1.0 / 7, 5.0 / 7, 1.0})
      for (double column : {0.0, 0.2, 0.8, 1.0}) expected.push_back(first + 2 * row + column);
  expect_near(evaluate({bilinear_upsampling(x, {7, 4}, {5, 3})}, {{x, value}})[0], Tensor::of(expected, {1, 3, 4, 4}),
              1e-14);
  const Expr large = make_input({.dtype = DType::kFloat32, .dims = {1, 1, 200, 200}}, "large");
  EXPECT_EQ(bilinear_upsampling(large, {24, 20}, {24, 20}).type().text(), "float32[1, 1, 240, 240]");
  const Expr same = make_input({.dtype = DType::kFloat32, .dims = {1, 1, 3, 3}}, "same");
  EXPECT_TRUE(bilinear_upsampling(same, {3, 3}, {2, 2}).same(same));
}

template <class Action>
std::string message(Action action) {
  std::string text = text_without_node(action);
  size_t at = text.find("\n  node:");
  if (at == std::string::npos) return text;
  size_t rest = text.find("\n", at + 1);
  return text.substr(0, at) + (rest == std::string::npos ? "" : text.substr(rest));
}

Expr input(DType dtype, Dims dims, std::string name = "x") {
  return make_input({.dtype = dtype, .dims = std::move(dims)}, std::move(name));
}

TEST(ImageOpsErrors, OfPadding) {
  const Expr x = input(DType::kFloat32, {2, 3});
  EXPECT_EQ(message([&] {
              pad(x, {{1, 1}, {1, 1}, {0, 0}});
            }),
            "error: pad: there are 3 pairs of widths\n"
            "  expected: at most 2, one for each axis\n"
            "  got:      x float32[2, 3]");
  EXPECT_EQ(message([&] {
              pad(x, {{1, -1}});
            }),
            "error: pad: a width of axis 1 is negative\n"
            "  expected: widths of at least 0\n"
            "  got:      x float32[2, 3]");
  EXPECT_EQ(message([&] {
              pad(x, {{0, 3}}, PadMode::kReflect);
            }),
            "error: pad: axis 1 is too short for its mirror image, with a width of 3\n"
            "  expected: 4 <= 3\n"
            "  got:      x float32[2, 3]");
  EXPECT_EQ(message([&] {
              pad(x, {{4, 0}}, PadMode::kWrap);
            }),
            "error: pad: axis 1 is too short to be repeated, with a width of 4\n"
            "  expected: 4 <= 3\n"
            "  got:      x float32[2, 3]");
  EXPECT_EQ(message([&] {
              pad(input(DType::kFloat32, {2, 0}), {{1, 0}}, PadMode::kEdge);
            }),
            "error: pad: axis 1 has no ends to repeat, with a width of 1\n"
            "  expected: 1 <= 0\n"
            "  got:      x float32[2, 0]");
  EXPECT_EQ(message([&] {
              pad(input(DType::kInt8, {2}), {{1, 0}}, PadMode::kConstant, 0.5);
            }),
            "error: pad: the dtype does not hold the value 0.5\n"
            "  expected: a number of int8\n"
            "  got:      x int8[2]");
  const Expr open = input(DType::kFloat64, {"n"});
  const Expr reflected = pad(open, {{2, 0}}, PadMode::kReflect);
  const Tensor two = Tensor::vector<double>({1, 2});
  EXPECT_EQ(message([&] {
              evaluate({reflected}, {{open, two}});
            }),
            "error: pad: axis 0 is too short for its mirror image, with a width of 2\n"
            "  expected: 3 <= 2");
  EXPECT_EQ(message([&] { function({open}, {reflected})({two}); }),
            "error: pad: axis 0 is too short for its mirror image, with a width of 2\n"
            "  expected: 3 <= n\n"
            "  got:      3 and 2");
}

TEST(ImageOpsErrors, OfWindows) {
  const Expr x = input(DType::kFloat32, {2, 3, 5, 6});
  EXPECT_EQ(message([&] {
              images_to_neighbours(input(DType::kFloat32, {5, 6}), {2, 2});
            }),
            "error: images_to_neighbours: the value is not a list of images\n"
            "  expected: 4 axes: images, channels, rows, columns\n"
            "  got:      x float32[5, 6]");
  EXPECT_EQ(message([&] {
              images_to_neighbours(x, {2, 2});
            }),
            "error: images_to_neighbours: windows of 2 rows, 2 apart, do not fill the image\n"
            "  expected: 2, or some times 2 more\n"
            "  got:      5 with its borders\n"
            "  hint:     ignore_borders leaves out what is left over");
  EXPECT_EQ(message([&] {
              images_to_neighbours(x, {0, 2});
            }),
            "error: images_to_neighbours: the window has no elements\n"
            "  expected: at least 1 row and 1 column\n"
            "  got:      0 rows, 2 columns");
  EXPECT_EQ(message([&] {
              images_to_neighbours(x, {1, 1}, RowsColumns{1, 0});
            }),
            "error: images_to_neighbours: the step has no elements\n"
            "  expected: at least 1 row and 1 column\n"
            "  got:      1 rows, 0 columns");
  EXPECT_EQ(message([&] {
              images_to_neighbours(x, {3, 2}, {}, NeighbourMode::kWrapCentered);
            }),
            "error: images_to_neighbours: a window has no centre\n"
            "  expected: an odd number of rows and of columns\n"
            "  got:      3 rows, 2 columns");
  EXPECT_EQ(message([&] {
              images_to_neighbours(x, {7, 3}, {}, NeighbourMode::kIgnoreBorders);
            }),
            "error: windows: axis 2 is shorter than a window of 7 elements\n"
            "  expected: 7 <= 5\n"
            "  got:      x float32[2, 3, 5, 6]");
  const Expr m = input(DType::kFloat32, {8, 4}, "m");
  EXPECT_EQ(message([&] {
              neighbours_to_images(m, {2, 2}, {2, 1, 4, 4}, NeighbourMode::kFull);
            }),
            "error: neighbours_to_images: windows of this mode overlap\n"
            "  expected: valid or ignore_borders\n"
            "  got:      another mode");
  EXPECT_EQ(message([&] {
              neighbours_to_images(m, {2, 2}, {2, 1, 4, 5});
            }),
            "error: neighbours_to_images: windows of 2 rows and 2 columns do not fill the images\n"
            "  expected: lengths that are multiples of the window's\n"
            "  got:      [2, 1, 4, 5]\n"
            "  hint:     ignore_borders leaves what is left over 0");
  EXPECT_EQ(message([&] {
              neighbours_to_images(m, {2, 2}, {8, 4});
            }),
            "error: neighbours_to_images: the windows or the images have another number of axes\n"
            "  expected: a matrix, and the lengths of images, channels, rows, columns\n"
            "  got:      m float32[8, 4], lengths [8, 4]");
  EXPECT_EQ(message([&] {
              neighbours_to_images(m, {2, 2}, {3, 1, 4, 4});
            }),
            "error: neighbours_to_images: the matrix does not hold the windows of such images\n"
            "  expected: [12, 4], of images [3, 1, 4, 4]\n"
            "  got:      m float32[8, 4]");
  const Expr open = input(DType::kFloat32, {1, 1, "rows", 2});
  const Expr windows = images_to_neighbours(open, {2, 2});
  EXPECT_EQ(message([&] {
              function({open}, {windows})({Tensor::zeros(DType::kFloat32, {1, 1, 3, 2})});
            }),
            "error: images_to_neighbours: windows do not fill the image: axis 2 has another length\n"
            "  expected: rows == 2*floor_div(rows - 2, 2) + 2\n"
            "  got:      3 and 2");
}

TEST(ImageOpsErrors, OfUpsampling) {
  EXPECT_EQ(message([&] {
              nearest_upsampling(input(DType::kFloat32, {2, 3}), 2);
            }),
            "error: nearest_upsampling: the value is not a list of images\n"
            "  expected: 4 axes: images, channels, rows, columns\n"
            "  got:      x float32[2, 3]");
  EXPECT_EQ(message([&] {
              nearest_upsampling(input(DType::kFloat32, {1, 1, 2, 3}), 0);
            }),
            "error: nearest_upsampling: the ratio is below 1\n"
            "  expected: a whole number of at least 1\n"
            "  got:      0");
  EXPECT_EQ(message([&] {
              bilinear_upsampling(input(DType::kInt32, {1, 1, 2, 3}), 2);
            }),
            "error: bilinear_upsampling: the values are not real floats\n"
            "  expected: float32 or float64\n"
            "  got:      x int32[1, 1, 2, 3]\n"
            "  hint:     cast them");
  EXPECT_EQ(message([&] {
              bilinear_upsampling(input(DType::kFloat32, {1, 1, 2, 3}), {3, 2}, {3, 0});
            }),
            "error: bilinear_upsampling: a number of the ratio is below 1\n"
            "  expected: whole numbers of at least 1, up / down\n"
            "  got:      3 / 0");
  EXPECT_EQ(message([&] {
              bilinear_upsampling(input(DType::kFloat32, {1, 2, 3}), {3, 2}, {3, 2});
            }),
            "error: bilinear_upsampling: the value is not a list of images\n"
            "  expected: 4 axes: images, channels, rows, columns\n"
            "  got:      x float32[1, 2, 3]");
  EXPECT_EQ(message([] { bilinear_kernel_1d(0); }),
            "error: bilinear_kernel_1d: the ratio is below 1\n"
            "  expected: a whole number of at least 1\n"
            "  got:      0");
  EXPECT_EQ(message([] { bilinear_kernel_2d(2, 2, false, DType::kInt64); }),
            "error: bilinear_kernel_2d: the dtype is no real float\n"
            "  expected: float32 or float64\n"
            "  got:      int64");
}

}  // namespace
}  // namespace thtrain::image_test
