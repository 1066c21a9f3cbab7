// A function is called once at a time: by one thread, and not by what its call calls back.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "compiler/api.h"
#include "tests/support/error_text.h"

namespace thtrain {
namespace {

const char* const kByAnotherThread =
    "error: f: the function is called or copied during a call by another thread\n"
    "  expected: one call at a time: a call has the function's buffers for itself\n"
    "  hint:     make a copy for each thread before the first call";
const char* const kWithin =
    "error: f: the function is called or copied within a call of its own\n"
    "  expected: one call at a time: a call has the function's buffers for itself\n"
    "  hint:     make a copy before the call, and let the callback call the copy";

Function doubled() {
  Expr x = vector("x");
  return function({x}, {x * 2}, {}, {.name = "f"});
}

std::vector<Tensor> three_numbers() {
  return {Tensor::vector({1.0, 2.0, 3.0})};
}

// What `other` throws in another thread while a call of f goes on.
std::string during_a_call(Function& f, const std::function<void()>& other) {
  std::string text;
  bool first = true;
  f.watch(three_numbers(), [&](const StepEvent&) {
    if (std::exchange(first, false)) std::thread([&] { text = text_without_node(other); }).join();
  });
  return text;
}

TEST(CallScope, ACallByAnotherThreadIsAnError) {
  Function f = doubled();
  EXPECT_EQ(during_a_call(f, [&] { f(three_numbers()); }), kByAnotherThread);
  EXPECT_EQ(during_a_call(f, [&] { f.watch(three_numbers(), [](const StepEvent&) {}); }), kByAnotherThread);
  EXPECT_EQ(during_a_call(f, [&] { f.start_profile(); }), kByAnotherThread);
  EXPECT_EQ(during_a_call(f, [&] { f.wait(); }), kByAnotherThread);
  EXPECT_EQ(during_a_call(f, [&] { Function copy = f; }), kByAnotherThread);
  EXPECT_EQ(during_a_call(f, [&] { f.copy({}); }), kByAnotherThread);
  EXPECT_EQ(f(three_numbers())[0].text(), "[2, 4, 6]");
}

TEST(CallScope, ACallWithinACallIsAnError) {
  Function f = doubled();
  std::string text, copied;
  Function other = f;
  f.watch(three_numbers(), [&](const StepEvent&) {
    text = text_without_node([&] { f(three_numbers()); });
    copied = text_without_node([&] { Function copy = f; });
    EXPECT_EQ(other(three_numbers())[0].text(), "[2, 4, 6]");
  });
  EXPECT_EQ(text, kWithin);
  EXPECT_EQ(copied, kWithin);
  EXPECT_EQ(f(three_numbers())[0].text(), "[2, 4, 6]");
}

TEST(CallScope, ACallThatThrowsIsOver) {
  Function f = doubled();
  EXPECT_THROW(f.watch(three_numbers(), [](const StepEvent&) { throw std::runtime_error("stop"); }), std::exception);
  EXPECT_NE(text_without_node([&] { f({Tensor(1.0)}); }), "no error");
  EXPECT_EQ(f(three_numbers())[0].text(), "[2, 4, 6]");
}

// Two threads call one function as often as they can: each call is right or refused.
TEST(CallScope, NoCallOfTwoThreadsIsWrong) {
  Expr x = matrix("x", {64, 64});
  Function f = function({x}, {dot(x, x) + 1}, {}, {.threads = 1});
  const Tensor expected[] = {f({Tensor::zeros(DType::kFloat64, {64, 64})})[0],
                             f({function({}, {ones({64, 64}, DType::kFloat64)})({})[0]})[0]};
  std::atomic<int> wrong = 0, refused = 0, right = 0;
  auto call = [&](int which) {
    const Tensor argument =
        which == 0 ? Tensor::zeros(DType::kFloat64, {64, 64}) : function({}, {ones({64, 64}, DType::kFloat64)})({})[0];
    for (int i = 0; i < 300; ++i) try {
        ++(same_bits(f({argument})[0], expected[which]) ? right : wrong);
      } catch (const UserError&) {
        ++refused;
      }
  };
  std::thread one(call, 0), two(call, 1);
  one.join();
  two.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(right + refused, 600);
  EXPECT_GT(right, 0);
}

// Threads that copy at the same time do not disturb each other.
TEST(CallScope, ThreadsCopyAtTheSameTime) {
  const Function f = doubled();
  std::atomic<int> right = 0;
  auto work = [&] {
    for (int i = 0; i < 20; ++i) right += Function(f)(three_numbers())[0].text() == "[2, 4, 6]";
  };
  std::thread one(work), two(work);
  one.join();
  two.join();
  EXPECT_EQ(right, 40);
}

}  // namespace
}  // namespace thtrain
