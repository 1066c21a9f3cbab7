// Outputs that stay in the memory of the device, and arguments that lie there.
#include <gtest/gtest.h>

#include <functional>

#include "compiler/api.h"
#include "compiler/cuda/device_program.h"
#include "tests/support/device_under_test.h"
#include "tests/support/error_text.h"
#include "tests/support/host_sort.h"
#include "tests/support/target_calls.h"

namespace thtrain::internal_outputs_test {
namespace {

constexpr OutOptions kInternal = {.internal = true}, kLent = {.borrow = true, .internal = true};

FunctionOptions device(Mode mode = Mode::kNative) {
  return {.mode = mode, .target = device_under_test(), .name = "f"};
}
const cuda::DeviceMemory& memory() {
  return device_of(device_under_test()).memory;
}

std::string error_of(const std::function<void()>& action) {
  return without_call(text_without_node(action));
}

TEST(InternalOutputs, LieInTheMemoryOfTheDevice) {
  const Expr x = f64("x", {"n"});
  Function f =
      function({x}, {{"twice", x * 2.0, kInternal}, {"more", x + 1.0}, {"lent", x * 3.0, kLent}}, {}, device());
  const std::vector<Tensor> first = f({Tensor::vector({1.0, 2.0})}), second = f({Tensor::vector({3.0, 4.0})});
  for (const std::vector<Tensor>& out : {first, second}) {
    EXPECT_EQ(out[0].space(), &memory());
    EXPECT_TRUE(out[1].is_on_host());
    EXPECT_EQ(out[2].space(), &memory());
  }
  EXPECT_EQ(first[0].on_host().text() + first[1].text(), "[2, 4][2, 3]");
  EXPECT_EQ(second[0].on_host().text() + second[1].text(), "[6, 8][4, 5]");
  EXPECT_NE(first[0].address(), second[0].address()) << "a copy";
  EXPECT_EQ(first[2].address(), second[2].address()) << "the function's own buffer";
  EXPECT_EQ(first[2].on_host().text(), "[9, 12]");
  EXPECT_EQ(f.named({{"x", Tensor::vector({0.0})}}).size(), 3U) << "of other lengths";
  EXPECT_EQ(second[2].on_host().text(), "[9, 12]") << "its memory stays";
  EXPECT_EQ(f.only({"lent"}, {{"x", Tensor::vector({1.0})}})[0].space(), &memory());
  EXPECT_EQ(text_without_node([&] { (void)first[0].data<double>(); }).find("error: "), 0U);
}

TEST(InternalOutputs, AreOnTheHostWhereItComputes) {
  const Expr x = f64("x", {2});
  for (const Mode mode : {Mode::kNative, Mode::kReference}) {
    Function f = function({x}, {{x * 2.0, kInternal}}, {}, {.mode = mode});
    EXPECT_EQ(f({Tensor::vector({1.0, 2.0})})[0].text(), "[2, 4]");
  }
  Function f = function({x}, {{x * 2.0, kInternal}}, {}, device(Mode::kReference));
  EXPECT_EQ(f({Tensor::vector({1.0, 2.0})})[0].text(), "[2, 4]");
}

// Of all kinds: of a reference, of a view, of an argument, of a variable, of nothing, of a length that the data
// decides.
TEST(InternalOutputs, MayBeAnyValue) {
  const Expr x = f64("x", {"n"}), k = tensor("k", {}, DType::kInt64);
  const Shared w(Tensor::vector({5.0, 6.0}), "w");
  const std::vector<Expr> values = {
      host_sort(x), expand_dims(x, {1}),       x, w, x[x > 0.0], flatnonzero(x), sum(x), arange(k), k,
      sort(x)[0],   make_constant(Tensor(2.0))};
  const std::vector<Expr> all = values;
  std::vector<Out> there, here;
  for (const Expr& value : all) {
    there.emplace_back(value, kInternal);
    here.emplace_back(value);
  }
  Function f = function({x, k}, there, {{w, w + 1.0}}, device());
  Function g = function({x, k}, here, {}, {.mode = Mode::kReference});
  for (const Tensor& given : {Tensor::vector({2.0, -1.0, 0.5}), Tensor::vector({-1.0})}) {
    const std::vector<Tensor> expected = g({given, Tensor(int64_t{3})}), got = f({given, Tensor(int64_t{3})});
    for (size_t i = 0; i < got.size(); ++i) {
      EXPECT_EQ(got[i].space(), &memory()) << i;
      EXPECT_EQ(got[i].on_host().type_text() + got[i].on_host().text(), expected[i].type_text() + expected[i].text())
          << i;
    }
  }
}

// From function to function no element comes to the host, and nobody waits: what has failed is told later.
TEST(InternalOutputs, AreArgumentsWhereTheyLie) {
  const Expr x = f64("x", {3}), at = tensor("at", {}, DType::kInt64);
  Function twice = function({x}, {{x * 2.0, kLent}}, {}, device()),
           plus = function({x}, {{x + 1.0, kInternal}}, {}, device());
  Function taken = function({x, at}, {{take(x, at), kInternal}}, {}, device());
  Tensor value = Tensor::vector({1.0, 2.0, 3.0});
  for (int i = 0; i < 20; ++i) value = plus({twice({value})[0]})[0];
  EXPECT_EQ(value.space(), &memory());
  EXPECT_EQ(value.on_host().text(), "[2097151, 3145727, 4194303]");
  const Tensor wrong = taken({value, Tensor(int64_t{7})})[0];
  EXPECT_EQ(error_of([&] { (void)wrong.on_host(); }),
            "error: take: the index 7 is outside axis 0\n  expected: -3 <= index < 3");
  (void)taken({value, Tensor(int64_t{7})});
  EXPECT_EQ(error_of([&] { twice({value}); }),
            "error: take: the index 7 is outside axis 0\n  expected: -3 <= index < 3");
  EXPECT_EQ(twice({value})[0].on_host().text(), "[4194302, 6291454, 8388606]");
  // A function of the host takes them too, and so do checks of every kind of call.
  EXPECT_EQ(function({x}, {x - 1.0})({value})[0].text(), "[2097150, 3145726, 4194302]");
}

TEST(InternalOutputs, EveryModeHasThem) {
  const Expr x = f64("x", {3});
  const Tensor value = function({x}, {{x * 2.0, kInternal}}, {}, device())({Tensor::vector({1.0, 2.0, 3.0})})[0];
  for (const Mode mode : {Mode::kReference, Mode::kDebug, Mode::kNanGuard})
    EXPECT_EQ(function({x}, {{sum(x), kInternal}}, {}, device(mode))({value})[0].on_host().text(), "12");
}

TEST(InternalOutputs, AFunctionTakesItsOwn) {
  const Expr x = f64("x", {3});
  Function f = function({x}, {{x * 2.0, kLent}, {x[Slice{.step = -1}] + 0.0, kLent}}, {}, device());
  std::vector<Tensor> out = f({Tensor::vector({1.0, 2.0, 3.0})});
  for (int i = 0; i < 3; ++i) out = f({out[1]});
  EXPECT_EQ(out[0].on_host().text(), "[6, 4, 2]");
  EXPECT_EQ(out[1].on_host().text(), "[1, 2, 3]");
}

// A variable's own buffer is read before the call writes it.
TEST(InternalOutputs, AVariablesBufferMayBeGiven) {
  const Shared w(Tensor::vector({1.0, 2.0, 3.0}), "w");
  const Expr x = f64("x", {3});
  Function f = function({x}, {{cumsum(x), kInternal}}, {{w, w * 2.0 + x}}, device());
  function({}, {}, {{w, w * 1.0}}, device())({});
  EXPECT_EQ(f({w.get_internal_value(true)})[0].on_host().text(), "[1, 3, 6]");
  EXPECT_EQ(w.get_value().text(), "[3, 6, 9]");
  // An output becomes a variable's value without a copy, unless the function keeps the buffer.
  const Tensor value = f({Tensor::vector({1.0, 1.0, 1.0})})[0];
  w.set_value(value, true);
  EXPECT_EQ(w.storage().value.address(), value.address());
  Function lent = function({x}, {{"y", x + 1.0, kLent}}, {}, device());
  EXPECT_EQ(text_without_node([&] { w.set_value(lent({value})[0], true); }),
            "error: w: the borrowed tensor is the memory of output 0 of f\n"
            "  expected: memory that no other shared variable holds and no function writes\n"
            "  hint:     without borrow the variable takes a copy");
  w.set_value(lent({value})[0]);
  EXPECT_EQ(w.get_value().text(), "[2, 3, 4]");
}

// What the host must read comes there: a length, what a reference takes, integers for floats, views.
TEST(InternalOutputs, WhatTheHostReadsIsCopied) {
  const Expr x = f64("x", {"n"}), k = tensor("k", {}, DType::kInt64), i = tensor("i", {"n"}, DType::kInt64);
  Function number = function({k, i}, {{k + 1, kInternal}, {i * 2, kInternal}}, {}, device());
  const std::vector<Tensor> numbers = number({Tensor(int64_t{2}), Tensor::vector({int64_t{3}, int64_t{1}})});
  EXPECT_EQ(function({k}, {arange(k)}, {}, device())({numbers[0]})[0].text(), "[0, 1, 2]");
  EXPECT_EQ(function({x}, {host_sort(x)}, {}, device())({numbers[1]})[0].text(), "[2, 6]");
  EXPECT_EQ(function({x}, {x * 0.5}, {}, device())({numbers[1].view({2}, {-1}, 1)})[0].text(), "[1, 3]");
  const Expr flag = tensor("flag", {}, DType::kBool);
  Function choose = function({flag, x},
                             {if_else(
                                 flag, [&] { return x; }, [&] { return x * 2.0; })},
                             {}, device());
  Function positive = function({k}, {{k > 0, kInternal}}, {}, device());
  EXPECT_EQ(choose({positive({Tensor(int64_t{1})})[0], numbers[1]})[0].text(), "[6, 2]");
  EXPECT_EQ(choose({positive({Tensor(int64_t{0})})[0], numbers[1]})[0].text(), "[12, 4]");
  EXPECT_EQ(text_without_node([&] { function({x}, {x}, {}, device())({numbers[0]}); }).find("error: "), 0U);
}

// What an input or a variable of another length is in the next call stays on the device, too.
TEST(InternalOutputs, NextValuesStayThere) {
  const Expr x = f64("x", {"n"}), state = f64("state", {3}), k = tensor("k", {}, DType::kInt64);
  const Shared s = Shared::of_lengths({"m"}, Tensor::vector({1.0}), "s");
  Function f = function({x,
                         {state, {.value = Tensor::zeros(DType::kFloat64, {3}), .update = state + x}},
                         {k, {.value = Tensor(int64_t{0}), .update = k + 1}}},
                        {{sum(s), kInternal}, state, arange(k)}, {{s, concatenate({s, x})}}, device());
  for (int i = 0; i < 3; ++i) {
    const std::vector<Tensor> out = f({Tensor::vector({1.0, 2.0, 3.0})});
    EXPECT_EQ(out[0].on_host().as_double(), 1 + 6 * i);
    EXPECT_EQ(out[1].as_double(2), 3 * i);
    EXPECT_EQ(out[2].size(), i);
    EXPECT_FALSE(s.storage().value.is_on_host());
  }
  EXPECT_EQ(s.get_value().text(), "[1, 1, 2, 3, 1, 2, 3, 1, 2, 3]");
}

TEST(InternalOutputs, OfAFunctionThatEndsStay) {
  const Expr x = f64("x", {3});
  std::vector<Tensor> out;
  {
    Function f = function({x}, {{x * 2.0, kInternal}, {x * 3.0, kLent}}, {}, device());
    out = f({Tensor::vector({1.0, 2.0, 3.0})});
    f.free();
  }
  EXPECT_EQ(out[0].on_host().text() + out[1].on_host().text(), "[2, 4, 6][3, 6, 9]");
}

}  // namespace
}  // namespace thtrain::internal_outputs_test
