// What inputs may be told: updates of their values, buffers that calls may write over, conversions of arguments.
#include <gtest/gtest.h>

#include "compiler/api.h"
#include "tests/support/datasets_support.h"
#include "tests/support/error_text.h"

namespace thtrain::function_inputs_test {
namespace {

constexpr Mode kModes[] = {Mode::kNative, Mode::kReference, Mode::kDebug, Mode::kNanGuard};

// After Theano's test_function_module.py: test_state_access, test_copy, test_shared_state0 (a value of each function).
TEST(FunctionInputs, AnUpdateReplacesTheValueAfterEachCall) {
  for (Mode mode : kModes) {
    Expr x = scalar("x"), s = scalar("s");
    Function f = function({x, In(s, {.value = 0.0, .update = s + 2 * x})}, {s * 10}, {}, {.mode = mode});
    EXPECT_EQ(f({1.0})[0].text(), "0");
    EXPECT_EQ(f({2.0})[0].text(), "20");
    EXPECT_EQ(f({0.0})[0].text(), "60") << "the value of before the call is returned";
    EXPECT_EQ(f({1.0, 100.0})[0].text(), "1000") << "an argument takes the value's place";
    EXPECT_EQ(f({0.0})[0].text(), "1020") << "and what it was updated to is the next value";
    EXPECT_EQ(f(std::map<std::string, Tensor>{{"x", 1.0}})[0].text(), "1020");
    Function other(f);
    EXPECT_EQ(other({5.0})[0].text(), "1040");
    EXPECT_EQ(f({0.0})[0].text(), "1040") << "each function has a value of its own";
  }
}

TEST(FunctionInputs, LengthsThatAreNotKnownMayChange) {
  for (Mode mode : kModes) {
    Expr x = scalar("x"), seen = vector("seen");
    Function f = function(
        {x, In(seen, {.value = Tensor::empty(DType::kFloat64, {0}), .update = concatenate({seen, reshape(x, {1})})})},
        {sum(seen), length(seen, 0)}, {}, {.mode = mode});
    f({1.0});
    f({2.0});
    EXPECT_EQ(f({4.0})[0].text(), "3");
    EXPECT_EQ(f({8.0})[1].text(), "3");
  }
  Expr pair = vector("pair", {2}), rest = vector("rest");
  const int line = __LINE__ + 1;
  Expr next = concatenate({pair, rest});
  Function f = function({rest, In(pair, {.value = Tensor::vector({1.0, 2.0}), .update = next})}, {sum(pair)});
  EXPECT_EQ(f({Tensor::empty(DType::kFloat64, {0})})[0].text(), "3");
  EXPECT_NE(without_call(error_text([&] { f({Tensor::vector({3.0})}); })).find("got:      3 and 2"), std::string::npos)
      << line;
  EXPECT_EQ(f({Tensor::empty(DType::kFloat64, {0})})[0].text(), "3") << "a failed call leaves the value";
}

TEST(FunctionInputs, UpdatesThatAreRefused) {
  const int line = __LINE__ + 1;
  Expr s = scalar("s"), w = tensor("w", {}, DType::kFloat32), v = vector("v");
  Expr sum_of_v = sum(v);
  int called = 0;
  std::string got;
  got = error_text([&] { called = __LINE__, function({In(s, InOptions{.update = s + 1})}, {s}); });
  EXPECT_EQ(got, str("error: function: the input s has an update, and no value that it would replace\n"
                     "  node:     built at ",
                     __FILE__, ":", line, "; function is called at ", __FILE__, ":", called,
                     "\n  hint:     give the value of the first call: In(x, {.value = 0.0, .update = x + 1})"));
  got = error_text([&] { function({v, In(w, {.value = 0.0F, .update = sum_of_v})}, {w}); });
  EXPECT_EQ(got, str("error: function: the update of the input w has another type\n"
                     "  expected: float32[]\n  got:      float64[]\n  node:     built at ",
                     __FILE__, ":", line + 1, "\n  hint:     cast the update to the input's dtype"));
  got = error_text([&] { function({In(v, {.value = Tensor::vector({1.0}), .update = sum_of_v})}, {v}); });
  EXPECT_EQ(got, str("error: function: the update of the input v has another type\n"
                     "  expected: float64[v.0]\n  got:      float64[]\n  node:     built at ",
                     __FILE__, ":", line + 1));
}

TEST(FunctionInputs, StrictOnesTakeTheirDtypeAlone) {
  Expr x = vector("x");
  Function f = function({In(x, InOptions{.strict = true})}, {x * 2}, {}, {.name = "f"});
  EXPECT_EQ(f({Tensor::vector({1.5})})[0].text(), "[3]");
  EXPECT_EQ(text_without_node([&] { f({Tensor::vector({1})}); }),
            "error: x: the dtype differs\n  expected: float64[x.0]\n  got:      int32[1]");
  EXPECT_EQ(text_without_node([&] { function({In(x, {.value = Tensor::vector({1}), .strict = true})}, {x}); }),
            "error: function: the value of an input has another type\n  expected: x float64[x.0]\n"
            "  got:      int32[1]\n  hint:     cast the value to the input's dtype");
}

TEST(FunctionInputs, AllowDowncastConvertsRealNumbers) {
  Expr h = tensor("h", {2}, DType::kFloat32), i = tensor("i", {2}, DType::kInt8);
  Function f = function({In(h, InOptions{.allow_downcast = true})}, {h});
  EXPECT_EQ(f({Tensor::vector({0.1, 2.0})})[0].type_text(), "float32[2]");
  EXPECT_EQ(f({Tensor::vector({0.1, 2.0})})[0].as_double(), static_cast<double>(0.1F));
  EXPECT_EQ(f({Tensor::vector<int64_t>({(1 << 24) + 1, 3})})[0].as_double(), 1 << 24);
  Function g = function({In(i, {.value = Tensor::vector({7.9, -7.9}), .allow_downcast = true})}, {i});
  EXPECT_EQ(g({})[0].text(), "[7, -7]");
  EXPECT_EQ(g({Tensor::vector({1.9, 2.0})})[0].text(), "[1, 2]");
  EXPECT_EQ(text_without_node([&] {
              f({Tensor::vector<std::complex<double>>({{1, 0}, {2, 0}})});
            }),
            "error: h: the dtype differs\n  expected: float32[2]\n  got:      complex128[2]");
}

// tanh(x) has two readers, so it is a temporary: in a function that may write over x it needs no memory of its own.
TEST(FunctionInputs, TemporariesAreWrittenOverMutableOnes) {
  Expr x = matrix("x", {64, 64}), w = matrix("w", {64, 64});
  const Expr y = dot(tanh(x), w);
  Function plain = function({x, w}, {y}), writes = function({In(x, InOptions{.is_mutable = true}), w}, {y});
  EXPECT_EQ(plain.info().arena_bytes - writes.info().arena_bytes, 64 * 64 * 8);
  const Tensor weights = Tensor::zeros(DType::kFloat64, {64, 64});
  Tensor at = Tensor::zeros(DType::kFloat64, {64, 64});
  at.data<double>()[0] = 1;
  const Tensor before = at.copy();
  const std::string expected = plain({at, weights})[0].text();
  EXPECT_EQ(writes({at, weights})[0].text(), expected);
  EXPECT_NE(at.text(), before.text()) << "the argument was written over";
  // What somebody else reads is copied: the second argument, a variable's buffer, a value of later calls.
  const Tensor both = before.copy();
  writes({both, both});
  EXPECT_EQ(both.text(), before.text());
  Function with_value = function({w, In(x, {.value = before.copy(), .is_mutable = true})}, {y});
  const std::string first = with_value({before})[0].text();
  EXPECT_EQ(with_value({before})[0].text(), first);
  Shared held(before, "held");
  Function other = function({In(x, InOptions{.is_mutable = true})}, {dot(tanh(x), held)});
  const Tensor buffer = held.get_value(/*borrow=*/true);
  other({buffer});
  EXPECT_EQ(held.get_value().text(), before.text());
  for (Mode mode : {Mode::kReference, Mode::kDebug, Mode::kNanGuard}) {
    Function f = function({In(x, InOptions{.is_mutable = true}), w}, {y}, {}, {.mode = mode});
    EXPECT_EQ(f({before, weights})[0].text(), expected);
  }
}

TEST(FunctionInputs, AMutableValueWithAnUpdate) {
  Expr x = matrix("x", {64, 64});
  const Expr next = dot(tanh(x), x) + 1;
  Tensor start = Tensor::zeros(DType::kFloat64, {64, 64});
  const std::string before = start.text();
  Function plain = function({In(x, {.value = start, .update = next})}, {sum(x)}),
           writes = function({In(x, {.value = start, .update = next, .is_mutable = true})}, {sum(x)}), copy(writes);
  for (int call = 0; call < 3; ++call) {
    const std::string expected = plain({})[0].text();
    EXPECT_EQ(writes({})[0].text(), expected);
    EXPECT_EQ(copy({})[0].text(), expected);
  }
  EXPECT_EQ(start.text(), before);
}

}  // namespace
}  // namespace thtrain::function_inputs_test
