// Programs whose kernels run in the memory of a device: variables that stay there, failures, what the host sees.
#include "compiler/cuda/device_program.h"

#include <gtest/gtest.h>

#include <thread>

#include "compiler/api.h"
#include "tests/support/device_under_test.h"
#include "tests/support/error_text.h"
#include "tests/support/host_sort.h"
#include "tests/support/target_calls.h"

namespace thtrain::device_program_test {
namespace {

FunctionOptions device(Mode mode = Mode::kNative) {
  return {.mode = mode, .target = device_under_test()};
}

Shared three(const std::string& name) {
  return Shared(Tensor::vector({1.0, 2.0, 3.0}), name);
}

// ---- variables

TEST(DeviceProgram, AVariableStaysOnTheDeviceUntilTheHostNeedsIt) {
  const Shared w = three("w");
  Function twice = function({}, {sum(w)}, {{w, w * 2.0}}, device()), plus = function({}, {sum(w)}, {{w, w + 1.0}});
  EXPECT_EQ(twice({})[0].text(), "6");
  EXPECT_FALSE(w.storage().value.is_on_host());
  const void* const address = w.storage().value.address();
  EXPECT_EQ(twice({})[0].text(), "12");
  EXPECT_EQ(w.storage().value.address(), address);
  EXPECT_EQ(w.get_value().text(), "[4, 8, 12]");
  EXPECT_EQ(w.get_value(/*borrow=*/true).text(), "[4, 8, 12]") << "a copy";
  EXPECT_EQ(plus({})[0].text(), "24");
  EXPECT_TRUE(w.storage().value.is_on_host());
  EXPECT_EQ(twice({})[0].text(), "27");
  w.set_value(Tensor::vector({5.0, 0.0, 0.0}));
  EXPECT_FALSE(w.storage().value.is_on_host());
  EXPECT_EQ(twice({})[0].text(), "5");
  w.set_zero();
  EXPECT_EQ(twice({})[0].text(), "0");
}

TEST(DeviceProgram, AValueIsHandedOutWhereItLies) {
  const Shared w = three("w"), v = three("v"), t = three("t");
  Function twice = function({}, {}, {{w, w * 2.0}}, device()), add = function({}, {}, {{v, v + w}}, device());
  EXPECT_TRUE(w.get_internal_value().is_on_host()) << "no program for a device has computed with it";
  twice({});
  const Tensor copy = w.get_internal_value(), lent = w.get_internal_value(/*borrow=*/true);
  EXPECT_EQ(copy.space(), w.storage().value.space());
  EXPECT_FALSE(copy.is_on_host());
  EXPECT_NE(copy.address(), w.storage().value.address());
  EXPECT_EQ(lent.address(), w.storage().value.address());
  twice({});
  EXPECT_EQ(copy.on_host().text(), "[2, 4, 6]");
  EXPECT_EQ(lent.on_host().text(), "[4, 8, 12]") << "the variable's own buffer";
  // Back into a variable: into its buffer, or as its buffer.
  add({});
  const void* const before = v.storage().value.address();
  v.set_value(copy);
  EXPECT_EQ(v.storage().value.address(), before);
  v.set_value(w.get_internal_value(), /*borrow=*/true);
  EXPECT_NE(v.storage().value.address(), before);
  EXPECT_FALSE(v.storage().value.is_on_host());
  add({});
  EXPECT_EQ(v.get_value().text(), "[8, 16, 24]");
  EXPECT_EQ(w.get_value().text(), "[4, 8, 12]");
  EXPECT_NE(text_without_node([&] { t.set_value(lent, true); }).find("t: the borrowed tensor is the memory of w"),
            std::string::npos);
  // A variable of the host takes it too; one that is moved leaves a borrowed buffer as it was.
  t.set_value(copy);
  EXPECT_TRUE(t.storage().value.is_on_host());
  EXPECT_EQ(t.get_value().text(), "[2, 4, 6]");
  function({}, {}, {{w, w + 1.0}})({});
  EXPECT_EQ(lent.on_host().text(), "[4, 8, 12]");
  EXPECT_EQ(w.get_internal_value(true).text(), "[5, 9, 13]");
}

TEST(DeviceProgram, ABorrowedValueOfADeviceIsAnArgumentAndAFirstValue) {
  const Shared w = three("w");
  function({}, {}, {{w, w * 2.0}}, device())({});
  const Shared first(w.get_internal_value(), "first", /*borrow=*/true);
  EXPECT_FALSE(first.storage().value.is_on_host());
  const Expr x = f64("x", {3});
  EXPECT_EQ(function({x}, {x + first}, {}, device())({w.get_internal_value(true)})[0].text(), "[4, 8, 12]");
}

TEST(DeviceProgram, TheReferenceAndOtherVariablesTakeItsValue) {
  const Shared w = three("w"), v = three("v");
  function({}, {}, {{w, w + 1.0}}, device())({});
  EXPECT_EQ(function({}, {w * 2.0}, {}, {.mode = Mode::kReference})({})[0].text(), "[4, 6, 8]");
  w.swap_value(v);
  EXPECT_EQ(w.get_value().text(), "[1, 2, 3]");
  EXPECT_EQ(v.get_value().text(), "[2, 3, 4]");
}

TEST(DeviceProgram, AVariableThatIsALengthMayLieThere) {
  const Shared n(Tensor(int64_t{3}), "n");
  Function f = function({}, {arange(n) * n}, {{n, n + 1}}, device());
  EXPECT_EQ(f({})[0].text(), "[0, 3, 6]");
  EXPECT_EQ(f({})[0].text(), "[0, 4, 8, 12]");
}

// A length that the data decides is 0 in the first call, and in an iteration.
TEST(DeviceProgram, ThereMayBeNothingOfALengthThatTheDataDecides) {
  const Expr x = f64("x", {"n"});
  const Expr sums = map([](const Expr& i) { return sum(sqr(cast(arange(i), DType::kFloat64))); },
                        {.sequences = {arange(length(x, 0))}})
                        .outputs;
  Function f = function({x}, {sum(sort(x[x > 0.0])), sums}, {}, device());
  std::vector<Tensor> out = f({Tensor::vector({-1.0, -2.0, -3.0, -4.0})});
  EXPECT_EQ(out[0].text() + out[1].text(), "0[0, 0, 1, 5]");
  out = f({Tensor::vector({2.0, 0.5})});
  EXPECT_EQ(out[0].text() + out[1].text(), "2.5[0, 0]");
  out = f({Tensor::zeros(DType::kFloat64, {0})});
  EXPECT_EQ(out[0].text() + out[1].text(), "0[]");
}

// The first call needs no memory for the values inside; kernels get addresses all the same.
TEST(DeviceProgram, NothingMayBeGivenFirst) {
  const Expr x = tensor("x", {"n", 3}, DType::kBool);
  Function f = function({x}, {cummin(x, 0)}, {}, device());
  for (const int64_t n : {0, 2, 0}) EXPECT_EQ(f({Tensor::zeros(DType::kBool, {n, 3})})[0].shape(), (Shape{n, 3}));
}

TEST(DeviceProgram, CopiesOfAFunctionRunInThreads) {
  const Expr x = f64("x", {"n", 40});
  const Function f = function({x}, {softmax(x), sum(host_sort(x) * 2.0)}, {}, device());
  const Tensor value = numbers({50, 40});
  const std::vector<Tensor> expected = Function(f)({value});
  std::vector<std::thread> threads;
  std::vector<std::vector<Tensor>> got(3);
  for (auto& out : got)
    threads.emplace_back([&out, &value, own = std::make_shared<Function>(f)] {
      for (int i = 0; i < 5; ++i) out = (*own)({value});
    });
  for (std::thread& thread : threads) thread.join();
  for (const auto& out : got)
    for (size_t k = 0; k < out.size(); ++k) EXPECT_TRUE(same_bits(out[k], expected[k]));
}

// ---- failures

// The same message as on the processor, before a variable has changed; the next call is as if there had been none.
TEST(DeviceProgram, AFailedCheckIsReadBeforeAVariableChanges) {
  for (const bool on_device : {false, true}) {
    const Shared w = three("w");
    const Expr at = tensor("at", {2}, DType::kInt64);
    Function f = function({at}, {take(w, at)}, {{w, w * 2.0}}, on_device ? device() : FunctionOptions{});
    EXPECT_EQ(without_call(text_without_node([&] {
                f({Tensor::vector({int64_t{0}, int64_t{7}})});
              })),
              "error: take: the index 7 is outside axis 0\n  expected: -3 <= index < 3")
        << on_device;
    EXPECT_EQ(w.get_value().text(), "[1, 2, 3]");
    EXPECT_EQ(f({Tensor::vector({int64_t{0}, int64_t{2}})})[0].text(), "[1, 3]");
    EXPECT_EQ(w.get_value().text(), "[2, 4, 6]");
  }
}

// The kernel that checks the indices fails; the one behind it would add far outside of the device's memory.
TEST(DeviceProgram, KernelsBehindAFailedCheckDoNothing) {
  const Expr x = f64("x", {3}), y = f64("y", {2}), at = tensor("at", {2}, DType::kInt64);
  std::string texts[2];
  for (const bool on_device : {false, true}) {
    Function f = function({x, at, y}, {scatter_add(x, at, y)}, {}, on_device ? device() : FunctionOptions{});
    const Tensor three = Tensor::vector({1.0, 2.0, 3.0}), two = Tensor::vector({0.5, 0.25});
    texts[on_device] = without_call(text_without_node([&] {
      f({three, Tensor::vector({int64_t{0}, int64_t{1} << 40}), two});
    }));
    EXPECT_EQ(f({three, Tensor::vector({int64_t{0}, int64_t{2}}), two})[0].text(), "[1.5, 2, 3.25]");
    if (on_device) {
      EXPECT_NE(f.explain().device.find("volatile long*)failure != 0) return;"), std::string::npos);
    }
  }
  EXPECT_EQ(texts[1], texts[0]);
  EXPECT_NE(texts[0].find("1099511627776"), std::string::npos) << texts[0];
}

// Functions of the host among kernels, in loops and branches: each sees the values of its iteration.
TEST(DeviceProgram, FunctionsOfTheHostSeeTheValuesOfTheirStep) {
  static const OpFromFunction sum_of_two(
      {.name = "test.sum_of_two", .version = "1", .compute = [](const std::vector<Tensor>& in) {
         Tensor out = in[0].copy();
         for (int64_t i = 0; i < out.size(); ++i) out.data<double>()[i] += in[1].data<double>()[i];
         return std::vector<Tensor>{out};
       }});
  const auto plus = [](const Expr& a, const Expr& b) { return sum_of_two({a, b})[0]; };
  const Expr x = f64("x", {6}), w = f64("w", {6}), m = f64("m", {4, 6});
  const Expr fixed = tanh(w);
  const std::vector<Expr> looped = repeat(3, {x, w}, [&](const std::vector<Expr>& s) {
    const Expr next = exp(plus(s[0], fixed) * -1.0);
    const std::vector<Expr> inner = repeat(
        2, {next}, [&](const std::vector<Expr>& t) { return std::vector<Expr>{tanh(plus(t[0], plus(fixed, s[1])))}; });
    return std::vector<Expr>{plus(inner[0], next), plus(s[1], inner[0]) * 0.5};
  });
  const Expr taken = if_else(
      gt(sum(plus(fixed, x)), 0.0), [&] { return plus(fixed, x) * 2.0; }, [&] { return plus(x, fixed) * 3.0; });
  const Expr rows = scan([&](const Expr& row) { return plus(row, fixed); }, {.sequences = {m}}).outputs;
  const Expr straight = plus(fixed, x);
  expect_equal({x, w, m}, {looped[0], looped[1], taken, straight, tanh(straight), plus(straight, fixed), rows},
               {numbers({6}), numbers({6}), numbers({4, 6})}, device());
}

TEST(DeviceProgram, AVariableThatIsKeptOnTheHostIsCopiedByEachCall) {
  const Shared w = three("w"), v = three("v");
  w.keep_on_host();
  Function f = function({}, {sum(w * v)}, {{w, w + v}}, device());
  EXPECT_EQ(f({})[0].text(), "14");
  EXPECT_TRUE(w.storage().value.is_on_host());
  EXPECT_FALSE(v.storage().value.is_on_host());
  EXPECT_EQ(w.get_value(/*borrow=*/true).text(), "[2, 4, 6]");
  EXPECT_EQ(f({})[0].text(), "28");
  w.set_value(Tensor::vector({0.0, 0.0, 1.0}));
  EXPECT_EQ(f({})[0].text(), "3");
}

TEST(DeviceProgram, MemoryThatRunsOutIsToldWithItsBytes) {
  const Expr n = tensor("n", {}, DType::kInt64);
  Function f = function({n}, {sum(cumsum(cumsum(cast(arange(n), DType::kFloat64))))}, {}, device());
  const std::string text = text_without_node([&] { f({Tensor(int64_t{1} << 31)}); });
  EXPECT_NE(text.find("the memory for the values inside is not there\n  expected: 34368127040 bytes more\n"
                      "  got:      a device with 4294967296 bytes\n  hint:     smaller minibatches need less"),
            std::string::npos)
      << text;
  EXPECT_EQ(f({Tensor(int64_t{4})})[0].text(), "15");
}

// In a process of its own, whose device is small: 4 MB, then 6.4 MB, of 8 MB. The first call is for what stays behind.
TEST(DeviceProgramDeathTest, MemoryThatGrowsIsGivenBackFirst) {
  const auto grow = [] {
    ::setenv("THTRAIN_EMULATED_BYTES", "8000000", 1);
    const Expr n = tensor("n", {}, DType::kInt64);
    Function f = function({n}, {sum(cumsum(cumsum(cast(arange(n), DType::kFloat64))))}, {}, device());
    for (const int64_t length : {10, 250'000, 400'000}) f({Tensor(length)});
    std::exit(f.info().arena_bytes == -1 ? 0 : 1);
  };
  EXPECT_EXIT(grow(), testing::ExitedWithCode(0), "");
}

// In a process of its own: the device is of no use afterwards.
TEST(DeviceProgramDeathTest, AKernelThatSpoilsTheDeviceIsNamed) {
  SourceText source{.language = kernel::Language::kCuda, .comment = {}, .helpers = {}, .kernels = {}, .entry = {}};
  source.kernels.push_back({.name = "k0_wrong",
                            .label = "wrong",
                            .comment = {},
                            .code = "(long* out0) {\n  out0[1 << 20] = 1;\n}\n",
                            .helpers = {}});
  auto spoil = [&] {
    const ProgramDevice& on = device_of(device_under_test());
    const DeviceProgram program(on, source, {});
    DeviceCalls calls(on);
    ThContext context{};
    context.device = &calls;
    context.fail = [](ThContext* failed, int, long, long) { failed->failure.word = 1; };
    calls.begin(program, 0);
    long* out = calls.failure;
    void* arguments[] = {&out, nullptr};
    const long range[1][2] = {{0, 1}};
    const int use = ~0;
    const unsigned size = sizeof out;
    calls.buffers(&context, range, 1);
    calls.launch(&context, 0, 0, &use, 1, 1, 1, arguments, &size, 1);
    calls.wait(&context, 0);
    try {
      calls.end_early();
    } catch (const InternalError& error) {
      std::fputs(error.what(), stderr);
      std::exit(context.failure.word == 1 ? 0 : 1);
    }
    std::exit(2);
  };
  EXPECT_EXIT(spoil(), testing::ExitedWithCode(0), "CUDA_ERROR_ILLEGAL_ADDRESS .*\n.*after k0_wrong");
}

// ---- what the host sees

TEST(DeviceProgram, WhoWatchesSeesCopies) {
  const Expr x = f64("x", {3});
  Function f = function({x}, {tanh(host_sort(x * 2.0))}, {}, device());
  std::vector<std::string> seen;
  const Tensor value = Tensor::vector({0.0, -1.0, 0.5});
  f.watch(std::vector{value}, [&](const StepEvent& event) {
    if (event.after && event.node == nullptr) seen.push_back(event.operands[1].text());
  });
  ASSERT_EQ(seen.size(), 4U);
  EXPECT_EQ(seen[0], "[0, -1, 0.5]") << "the input, on the device";
  EXPECT_EQ(seen[1], "[0, -2, 1]") << "on the host, for the reference";
  EXPECT_EQ(seen[2], "[-2, 0, 1]") << "what that computed, on the device";
}

TEST(DeviceProgram, DebugModeComparesKernelsReferencesAndTransfers) {
  const Shared w = three("w");
  const Expr x = f64("x", {3}), m = f64("m", {4, 3});
  Function f =
      function({x, m}, {softmax(m), sum(host_sort(w * x)), flatnonzero(x)}, {{w, w + x}}, device(Mode::kDebug));
  for (int call = 0; call < 2; ++call) f({Tensor::vector({0.0, -1.0, 0.5}), numbers({4, 3})});
  EXPECT_EQ(w.get_value().text(), "[1, 0, 4]");
}

TEST(DeviceProgram, TheGuardFindsTheFirstBadValue) {
  const Expr x = f64("x", {3});
  std::string texts[2];
  for (const bool on_device : {false, true}) {
    FunctionOptions options = on_device ? device(Mode::kNanGuard) : FunctionOptions{.mode = Mode::kNanGuard};
    options.without = {"merge"};
    Function f = function({x}, {sum(host_sort(log(x)))}, {}, options);
    texts[on_device] = text_without_node([&] { f({Tensor::vector({1.0, -1.0, 0.5})}); });
  }
  for (std::string& text : texts) text = text.substr(text.find("\n"));  // the number of the step differs
  EXPECT_EQ(texts[1], texts[0]);
  EXPECT_NE(texts[0].find("log"), std::string::npos) << texts[0];
}

}  // namespace
}  // namespace thtrain::device_program_test
