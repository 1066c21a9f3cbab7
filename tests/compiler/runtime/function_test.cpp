// Calling functions: arguments by position and by name, givens, copies, and every message of a call that does not fit.
#include "compiler/runtime/function.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <thread>

#include "compiler/api.h"
#include "compiler/ir/compare.h"
#include "tests/support/datasets_support.h"
#include "tests/support/error_text.h"

namespace thtrain::function_test {
namespace {

// What f throws, without the line of the call: FunctionArguments.ErrorsNameTheFunctionAndTheLineOfTheCall.
template <class F>
std::string error_text(F f) {
  return without_call(thtrain::error_text(f));
}

std::string built_at(int line) {
  return str("  node:     built at ", __FILE__, ":", line);
}

Tensor numbers(Shape shape) {
  Tensor out = Tensor::empty(DType::kFloat64, shape);
  for (int64_t i = 0; i < out.size(); ++i) out.data<double>()[i] = static_cast<double>(i + 1);
  return out;
}

TEST(Function, ArgumentsByName) {
  Expr x = scalar("x"), y = scalar("y");
  Function f = function({x, In(y, Tensor(10.0))}, {x - y});
  EXPECT_EQ(f(std::map<std::string, Tensor>{{"y", Tensor(1.0)}, {"x", Tensor(5.0)}})[0].text(), "4");
  EXPECT_EQ(f(std::map<std::string, Tensor>{{"x", Tensor(5.0)}})[0].text(), "-5");
}

TEST(Function, LastArgumentsMayBeLeftOut) {
  Expr x = scalar("x"), y = scalar("y"), z = scalar("z");
  Function f = function({x, In(y, Tensor(10.0)), In(z, Tensor(100.0))}, {x + y + z});
  EXPECT_EQ(f({Tensor(1.0)})[0].text(), "111");
  EXPECT_EQ(f({Tensor(1.0), Tensor(2.0)})[0].text(), "103");
  EXPECT_EQ(f({Tensor(1.0), Tensor(2.0), Tensor(3.0)})[0].text(), "6");
}

TEST(Function, MissingAndUnknownNames) {
  Expr x = scalar("x"), y = scalar("y");
  Function f = function({x, y}, {x - y}, {}, {.name = "f"});
  EXPECT_EQ(error_text([&] {
              f(std::map<std::string, Tensor>{{"x", Tensor(5.0)}});
            }),
            "error: f: the input y is missing\n  expected: y float64[]");
  EXPECT_EQ(error_text([&] {
              f(std::map<std::string, Tensor>{{"x", Tensor(5.0)}, {"y", Tensor(5.0)}, {"z", Tensor(5.0)}});
            }),
            "error: f: there is no input z\n  expected: x, y");
}

TEST(Function, WrongNumberOfArguments) {
  Expr x = scalar("x"), y = vector("y");
  Function f = function({x, y}, {x * y}, {}, {.name = "f"});
  EXPECT_EQ(error_text([&] { f({Tensor(5.0)}); }),
            "error: f: the number of arguments differs\n  expected: 2: x float64[], y float64[y.0]\n  got:      1");
}

TEST(Function, WrongDtypeRankAndLength) {
  int line = __LINE__ + 1;
  Expr x = tensor("x", {"n", 3}, DType::kFloat32);
  Function f = function({x}, {x * 2});
  EXPECT_EQ(error_text([&] {
              f({numbers({2, 3})});
            }),
            str("error: x: the dtype differs\n  expected: float32[n, 3]\n  got:      float64[2, 3]\n", built_at(line)));
  EXPECT_EQ(
      error_text([&] { f({Tensor::vector({1.0F})}); }),
      str("error: x: the number of axes differs\n  expected: float32[n, 3]\n  got:      float32[1]\n", built_at(line)));
  EXPECT_EQ(
      error_text([&] {
        f({Tensor::zeros(DType::kFloat32, {2, 4})});
      }),
      str("error: x: axis 1 has 4 elements\n  expected: float32[n, 3]\n  got:      float32[2, 4]\n", built_at(line)));
  EXPECT_EQ(f({Tensor::zeros(DType::kFloat32, {1, 3})})[0].text(), "[[0, 0, 0]]");  // it still works
}

TEST(Function, OneNameIsOneLength) {
  Expr x = vector("x", {"n"});
  int line = __LINE__ + 1;
  Expr y = vector("y", {"n"});
  Function f = function({x, y}, {x + y});
  EXPECT_EQ(error_text([&] {
              f({numbers({2}), numbers({3})});
            }),
            str("error: y: axis 0 has 3 elements where n is 2\n  expected: float64[n]\n  got:      float64[3]\n",
                built_at(line)));
}

TEST(Function, LengthsThatMeetInAnOpAreNamed) {
  Shared w(numbers({4, 2}), "W");
  Expr x = matrix("x");
  int line = __LINE__ + 1;
  Expr y = dot(x, w);
  Function f = function({x}, {y});
  EXPECT_EQ(f({numbers({3, 4})})[0].shape(), (Shape{3, 2}));
  EXPECT_EQ(error_text([&] {
              f({numbers({3, 5})});
            }),
            str("error: dot: inner lengths differ\n  expected: x.1 == 4\n  got:      5 and 4\n", built_at(line)));
}

TEST(Function, RunTimeLengthOfOneDoesNotBroadcast) {
  Expr x = vector("x"), y = vector("y");
  Expr z = x + y;
  Function f = function({x, y}, {z});
  EXPECT_EQ(f({numbers({1}), numbers({1})})[0].text(), "[2]");
  std::string text = error_text([&] { f({numbers({3}), numbers({1})}); });
  EXPECT_NE(text.find("expected: x.0 == y.0\n  got:      3 and 1\n"), std::string::npos) << text;
}

TEST(Function, NothingReadsAnInput) {
  Expr x = scalar("x");
  int line = __LINE__ + 1;
  Expr y = vector("y");
  EXPECT_EQ(error_text([&] {
              function({x, y}, {x * 2});
            }),
            str("error: function: nothing reads the input y\n  got:      y float64[y.0]\n", built_at(line),
                "\n  hint:     leave it out, or set FunctionOptions::unused_inputs"));
  Function f = function({x, y}, {x * 2}, {}, {.unused_inputs = UnusedInputs::kAllowed});
  EXPECT_EQ(f({Tensor(2.0), numbers({3})})[0].text(), "4");
  testing::internal::CaptureStderr();
  Function warned = function({x, y}, {x * 2}, {}, {.unused_inputs = UnusedInputs::kWarned});
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            str("warning: function: nothing reads the input y (built at ", __FILE__, ":", line, ")\n"));
  EXPECT_EQ(warned({Tensor(2.0), numbers({3})})[0].text(), "4");
}

TEST(Function, ReadThroughItsLengthAlone) {
  Expr x = vector("x");
  Function f = function({x}, {length(x, 0) * 2});
  EXPECT_EQ(f({numbers({5})})[0].text(), "10");
}

TEST(Function, OutputNeedsAnInputThatIsNotListed) {
  Expr x = scalar("x");
  int line = __LINE__ + 1;
  Expr y = vector("y");
  EXPECT_EQ(error_text([&] { function({x}, {x * y}); }),
            str("error: function: an output needs y, which is not among the inputs\n  got:      y float64[y.0]\n",
                built_at(line), "\n  hint:     list it as an input, or replace it through givens"));
}

TEST(Function, InputListedTwice) {
  int line = __LINE__ + 1;
  Expr x = scalar("x");
  EXPECT_EQ(error_text([&] {
              function({x, x}, {x * 2});
            }),
            str("error: function: an input is listed twice\n  got:      x float64[]\n", built_at(line)));
}

TEST(Function, OutputNeedsALengthThatNoInputHas) {
  Expr x = vector("x", {"n"});
  const Expr y = zeros({"m"}) + sum(x);
  int line = 0;
  const std::string text = error_text([&] { line = __LINE__, function({x}, {y}); });
  EXPECT_EQ(text,
            "error: function: an output needs the length m, which no input has\n"
            "  expected: an input with an axis of that length\n" +
                str("  node:     built at ", __FILE__, ":", line, "\n") +
                "  hint:     list one, such as matrix(\"x\", {\"n\", 784}) for n, or give a number");
}

TEST(Function, Givens) {
  Shared data(numbers({4, 2}), "data");
  Expr x = matrix("x"), start = iscalar("start"), scale = scalar("scale");
  Expr y = sum(x) * scale;
  Function f =
      function({start}, {y}, {}, {.givens = {{x, rows(data, start, 2)}, {scale, make_constant(Tensor(10.0))}}});
  EXPECT_EQ(f({Tensor(int64_t{0})})[0].text(), "100");
  EXPECT_EQ(f({Tensor(int64_t{2})})[0].text(), "260");
}

TEST(Function, GivensThatReplaceAValueTwice) {
  Expr x = scalar("x"), y = scalar("y"), z = scalar("z");
  const int line = __LINE__ + 1;
  EXPECT_EQ(error_text([&] {
              function({y, z}, {x * 2 + y + z}, {}, {.givens = {{x, y}, {x, z}}});
            }),
            str("error: givens: a value is replaced twice\n  expected: one replacement of each value\n  got:      x "
                "float64[]\n",
                built_at(line)));
}

// The lengths of the state are those of the input that goes, under a name of its own or the user's.
TEST(Function, GivensWithKnownLengthsReachTheStatesOfLoops) {
  const Expr start = make_constant(Tensor::vector({1.0, 2.0, 3.0})), steps = matrix("steps", {"t", "k"});
  auto body = [](const std::vector<Expr>& s) { return std::vector<Expr>{s[0] * 2 + 1}; };
  for (const Expr& x : {vector("x"), vector("x", {"n"})})
    for (const Mode mode : {Mode::kReference, Mode::kNative}) {
      const FunctionOptions options{.mode = mode, .givens = {{x, start}}};
      EXPECT_EQ(function({}, {repeat(3, {x}, body)[0]}, {}, options)({})[0].text(), "[15, 23, 31]");
      const Expr scanned =
          foldl([](Expr step, Expr so_far) { return so_far + step; }, {.sequences = {steps}, .outputs_info = {x}})
              .outputs;
      const Tensor rows = Tensor::matrix<double>({{1, 1, 1}, {2, 2, 2}});
      EXPECT_EQ(function({steps}, {scanned}, {}, options)({rows})[0].text(), "[4, 5, 6]");
      const Expr gradient = grad(sum(repeat(3, {x}, body)[0]), x);
      EXPECT_EQ(function({}, {gradient}, {}, options)({})[0].text(), "[8, 8, 8]");
      const Expr chosen = if_else(
          sum(x) > 5, [&] { return x * 2; }, [&] { return x + 0; });
      EXPECT_EQ(function({}, {chosen}, {}, options)({})[0].text(), "[2, 4, 6]");
    }
}

TEST(Function, GivensOfAnotherDtype) {
  Expr x = vector("x"), n = ivector("n");
  EXPECT_EQ(error_text([&] {
              function({n}, {x * 2}, {}, {.givens = {{x, n}}});
            }),
            "error: givens: a value must be replaced by one of its type\n  expected: x float64[x.0]\n  got:      n "
            "int64[n.0]");
}

TEST(Function, BatchesOfAnyLength) {
  Shared w(numbers({3, 2}), "w"), b(numbers({2}), "b");
  Expr x = matrix("x");
  Expr hidden = tanh(dot(x, w) * 0.01 + b);
  std::vector<Out> outputs{hidden, sum(hidden, 0), argmax(hidden, 1), softmax(hidden), grad(sum(hidden), w.expr())};
  Function native = function({x}, outputs), reference = function({x}, outputs, {}, {.mode = Mode::kReference});
  for (int64_t n : {5, 1, 0, 17, 0, 5}) {
    std::vector<Tensor> got = native({numbers({n, 3})}), expected = reference({numbers({n, 3})});
    // The derivative, 1 - tanh^2, has few digits left where tanh is near 1.
    for (size_t i = 0; i < got.size(); ++i)
      EXPECT_FALSE(difference(got[i], expected[i], i == 4 ? 256 : 16)) << "batch " << n << ", output " << i;
  }
  EXPECT_FALSE(native.info().from_cache && native.info().kernels == 0);
}

// More than the caches of most processors hold: stores go past them. Not a multiple of any vector.
TEST(Function, ResultsOfMillionsOfElements) {
  constexpr int64_t kSize = (int64_t{1} << 22) + 5;
  Expr a = tensor("a", {"n"}, DType::kFloat32);
  Tensor value = Tensor::empty(DType::kFloat32, {kSize});
  for (int64_t i = 0; i < kSize; ++i) value.data<float>()[i] = static_cast<float>(i % 1000) / 8;
  for (int threads : {1, 2}) {
    Function f = function({a}, {a * 2 + 1}, {}, {.threads = threads});
    const Tensor got = f({value})[0];
    int64_t wrong = 0;
    for (int64_t i = 0; i < kSize; ++i) wrong += got.data<float>()[i] != value.data<float>()[i] * 2 + 1;
    EXPECT_EQ(wrong, 0);
  }
}

TEST(Function, InputsThatAreNotRowMajor) {
  Expr x = matrix("x"), y = vector("y");
  Function f = function({x, y}, {dot(x, y), x * 2});
  Tensor base = numbers({3, 4});
  Tensor columns = base.view({4, 3}, {1, 4}, 0), backwards = numbers({3}).view({3}, {-1}, 2);
  std::vector<Tensor> got = f({columns, backwards}), expected = f({columns.copy(), backwards.copy()});
  for (size_t i = 0; i < got.size(); ++i) EXPECT_TRUE(same_bits(got[i], expected[i]));
  EXPECT_EQ(got[0].text(), "[22, 28, 34, 40]");
}

TEST(Function, CopyWithOtherVariables) {
  Shared w(numbers({2}), "w"), other(Tensor::vector({10.0, 20.0}), "other"), wide(numbers({3}), "wide"),
      alien(numbers({2}), "alien");
  Expr x = scalar("x");
  Function f = function({x}, {sum(w)}, {{w, w.expr() + x}});
  Function g = f.copy({{w, other}});
  EXPECT_EQ(g({Tensor(1.0)})[0].text(), "30");
  EXPECT_EQ(w.get_value().text(), "[1, 2]");
  EXPECT_EQ(other.get_value().text(), "[11, 21]");
  f({Tensor(5.0)});
  EXPECT_EQ(w.get_value().text(), "[6, 7]");
  EXPECT_EQ(other.get_value().text(), "[11, 21]");
  EXPECT_EQ(error_text([&] {
              f.copy({{w, wide}});
            }),
            "error: copy: wide cannot stand for w: its type differs\n  expected: float64[2]\n  got:      float64[3]");
  EXPECT_EQ(error_text([&] { f.copy({{alien, other}}); }), "error: copy: the function does not use alien");
  EXPECT_EQ(error_text([&] {
              f.copy({{w, other}, {w, alien}});
            }),
            "error: copy: two variables would stand for w\n  got:      other and alien");
}

TEST(Function, CopyOfACopyHasItsOwnVariables) {
  Shared a(Tensor(1.0), "a"), b(Tensor(2.0), "b"), c(Tensor(4.0), "c");
  Function f = function({}, {a * 10.0 + b}, {{a, a + 100.0}});
  Function g = f.copy({{a, c}}), h = g.copy({{c, a}}), swapped = f.copy({{a, b}, {b, a}});
  EXPECT_EQ(g({})[0].text(), "42");
  EXPECT_EQ(h({})[0].text(), "12");
  EXPECT_EQ(swapped({})[0].text(), str(2.0 * 10 + 101));
  EXPECT_EQ(str(a.get_value().text(), ' ', b.get_value().text(), ' ', c.get_value().text()), "101 102 104");
  EXPECT_EQ(error_text([&] { g.copy({{a, b}}); }), "error: copy: the function does not use a");
}

TEST(Function, TwoThreadsWithACopyEach) {
  Expr x = matrix("x");
  Function f = function({x}, {sum(tanh(x) * 2), dot(x, transpose(x))}, {}, {.threads = 1});
  std::vector<double> totals(3);
  auto work = [&](size_t t) {
    Function own(f);
    for (int64_t n = 1; n < 40; ++n) totals[t] += own({numbers({n, 4})})[0].as_double();
  };
  std::thread first(work, 0), second(work, 1);
  first.join();
  second.join();
  work(2);
  EXPECT_EQ(totals[0], totals[2]);
  EXPECT_EQ(totals[1], totals[2]);
}

// Threads share squares of a matrix, of which the last ones are not whole.
TEST(Function, ThreadsShareATransposedMatrix) {
  const Shape shape{605, 1203};
  Tensor value = Tensor::empty(DType::kFloat64, shape);
  for (int64_t i = 0; i < value.size(); ++i) value.data<double>()[i] = static_cast<double>(i);
  const Expr x = tensor("x", {605, 1203}, DType::kFloat64);
  for (int threads : {1, 2, 3}) {
    const Tensor out = function({x}, {transpose(x)}, {}, {.threads = threads})({value})[0];
    ASSERT_EQ(out.shape(), (Shape{1203, 605}));
    int64_t wrong = 0;
    for (int64_t row = 0; row < 1203; ++row)
      for (int64_t i = 0; i < 605; ++i)
        wrong += out.data<double>()[row * 605 + i] != static_cast<double>(i * 1203 + row);
    EXPECT_EQ(wrong, 0) << threads << " threads";
  }
}

TEST(Function, NoOutputsAndNoInputs) {
  EXPECT_TRUE(function({}, {})({}).empty());
  EXPECT_EQ(function({}, {make_constant(numbers({2}))})({})[0].text(), "[1, 2]");
}

// ---- checks inside the program -------------------------------------------------------------------------------------

class FunctionBounds : public testing::TestWithParam<Mode> {};

TEST_P(FunctionBounds, Take) {
  Expr x = vector("x"), i = ivector("i");
  int line = __LINE__ + 1;
  Function f = function({x, i}, {take(x, i)}, {}, {.mode = GetParam()});
  EXPECT_EQ(f({numbers({3}), Tensor::vector<int64_t>({0, -1})})[0].text(), "[1, 3]");
  EXPECT_EQ(error_text([&] {
              f({numbers({3}), Tensor::vector<int64_t>({0, 3})});
            }),
            str("error: take: the index 3 is outside axis 0\n  expected: -3 <= index < 3\n", built_at(line)));
  EXPECT_EQ(f({numbers({3}), Tensor::vector<int64_t>({2})})[0].text(), "[3]");
}

TEST_P(FunctionBounds, PickRowsBeforeAnythingIsWritten) {
  Shared w(numbers({2, 3}), "w");
  Expr y = ivector("y");
  int line = __LINE__ + 1;
  Expr cost = sum(pick_rows(w, y));
  Function f = function({y}, {cost}, {{w, w.expr() - grad(cost, w.expr())}}, {.mode = GetParam()});
  // The debug mode evaluates the gradient first, whose op has the same check.
  std::string text = error_text([&] { f({Tensor::vector<int64_t>({0, 3})}); });
  EXPECT_EQ(text.substr(std::min(text.find(": the"), text.size())),
            str(": the index of row 1 is 3\n  expected: -3 <= index < 3\n", built_at(line)));
  EXPECT_EQ(w.get_value().text(), "[[1, 2, 3], [4, 5, 6]]");
}

TEST_P(FunctionBounds, Rows) {
  Expr x = matrix("x", {"n", 2}), i = iscalar("i");
  int line = __LINE__ + 1;
  Function f = function({x, i}, {rows(x, i * 3, 3)}, {}, {.mode = GetParam()});
  EXPECT_EQ(f({numbers({7, 2}), Tensor(int64_t{1})})[0].text(), "[[7, 8], [9, 10], [11, 12]]");
  EXPECT_EQ(error_text([&] {
              f({numbers({7, 2}), Tensor(int64_t{2})});
            }),
            str("error: subtensor: the part 3*i:3*i + 3 is outside axis 0\n  expected: 3*i + 3 <= n\n"
                "  got:      9 and 7\n",
                built_at(line)));
}

TEST_P(FunctionBounds, Check) {
  Expr x = vector("x");
  int line = __LINE__ + 1;
  Function f = function({x}, {log(check(x, gt(x, 0), "x must be positive"))}, {}, {.mode = GetParam()});
  EXPECT_EQ(error_text([&] {
              f({Tensor::vector({1.0, -1.0})});
            }),
            str("error: check: x must be positive\n  expected: a condition that holds\n", built_at(line)));
}

INSTANTIATE_TEST_SUITE_P(Modes, FunctionBounds, testing::Values(Mode::kNative, Mode::kReference, Mode::kDebug),
                         [](const testing::TestParamInfo<Mode>& info) {
                           return info.param == Mode::kNative      ? "Native"
                                  : info.param == Mode::kReference ? "Reference"
                                                                   : "Debug";
                         });

// Steps that native code calls back for read views of any layout.
TEST(Function, CallsBackWithTransposedViews) {
  using C = std::complex<double>;
  Expr z = tensor("z", {2, 3}, DType::kComplex128);
  const Tensor value = Tensor::matrix<C>({{C(1, 1), C(2), C(0, 3)}, {C(4), C(0, -5), C(6)}});
  std::vector<Tensor> results;
  for (Mode mode : {Mode::kNative, Mode::kReference})
    results.push_back(function({z}, {dot(z, transpose(z))}, {}, {.mode = mode})({value})[0]);
  EXPECT_EQ(results[0].at<C>({0, 0}), C(-5, 2));
  EXPECT_TRUE(same_bits(results[0], results[1]));
}

}  // namespace
}  // namespace thtrain::function_test
