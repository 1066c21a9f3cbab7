// What only a call can refuse: sizes beyond memory, states that do not fit, and what is said of variables then.
#include <gtest/gtest.h>

#include "compiler/api.h"
#include "tests/support/error_text.h"

namespace thtrain {
namespace {

constexpr Mode kModes[] = {Mode::kNative, Mode::kReference, Mode::kDebug};
using Exprs = std::vector<Expr>;

// The first message of what f throws, which must be an error of the user.
Message message_of(const std::function<void()>& f) {
  try {
    f();
  } catch (const UserError& error) {
    return error.messages()[0];
  }
  ADD_FAILURE() << "nothing is thrown";
  return {};
}

std::string line(int number) {
  return str("built at tests/compiler/runtime/late_errors_test.cpp:", number);
}

// ---- the number of states ------------------------------------------------------------------------------------------

TEST(LoopStates, OneNextValueForEachIsAskedFor) {
  const Expr x = scalar("x"), two = make_constant(Tensor(int64_t{2}));
  auto counts = [&](const Exprs& initial, const Exprs& next, const std::string& what) {
    const int at = __LINE__ + 1;
    const Message once = message_of([&] { repeat(2, initial, [&](const Exprs&) { return next; }); });
    EXPECT_EQ(once.what, "repeat: " + what);
    EXPECT_EQ(once.node, line(at));
    const Message until = message_of([&] {
      repeat_until(2, initial, [&](const Exprs& s) { return Iteration{next, gt(s[0], 3)}; });
    });
    EXPECT_EQ(until.what, "repeat_until: " + what);
    EXPECT_EQ(until.node, line(at + 4));
  };
  counts({x}, {x * 2, two}, "the body gives 2 states, the loop has 1");
  counts({x}, {x, x, x}, "the body gives 3 states, the loop has 1");
  counts({x, x}, {x}, "the body gives 1 state, the loop has 2");
  counts({x, x}, {}, "the body gives 0 states, the loop has 2");
}

TEST(LoopStates, AStateWhoseLengthChangesIsNamedWithTheUsersLine) {
  const Expr x = vector("x"), y = vector("y");
  const int at = __LINE__ + 1;
  const Exprs made = repeat(2, {y, x}, [&](const Exprs& s) { return Exprs{s[0], y}; });
  const Expr branch = if_else(
      gt(sum(x), 0), [&] { return x; }, [&] { return y; });
  for (Mode mode : kModes) {
    Function loop = function({x, y}, {made[0], made[1]}, {}, {.mode = mode});
    Function side = function({x, y}, {branch}, {}, {.mode = mode});
    const std::vector<Tensor> values{Tensor::vector({1.0, 2.0}), Tensor::vector({1.0})};
    Message message = message_of([&] { loop(values); });
    EXPECT_EQ(message.what, "repeat: state 1: axis 0 has another length");
    EXPECT_EQ(without_call(message.node), line(at));
    message = message_of([&] { side(values); });
    EXPECT_EQ(message.what, "if_else: value 0: axis 0 has another length");
    EXPECT_EQ(without_call(message.node), line(at + 1));
  }
  const Expr three = vector("three", {3}), four = vector("four", {4});
  EXPECT_EQ(message_of([&] { repeat(2, {three}, [&](const Exprs&) { return Exprs{four}; }); }).what,
            "repeat: state 0 changes its type: the body gives float64[4]");
}

TEST(LoopStates, HistoriesThatNobodyReadsTakeNoMemory) {
  const Expr x = vector("x");
  for (const int64_t limit : {int64_t{3000000}, int64_t{1} << 61}) {
    const Repeated made = repeat_until(limit, {x}, [](const Exprs& s) {
      return Iteration{{s[0] * 0.5}, lt(sum(s[0]), 1)};
    });
    const Tensor ones = Tensor::of(std::vector<double>(1000, 1.0), {1000});
    for (Mode mode : {Mode::kNative, Mode::kReference}) {
      Function f = function({x}, {made.state[0], made.iterations}, {}, {.mode = mode});
      EXPECT_EQ(f({ones})[1].as_int(), 11);
    }
  }
}

// ---- sizes ---------------------------------------------------------------------------------------------------------

TEST(Sizes, WhatDoesNotFitInMemoryIsAnErrorThatNamesIt) {
  const Expr n = make_input({.dtype = DType::kInt64}, "n");
  const Tensor huge(int64_t{1} << 61);
  const Expr doubled = zeros({computed_length(n * 2)}), numbers = arange(n);
  for (Mode mode : kModes) {
    for (const Expr& output : {doubled, numbers}) {
      Function f = function({n}, {output}, {}, {.mode = mode});
      EXPECT_NE(message_of([&] { f({huge}); }).what, "");
      EXPECT_EQ(f({Tensor(int64_t{2})})[0].rank(), 1u);  // and the function goes on
    }
    Function f = function({n}, {numbers}, {}, {.mode = mode});
    if (mode == Mode::kNative) {
      const Message message = message_of([&] { f({huge}); });
      EXPECT_EQ(message.what, "output 0: the memory for a value is not there");
      EXPECT_EQ(message.got, "int64[2305843009213693952], 2305843009213693952 elements");
      EXPECT_TRUE(message.node.starts_with("built at tests/compiler/runtime/late_errors_test.cpp:")) << message.node;
    }
  }
}

// Of values inside, which no name of the user's belongs to: on a device an output has a copy among them.
TEST(Sizes, OfValuesInsideAreCheckedToo) {
  const Expr n = make_input({.dtype = DType::kInt64}, "n");
  Function f = function({n}, {arange(n)}, {}, {.target = kernel::emulated_cuda_target()});
  EXPECT_EQ("\n" + without_call(text_without_node([&] { f({Tensor(int64_t{1} << 61)}); })) + "\n", R"(
error: function: the values inside are larger than any memory
  expected: less than 2^63 bytes
  hint:     look at the numbers that lengths are computed from
)");
  EXPECT_EQ(f({Tensor(int64_t{2})})[0].text(), "[0, 1]");
}

TEST(Sizes, ProductsOfLengthsDoNotWrapAround) {
  const Expr n = make_input({.dtype = DType::kInt64}, "n"), m = tensor("m", {"k"}, DType::kInt64);
  const Expr known = zeros({computed_length(n), computed_length(n)}) + 1.0;
  const Expr of_data = zeros({computed_length(sum(m)), computed_length(sum(m))}) + 1.0;
  const Tensor large(int64_t{1} << 32);
  for (Mode mode : kModes) {
    EXPECT_NE(message_of([&] { function({n}, {known}, {}, {.mode = mode})({large}); }).what, "");
    EXPECT_NE(message_of([&] { function({m}, {of_data}, {}, {.mode = mode})({large.reshape({1})}); }).what, "");
    // Inside of the function.
    const Expr inside = sum(softmax(of_data) * of_data);
    EXPECT_NE(message_of([&] { function({m}, {inside}, {}, {.mode = mode})({large.reshape({1})}); }).what, "");
  }
}

TEST(Sizes, OfHistoriesThatADerivativeReadsAreChecked) {
  const Expr x = vector("x");
  const Expr last = repeat(int64_t{1} << 61, {x}, [](const Exprs& s) { return Exprs{s[0] * s[0]}; })[0];
  const Message message = message_of([&] { function({x}, {grad(sum(last), x)}); });
  EXPECT_EQ(message.what, "scan: a value is larger than any memory");
  EXPECT_EQ(
      message_of([&] { repeat(std::numeric_limits<int64_t>::max(), {x}, [](const Exprs& s) { return s; }); }).what,
      "repeat: the number of iterations is too large");
}

// ---- after a write -------------------------------------------------------------------------------------------------

TEST(LateChecks, OfLengthsSayThatVariablesMayHaveChanged) {
  const Expr x = vector("x");
  const Shared v(Tensor::vector({1.0, 2.0}), "v"), u(Tensor::vector({1.0, 2.0}), "u");
  Function f = function({x}, {}, {{v, v.expr() * 3}, {u, u.expr() + masked(x, gt(x, 0))}});
  const Message message = message_of([&] { f({Tensor::vector({1.0, -1.0, 1.0, 2.0})}); });
  EXPECT_EQ(v.get_value().text(), "[3, 6]");  // written before the length of the mask is known
  EXPECT_EQ(message.hint, "shared variables that this call updates may have changed already");
}

// The sum and the product pass 2^63: checks that wrapped let the write go out of bounds.
TEST(LengthArithmetic, OverflowsAreErrors) {
  const Expr x = vector("x"), n = iscalar("n"), q = iscalar("q");
  const int64_t most = std::numeric_limits<int64_t>::max();
  for (Mode mode : kModes) {
    Function write = function({x, n}, {set_subtensor(rows(x, n, 2), 7.0)}, {}, {.mode = mode});
    for (int64_t begin : {most, most - 1, most - 50'000})
      EXPECT_THROW(write({Tensor::vector({1.0, 2.0, 3.0}), Tensor(begin)}), UserError) << begin;
    EXPECT_THROW(write({Tensor::vector({1.0, 2.0, 3.0}), Tensor(int64_t{2})}), UserError);
    Function read = function({x, n, q}, {reshape(x, {n, q})}, {}, {.mode = mode});
    const Tensor four = Tensor::vector({1.0, 2.0, 3.0, 4.0});
    EXPECT_THROW(read({four, Tensor(int64_t{4}), Tensor((int64_t{1} << 62) + 1)}), UserError);
    EXPECT_EQ(read({four, Tensor(int64_t{2}), Tensor(int64_t{2})})[0].shape(), (Shape{2, 2}));
  }
  Function write = function({x, n}, {set_subtensor(rows(x, n, 2), 7.0)});
  const Message message = message_of([&] { write({Tensor::vector({1.0, 2.0, 3.0}), Tensor(most)}); });
  EXPECT_EQ(message.what, "a length or a size is too large");
}

TEST(NestedLoops, MayBeManyAndHaveLongNames) {
  const Expr s = scalar("s");
  std::function<Expr(const Expr&, int)> nested = [&](const Expr& value, int depth) -> Expr {
    if (depth == 0) return value + 1.0;
    return repeat(1, {value}, [&](const Exprs& state) { return Exprs{nested(state[0], depth - 1)}; })[0];
  };
  for (int depth : {31, 70}) EXPECT_EQ(function({s}, {nested(s, depth)})({Tensor(1.0)})[0].as_double(0), 2) << depth;
  for (size_t length = 80; length < 112; ++length) {
    const Expr q = tensor(std::string(length, 'c'), {}, DType::kBool);
    const Expr made = if_else(
        q, [&] { return s * 2.0; }, [&] { return s + 1.0; });
    EXPECT_EQ(function({s, q}, {made})({Tensor(3.0), Tensor(true)})[0].as_double(0), 6) << length;
  }
}

}  // namespace
}  // namespace thtrain
