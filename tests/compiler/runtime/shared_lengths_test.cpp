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
    set({Tensor::vector({7.0})});
    EXPECT_EQ(v.get_value().text(), "[7]");
  }
}

TEST(SharedLengths, UpdatesMayChangeALengthThatHasAName) {
  for (Mode mode : kModes) {
    const Shared seen = Shared::of_lengths({"n", 2}, rows_of(1), "seen"), count(0.0, "count"),
                 other = Shared::of_lengths({"n", 2}, rows_of(0), "other");
    const Expr x = matrix("x", {"m", 2}), total = scalar("total");
    Function f =
        function({x, In(total, {.value = 0.0, .update = total + sum(x)})}, {{"sum", sum(seen)}, {"total", total}},
                 {{seen, concatenate({seen, x})}, {count, count + 1}}, {.mode = mode, .name = "f"});
    EXPECT_EQ(f({rows_of(2)})[0].text(), "1") << "the value of before the call";
    EXPECT_EQ(seen.get_value().text(), "[[0, 1], [0, 1], [2, 3]]");
    EXPECT_EQ(f.only({"total"}, {rows_of(1)})[0].text(), "6");
    EXPECT_EQ(seen.get_value().shape(), (Shape{4, 2}));
    f.copy({{seen, other}})({rows_of(1)});
    EXPECT_EQ(other.get_value().text(), "[[0, 1]]");
    f.copy({}, {.delete_updates = true})({rows_of(1)});
    EXPECT_EQ(seen.get_value().shape(), (Shape{4, 2}));
    TemporaryFolder folder;
    f.save(folder.path("f"));
    Function g = load_function(folder.path("f"));
    EXPECT_EQ(g({rows_of(1)})[1].text(), "7");
    for (const Shared& variable : g.shared_variables())
      EXPECT_EQ(variable.get_value().size(), variable.name() == "seen" ? 10 : 1);
    EXPECT_EQ(seen.get_value().shape(), (Shape{4, 2}));
    EXPECT_EQ(count.scalar(), 3);
  }
}

// A variable that is only written, one whose length the data decides, and the address while lengths stay.
TEST(SharedLengths, UpdatesOfAnyLength) {
  for (Mode mode : kModes) {
    const Shared kept = Shared::of_lengths({"n"}, Tensor::vector({0.0}), "kept");
    const Expr x = vector("x");
    Function f = function({x}, {}, {{kept, x[gt(x, 0)]}}, {.mode = mode});
    f({Tensor::vector({1.0, -2.0, 3.0})});
    EXPECT_EQ(kept.get_value().text(), "[1, 3]");
    const void* address = kept.get_value(/*borrow=*/true).raw();
    f({Tensor::vector({5.0, 6.0, -3.0})});
    EXPECT_EQ(kept.get_value().text(), "[5, 6]");
    EXPECT_EQ(kept.get_value(/*borrow=*/true).raw(), address);
    f({Tensor::vector({-1.0})});
    EXPECT_EQ(kept.get_value().shape(), Shape{0});
  }
}

TEST(SharedLengths, UpdatesThatDoNotFit) {
  const Shared square = Shared::of_lengths({"n", "n"}, Tensor::zeros(DType::kFloat64, {2, 2}), "square");
  const Shared data = Shared::of_lengths({"n", 2}, rows_of(1), "data");
  const Expr x = matrix("x");
  Function f = function({x}, {}, {{square, x}}, {.name = "f"}), g = function({x}, {}, {{data, x}}, {.name = "g"});
  f({Tensor::zeros(DType::kFloat64, {3, 3})});
  EXPECT_EQ(square.get_value().shape(), (Shape{3, 3}));
  EXPECT_EQ(text_without_node([&] {
              f({Tensor::zeros(DType::kFloat64, {2, 3})});
            }),
            "error: the update of square: the value does not fit the variable's type\n  expected: float64[n, n]\n"
            "  got:      float64[2, 3]");
  EXPECT_EQ(text_without_node([&] {
              g({Tensor::zeros(DType::kFloat64, {2, 3})});
            }),
            "error: specify_lengths: axis 1 has another length\n  expected: x.1 == 2\n  got:      3 and 2");
  EXPECT_EQ(square.get_value().shape(), (Shape{3, 3}));
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
