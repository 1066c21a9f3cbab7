// Sorting of long rows by several threads, derivatives of what is sorted, searched and counted, and what is said where
// something cannot be.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "compiler/api.h"
#include "compiler/host/cpu.h"
#include "compiler/ir/compare.h"
#include "compiler/ops/evaluate.h"
#include "tests/support/error_text.h"

namespace thtrain::order_test {
namespace {

Tensor doubles(const std::vector<double>& values) {
  return Tensor::of(values, {static_cast<int64_t>(values.size())});
}

void expect_equal(const Tensor& got, const Tensor& want) {
  const auto where = difference(got, want, 0);
  EXPECT_FALSE(where) << *where << "\n" << got.text();
}

// ---- long rows

// Numbers of many kinds: with NaN, infinities and zeros of both signs, or integers of 1, 2 and 3 digits of 8 bits.
Tensor numbers(DType dtype, const Shape& shape, int64_t range) {
  std::mt19937_64 random(static_cast<uint64_t>(range) + size_of(dtype));
  Tensor out = Tensor::empty(is_float(dtype) ? DType::kFloat64 : DType::kInt64, shape);
  for (int64_t i = 0; i < out.size(); ++i) {
    const auto number = static_cast<int64_t>(random() % static_cast<uint64_t>(range)) - range / 2;
    if (!is_float(dtype)) {
      out.data<int64_t>()[i] = number;
      continue;
    }
    const double special[] = {NAN, -NAN, INFINITY, -INFINITY, 0.0, -0.0};
    const uint64_t which = random() % 40;
    out.data<double>()[i] = which < 6 ? special[which] : static_cast<double>(number) / 256;
  }
  return out.cast(dtype);
}

void expect_sorted(DType dtype, const Shape& shape, bool known, int64_t range) {
  SCOPED_TRACE(str(name_of(dtype), "[", join(shape, ", "), "] of ", range, known ? "" : ", lengths unknown"));
  const Tensor value = numbers(dtype, shape, range);
  Dims dims(shape.begin(), shape.end());
  if (!known) dims.back() = "n";
  const Expr x = tensor("x", dims, dtype);
  const std::vector<Expr> results = {sort(x), argsort(x), topk(x, 5)};
  const std::vector<Tensor> want = evaluate(results, {{x, value}});
  Function f = function({x}, {results[0], results[1], results[2]}, {}, {.threads = 2});
  EXPECT_TRUE(f.is_native());
  const std::vector<Tensor> got = f({value});
  for (size_t i = 0; i < want.size(); ++i) expect_equal(got[i], want[i]);
}

TEST(Sort, RowsOfEveryKindOfLength) {
  for (DType dtype : {DType::kFloat32, DType::kInt64}) {
    expect_sorted(dtype, {50000}, true, 60000);
    expect_sorted(dtype, {1, 20000}, true, 60000);  // its work memory is a thread's stack
    expect_sorted(dtype, {3, 17000}, false, 60000);
    expect_sorted(dtype, {40, 50}, true, 3'000'000);
  }
  expect_sorted(DType::kFloat64, {2, 41}, true, 60000);
  expect_sorted(DType::kUInt16, {6, 40}, true, 60000);
  for (int64_t range : {1, 200}) expect_sorted(DType::kFloat64, {2, 20000}, false, range);
}

TEST(Sort, TheFirstOfLongRowsAreThoseOfTheWholeOrder) {
  Tensor of_floats = numbers(DType::kInt64, {2, 50003}, 5000).cast(DType::kFloat32);
  float* elements = of_floats.data<float>();
  std::fill(elements + 320, elements + 1000, std::nanf(""));  // whole blocks of them
  std::fill(elements + 1000, elements + 1010, INFINITY);
  std::fill(elements + 50003, elements + 100006 - 20, std::nanf(""));  // fewer numbers than are asked for
  elements[100005] = INFINITY;
  for (const Tensor& value : {numbers(DType::kInt64, {2, 50003}, 5000), of_floats}) {
    const Expr x = tensor("x", {2, 50003}, value.dtype());
    for (Extreme extreme : {Extreme::kLargest, Extreme::kSmallest}) {
      const Props props = extreme == Extreme::kLargest ? Props{{"descending", true}} : Props{};
      const Expr all = apply(argsort_op(), {x}, props), first = slice_axis(all, 1, 0, 30);
      expect_equal(function({x}, {argtopk(x, 30, -1, extreme)})({value})[0], evaluate({first}, {{x, value}})[0]);
    }
  }
}

// Rows of which few are wanted: many equal elements, elements of few and of all magnitudes, NaN.
TEST(Sort, TheFirstOfShortRowsAreThoseOfTheWholeOrder) {
  Tensor of_floats = numbers(DType::kInt64, {5, 300}, 5000).cast(DType::kFloat32);
  float* elements = of_floats.data<float>();
  std::fill(elements, elements + 300, 2.5F);
  for (int64_t i = 300; i < 600; ++i) elements[i] = std::ldexp(elements[i], static_cast<int>(i % 200) - 100);
  for (int64_t i = 600; i < 900; ++i) elements[i] = i % 2 == 0 ? 0.0F : -0.0F;
  std::fill(elements + 900, elements + 1150, std::nanf(""));
  elements[1001] = -INFINITY;
  const Tensor of_doubles = of_floats.cast(DType::kFloat64);
  for (const Tensor& value : {of_floats, of_doubles, numbers(DType::kInt64, {5, 300}, 7)}) {
    const Expr x = tensor("x", {5, 300}, value.dtype());
    for (Extreme extreme : {Extreme::kLargest, Extreme::kSmallest})
      for (int64_t k : {0, 1, 20, 75}) {
        const Props props = extreme == Extreme::kLargest ? Props{{"descending", true}} : Props{};
        const Expr all = apply(argsort_op(), {x}, props), first = slice_axis(all, 1, 0, k);
        expect_equal(function({x}, {argtopk(x, k, -1, extreme)})({value})[0], evaluate({first}, {{x, value}})[0]);
        expect_equal(function({x}, {topk(x, k, -1, extreme)})({value})[0],
                     evaluate({take_along_axis(x, first, 1)}, {{x, value}})[0]);
      }
  }
}

// By vectors of 32 and 64 bytes a program calls the library; by others it counts digits.
TEST(Sort, ValuesAreSortedByVectorsWhereThereAreWideOnes) {
  const auto program = [](DType dtype, bool positions) {
    const Expr x = tensor("x", {"r", "n"}, dtype);
    return function({x}, {positions ? argsort(x) : sort(x)}).explain().program;
  };
  const bool is_wide = cpu().vector_bytes >= 32;
  for (const auto& [dtype, name] : {std::pair{DType::kFloat32, "sort_f32"},
                                    {DType::kFloat64, "sort_f64"},
                                    {DType::kInt32, "sort_i32"},
                                    {DType::kUInt64, "sort_i64"}}) {
    EXPECT_EQ(program(dtype, false).find(str("-- ", name)) != std::string::npos, is_wide);
    EXPECT_EQ(program(dtype, true).find(name), std::string::npos);
  }
  EXPECT_EQ(program(DType::kInt16, false).find("-- sort_"), std::string::npos);
}

TEST(Sort, OfComplexNumbersAndUniqueSlicesAreNative) {
  const double nan = std::nan("");
  const Expr x = matrix("x", {6, 2}), z = complex(x[{all(), 0}], x[{all(), 1}]);
  const Tensor value = Tensor::matrix({{1.0, nan}, {2.0, -1.0}, {nan, 0.0}, {2.0, -3.0}, {1.0, nan}, {2.0, -1.0}});
  const Unique numbers = unique(z), slices = unique(x, 0);
  Function f = function(
      {x}, {real(sort(z)), argsort(z), numbers.inverse, slices.values, slices.index, slices.inverse, slices.counts});
  EXPECT_TRUE(f.info().reference_steps.empty());
  const std::vector<Tensor> got = f({value});
  const char* expected[] = {"[2, 2, 2, 1, 1, nan]", "[3, 1, 5, 0, 4, 2]",
                            "[2, 1, 2, 0, 2, 1]",   "[[1, nan], [1, nan], [2, -3], [2, -1], [nan, 0]]",
                            "[0, 4, 3, 1, 2]",      "[0, 3, 4, 2, 1, 3]",
                            "[1, 1, 1, 2, 1]"};
  for (size_t k = 0; k < got.size(); ++k) EXPECT_EQ(got[k].text(), expected[k]) << "output " << k;
}

// ---- derivatives

std::vector<double> gradient_at(const std::function<Expr(const Expr&)>& cost, const std::vector<double>& at) {
  const Expr x = vector("x", {static_cast<int64_t>(at.size())});
  const Tensor out = function({x}, {grad(cost(x), std::vector{x})[0]})({doubles(at)})[0];
  return {out.data<double>(), out.data<double>() + out.size()};
}

Expr weights(std::vector<double> values) {
  return make_constant(doubles(values));
}

using Numbers = std::vector<double>;

TEST(OrderDerivatives, GoToTheElementsThatWereMoved) {
  EXPECT_EQ(gradient_at(
                [](const Expr& x) {
                  return sum(sort(x) * weights({1, 10, 100}));
                },
                {3, 1, 2}),
            (Numbers{100, 1, 10}));
  EXPECT_EQ(gradient_at(
                [](const Expr& x) {
                  return sum(topk(x, 2) * weights({1, 10}));
                },
                {3, 1, 4, 2}),
            (Numbers{10, 0, 1, 0}));
  EXPECT_EQ(gradient_at(
                [](const Expr& x) {
                  return sum(unique(x).values[Slice{.stop = 2}] * weights({1, 10}));
                },
                {3, 1, 3}),
            (Numbers{10, 1, 0}));
  EXPECT_EQ(gradient_at(
                [](const Expr& x) {
                  return sum(unique(reshape(x, {3, 2}), 0).values[0] * weights({1, 10}));
                },
                {3, 1, 2, 5, 2, 5}),
            (Numbers{0, 0, 1, 10, 0, 0}));
  EXPECT_EQ(gradient_at(
                [](const Expr& x) {
                  const Expr numbers = make_constant(Tensor::vector({2, 0, 2}));
                  return sum(bincount(numbers, Operand(x * x)) * weights({1, 10, 100}));
                },
                {5, 6, 7}),
            (Numbers{1000, 12, 1400}));
}

TEST(OrderDerivatives, OfRunningProductsAreRightAtZeros) {
  const auto products = [](const Expr& x) { return sum(cumprod(x)); };
  EXPECT_EQ(gradient_at(products, {2, 3, 4}), (Numbers{1 + 3 + 12, 2 + 8, 6}));
  EXPECT_EQ(gradient_at(products, {2, 0, 3}), (Numbers{1, 8, 0}));
  EXPECT_EQ(gradient_at(products, {2, 0, 3, 0, 4}), (Numbers{1, 8, 0, 0, 0}));
  EXPECT_EQ(gradient_at(products, {0, 5}), (Numbers{6, 0}));
}

TEST(OrderDerivatives, OfRunningExtremaGoToTheFirstOfEqualElements) {
  const Expr c = weights({1, 10, 100, 1000, 10000});
  EXPECT_EQ(gradient_at([&](const Expr& x) { return sum(cummax(x) * c); }, {1, 3, 3, 2, 5}),
            (Numbers{1, 1110, 0, 0, 10000}));
  EXPECT_EQ(gradient_at([&](const Expr& x) { return sum(cummin(x) * c); }, {4, 5, 2, 2, 3}),
            (Numbers{11, 0, 11100, 0, 0}));
  EXPECT_EQ(
      gradient_at([&](const Expr& x) { return sum(switch_(isnan(cummax(x)), 0, cummax(x)) * c); }, {1, NAN, 2, 3, 4}),
      (Numbers{1, 0, 0, 0, 0}));
}

TEST(OrderDerivatives, ForwardsAndTwice) {
  const Expr x = vector("x", {4}), v = vector("v", {4});
  const Expr y = sum(sort(x) * sort(x) * sort(x) * weights({1, 10, 100, 1000}));
  const Expr once = grad(y, std::vector{x})[0], twice = grad(sum(once), std::vector{x})[0];
  const std::vector<Tensor> got = function({x, v}, {jvp(sort(x), x, v), jvp(cummax(x), x, v), jvp(cumprod(x), x, v),
                                                    once, twice})({doubles({3, 1, 4, 2}), doubles({1, 2, 3, 4})});
  expect_equal(got[0], doubles({2, 4, 1, 3}));
  expect_equal(got[1], doubles({1, 1, 3, 3}));
  EXPECT_FALSE(difference(got[2], doubles({1, 7, 37, 122}), 2)) << got[2].text();
  expect_equal(got[3], doubles({100 * 27, 3, 1000 * 48, 10 * 12}));
  expect_equal(got[4], doubles({100 * 18, 6, 1000 * 24, 10 * 12}));
}

// ---- counts

// As NumPy's: without elements the bins of a histogram go from 0 to 1.
TEST(Counts, OfNothingAndOfBools) {
  const Expr none = tensor("none", {2, 0}, DType::kInt32), truths = tensor("truths", {"n"}, DType::kBool);
  const Histogram h = histogram(none, 2);
  const std::vector<Tensor> got = function({none, truths}, {h.counts, h.edges, bincount(truths, {}, 3)})(
      {Tensor::zeros(DType::kInt32, {2, 0}), Tensor::vector({true, false, true})});
  expect_equal(got[0], Tensor::vector({int64_t{0}, int64_t{0}}));
  expect_equal(got[1], doubles({0, 0.5, 1}));
  expect_equal(got[2], Tensor::vector({int64_t{1}, int64_t{2}, int64_t{0}}));
}

// ---- loops

TEST(Order, LeavesLoopsOverRows) {
  const Expr x = matrix("x", {5, 7});
  const auto of_row = [](const Expr& row) { return sort(row) + cast(argsort(row), row.dtype()) + cummax(row, -1); };
  const Expr y = map([&](const Expr& row) { return of_row(row); }, {.sequences = {x}}).outputs;
  Function f = function({x}, {y});
  const std::string fused = f.explain().fused;
  EXPECT_EQ(fused.find("scan("), std::string::npos) << fused;
  const Tensor value = numbers(DType::kFloat64, {5, 7}, 1000).cast(DType::kInt64).cast(DType::kFloat64);
  expect_equal(f({value})[0], evaluate({of_row(x)}, {{x, value}})[0]);
}

// ---- errors

TEST(OrderErrors, WhenBuilt) {
  const Expr x = matrix("x", {3, 4}), s = scalar("s"), z = tensor("z", {3}, DType::kComplex64);
  const Expr v = vector("v", {5});
  const std::pair<std::string, std::function<void()>> rows[] = {
      {"error: sort: there is no axis -1\n  expected: a value with an axis\n  got:      s float64[]", [=] { sort(s); }},
      {"error: argsort: a row has too many elements\n  expected: 4294967296 <= 4294967295\n  got:      b "
       "bool[4294967296]",
       [&] { argsort(make_input({.dtype = DType::kBool, .dims = {int64_t{1} << 32}}, "b")); }},
      {"error: topk: is not defined for complex64\n  expected: bool, integers or floats\n  got:      z complex64[3]",
       [=] { topk(z, 2); }},
      {"error: sort: there is no axis 2\n"
       "  expected: an axis from -2 to 1\n"
       "  got:      x float64[3, 4]",
       [=] { sort(x, 2); }},
      {"error: topk: 6 elements are asked for\n"
       "  expected: from 0 to 5\n"
       "  got:      v float64[5]",
       [=] { topk(v, 6); }},
      {"error: argtopk: -1 elements are asked for\n"
       "  expected: from 0 to 5\n"
       "  got:      v float64[5]",
       [=] { argtopk(v, -1); }},
      {"error: searchsorted: what is searched is no vector\n"
       "  expected: the sorted elements along one axis\n"
       "  got:      x float64[3, 4], v float64[5]",
       [=] { searchsorted(x, v); }},
      {"error: searchsorted: is not defined for complex128\n"
       "  expected: bool, integers or floats\n"
       "  got:      complex128[3], complex128[5]",
       [=] { searchsorted(z, v); }},
      {"error: bincount: the numbers are no integer vector, or the least length is negative\n"
       "  expected: integers or bools along one axis, minlength >= 0\n"
       "  got:      v float64[5], minlength 0",
       [=] { bincount(v); }},
      {"error: bincount: the numbers are no integer vector, or the least length is negative\n"
       "  expected: integers or bools along one axis, minlength >= 0\n"
       "  got:      int32[2], minlength -1",
       [=] {
         bincount(make_constant(Tensor::vector({1, 2})), {}, -1);
       }},
      {"error: histogram: there is no bin, or no order of the elements\n"
       "  expected: one bin at least, of bool, integers or floats\n"
       "  got:      0 bins of v float64[5]",
       [=] { histogram(v, 0); }},
      {"error: histogram: the edges are no vector of real numbers\n"
       "  expected: the ends of the bins along one axis\n"
       "  got:      x float64[3, 4]",
       [=] { histogram(v, x); }},
      {"error: histogram: the range is not finite, or it descends\n"
       "  expected: two finite numbers, the first not above the second\n"
       "  got:      2 and 1",
       [=] {
         histogram(v, 3, {.range = {{2, 1}}});
       }},
      {"error: histogram: the range is not finite, or it descends\n"
       "  expected: two finite numbers, the first not above the second\n"
       "  got:      a value and nan",
       [=] {
         histogram(v, 3, {.range = {{s, std::nan("")}}});
       }},
      {"error: histogram: the range is not finite, or it descends\n"
       "  expected: two finite numbers, the first not above the second\n"
       "  got:      -inf and 1",
       [=] {
         histogram(v, 3, {.range = {{make_constant(Tensor(-INFINITY)), 1}}});
       }},
      {"error: histogram: the weights: axis 0 has another length\n"
       "  expected: 4 == 5\n"
       "  got:      float64[4]",
       [=] { histogram(v, 3, {.weights = x[0]}); }},
      {"error: bincount: the weights: axis 0 has another length\n"
       "  expected: 5 == 2\n"
       "  got:      v float64[5]",
       [=] {
         bincount(make_constant(Tensor::vector({1, 2})), v);
       }},
      {"error: digitize: what is searched is no vector\n"
       "  expected: the sorted elements along one axis\n"
       "  got:      x float64[3, 4], v float64[5]",
       [=] { digitize(v, x); }},
      {"error: histogram: is not defined for complex128\n"
       "  expected: bool, integers or floats\n"
       "  got:      complex128[5], complex128[3]",
       [=] { histogram(z, v); }},
      {"error: diff: a negative number of differences\n"
       "  expected: n >= 0\n"
       "  got:      -1",
       [=] { diff(v, -1); }},
      {"error: diff: too many differences\n"
       "  expected: at most 1000\n"
       "  got:      1001",
       [=] { diff(vector("u"), 1001); }},
      {"error: cummax: is not defined for complex64\n"
       "  expected: bool, integers or floats\n"
       "  got:      z complex64[3]",
       [=] { cummax(z); }},
      {"error: take_along_axis: the indices are not integers\n"
       "  expected: an integer dtype\n"
       "  got:      x float64[3, 4], v float64[5]",
       [=] { take_along_axis(x, v, 0); }},
      {"error: take_along_axis: x and the indices differ in axis 0\n"
       "  expected: 3 == 2\n"
       "  got:      x float64[3, 4], int64[2, 4]",
       [=] {
         take_along_axis(x, zeros({2, 4}, DType::kInt64), 1);
       }},
  };
  for (const auto& [text, build] : rows) EXPECT_EQ(text_without_node(build), text);
}

// As NumPy's: equal ends are moved apart, of the elements too; those that only a call knows are checked there.
TEST(Counts, OfEqualEnds) {
  const Expr x = vector("x"), low = scalar("low"), high = scalar("high");
  const Histogram known = histogram(x, 2, {.range = {{1, 1}}}), given = histogram(x, 2, {.range = {{low, high}}}),
                  own = histogram(x, 2);
  Function f = function({x, low, high}, {known.counts, known.edges, given.counts, given.edges, own.counts, own.edges});
  const std::vector<Tensor> got = f({doubles({1, 1, 1}), Tensor(1.0), Tensor(1.0)});
  for (size_t i = 0; i < got.size(); i += 2) {
    expect_equal(got[i], Tensor::vector({int64_t{0}, int64_t{3}}));
    expect_equal(got[i + 1], doubles({0.5, 1, 1.5}));
  }
  for (const auto& [first, last] : {std::pair{2.0, 1.0}, {std::nan(""), 1.0}, {0.0, INFINITY}})
    EXPECT_EQ(without_call(text_without_node([&, first = first, last = last] {
                f({doubles({1}), Tensor(first), Tensor(last)});
              })),
              "error: check: histogram: the range is not finite, or it descends\n"
              "  expected: a condition that holds");
  EXPECT_EQ(without_call(text_without_node([&] {
              f({doubles({1, std::nan("")}), Tensor(0.0), Tensor(1.0)});
            })),
            "error: check: histogram: the range is not finite, or it descends\n"
            "  expected: a condition that holds");
  const Expr edges = vector("edges");
  Function between = function({x, edges}, {histogram(x, edges).counts});
  EXPECT_EQ(without_call(text_without_node([&] {
              between({doubles({1}), doubles({2, 1})});
            })),
            "error: check: histogram: the edges descend\n"
            "  expected: a condition that holds");
}

// A float32 stays one; the counts are whole numbers until they are divided.
TEST(Counts, DensityHasTheDtypeOfTheEdges) {
  const Expr x = tensor("x", {3}, DType::kFloat32);
  EXPECT_EQ(histogram(x, 2, {.density = true}).counts.dtype(), DType::kFloat32);
  EXPECT_EQ(histogram(cast(x, DType::kFloat64), 2, {.density = true}).counts.dtype(), DType::kFloat64);
  EXPECT_EQ(histogram(x, 2, {.weights = cast(x, DType::kFloat64), .density = true}).counts.dtype(), DType::kFloat64);
}

TEST(OrderErrors, WhenCalled) {
  const Expr i = ivector("i"), x = matrix("x", {2, 3});
  Function counts = function({i}, {bincount(i)});
  EXPECT_EQ(without_call(text_without_node([&] {
              counts({Tensor::vector({1, -1})});
            })),
            "error: check: bincount: a number is negative\n"
            "  expected: a condition that holds");
  const Expr of = vector("of");
  Function weighted = function({i, of}, {bincount(i, of)});
  EXPECT_EQ(without_call(text_without_node([&] {
              weighted({Tensor::vector({1, 1}), doubles({1, 2, 3})});
            })),
            "error: bincount: the weights: axis 0 has another length\n"
            "  expected: of.0 == i.0\n"
            "  got:      3 and 2");
  Function taken = function({x, i}, {take_along_axis(x, reshape(i, {2, 1}), 1)});
  EXPECT_EQ(without_call(text_without_node([&] {
              taken({Tensor::matrix({{1.0, 2.0, 3.0}, {4.0, 5.0, 6.0}}), Tensor::vector({0, 3})});
            })),
            "error: take_along_axis: the index 3 is outside axis 1\n"
            "  expected: -3 <= index < 3");
  const Expr v = vector("v");
  Function first = function({v}, {topk(v, 3)}), edges = function({v}, {histogram(v).edges});
  EXPECT_EQ(without_call(text_without_node([&] {
              first({Tensor::vector({1.0, 2.0})});
            })),
            "error: topk: more elements are asked for than there are\n"
            "  expected: 3 <= v.0\n"
            "  got:      3 and 2");
  EXPECT_EQ(without_call(text_without_node([&] { edges({Tensor::zeros(DType::kFloat64, {0})}); })),
            "error: max: the maximum or minimum of no elements is undefined\n"
            "  expected: at least 1 element along the reduced axes");
}

}  // namespace
}  // namespace thtrain::order_test
