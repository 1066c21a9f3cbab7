// Who owns what memory: borrow at shared variables, get_value, set_value, inputs and outputs.
#include <gtest/gtest.h>

#include "compiler/api.h"
#include "tests/support/error_text.h"
#include "tests/support/far_memory.h"

namespace thtrain {
namespace {

Tensor three() {
  return Tensor::vector({1.0, 2.0, 3.0});
}

TEST(FunctionMemory, SharedCopiesUnlessItBorrows) {
  Tensor value = three();
  Shared copied(value, "copied"), borrowed(value, "borrowed", /*borrow=*/true);
  value.data<double>()[0] = 9;
  EXPECT_EQ(copied.get_value().text(), "[1, 2, 3]");
  EXPECT_EQ(borrowed.get_value().text(), "[9, 2, 3]");
}

TEST(FunctionMemory, GetValueCopiesUnlessItBorrows) {
  Shared w(three(), "w");
  w.get_value().data<double>()[0] = 9;
  EXPECT_EQ(w.get_value().text(), "[1, 2, 3]");
  EXPECT_EQ(w.get_value(/*borrow=*/true).raw(), w.get_value(true).raw());
  EXPECT_NE(w.get_value().raw(), w.get_value(true).raw());
}

TEST(FunctionMemory, SetValueCopiesIntoTheBufferUnlessItBorrows) {
  Shared w(three(), "w");
  const void* address = w.get_value(true).raw();
  Tensor value = Tensor::vector({4.0, 5.0, 6.0});
  w.set_value(value);
  EXPECT_EQ(w.get_value(true).raw(), address);
  value.data<double>()[0] = 9;
  EXPECT_EQ(w.get_value().text(), "[4, 5, 6]");
  w.set_value(value, /*borrow=*/true);
  EXPECT_EQ(w.get_value(true).raw(), value.raw());
}

TEST(FunctionMemory, SetValueOfItsOwnPartsAndOfStridedValues) {
  Shared w(three(), "w");
  Tensor own = w.get_value(true);
  w.set_value(own.view({3}, {-1}, 2).copy());
  EXPECT_EQ(w.get_value().text(), "[3, 2, 1]");
  Tensor wide = Tensor::vector({1.0, 0.0, 2.0, 0.0, 3.0, 0.0});
  w.set_value(wide.view({3}, {2}, 0), /*borrow=*/true);  // not row-major: copied all the same
  EXPECT_EQ(w.get_value().text(), "[1, 2, 3]");
}

TEST(FunctionMemory, ScalarAndSetZeroAndSwapValueInTheSameBuffers) {
  const Shared w(three(), "w"), v(Tensor::vector({4.0, 5.0, 6.0}), "v"), n(int64_t{7}, "n");
  const void *of_w = w.get_value(true).raw(), *of_v = v.get_value(true).raw();
  EXPECT_EQ(n.scalar(), 7);
  w.swap_value(v);
  EXPECT_EQ(w.get_value().text(), "[4, 5, 6]");
  EXPECT_EQ(v.get_value().text(), "[1, 2, 3]");
  w.set_zero();
  n.set_zero();
  EXPECT_EQ(w.get_value().text(), "[0, 0, 0]");
  EXPECT_EQ(n.scalar(), 0);
  EXPECT_EQ(w.get_value(true).raw(), of_w);
  EXPECT_EQ(v.get_value(true).raw(), of_v);
  const Shared longer(Tensor::vector({1.0, 2.0}), "longer");
  EXPECT_EQ(text_without_node([&] { w.swap_value(longer); }),
            "error: swap_value of w: the other variable has another type\n"
            "  expected: float64[3]\n  got:      float64[2]");
  EXPECT_EQ(text_without_node([&] { (void)w.scalar(); }),
            "error: scalar of w: the variable is no scalar\n  got:      float64[3]");
}

TEST(FunctionMemory, AVariableInAnotherAddressSpace) {
  static const FarMemory far;
  const Shared w(three().copy(&far), "w", /*borrow=*/true), v(Tensor::vector({4.0, 5.0, 6.0}), "v"),
      n(Tensor(int64_t{7}).copy(&far), "n", true);
  const void* address = w.get_value(true).address();
  EXPECT_EQ(w.get_value().text(), "[1, 2, 3]");
  EXPECT_EQ(n.scalar(), 7);
  w.swap_value(v);
  EXPECT_EQ(w.get_value().text(), "[4, 5, 6]");
  EXPECT_EQ(v.get_value().text(), "[1, 2, 3]");
  w.set_value(Tensor::vector({7.0, 8.0, 9.0}));
  EXPECT_EQ(w.get_value().text(), "[7, 8, 9]");
  EXPECT_EQ(text_without_node([&] { Shared(w.get_value(true), "other", true); }),
            "error: other: the borrowed tensor is the memory of w\n"
            "  expected: memory that no other shared variable holds and no function writes\n"
            "  hint:     without borrow the variable takes a copy");
  // The reference computes on the host, with what it reads there and writes back.
  Function f = function({}, {w * 2}, {{w, w + v}, {n, n + 1}}, {.mode = Mode::kReference});
  EXPECT_EQ(f({})[0].text(), "[14, 16, 18]");
  EXPECT_EQ(w.get_value().text(), "[8, 10, 12]");
  EXPECT_EQ(n.scalar(), 8);
  w.set_zero();
  EXPECT_EQ(w.get_value().text(), "[0, 0, 0]");
  EXPECT_EQ(w.get_value(true).address(), address);
  Expr x = vector("x");
  EXPECT_EQ(function({x}, {x * 2})({three().copy(&far)})[0].text(), "[2, 4, 6]") << "an argument is copied";
  EXPECT_EQ(without_call(text_without_node([&] { function({}, {w * 2})({}); })),
            "error: function: the shared variable w is not in the memory that the program computes in\n"
            "  expected: the host's memory\n"
            "  got:      far memory");
}

TEST(FunctionMemory, SetValueThatDoesNotFit) {
  Shared w(three(), "w");
  EXPECT_EQ(text_without_node([&] { w.set_value(Tensor::vector({1.0})); }),
            "error: set_value of w: the value does not fit the variable's type\n  expected: float64[3]\n  got:      "
            "float64[1]");
  EXPECT_EQ(text_without_node([&] {
              w.set_value(Tensor::vector({1.0F, 2.0F, 3.0F}));
            }),
            "error: set_value of w: the value does not fit the variable's type\n  expected: float64[3]\n  got:      "
            "float32[3]");
  EXPECT_EQ(w.get_value().text(), "[1, 2, 3]");
}

TEST(FunctionMemory, OutputsAreTheCallersUnlessBorrowed) {
  Expr x = vector("x", {"n"});
  Function f = function({x}, {x * 2, Out(x * 3, /*borrow=*/true)});
  std::vector<Tensor> first = f({three()});
  std::vector<Tensor> second = f({Tensor::vector({0.0, 0.0, 0.0})});
  EXPECT_EQ(first[0].text(), "[2, 4, 6]");
  EXPECT_EQ(first[1].text(), "[0, 0, 0]");  // overwritten
  EXPECT_EQ(first[1].raw(), second[1].raw());
  f({Tensor::vector({1.0})});  // another length: another buffer
  EXPECT_EQ(first[1].text(), "[0, 0, 0]");
}

TEST(FunctionMemory, CopiesOfAFunctionDoNotShareBorrowedOutputs) {
  Expr x = vector("x", {3});
  Function f = function({x}, {Out(x * 3, true)});
  Tensor mine = f({three()})[0];
  Function g(f);
  Tensor other = g({Tensor::vector({0.0, 0.0, 0.0})})[0];
  EXPECT_EQ(mine.text(), "[3, 6, 9]");
  EXPECT_EQ(other.text(), "[0, 0, 0]");
}

TEST(FunctionMemory, BorrowedOutputGivenBackAsAnArgument) {
  Expr x = matrix("x", {2, 2});
  Function f = function({x}, {Out(dot(x, x), true)});
  Tensor y = f({Tensor::matrix<double>({{1, 2}, {3, 4}})})[0];
  EXPECT_EQ(f({y})[0].text(), "[[199, 290], [435, 634]]");
}

TEST(FunctionMemory, BufferOfAVariableGivenAsAnArgument) {
  Shared w(Tensor::matrix<double>({{1, 2}, {3, 4}}), "w");
  Expr x = matrix("x", {2, 2});
  Function f = function({x}, {}, {{w, w.expr() + dot(x, x)}});
  f({w.get_value(/*borrow=*/true)});
  EXPECT_EQ(w.get_value().text(), "[[8, 12], [18, 26]]");
}

TEST(FunctionMemory, ArgumentsStayAsTheyAre) {
  Expr x = vector("x", {3});
  Shared w(three(), "w");
  Function f = function({x}, {exp(x * 2) + x}, {{w, x}});
  Tensor given = three();
  f({given});
  w.get_value(true).data<double>()[0] = 7;
  EXPECT_EQ(given.text(), "[1, 2, 3]");
}

TEST(FunctionMemory, DefaultsAreKept) {
  Expr x = vector("x", {3});
  Function f = function({In(x, three())}, {Out(x, true)});
  f({})[0].data<double>()[0] = 9;
  EXPECT_EQ(f({})[0].text(), "[1, 2, 3]");
}

TEST(FunctionMemory, TwoVariablesMayNotBorrowOneTensor) {
  Tensor value = Tensor::vector({1.0, 2.0, 3.0, 4.0});
  Shared a(value, "a", /*borrow=*/true);
  auto text = [](const std::string& name, const std::string& other) {
    return "error: " + name + ": the borrowed tensor is the memory of " + other +
           "\n  expected: memory that no other shared variable holds and no function writes\n  hint:     without "
           "borrow the variable takes a copy";
  };
  EXPECT_EQ(text_without_node([&] { Shared(value, "b", true); }), text("b", "a"));
  EXPECT_EQ(text_without_node([&] { Shared(value.rows(1, 2), {}, true); }), text("a shared variable", "a"));
  EXPECT_EQ(text_without_node([&] { Shared(a.get_value(true), "b", true); }), text("b", "a"));
  Shared b(value, "b");  // a copy
  EXPECT_EQ(text_without_node([&] { b.set_value(value, true); }), text("b", "a"));
  EXPECT_EQ(text_without_node([&] { b.set_value(a.get_value(true), true); }), text("b", "a"));
  EXPECT_EQ(text_without_node([&] { a.set_value(b.get_value(true), true); }), text("a", "b"));
  // What a variable was refused changes nothing.
  a.set_value(Tensor::vector({0.0, 0.0, 0.0, 0.0}));
  EXPECT_EQ(b.get_value().text(), "[1, 2, 3, 4]");
  // Its own memory it may take again, and that of a variable that is gone or has let go of it.
  a.set_value(a.get_value(true), true);
  a.set_value(Tensor::vector({5.0, 6.0, 7.0, 8.0}), true);
  b.set_value(value, true);
  EXPECT_EQ(text_without_node([&] { Shared(value, "c", true); }), text("c", "b"));
  Tensor other = three();
  { Shared gone(other, "gone", true); }
  Shared next(other, "next", true);
  // Parts of one tensor that are apart are memory of their own.
  Tensor both = Tensor::vector({1.0, 2.0, 3.0, 4.0});
  Shared first(both.rows(0, 2), "first", true), second(both.rows(2, 2), "second", true);
  EXPECT_EQ(text_without_node([&] { Shared(both.rows(1, 2), "third", true); }), text("third", "second"));
  Shared empty(both.rows(0, 0), "empty", true), also_empty(both.rows(0, 0), "also_empty", true);
}

TEST(FunctionMemory, ACopyMayNotMakeTwoVariablesOne) {
  Shared a(three(), "a"), b(three(), "b"), c(three(), "c");
  Function f = function({}, {}, {{a, a.expr() + b}});
  EXPECT_EQ(text_without_node([&] {
              f.copy({{a, b}});
            }),
            "error: copy: b would stand for two variables of the function\n  got:      a and b");
  f.copy({{a, b}, {b, a}})({});  // they are exchanged
  EXPECT_EQ(b.get_value().text(), "[2, 4, 6]");
  f.copy({{a, c}})({});
  EXPECT_EQ(c.get_value().text(), "[3, 6, 9]");
}

TEST(FunctionMemory, BorrowedOutputsInEveryMode) {
  Expr x = matrix("x");
  for (Mode mode : {Mode::kNative, Mode::kReference, Mode::kDebug}) {
    Function f = function({x}, {Out(x * 2, /*borrow=*/true), x * 3}, {}, {.mode = mode});
    const Tensor one = Tensor::matrix<double>({{1, 2}}), two = Tensor::matrix<double>({{3, 4}});
    std::vector<Tensor> first = f({one}), second = f({two});
    EXPECT_EQ(first[0].raw(), second[0].raw()) << static_cast<int>(mode);
    EXPECT_EQ(first[0].text(), "[[6, 8]]");
    EXPECT_NE(first[1].raw(), second[1].raw());
    EXPECT_EQ(first[1].text(), "[[3, 6]]");
    // Given back as an argument it is left alone; with other lengths there is another one.
    Tensor third = f({second[0]})[0];
    EXPECT_NE(third.raw(), second[0].raw());
    EXPECT_EQ(third.text(), "[[12, 16]]");
    EXPECT_EQ(second[0].text(), "[[6, 8]]");
    EXPECT_EQ(f({Tensor::matrix<double>({{1}, {2}})})[0].text(), "[[2], [4]]");
  }
}

// The next call of the function would write over the variable's value.
TEST(FunctionMemory, ABorrowedOutputIsNoBufferOfAVariable) {
  auto text = [](const std::string& variable, const std::string& output) {
    return "error: " + variable + ": the borrowed tensor is the memory of " + output +
           "\n  expected: memory that no other shared variable holds and no function writes\n  hint:     without "
           "borrow the variable takes a copy";
  };
  for (const Mode mode : {Mode::kNative, Mode::kReference, Mode::kDebug}) {
    Expr x = vector("x");
    std::optional<Function> f = function({x}, {Out(named(x * 2, "y"), true), x * 3}, {}, {.mode = mode, .name = "f"});
    const std::vector<Tensor> outputs = (*f)({three()});
    Shared s(three(), "s");
    EXPECT_EQ(text_without_node([&] { Shared(outputs[0], "t", true); }), text("t", "output 0 (y) of f"));
    EXPECT_EQ(text_without_node([&] { s.set_value(outputs[0], true); }), text("s", "output 0 (y) of f"));
    EXPECT_EQ(text_without_node([&] { Shared(outputs[0].rows(1, 2), {}, true); }),
              text("a shared variable", "output 0 (y) of f"));
    // Another output is the caller's, and so is a buffer that the function has let go of.
    const Shared own(outputs[1], "own", true);
    s.set_value(outputs[0]);
    (*f)({outputs[0]});  // given back: the function takes another one
    const Shared let_go(outputs[0], "let_go", true);
    (*f)({three()});
    EXPECT_EQ(let_go.get_value().text(), "[2, 4, 6]");
    EXPECT_EQ(s.get_value().text(), "[2, 4, 6]");
    const Tensor last = (*f)({three()})[0];
    EXPECT_EQ(text_without_node([&] { Shared(last, "t", true); }), text("t", "output 0 (y) of f"));
    f.reset();
    EXPECT_EQ(Shared(last, "t", true).get_value().text(), "[2, 4, 6]");
  }
}

TEST(FunctionMemory, BoundEqualsArenaForAChain) {
  Expr x = matrix("x", {20, 30});
  Expr y = x;
  for (int i = 0; i < 6; ++i) y = softmax(dot(transpose(y), y));
  Function f = function({x}, {sum(y)});
  EXPECT_GT(f.info().arena_bytes, 0);
  EXPECT_LE(static_cast<double>(f.info().arena_bytes), 1.1 * static_cast<double>(f.info().memory_bound));
}

}  // namespace
}  // namespace thtrain
