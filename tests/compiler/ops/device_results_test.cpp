// Kernels of devices at lengths that the cases of ops do not have: products in several tiles, reductions in parts.
#include <gtest/gtest.h>

#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/fft/fft.h"
#include "compiler/ops/index/index.h"
#include "compiler/ops/linalg/linalg.h"
#include "compiler/ops/nnet/softmax.h"
#include "compiler/ops/order/order.h"
#include "compiler/ops/random/random.h"
#include "compiler/ops/reduce/cumulative.h"
#include "compiler/ops/reduce/reduce.h"
#include "compiler/ops/shape/shape.h"
#include "tests/support/device_under_test.h"
#include "tests/support/target_calls.h"

namespace thtrain::device_results_test {
namespace {

void expect_right(const std::vector<Expr>& inputs, const Expr& result, std::vector<TakenCandidate> candidates = {}) {
  SCOPED_TRACE(result.type().text());
  std::vector<In> ins;
  std::vector<Tensor> values;
  for (const Expr& x : inputs) {
    ins.emplace_back(x);
    values.push_back(numbers(x.type().known_shape()).cast(x.dtype()));
  }
  expect_equal(ins, {result}, values, {.target = device_under_test(), .candidates = std::move(candidates)});
}

Expr of(DType dtype, const std::string& name, const Dims& dims) {
  return tensor(name, dims, dtype);
}

TEST(DeviceProducts, InTilesEqualTheReference) {
  for (const DType dtype : {DType::kFloat32, DType::kFloat64, DType::kInt16}) {
    const Expr a = of(dtype, "a", {65, 150}), b = of(dtype, "b", {150, 130}), c = of(dtype, "c", {150, 65}),
               d = of(dtype, "d", {130, 150});
    expect_right({a, b}, dot(a, b));
    expect_right({c, d}, dot(transpose(c), transpose(d)));
    expect_right({a}, dot(a, transpose(a)));
  }
}

TEST(DeviceProducts, OfBatchesAndWithFactorsEqualTheReference) {
  const DType f32 = DType::kFloat32;
  const Expr a = of(f32, "a", {2, 3, 20, 17}), b = of(f32, "b", {2, 3, 17, 33}), c = of(f32, "c", {20, 33}),
             alpha = of(f32, "alpha", {}), beta = of(f32, "beta", {});
  expect_right({a, b}, matmul(a, b));
  expect_right({a, b}, matmul(transpose(a, {1, 0, 2, 3}), transpose(b, {1, 0, 2, 3})));
  const Expr left = of(f32, "left", {20, 65}), right = of(f32, "right", {65, 33});
  expect_right({c, alpha, left, right, beta}, apply(gemm_op(), {c, alpha, left, right, beta}));
}

// Tilings that are larger and smaller than the product; a slab more than 64 terms.
TEST(DeviceProducts, OfAllTilingsHaveTheSameBits) {
  for (const DType dtype : {DType::kFloat32, DType::kFloat64}) {
    const Expr a = of(dtype, "a", {37, 90}), b = of(dtype, "b", {90, 70}), c = of(dtype, "c", {3, 17, 20}),
               d = of(dtype, "d", {3, 20, 40});
    std::vector<Tensor> values, first;
    for (const Expr& x : {a, b, c, d}) values.push_back(numbers(x.type().known_shape()).cast(dtype));
    for (const char* name : {"loops", "tile 16x16", "tile 128x16", "tile 32x64", "tile 64x128"}) {
      SCOPED_TRACE(name);
      FunctionOptions options{.target = device_under_test(), .without = {"fuse_epilogues"}};
      options.candidates = {{"matrix_product", name}, {"batched_product", name}};
      Function f = function({a, b, c, d}, {tanh(dot(a, b)), matmul(c, d)}, {}, options);
      if (name[0] == 't') {
        const std::string tile = str("tiles of ", std::string(name).substr(5)), text = f.explain().program;
        const std::string wanted = tile.substr(0, tile.find('x')) + " x " + tile.substr(tile.find('x') + 1);
        EXPECT_NE(text.find(wanted), std::string::npos) << text;
      }
      const std::vector<Tensor> got = f(values);
      if (first.empty()) first = got;
      for (size_t i = 0; i < got.size(); ++i) EXPECT_TRUE(same_bits(got[i], first[i])) << i;
      options.without.clear();
      options.unused_inputs = UnusedInputs::kAllowed;
      EXPECT_TRUE(same_bits(function({a, b, c, d}, {tanh(dot(a, b))}, {}, options)(values)[0], first[0])) << "fused";
    }
  }
}

// One kernel, which ends with what is computed of the product.
TEST(DeviceProducts, EndWithBiasesAndActivations) {
  for (const int64_t terms : {5, 70}) {
    const Expr x = of(DType::kFloat32, "x", {50, terms}), w = of(DType::kFloat32, "w", {terms, 33}),
               bias = of(DType::kFloat32, "bias", {33}), more = of(DType::kFloat32, "more", {50, 1});
    const Expr layer = tanh(dot(x, w) + bias);
    expect_right({x, w, bias, more}, layer * more);
    expect_right({x, w, bias, more}, gt(dot(x, w) + bias, more));
    Function f = function({x, w, bias}, {layer}, {}, {.target = device_under_test()});
    EXPECT_EQ(f.info().kernels, 1U);
  }
}

TEST(DeviceProducts, WithVectorsAreReductions) {
  const Expr a = f64("a", {40, 70}), x = f64("x", {70}), y = f64("y", {40});
  expect_right({a, x}, dot(a, x));
  expect_right({y, a}, dot(y, a));
  expect_right({x}, dot(x, x));
}

TEST(DeviceTransposes, InSquaresEqualTheReference) {
  for (const DType dtype : {DType::kFloat32, DType::kInt8, DType::kComplex64}) {
    const Expr a = of(dtype, "a", {3, 40, 65}), b = of(dtype, "b", {3, 65, 40}), c = of(dtype, "c", {65});
    expect_right({a, b, c}, (transpose(a, {0, 2, 1}) + b) * expand_dims(c, {1}));
    expect_right({a}, transpose(a, {2, 1, 0}) + make_constant(Tensor(1.0).cast(dtype)));
  }
}

TEST(DeviceReductions, InPartsEqualTheReference) {
  const Expr rows = of(DType::kFloat32, "rows", {3, 20'000}), columns = of(DType::kFloat32, "columns", {300, 33}),
             cube = of(DType::kInt32, "cube", {5, 400, 6});
  expect_right({rows}, mean(rows, {1}));
  expect_right({rows}, sqrt(sum(rows * rows)) + max(rows));
  expect_right({columns}, sum(columns, {0}) * 0.5);
  expect_right({cube}, sum(cube, {0, 1}));
  expect_right({cube}, prod(cube, {1}));
}

// A thread has several columns, or parts of them: sums on two levels, chains of loops, factors by row and by column.
TEST(DeviceReductions, OfColumnsSideBySideEqualTheReference) {
  const DType f32 = DType::kFloat32;
  const Expr wide = of(f32, "wide", {70, 32'768}), parts = of(f32, "parts", {530, 4096}),
             doubles = of(DType::kFloat64, "doubles", {3, 32'770}), bytes = of(DType::kUInt8, "bytes", {5, 40'000}),
             column = of(f32, "column", {70, 1}), row = of(f32, "row", {32'768});
  expect_right({wide}, sum(wide, {0}));
  expect_right({wide, column, row}, sum(wide * column + row, {0}) * row);
  expect_right({wide}, wide - max(wide, {0}, true));
  expect_right({parts}, mean(parts, {0}) * 0.5);
  expect_right({doubles}, prod(doubles, {0}));
  expect_right({bytes}, sum(bytes, {0}));
  const Expr rows = tensor("rows", {"n", "m"}, f32), at = tensor("at", {6}, DType::kInt64);
  const Tensor chosen = Tensor::of(std::vector<int64_t>{0, 2, 2, 1, 0, 2}, {6});
  for (const int64_t m : {7, 8}) {
    expect_equal({rows}, {softmax(rows, 0)}, {numbers({5, m}).cast(f32)}, {.target = device_under_test()});
    expect_equal({rows, at}, {sum(take(rows, at), {0})}, {numbers({3, m}).cast(f32), chosen},
                 {.target = device_under_test()});
  }
}

// The length is known in the call alone.
TEST(DeviceReductions, OfAnyLengthInPartsEqualTheReference) {
  const Expr x = tensor("x", {"n"}, DType::kFloat64), y = tensor("y", {"n", 3}, DType::kFloat64);
  for (const int64_t n : {0, 1, 64, 65, 9000}) {
    expect_equal({x}, {sum(x)}, {numbers({n})}, {.target = device_under_test()});
    expect_equal({y}, {sum(y, {0})}, {numbers({n, 3})}, {.target = device_under_test()});
  }
  Function f = function({x}, {max(x)}, {}, {.target = device_under_test()});
  EXPECT_THROW(f({numbers({0})}), Error);
}

// By passes of radix 2, 3, 4 and of a prime that is summed in parts; along inner axes, and by the definition where the
// call decides the length.
TEST(DeviceTransforms, OfAllRadicesEqualTheReference) {
  const auto expect_lines = [](const std::vector<Expr>& inputs, const Expr& result) {
    expect_right(inputs, result, {{"fourier_transform", "lines"}});
  };
  for (const DType dtype : {DType::kComplex64, DType::kComplex128}) {
    const Expr row = of(dtype, "row", {2, 600}), prime = of(dtype, "prime", {134}),
               planes = of(dtype, "planes", {3, 8, 10, 5}), any = tensor("any", {"n", 2}, dtype);
    expect_lines({row}, fft(row));
    expect_lines({row}, ifft(row, {}, -1, FftNorm::kOrtho));
    expect_lines({prime}, fft(prime));
    expect_lines({planes}, fftn(planes, {1, 2}));
    expect_lines({planes}, irfft(planes, 9));
    const std::vector<Tensor> values{numbers({30, 2}).cast(dtype)};
    expect_equal({In(any)}, {fft(any, {}, 0)}, values, {.target = device_under_test()});
  }
  for (const DType dtype : {DType::kFloat32, DType::kFloat64}) {
    const Expr x = of(dtype, "x", {3, 300}), volume = of(dtype, "volume", {4, 6, 7});
    expect_lines({x}, rfft(x));
    expect_lines({volume}, rfftn(volume));
  }
}

TEST(DeviceInverse, EqualsTheReferenceAndNamesThePivot) {
  for (const DType dtype : {DType::kFloat32, DType::kFloat64}) {
    // Large elements off the diagonal: every row is exchanged.
    const Expr a = of(dtype, "a", {40, 40}), next = eye(40, {}, 1, dtype) + eye(40, {}, -39, dtype);
    expect_right({a}, dot(inverse(a + next * 40.0), a));
  }
  const Expr a = f64("a", {"n", "n"});
  Function f = function({a}, {inverse(a)}, {}, {.target = device_under_test()});
  try {
    f({Tensor::of(std::vector<double>{1, 2, 3, 2, 4, 6, 0, 0, 1}, {3, 3})});
    FAIL() << "no error";
  } catch (const UserError& error) {
    EXPECT_EQ(error.messages().front().what, "inverse: the matrix is singular");
    EXPECT_EQ(error.messages().front().expected, "pivots other than 0, found 0 as pivot 2 of the LU factorization");
  }
}

// From states at all kinds of positions, several keys long; with a normal number that is held back.
TEST(DeviceDraws, OfAllFormsEqualTheReference) {
  const Expr state = tensor("state", {628}, DType::kUInt32);
  Tensor words = Tensor::zeros(DType::kUInt32, {628});
  RandomState(7).to_words(words.data<uint32_t>());
  for (const int64_t position : {0, 3, 623, 624})
    for (const auto& [name, parameters] : std::vector<std::pair<std::string, std::vector<Operand>>>{
             {"uniform", {-1.0, 2.0}},
             {"normal", {0.5, 2.0}},
             {"logistic", {0.0, 1.0}},
             {"geometric", {0.2}},
             {"geometric", {0.6}},
             {"randint", {-5, 5}},
             {"randint", {3, 4}},
             {"random_integers", {int64_t{0}, int64_t{1} << 40}}}) {
      SCOPED_TRACE(str(name, " from ", position));
      words.data<uint32_t>()[624] = static_cast<uint32_t>(position);
      words.data<uint32_t>()[625] = position == 3;
      const Drawn once = draw(name, state, {position == 0 ? 301 : 1000}, parameters),
                  twice = draw(name, once.next, {7}, parameters);
      Function f = function({state}, {once.sample, twice.sample, twice.next}, {}, {.target = device_under_test()});
      const std::vector<Tensor> got = f({words}), expected = function({state}, {once.sample, twice.sample, twice.next},
                                                                      {}, {.mode = Mode::kReference})({words});
      for (size_t i = 0; i < got.size(); ++i) EXPECT_TRUE(same_bits(got[i], expected[i])) << "output " << i;
      EXPECT_TRUE(f.info().reference_steps.empty());
    }
}

TEST(DeviceDraws, PermutationsAndChoicesEqualTheReference) {
  const Expr state = tensor("state", {628}, DType::kUInt32), p = f64("p", {5});
  Tensor words = Tensor::zeros(DType::kUInt32, {628});
  RandomState(11).to_words(words.data<uint32_t>());
  const Drawn rows = draw_permutation(state, {3}, 300), choices = draw_choice(rows.next, {700}, p, true);
  const auto call = [&](const FunctionOptions& options, const std::vector<double>& of) {
    Function f = function({state, p}, {rows.sample, choices.sample, choices.next}, {}, options);
    return f({words, Tensor::of(of, {5})});
  };
  const FunctionOptions device{.target = device_under_test()};
  const std::vector<double> fit{0.125, 0.0, 0.25, 0.5, 0.125};
  const std::vector<Tensor> got = call(device, fit), expected = call({.mode = Mode::kReference}, fit);
  for (size_t i = 0; i < got.size(); ++i) EXPECT_TRUE(same_bits(got[i], expected[i])) << "output " << i;
  try {
    call(device, {0.5, 0.5, 0.5, 0.5, 0.5});
    FAIL() << "no error";
  } catch (const UserError& error) {
    EXPECT_EQ(error.messages().front().what, "choice: the probabilities are none");
  }
}

TEST(DeviceDraws, NameTheElementWhoseParametersDoNotFit) {
  const Expr state = tensor("state", {628}, DType::kUInt32), scale = f64("scale", {400});
  Function f = function({state, scale}, {draw("exponential", state, {400}, {scale}).sample}, {},
                        {.target = device_under_test()});
  Tensor words = Tensor::zeros(DType::kUInt32, {628}), scales = Tensor::zeros(DType::kFloat64, {400});
  scales.data<double>()[397] = scales.data<double>()[300] = -1;
  try {
    f({words, scales});
    FAIL() << "no error";
  } catch (const UserError& error) {
    EXPECT_EQ(error.messages().front().what, "exponential: a parameter is out of range");
    EXPECT_EQ(error.messages().front().expected,
              "scale >= 0; it is not so for element 301 of the result, counted from 1");
  }
}

// By threads, by blocks, in parts; NaN and what is added to it in another order.
TEST(DeviceScans, OfLinesAndPartsEqualTheReference) {
  const Expr rows = of(DType::kFloat32, "rows", {3, 700}), cube = of(DType::kInt32, "cube", {2, 300, 3}),
             parts = of(DType::kFloat64, "parts", {2, 16'640}), bytes = of(DType::kUInt8, "bytes", {257});
  expect_right({rows}, cumsum(rows, 1));
  expect_right({rows}, cumsum(rows[{Slice{}, Slice{.step = -1}}], 1));
  expect_right({cube}, cumsum(cube, 1));
  expect_right({cube}, cumprod(cube, 1));
  expect_right({parts}, cummax(parts * where(gt(parts, 1.0), NAN, 1.0), 1));
  expect_right({parts}, cumsum(cast(parts * 8.0, DType::kInt64), 1));
  expect_right({bytes}, cummin(bytes, 0));
  const Expr x = tensor("x", {2, "n"}, DType::kFloat64);
  for (const int64_t n : {0, 1, 256, 257, 9000})
    expect_equal({x}, {cumsum(x, 1)}, {numbers({2, n})}, {.target = device_under_test()});
}

// In one block and in several runs; many equal elements, so that their order is seen; NaN and zeros of both signs.
TEST(DeviceSorts, OfRowsInBlocksAndRunsEqualTheReference) {
  for (const int64_t n : {1, 31, 1025, 2500})
    for (const DType dtype : {DType::kFloat32, DType::kInt64}) {
      const Expr x = of(dtype, "x", {2, n});
      expect_right({x}, argsort(floor(cast(x, DType::kFloat64) * 3.0)));
      expect_right({x}, sort(x));
    }
  const Expr x = of(DType::kFloat32, "x", {3, 2500});
  expect_right({x}, argtopk(x, 30));
  expect_right({x}, sort(transpose(x), 0));
  const Tensor special = [] {
    Tensor out = Tensor::zeros(DType::kFloat32, {3, 2500});
    for (int64_t i = 0; i < out.size(); ++i)
      out.data<float>()[i] = i % 7 == 0 ? NAN : i % 3 == 0 ? -0.0F : static_cast<float>(i % 5);
    return out;
  }();
  const Expr with_signs = 1.0 / sort(x);
  expect_equal({x}, {argsort(x), with_signs}, {special}, {.target = device_under_test()});
}

TEST(DeviceSorts, OfAnyLengthEqualTheReference) {
  const Expr x = tensor("x", {2, "n"}, DType::kFloat32);
  for (const int64_t n : {0, 1, 1024, 1025, 5000})
    expect_equal({x}, {sort(x), argsort(x)}, {numbers({2, n}).cast(DType::kFloat32)}, {.target = device_under_test()});
}

}  // namespace
}  // namespace thtrain::device_results_test
