// Pooling: values and derivatives of PyTorch and NumPy, ties, borders, lengths, long rows.
#include "compiler/ops/pool/pool.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "compiler/api.h"
#include "compiler/ir/op.h"
#include "compiler/ops/evaluate.h"

namespace thtrain::pool_test {
namespace {

using Pairs = std::vector<std::pair<int64_t, int64_t>>;

Expr image(Dims dims, DType dtype = DType::kFloat64) {
  return make_input({.dtype = dtype, .dims = std::move(dims)}, "x");
}

// (7 i mod 13 - 6) / 2: most values several times.
Tensor pattern(Shape shape, DType dtype = DType::kFloat64) {
  Tensor out = Tensor::empty(DType::kFloat64, std::move(shape));
  for (int64_t i = 0; i < out.size(); ++i) out.data<double>()[i] = static_cast<double>(i * 7 % 13 - 6) / 2;
  return out.cast(dtype);
}

// 1, 2, 3, ...
Tensor counting(Shape shape, DType dtype = DType::kFloat64) {
  Tensor out = Tensor::empty(DType::kFloat64, std::move(shape));
  for (int64_t i = 0; i < out.size(); ++i) out.data<double>()[i] = static_cast<double>(i + 1);
  return out.cast(dtype);
}

std::vector<double> numbers(const Tensor& x) {
  std::vector<double> out;
  const Tensor dense = x.contiguous();
  for (int64_t i = 0; i < dense.size(); ++i) out.push_back(dense.as_double(i));
  return out;
}

void expect_near(const Tensor& got, const std::vector<double>& expected, const std::string& what) {
  ASSERT_EQ(static_cast<size_t>(got.size()), expected.size()) << what;
  for (size_t i = 0; i < expected.size(); ++i)
    EXPECT_NEAR(got.as_double(static_cast<int64_t>(i)), expected[i], 1e-13) << what << ", element " << i;
}

// Native code and the reference give these for the pooled image and for the gradient of sum(pooled * (1, 2, 3, ...)).
void expect_pooled(const PoolOptions& options, const Shape& shape, const std::vector<double>& expected,
                   const std::vector<double>& gradient) {
  const Expr x = image(Dims(shape.begin(), shape.end())), y = pool(x, options);
  const Expr dx = grad(sum(y * make_constant(counting(y.type().known_shape()))), x);
  const Tensor value = pattern(shape);
  const std::vector<Tensor> reference = evaluate({y, dx}, {{x, value}}), native = function({x}, {y, dx})({value});
  for (const std::vector<Tensor>& got : {reference, native}) {
    expect_near(got[0], expected, "pooled");
    expect_near(got[1], gradient, "gradient");
  }
}

// ---- values of other programs --------------------------------------------------------------------------------------

TEST(Pool, MaximaArePyTorchs) {
  expect_pooled({.window = {2, 2}}, {2, 5, 6}, {2, 2.5, 3, 1.5, 2, 2.5, 3, 2, 2.5, 2.5, 3, 2},
                {0, 0, 0, 0, 0, 0, 0, 1, 0, 2, 0, 3, 0, 0, 0, 0, 0,  0, 4,  0, 5,  0, 6, 0, 0, 0, 0, 0, 0, 0,
                 0, 0, 0, 8, 0, 9, 0, 7, 0, 0, 0, 0, 0, 0, 0, 0, 12, 0, 10, 0, 11, 0, 0, 0, 0, 0, 0, 0, 0, 0});
  expect_pooled(
      {.window = {3, 2}, .stride = {2, 1}, .padding = {{1, 1}, {1, 1}}}, {2, 5, 6},
      {-1.5, 2, 2, 2.5, 2.5, 3,   3,   1.5, 2, 2, 2.5, 2.5, 3, 3,   3,   3,   2, 2, 2.5, 2.5, 1,
       -0.5, 3, 3, 2,   2,   2.5, 2.5, 2.5, 3, 3, 3,   2,   2, 0.5, 2.5, 2.5, 3, 3, 1.5, 2,   2},
      {0, 0, 0, 0,  0, 0,  1,  24,  0, 32, 0, 40, 0, 0, 0, 0, 0,  0, 8,   0, 35,  0, 39, 0,  31, 0, 0, 0,  0, 21,
       0, 0, 0, 51, 0, 55, 22, 108, 0, 0,  0, 0,  0, 0, 0, 0, 67, 0, 102, 0, 109, 0, 0,  35, 0,  0, 0, 40, 0, 83});
}

TEST(Pool, WindowsThatStickOutArePyTorchs) {
  expect_pooled({.window = {3, 4}, .stride = {2, 3}, .ignore_border = false}, {2, 5, 6}, {2.5, 3, 3, 2.5, 3, 2.5, 3, 2},
                {0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 0, 3, 0, 0, 0, 0, 0,
                 0, 0, 0, 0, 0, 6, 0, 5, 0, 0, 0, 0, 0, 0, 0, 0, 8, 0, 0, 0, 7, 0, 0, 0, 0, 0, 0, 0, 0, 0});
  expect_pooled({.window = {2, 4}, .stride = {2, 3}, .ignore_border = false, .mode = PoolMode::kAverage}, {1, 5, 6},
                {-2.0 / 8, 5.5 / 6, -4.0 / 8, -2.5 / 6, 0.5 / 4, -1.0 / 3}, {0.125,   0.125,
                                                                             0.125,   0.125 + 2.0 / 6,
                                                                             2.0 / 6, 2.0 / 6,
                                                                             0.125,   0.125,
                                                                             0.125,   0.125 + 2.0 / 6,
                                                                             2.0 / 6, 2.0 / 6,
                                                                             0.375,   0.375,
                                                                             0.375,   0.375 + 4.0 / 6,
                                                                             4.0 / 6, 4.0 / 6,
                                                                             0.375,   0.375,
                                                                             0.375,   0.375 + 4.0 / 6,
                                                                             4.0 / 6, 4.0 / 6,
                                                                             1.25,    1.25,
                                                                             1.25,    3.25,
                                                                             2,       2});
}

// NumPy: of steps longer than the windows, whose last windows are cut off.
TEST(Pool, WindowsApart) {
  const PoolOptions options{.window = {2, 3}, .stride = {3, 4}, .ignore_border = false};
  const Expr x = image({5, 6});
  for (const auto& [mode, expected] : std::vector<std::pair<PoolMode, std::vector<double>>>{
           {PoolMode::kMax, {2, 3, 3, 2.5}},
           {PoolMode::kSum, {-5.5, 2, 2, 0.5}},
           {PoolMode::kAverage, {-5.5 / 6, 0.5, 2.0 / 6, 0.125}},
           {PoolMode::kAveragePadded, {-5.5 / 6, 0.5, 2.0 / 6, 0.125}}}) {
    PoolOptions of_mode = options;
    of_mode.mode = mode;
    const Expr y = pool(x, of_mode);
    expect_near(evaluate({y}, {{x, pattern({5, 6})}})[0], expected, "reference");
    expect_near(function({x}, {y})({pattern({5, 6})})[0], expected, "native");
  }
  PoolOptions of_sum = options;
  of_sum.mode = PoolMode::kSum;
  expect_pooled(of_sum, {5, 6}, {-5.5, 2, 2, 0.5},
                {1, 1, 1, 0, 2, 2, 1, 1, 1, 0, 2, 2, 0, 0, 0, 0, 0, 0, 3, 3, 3, 0, 4, 4, 3, 3, 3, 0, 4, 4});
}

TEST(Pool, AveragesArePyTorchs) {
  const double third = 1.0 / 3, sixth = 1.0 / 6, twelfth = 1.0 / 12;
  PoolOptions options{.window = {3, 2}, .stride = {2, 1}, .padding = {{1, 1}, {1, 1}}, .mode = PoolMode::kAverage};
  expect_pooled(options, {5, 6},
                {-2.25, -0.5,        -0.25, 0,    0.25, 0.5,    2.25,   0,      -5 * twelfth, -sixth, twelfth,
                 third, 7 * twelfth, sixth, 2.25, 0.75, -0.625, -0.375, -0.125, 0.125,        0.25},
                {1,          1.25,          1.75,  2.25,          2.75,          5,
                 31 * sixth, 53 * twelfth,  5.25,  73 * twelfth,  83 * twelfth,  71 * sixth,
                 25 * sixth, 19 * sixth,    3.5,   23 * sixth,    25 * sixth,    41 * sixth,
                 47 * third, 137 * twelfth, 12.25, 157 * twelfth, 167 * twelfth, 67 * third,
                 11.5,       8.25,          8.75,  9.25,          9.75,          15.5});
  options.mode = PoolMode::kAveragePadded;
  expect_pooled(options, {5, 6},
                {-0.75, -third,      -sixth,  0,    sixth, third,        0.75,  0,        -5 * twelfth, -sixth, twelfth,
                 third, 7 * twelfth, twelfth, 0.75, 0.5,   -5 * twelfth, -0.25, -twelfth, twelfth,      twelfth},
                {0.5,        5 * sixth,  7 * sixth,  1.5,        11 * sixth, 13 * sixth, 10 * third, 4,
                 14 * third, 16 * third, 6,          20 * third, 17 * sixth, 19 * sixth, 3.5,        23 * sixth,
                 25 * sixth, 4.5,        8,          26 * third, 28 * third, 10,         32 * third, 34 * third,
                 31 * sixth, 5.5,        35 * sixth, 37 * sixth, 6.5,        41 * sixth});
}

// ---- ties ----------------------------------------------------------------------------------------------------------

// dx of one window over the whole image, with dy = 1, by native code and the reference.
void expect_derivative_at(const std::vector<double>& elements, Shape shape, size_t position) {
  for (DType dtype : {DType::kFloat32, DType::kFloat64}) {
    const Expr x = image(Dims(shape.begin(), shape.end()), dtype), y = pool(x, {.window = shape});
    const Expr dx = grad(sum(y), x);
    const Tensor value = Tensor::of(elements, shape).cast(dtype);
    std::vector<double> expected(elements.size(), 0);
    expected[position] = 1;
    EXPECT_EQ(numbers(evaluate({dx}, {{x, value}})[0]), expected);
    EXPECT_EQ(numbers(function({x}, {dx})({value})[0]), expected);
    const double largest = function({x}, {y})({value})[0].as_double();
    if (std::isnan(elements[position]))
      EXPECT_TRUE(std::isnan(largest));
    else
      EXPECT_EQ(largest, elements[position]);
  }
}

TEST(Pool, TheFirstMaximumInRowMajorOrderGetsTheDerivative) {
  expect_derivative_at({1, 2, 2, 2}, {2, 2}, 1);
  expect_derivative_at({1, 1, 1, 1, 1, 1}, {2, 3}, 0);
  expect_derivative_at({0, 0, 3, 3, 0, 0}, {2, 3}, 2);  // a later column of an earlier row
  expect_derivative_at({0, 5, 5, 0, 0, 0, 5, 0}, {2, 2, 2}, 1);
  expect_derivative_at({0, -0.0, 0, -0.0}, {4}, 0);
  const double inf = std::numeric_limits<double>::infinity();
  expect_derivative_at({-inf, -inf, -inf, -inf}, {2, 2}, 0);
  expect_derivative_at({1, inf, inf, 2}, {2, 2}, 1);
}

TEST(Pool, TheFirstNanGetsTheDerivative) {
  expect_derivative_at({1, NAN, 7, 2}, {2, 2}, 1);
  expect_derivative_at({1, 9, NAN, NAN, 9, 9}, {2, 3}, 2);
  expect_derivative_at({std::numeric_limits<double>::infinity(), 0, NAN, 0}, {4}, 2);
}

// Padding is no element: the smallest ones of an image win over it.
TEST(Pool, PaddingIsNeverTheMaximum) {
  const double inf = std::numeric_limits<double>::infinity();
  const Expr x = image({2, 2});
  const Expr y = pool(x, {.window = {3, 3}, .stride = {1, 1}, .padding = {{2, 2}, {2, 2}}}), dx = grad(sum(y), x);
  const Tensor value = Tensor::matrix({{-inf, -inf}, {-inf, -inf}});
  for (const Tensor& got : {evaluate({dx}, {{x, value}})[0], function({x}, {dx})({value})[0]})
    EXPECT_EQ(numbers(got), (std::vector<double>{9, 3, 3, 1}));
  // Windows of one row: the derivative, and what is linear in another image.
  for (const auto& [options, size] :
       {std::pair(PoolOptions{.window = {1, 2}, .stride = {1, 2}, .padding = {{0, 0}, {1, 0}}}, 3),
        {{.window = {1, 4}, .stride = {1, 2}, .padding = {{0, 0}, {3, 3}}}, 5}})
    for (DType dtype : {DType::kFloat32, DType::kFloat64}) {
      const Expr row = image({1, size}, dtype), other = image({1, size}, dtype), most = pool(row, options);
      const std::vector<Expr> outputs{grad(sum(most), row), jvp(most, row, other)};
      Tensor lowest = Tensor::of(std::vector<double>(static_cast<size_t>(size), -inf), {1, size}).cast(dtype),
             numbered = pattern({1, size}, dtype);
      const std::vector<Tensor> expected = evaluate(outputs, {{row, lowest}, {other, numbered}}),
                                got = function({row, other}, {outputs[0], outputs[1]})({lowest, numbered});
      for (size_t o = 0; o < 2; ++o) EXPECT_TRUE(same_bits(got[o], expected[o])) << size << ", output " << o;
    }
  const Expr n = image({3}, DType::kInt8);
  const Expr least = pool(n, {.window = {2}, .stride = {2}, .padding = {{1, 0}}});
  EXPECT_EQ(numbers(function({n}, {least})({Tensor::vector<int8_t>({-128, -128, -128})})[0]),
            (std::vector<double>{-128, -128}));
}

// ---- dtypes --------------------------------------------------------------------------------------------------------

TEST(Pool, MaximaOfEveryInteger) {
  for (DType dtype : kAllDTypes) {
    if (!is_int(dtype)) continue;
    Tensor value = Tensor::empty(DType::kInt64, {2, 9, 70});
    for (int64_t i = 0; i < value.size(); ++i)
      value.data<int64_t>()[i] = i * 37 % 101 - (is_signed_int(dtype) ? 50 : 0);
    value = value.cast(dtype);
    for (const PoolOptions& options :
         std::vector<PoolOptions>{{.window = {2, 2}},
                                  {.window = {3, 3}, .stride = {2, 2}, .padding = {{1, 1}, {1, 1}}},
                                  {.window = {4, 5}}}) {
      const Expr x = image({2, 9, 70}, dtype), y = pool(x, options);
      EXPECT_EQ(y.dtype(), dtype);
      EXPECT_TRUE(same_bits(function({x}, {y})({value})[0], evaluate({y}, {{x, value}})[0])) << name_of(dtype);
    }
  }
}

// ---- lengths -------------------------------------------------------------------------------------------------------

// The table of Theano's tests of pooling with strides: images of 16 x 16.
TEST(Pool, LengthsAreTheanos) {
  struct Row {
    Ints window;
    bool ignore_border;
    std::vector<std::string> by_stride;  // 1 x 1, 3 x 3, 5 x 7
  };
  for (const Row& row : std::vector<Row>{{{1, 1}, true, {"16, 16", "6, 6", "4, 3"}},
                                         {{1, 1}, false, {"16, 16", "6, 6", "4, 3"}},
                                         {{3, 3}, true, {"14, 14", "5, 5", "3, 2"}},
                                         {{3, 3}, false, {"14, 14", "6, 6", "4, 3"}},
                                         {{5, 3}, true, {"12, 14", "4, 5", "3, 2"}},
                                         {{5, 3}, false, {"12, 14", "5, 6", "4, 3"}},
                                         {{16, 16}, true, {"1, 1", "1, 1", "1, 1"}},
                                         {{16, 16}, false, {"1, 1", "1, 1", "1, 1"}}})
    for (size_t k = 0; k < 3; ++k) {
      const Ints stride = std::vector<Ints>{{1, 1}, {3, 3}, {5, 7}}[k];
      const Expr y =
          pool(image({4, 10, 16, 16}), {.window = row.window, .stride = stride, .ignore_border = row.ignore_border});
      EXPECT_EQ(dims_text(y.dims()), "4, 10, " + row.by_stride[k]);
    }
  struct Extra {
    Ints window, stride;
    Dims image;
    std::string ignoring, keeping;  // the border
  };
  for (const Extra& row : std::vector<Extra>{{{5, 3}, {3, 2}, {16, 16}, "4, 7", "5, 8"},
                                             {{5, 3}, {7, 5}, {16, 16}, "2, 3", "3, 4"},
                                             {{5, 3}, {10, 6}, {16, 16}, "2, 3", "2, 3"},
                                             {{5, 5}, {1, 1}, {8, 5}, "4, 1", "4, 1"},
                                             {{3, 2}, {2, 3}, {8, 5}, "3, 2", "4, 2"},
                                             {{7, 7}, {10, 10}, {8, 5}, "1, 0", "1, 1"},
                                             {{9, 9}, {1, 1}, {8, 5}, "0, 0", "1, 1"}}) {
    // What comes out empty is an error where it is known.
    const Expr known = image(row.image), named = image({"h", "w"});
    PoolOptions options{.window = row.window, .stride = row.stride};
    const std::string ignoring = row.ignoring;
    if (ignoring.find('0') == std::string::npos)
      EXPECT_EQ(dims_text(pool(known, options).dims()), ignoring);
    else
      EXPECT_THROW(pool(known, options), UserError);
    const Tensor value = Tensor::zeros(DType::kFloat64, {row.image[0].value(), row.image[1].value()});
    EXPECT_EQ(shape_text(function({named}, {pool(named, options)})({value})[0].shape()), "[" + ignoring + "]");
    options.ignore_border = false;
    EXPECT_EQ(dims_text(pool(known, options).dims()), row.keeping);
    EXPECT_EQ(shape_text(function({named}, {pool(named, options)})({value})[0].shape()), "[" + row.keeping + "]");
  }
}

TEST(Pool, WindowsBeginInTheImageOrBeforeIt) {
  const Expr x = image({3, 6});
  EXPECT_EQ(pool(x, {.window = {2}, .padding = {{0, 1}}, .ignore_border = false}).type().text(), "float64[3, 3]");
  EXPECT_EQ(pool(x, {.window = {2}, .padding = {{1, 1}}, .ignore_border = false}).type().text(), "float64[3, 4]");
  EXPECT_EQ(pool(x, {.window = {4}, .stride = {3}, .padding = {{0, 3}}}).type().text(), "float64[3, 2]");
}

// Of every op with lengths that only calls tell, and with known ones: rows shorter and longer than a chunk of the
// loops.
TEST(Pool, NativeCodeOfAnyLengths) {
  struct Row {
    PoolOptions options;
    std::vector<Shape> shapes;
  };
  const std::vector<Row> rows{
      {{.window = {2, 2}}, {{1, 1, 1}, {2, 7, 9}, {1, 2, 2500}, {3, 5, 33}}},
      {{.window = {3, 3}}, {{1, 2, 2}, {2, 7, 9}, {1, 3, 2501}, {3, 10, 48}}},
      {{.window = {3, 3}, .stride = {2, 2}, .padding = {{1, 1}, {1, 1}}}, {{1, 1, 1}, {2, 6, 9}, {1, 4, 3000}}},
      {{.window = {3, 5}, .stride = {1, 1}}, {{1, 4, 4}, {2, 5, 40}, {1, 4, 2300}}},
      {{.window = {1, 3}, .stride = {4, 5}}, {{2, 9, 11}, {1, 6, 2111}}},
      {{.window = {3, 2}, .stride = {3, 4}, .ignore_border = false}, {{1, 1, 1}, {2, 8, 5}, {1, 4, 2050}}},
      {{.window = {2, 30}, .stride = {2, 20}, .padding = {{0, 1}, {4, 29}}}, {{2, 6, 31}, {1, 3, 2600}}}};
  for (const Row& row : rows) {
    const Expr x = image({"n", "h", "w"}), g = make_input({.dtype = DType::kFloat64, .dims = x.dims()}, "g");
    std::vector<Expr> outputs;  // of each mode y, dx, and what is linear in a second image
    for (PoolMode mode : {PoolMode::kMax, PoolMode::kAverage}) {
      PoolOptions options = row.options;
      options.mode = mode;
      const Expr y = pool(x, options);
      outputs.insert(outputs.end(), {y, grad(sum(y * pool(g, options)), x), jvp(y, x, g)});
    }
    Function f = function({x, g}, std::vector<Out>(outputs.begin(), outputs.end()));
    for (const Shape& shape : row.shapes) {
      RandomState random(7);
      const int64_t n = element_count(shape);
      const Tensor value = Tensor::of(random.uniform(-1, 1, n), shape),
                   other = Tensor::of(random.uniform(-1, 1, n), shape);
      const std::vector<Tensor> expected = evaluate(outputs, {{x, value}, {g, other}}), got = f({value, other});
      for (size_t o = 0; o < outputs.size(); ++o) {
        ASSERT_EQ(got[o].shape(), expected[o].shape());
        const std::vector<double> a = numbers(got[o]), b = numbers(expected[o]);
        for (size_t i = 0; i < a.size(); ++i)
          ASSERT_NEAR(a[i], b[i], 1e-12) << shape_text(shape) << ", output " << o << ", element " << i;
      }
    }
  }
}

// Their buffers would be too long: the reference runs.
TEST(Pool, VeryLongWindows) {
  const Expr x = image({2, 10000});
  const Tensor value = pattern({2, 10000});
  for (PoolMode mode : {PoolMode::kMax, PoolMode::kAverage}) {
    const Expr y = pool(x, {.window = {5000}, .mode = mode}), dx = grad(sum(y), x);
    const std::vector<Tensor> expected = evaluate({y, dx}, {{x, value}}), got = function({x}, {y, dx})({value});
    for (size_t o = 0; o < 2; ++o) EXPECT_TRUE(same_bits(got[o], expected[o]));
  }
}

TEST(Pool, ThreadsShareTheImages) {
  const Expr x = image({50, 40, 40}, DType::kFloat32);
  const Expr y = pool(x, {.window = {2, 2}}), dx = grad(sum(sqr(y)), x);
  const Tensor value = pattern({50, 40, 40}, DType::kFloat32);
  const std::vector<Tensor> one = function({x}, {y, dx}, {}, {.threads = 1})({value}),
                            two = function({x}, {y, dx}, {}, {.threads = 2})({value});
  for (size_t o = 0; o < 2; ++o) EXPECT_TRUE(same_bits(one[o], two[o]));
}

// ---- derivatives ---------------------------------------------------------------------------------------------------

// With the maxima at known positions, f = sum(max(x)^3) has the second derivative 6 max there.
TEST(Pool, SecondDerivatives) {
  const Expr x = image({4, 4}), v = make_input({.dtype = DType::kFloat64, .dims = {4, 4}}, "v");
  const Expr y = pool(x, {.window = {2, 2}}), dx = grad(sum(y * y * y), x);
  const std::vector<Expr> products{grad(sum(dx * v), x), jvp(dx, x, v)};
  const Tensor value = pattern({4, 4}), along = counting({4, 4});
  std::vector<double> expected(16, 0);
  for (int64_t r : {0, 2})
    for (int64_t c : {0, 2}) {
      int64_t best = r * 4 + c;
      for (int64_t i : {r * 4 + c + 1, r * 4 + c + 4, r * 4 + c + 5})
        if (value.as_double(i) > value.as_double(best)) best = i;
      expected[static_cast<size_t>(best)] = 6 * value.as_double(best) * along.as_double(best);
    }
  for (const Tensor& got : evaluate(products, {{x, value}, {v, along}})) EXPECT_EQ(numbers(got), expected);
  for (const Tensor& got : function({x, v}, {products[0], products[1]})({value, along}))
    EXPECT_EQ(numbers(got), expected);
}

TEST(Pool, TheDerivativeOfAnIntegerImageIsNone) {
  const Expr x = image({4}, DType::kInt32);
  EXPECT_THROW(grad(sum(cast(pool(x, {.window = {2}}), DType::kFloat64)), x), UserError);
}

// ---- the whole image -----------------------------------------------------------------------------------------------

TEST(GlobalPool, IsAReduction) {
  const Expr x = image({2, 3, 4});
  const Tensor value = pattern({2, 3, 4});
  for (const auto& [mode, expected] :
       std::vector<std::pair<PoolMode, Expr>>{{PoolMode::kMax, max(x, {1, 2})},
                                              {PoolMode::kSum, sum(x, {1, 2})},
                                              {PoolMode::kAverage, mean(x, {1, 2})},
                                              {PoolMode::kAveragePadded, mean(x, {1, 2})}}) {
    const Expr y = global_pool(x, 2, mode);
    EXPECT_EQ(y.type().text(), "float64[2]");
    EXPECT_TRUE(same_bits(evaluate({y}, {{x, value}})[0], evaluate({expected}, {{x, value}})[0]));
  }
  EXPECT_EQ(global_pool(x, 1, PoolMode::kMax).type().text(), "float64[2, 3]");
}

}  // namespace
}  // namespace thtrain::pool_test
