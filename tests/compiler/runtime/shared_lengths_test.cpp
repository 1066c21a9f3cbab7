// Shared variables whose lengths change, where their types name them.
#include <gtest/gtest.h>

#include "compiler/api.h"
#include "tests/support/datasets_support.h"
#include "tests/support/error_text.h"

namespace thtrain::shared_lengths_test {
namespace {

constexpr Mode kModes[] = {Mode::kNative, Mode::kReference, Mode::kDebug, Mode::kNanGuard};

Tensor rows_of(int64_t n) {
  Tensor out = Tensor::zeros(DType::kFloat64, {n, 2});
  for (int64_t i = 0; i < 2 * n; ++i) out.data<double>()[i] = static_cast<double>(i);
  return out;
}

TEST(SharedLengths, EachValueHasItsOwn) {
  for (Mode mode : kModes) {
    Shared data = Shared::of_lengths({"n", 2}, rows_of(3), "data");
    Expr x = vector("x", {2}), b = vector("b", {"n"});
    Function f = function({x}, {dot(data, x), length(data, 0)}, {}, {.mode = mode}),
             with_input = function({b}, {sum(data, 1) + b}, {}, {.mode = mode});
    const Tensor at = Tensor::vector({1.0, 10.0});
    EXPECT_EQ(f({at})[0].text(), "[10, 32, 54]");
    data.set_value(rows_of(1));
    EXPECT_EQ(f({at})[0].text(), "[10]");
    EXPECT_EQ(f({at})[1].text(), "1");
    Function copy(f);
    data.set_value(rows_of(4), /*borrow=*/true);
    EXPECT_EQ(f({at})[0].text(), "[10, 32, 54, 76]");
    EXPECT_EQ(copy({at})[0].text(), "[10, 32, 54, 76]");
    EXPECT_EQ(with_input({Tensor::vector({1.0, 1.0, 1.0, 1.0})})[0].text(), "[2, 6, 10, 14]");
    data.set_value(rows_of(0));
    EXPECT_EQ(f({at})[0].shape(), (Shape{0}));
    Shared other = Shared::of_lengths({"n", 2}, rows_of(2), "other");
    EXPECT_EQ(f.copy({{data, other}})({at})[0].text(), "[10, 32]");
  }
}

TEST(SharedLengths, UpdatesKeepTheLengthOfTheValue) {
  for (Mode mode : kModes) {
    Shared v = Shared::of_lengths({"n"}, Tensor::vector({1.0, 2.0}), "v");
    Function twice = function({}, {}, {{v, v * 2}}, {.mode = mode});
    twice({});
    EXPECT_EQ(v.get_value().text(), "[2, 4]");
    v.set_value(Tensor::vector({1.0, 2.0, 3.0}));
    twice({});
    EXPECT_EQ(v.get_value().text(), "[2, 4, 6]");
    Expr x = vector("x");
    Function set = function({x}, {}, {{v, x}}, {.mode = mode});
    set({Tensor::vector({7.0, 8.0, 9.0})});
    EXPECT_EQ(v.get_value().text(), "[7, 8, 9]");
    EXPECT_NE(error_text([&] { set({Tensor::vector({7.0})}); }), "no error");
    EXPECT_EQ(v.get_value().text(), "[7, 8, 9]");
  }
}

TEST(SharedLengths, GradientsOfAnyLength) {
  Shared v = Shared::of_lengths({"n"}, Tensor::vector({1.0, 2.0}), "v");
  Function f = function({}, {grad(sum(v * v * v), v)});
  EXPECT_EQ(f({})[0].text(), "[3, 12]");
  v.set_value(Tensor::vector({1.0, 2.0, 3.0}));
  EXPECT_EQ(f({})[0].text(), "[3, 12, 27]");
}

TEST(SharedLengths, ValuesThatDoNotFit) {
  const int line = __LINE__ + 1;
  Shared data = Shared::of_lengths({"n", 2}, rows_of(3), "data");
  Shared square = Shared::of_lengths({"n", "n"}, Tensor::zeros(DType::kFloat64, {2, 2}), "square");
  auto text = [&](const Shared& variable, const Tensor& value) {
    return error_text([&] { variable.set_value(value); });
  };
  EXPECT_EQ(text(data, Tensor::zeros(DType::kFloat64, {3, 3})),
            str("error: set_value of data: the value does not fit the variable's type\n"
                "  expected: float64[n, 2]\n  got:      float64[3, 3]\n  node:     built at ",
                __FILE__, ":", line));
  EXPECT_EQ(text(square, Tensor::zeros(DType::kFloat64, {2, 3})),
            str("error: set_value of square: the value does not fit the variable's type\n"
                "  expected: float64[n, n]\n  got:      float64[2, 3]\n  node:     built at ",
                __FILE__, ":", line + 1));
  int called = 0;
  const std::string got = error_text([&] { called = __LINE__, Shared::of_lengths({"n", 3}, rows_of(3), "wide"); });
  EXPECT_EQ(got, str("error: wide: the first value does not have the lengths\n"
                     "  expected: float64[n, 3]\n  got:      float64[3, 2]\n  node:     built at ",
                     __FILE__, ":", called));
  Shared longer = Shared::of_lengths({"n", 2}, rows_of(4), "longer");
  EXPECT_EQ(error_text([&] { data.swap_value(longer); }),
            str("error: swap_value of data: the other variable has another type\n"
                "  expected: float64[3, 2]\n  got:      float64[4, 2]\n  node:     built at ",
                __FILE__, ":", line));
  // Two variables with one name of a length: their values must agree in a call.
  Shared weights = Shared::of_lengths({"n"}, Tensor::vector({1.0, 2.0}), "weights");
  Function f = function({}, {sum(data * reshape(weights, {"n", 1}))}, {}, {.name = "f"});
  EXPECT_EQ(text_without_node([&] { f({}); }),
            "error: weights: axis 0 has 2 elements where n is 3\n  expected: float64[n]\n  got:      float64[2]");
  weights.set_value(Tensor::vector({1.0, 2.0, 1.0}));
  EXPECT_EQ(f({})[0].text(), "20");
}

}  // namespace
}  // namespace thtrain::shared_lengths_test
