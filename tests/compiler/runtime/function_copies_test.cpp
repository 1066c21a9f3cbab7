// Copies of functions with options, and memory that is given back.
#include <gtest/gtest.h>

#include "compiler/api.h"
#include "tests/support/datasets_support.h"
#include "tests/support/error_text.h"

namespace thtrain::function_copies_test {
namespace {

constexpr Mode kModes[] = {Mode::kNative, Mode::kReference, Mode::kDebug, Mode::kNanGuard};

// After Theano's test_copy_delete_updates and test_swap_SharedVariable in test_function_module.py.
TEST(FunctionCopies, WithoutUpdates) {
  for (Mode mode : kModes) {
    Expr x = scalar("x"), s = scalar("s");
    Shared w(10.0, "w"), own(100.0, "own");
    RandomStreams streams(1);
    Function f =
        function({x, In(s, {.value = 1.0, .update = s + 1})}, {{"sum", w + x + s}, {"draw", streams.uniform({})}},
                 {{w, w + 1}}, {.mode = mode, .name = "f"});
    f({0.0});
    Function still = f.copy({}, {.delete_updates = true, .name = "still"});
    EXPECT_EQ(still.name(), "still");
    EXPECT_EQ(f.name(), "f");
    const std::vector<Tensor> first = still({0.0}), second = still({0.0});
    EXPECT_EQ(first[0].text(), "13");
    EXPECT_EQ(second[0].text(), "13");
    EXPECT_EQ(first[1].text(), second[1].text()) << "generators stay as they are";
    EXPECT_EQ(still.named({0.0}).at("sum").text(), "13");
    EXPECT_EQ(w.scalar(), 11);
    Function swapped = f.copy({{w, own}}, {.delete_updates = true});
    EXPECT_EQ(swapped({0.0})[0].text(), "102");
    EXPECT_EQ(own.scalar(), 100);
    EXPECT_EQ(f({0.0})[0].text(), "13");
    EXPECT_EQ(w.scalar(), 12);
  }
}

// After Theano's test_copy_share_memory: intermediate values lie in the same memory.
TEST(FunctionCopies, SharedMemory) {
  Expr x = matrix("x");
  const Expr y = dot(tanh(x), x);
  Function f = function({x}, {y}, {}, {.name = "f"});
  Function g = f.copy({}, {.share_memory = true}), apart(f);
  std::vector<const void*> used;
  for (Function* one : {&f, &g, &apart})
    one->watch(std::vector<Tensor>{Tensor::zeros(DType::kFloat64, {64, 64})}, [&](const StepEvent& event) {
      if (event.step == 0 && !event.after) used.push_back(event.operands[event.inputs].raw());
    });
  ASSERT_EQ(used.size(), 3u);
  EXPECT_EQ(used[0], used[1]);
  EXPECT_NE(used[0], used[2]);
  // Either one makes the memory larger, and gives it back.
  auto at = [](int64_t n) { return std::vector<Tensor>{Tensor::zeros(DType::kFloat64, {n, n})}; };
  EXPECT_EQ(f(at(3))[0].shape(), (Shape{3, 3}));
  EXPECT_EQ(g(at(200))[0].shape(), (Shape{200, 200}));
  EXPECT_EQ(f(at(3))[0].shape(), (Shape{3, 3}));
  g.free();
  Tensor ones = Tensor::zeros(DType::kFloat64, {2, 2});
  for (int i = 0; i < 4; ++i) ones.data<double>()[i] = 1;
  EXPECT_EQ(f(at(3))[0].shape(), (Shape{3, 3}));
  EXPECT_EQ(g({ones})[0].text(), f({ones})[0].text());
  std::string busy;
  f.watch(at(3), [&](const StepEvent&) { busy = text_without_node([&] { g(at(3)); }); });
  EXPECT_EQ(busy,
            "error: f: the function is called or copied within a call of its own\n"
            "  expected: one call at a time: a call has the function's buffers for itself\n"
            "  hint:     make a copy before the call, and let the callback call the copy");
}

TEST(FunctionCopies, FreeGivesMemoryBack) {
  for (Mode mode : kModes) {
    Expr x = vector("x");
    Function f = function({x}, {Out(tanh(x) * sum(tanh(x)), /*borrow=*/true), x[gt(x, 0)]}, {}, {.mode = mode});
    const Tensor at = Tensor::vector({1.0, -1.0, 2.0});
    const std::vector<Tensor> before = f({at});
    const std::string first = before[0].text();
    f.free();
    const std::vector<Tensor> after = f({at});
    EXPECT_EQ(after[0].text(), first);
    EXPECT_EQ(after[1].text(), "[1, 2]");
    EXPECT_FALSE(before[0].shares_memory_with(after[0])) << "what was borrowed is the caller's now";
    f.only({0}, {at});
    f.free();
    EXPECT_EQ(f.only({0}, {at})[0].text(), first);
    f.free();
    f.free();
    EXPECT_EQ(f({at})[0].text(), first);
  }
  Expr x = scalar("x");
  Function f = function({x}, {exp(x)}, {}, {.name = "f"});
  std::string busy;
  f.watch(std::vector<Tensor>{Tensor(1.0)}, [&](const StepEvent&) { busy = text_without_node([&] { f.free(); }); });
  EXPECT_EQ(busy,
            "error: f: the function is called or copied within a call of its own\n"
            "  expected: one call at a time: a call has the function's buffers for itself\n"
            "  hint:     make a copy before the call, and let the callback call the copy");
}

}  // namespace
}  // namespace thtrain::function_copies_test
