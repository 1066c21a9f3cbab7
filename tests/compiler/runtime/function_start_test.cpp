// Starting: what comes from the cache, and what runs where there is no compiler.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <map>
#include <thread>

#include "compiler/api.h"
#include "compiler/base/file.h"
#include "compiler/base/run_program.h"
#include "compiler/host/cache.h"
#include "compiler/ops/control/repeat.h"
#include "compiler/ops/effect/effect.h"
#include "tests/support/datasets_support.h"
#include "tests/support/error_text.h"

namespace thtrain {
namespace {

/// A training step whose text is one of a kind: `tag` is a length.
Function make_step(int64_t tag, double rate) {
  Shared w(Tensor::zeros(DType::kFloat64, {tag, 3}), "w"), lr(rate, "lr");
  Expr x = matrix("x"), y = ivector("y");
  Expr cost = -mean(pick_rows(log(softmax(dot(x, w))), y));
  return function({x, y}, {cost}, {{w, w.expr() - lr * grad(cost, w.expr())}});
}

// A program whose powers of integers and printing run through the references, in a loop and with native code.
Function make_called_back(bool other_label) {
  Expr x = make_input({.dtype = DType::kComplex128, .dims = {Dim("n")}}, "net/x");
  Expr shown = print(real(x * x), other_label ? "other" : "square");
  const std::vector<Expr> states{cast(real(x), DType::kInt64), cast(neq(x, 0), DType::kInt64) + 1};
  Expr last = repeat(3, states, [](const std::vector<Expr>& s) { return std::vector<Expr>{pow(s[0], s[1]), s[1]}; })[0];
  return function({x}, {shown + 1, last, tanh(shown)});
}

// exp(x), and x is added to the variable.
std::pair<Function, Shared> make_in_background() {
  Shared w(Tensor::zeros(DType::kFloat64, {2}), "w");
  Expr x = vector("x", {2});
  return {function({x}, {exp(x)}, {{w, w.expr() + x}}, {.background = true}), w};
}

OpFromFunction scaled_op(const std::string& version, double factor) {
  return OpFromFunction({.name = "my.scaled", .version = version, .compute = [factor](const auto& in) {
                           return std::vector<Tensor>{Tensor(factor * in[0].as_double())};
                         }});
}

// A step of everything that a file keeps: a variable, an op of the user's, a loop, a constant, a draw.
Function make_saved() {
  const Shared w(Tensor::vector({0.5, 0.5}), "w");
  const Expr x = vector("x", {"n"}), rate = scalar("rate");
  const RandomStreams rng(7);
  const Expr last = repeat(3, {x}, [](const std::vector<Expr>& s) { return std::vector<Expr>{tanh(s[0]) * 1.5}; })[0];
  const Expr y = last + scaled_op("1", 2)({rate})[0] + rng.normal({2});
  return function({x, rate}, {y}, {{w, w + rate * x}}, {.name = "step"});
}

// The sum of exp(x) and of what the user's function gives, called back in a loop too.
Function make_of_users_op(const std::string& version, double factor) {
  const OpFromFunction scaled = scaled_op(version, factor);
  const Expr x = scalar("x");
  const Expr last = repeat(2, {x}, [&](const std::vector<Expr>& s) { return scaled({s[0]}); })[0];
  return function({x}, {exp(x) + scaled({x})[0], last});
}

/// Does the process's first program come from the compiler, each of its kernels once?
bool is_compiled_now(const Function& f) {
  const ProgramInfo& info = f.info();
  return !info.from_cache && info.kernels > 0 && compile_stats().kernels_compiled == static_cast<int64_t>(info.kernels);
}

/// A training step of dense layers; its kernels are made for their widths.
Function make_network(const std::vector<int64_t>& widths, Mode mode = Mode::kNative) {
  Expr h = tensor("x", {8, widths[0]}, DType::kFloat64);
  const Expr x = h;
  std::vector<Expr> weights;
  for (size_t i = 1; i < widths.size(); ++i) {
    Tensor first = Tensor::empty(DType::kFloat64, {widths[i - 1], widths[i]});
    for (int64_t k = 0; k < first.size(); ++k) first.data<double>()[k] = 0.01 * static_cast<double>(k % 17 - 8);
    weights.push_back(Shared(first, str("W", i)));
    h = tanh(dot(h, weights.back()));
  }
  const Expr cost = mean(sqr(h));
  const std::vector<Expr> gradients = grad(cost, weights);
  std::vector<Update> updates;
  for (size_t i = 0; i < weights.size(); ++i) updates.push_back({weights[i], weights[i] - 0.1 * gradients[i]});
  return function({x}, {cost}, updates, {.mode = mode});
}

/// Does it compute what its reference computes, and were so many of its kernels compiled by this process?
template <class Count>
bool network_is_right(const std::vector<int64_t>& widths, Count compiled) {
  Function f = make_network(widths), reference = make_network(widths, Mode::kReference);
  const Tensor x = Tensor::of(std::vector<double>(static_cast<size_t>(8 * widths[0]), 0.5), {8, widths[0]});
  bool right = true;
  for (int i = 0; i < 2; ++i)
    right = right && std::fabs(f({x})[0].as_double() / reference({x})[0].as_double() - 1) < 1e-9;
  const auto kernels = static_cast<int64_t>(f.info().kernels);
  const CompileStats stats = compile_stats();
  return right && kernels > 10 && stats.kernels_compiled + stats.kernel_hits == kernels &&
         compiled(stats.kernels_compiled, kernels);
}

using Job = bool (*)();
const std::map<std::string, Job>& jobs() {
  static const std::map<std::string, Job> table{
      {"first", [] { return is_compiled_now(make_step(4, 0.1)); }},
      {"second",
       [] {
         for (int i = 0; i < 9; ++i) vector("x");  // other serial numbers
         Function f = make_step(4, 0.25);          // another learning rate
         Tensor x = Tensor::of(std::vector<double>(8, 1.0), {2, 4});
         double cost = f({x, Tensor::vector<int64_t>({0, 2})})[0].as_double();
         return f.info().from_cache && f.info().kernels > 0 && compile_stats().kernels_compiled == 0 &&
                std::fabs(cost - std::log(3.0)) < 1e-12;
       }},
      {"another", [] { return !make_step(5, 0.1).info().from_cache; }},
      {"reference",
       [] {
         Expr x = vector("x");
         Function f = function({x}, {x * 2}), g = function({x}, {x * 3}, {}, {.mode = Mode::kDebug});
         return f({Tensor::vector({1.0, 2.0})})[0].text() == "[2, 4]" && g({Tensor::vector({1.0})})[0].text() == "[3]";
       }},
      {"guarded",
       [] {
         Expr x = vector("x");
         return text_without_node([&] { function({x}, {x * 2}, {}, {.mode = Mode::kNanGuard, .name = "f"}); }) ==
                "error: f: there is no native code to guard: THTRAIN_CXX is empty";
       }},
      {"called_back",
       [] {
         Function f = make_called_back(false);
         return !f.info().from_cache && !f.info().reference_steps.empty();
       }},
      {"called_back_again",
       [] {
         for (int i = 0; i < 5; ++i) vector("x");
         Function f = make_called_back(false);
         using Complex = std::complex<double>;
         testing::internal::CaptureStderr();
         std::vector<Tensor> out = f({Tensor::vector<Complex>({{1, 1}, {2, 0}})});
         std::string shown = testing::internal::GetCapturedStderr();
         return f.info().from_cache && compile_stats().kernels_compiled == 0 && !f.info().reference_steps.empty() &&
                out[0].text() == "[1, 5]" && out[1].text() == "[1, 256]" && shown == "square: float64[2] [0, 4]\n";
       }},
      {"called_back_otherwise", [] { return !make_called_back(true).info().from_cache; }},
      {"users_op",
       [] {
         Function f = make_of_users_op("1", 2);
         return is_compiled_now(f) && f.info().reference_steps == std::vector<std::string>{"my.scaled", "my.scaled"};
       }},
      {"users_op_again",
       [] {
         for (int i = 0; i < 5; ++i) vector("x");
         Function f = make_of_users_op("1", 2);
         const std::vector<Tensor> out = f({0.0}), next = f({3.0});
         return f.info().from_cache && f.info().seconds_passes == 0 && compile_stats().program_hits == 1 &&
                compile_stats().kernels_compiled == 0 && out[0].text() == "1" && next[1].text() == "12";
       }},
      {"users_op_of_another_version",
       [] {
         Function f = make_of_users_op("2", 5);
         return !f.info().from_cache && f({1.0})[1].text() == "25";
       }},
      {"saves",
       [] {
         Function f = make_saved();
         const std::string file = std::getenv("THTRAIN_TEST_FILE");
         f.save(file);
         std::ofstream(file + ".result") << f({Tensor::vector({1.0, -2.0}), 3.0})[0].text();
         return is_compiled_now(f);
       }},
      {"loads",
       [] {
         for (int i = 0; i < 5; ++i) vector("x");
         const std::string file = std::getenv("THTRAIN_TEST_FILE");
         Function f = load_function(file, {.ops = {scaled_op("1", 2)}});
         const ProgramInfo& info = f.info();
         const bool is_found = info.from_cache && info.seconds_passes == 0 && compile_stats().program_hits == 1 &&
                               compile_stats().kernels_compiled == 0;
         const std::string result = f({Tensor::vector({1.0, -2.0}), 3.0})[0].text();
         const std::vector<Shared> variables = f.shared_variables();
         const auto w = std::ranges::find(variables, "w", &Shared::name);
         return is_found && result == read_file(file + ".result") && w->get_value().text() == "[3.5, -5.5]";
       }},
      {"background",
       [] {
         auto [f, w] = make_in_background();
         bool good = !f.is_native() && f.info().kernels > 0;
         int calls = 0;
         auto call = [&, &f = f] {
           Tensor out = f({Tensor::vector({0.0, 1.0})})[0];
           ++calls;
           good = good && std::fabs(out.as_double(1) - std::exp(1.0)) < 1e-14;
         };
         call();
         good = good && !f.is_native() && compile_stats().kernels_compiled == 0;
         close(open(std::getenv("THTRAIN_TEST_GO"), O_CREAT | O_WRONLY, 0600));
         while (!f.is_native()) call();  // the test ends it where this never comes true
         call();
         return good && is_compiled_now(f) && w.get_value().as_double(1) == calls;
       }},
      {"background_interrupted",
       [] {
         auto [f, w] = make_in_background();
         std::atomic<int> flag = SIGINT;
         set_interrupt_flag(&flag);
         bool good = true;
         for (int i = 0; i < 60; ++i) {
           good = good && std::fabs(f({Tensor::vector({0.0, 1.0})})[0].as_double(1) - std::exp(1.0)) < 1e-14;
           std::this_thread::sleep_for(std::chrono::milliseconds(10));
         }
         good = good && !f.is_native() && compile_stats().kernels_compiled == 0;
         set_interrupt_flag(nullptr);
         return good;
       }},
      {"background_again",
       [] {
         Function f = make_in_background().first;
         return f.is_native() && f.info().from_cache;
       }},
      {"network",
       [] {
         return network_is_right({24, 40, 56, 72, 88, 104, 120},
                                 [](int64_t compiled, int64_t all) { return compiled == all; });
       }},
      {"network_of_another_width",
       [] {
         return network_is_right({24, 40, 56, 72, 88, 107, 120},
                                 [](int64_t compiled, int64_t all) { return compiled > 0 && 2 * compiled < all; });
       }},
      {"constants",
       [] {
         auto scaled = [](double factor) {
           Expr x = vector("x");
           return function({x}, {x * factor});
         };
         Function first = scaled(2), again = scaled(2), other = scaled(3);
         return !first.info().from_cache && again.info().from_cache && !other.info().from_cache &&
                other({Tensor::vector({1.0})})[0].text() == "[3]";
       }},
  };
  return table;
}

// A process of its own for a job, with this environment: what it wrote to stderr, and how it ended.
std::string in_child(const std::string& job, const std::vector<std::pair<std::string, std::string>>& environment) {
  int ends[2];
  if (pipe(ends) != 0) return "no pipe";
  pid_t child = fork();
  if (child == 0) {
    dup2(ends[1], 2);
    dup2(open("/dev/null", O_WRONLY), 1);
    close(ends[0]);
    for (const auto& [name, value] : environment) setenv(name.c_str(), value.c_str(), 1);
    setenv("THTRAIN_TEST_JOB", job.c_str(), 1);
    execl("/proc/self/exe", "test", "--gtest_also_run_disabled_tests", "--gtest_filter=FunctionStart.DISABLED_Job",
          nullptr);
    _exit(9);
  }
  close(ends[1]);
  std::string out;
  char buffer[512];
  for (ssize_t n; (n = read(ends[0], buffer, sizeof buffer)) > 0;) out.append(buffer, static_cast<size_t>(n));
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  return out + str("exit ", WIFEXITED(status) ? WEXITSTATUS(status) : -1);
}

TEST(FunctionStart, DISABLED_Job) {
  const char* job = std::getenv("THTRAIN_TEST_JOB");
  ASSERT_TRUE(job) << "runs in a child only";
  EXPECT_TRUE(jobs().at(job)());
}

TEST(FunctionStart, SecondStartCompilesNothing) {
  TemporaryFolder folder;
  std::vector<std::pair<std::string, std::string>> environment{{"THTRAIN_CACHE_DIR", folder.path("cache")}};
  EXPECT_EQ(in_child("first", environment), "exit 0");
  EXPECT_EQ(in_child("second", environment), "exit 0");
  EXPECT_EQ(in_child("another", environment), "exit 0");
  environment.emplace_back("THTRAIN_CXX", "");
  EXPECT_EQ(in_child("second", environment), "exit 0");  // no compiler is needed
}

TEST(FunctionStart, ReferenceStepsAreStoredToo) {
  TemporaryFolder folder;
  std::vector<std::pair<std::string, std::string>> environment{{"THTRAIN_CACHE_DIR", folder.path("cache")}};
  EXPECT_EQ(in_child("called_back", environment), "exit 0");
  EXPECT_EQ(in_child("called_back_again", environment), "exit 0");
  EXPECT_EQ(in_child("called_back_otherwise", environment), "exit 0");
}

TEST(FunctionStart, ProgramsWithOpsOfUsersAreStoredToo) {
  TemporaryFolder folder;
  std::vector<std::pair<std::string, std::string>> environment{{"THTRAIN_CACHE_DIR", folder.path("cache")}};
  EXPECT_EQ(in_child("users_op", environment), "exit 0");
  EXPECT_EQ(in_child("users_op_again", environment), "exit 0");
  EXPECT_EQ(in_child("users_op_of_another_version", environment), "exit 0");
}

// The second process has no compiler, and runs no pass.
TEST(FunctionStart, SavedFunctionsAreLoadedByAnotherProcessWithoutPlanning) {
  TemporaryFolder folder;
  std::vector<std::pair<std::string, std::string>> environment{{"THTRAIN_CACHE_DIR", folder.path("cache")},
                                                               {"THTRAIN_TEST_FILE", folder.path("step.function")}};
  EXPECT_EQ(in_child("saves", environment), "exit 0");
  environment.emplace_back("THTRAIN_CXX", "");
  EXPECT_EQ(in_child("loads", environment), "exit 0");
}

TEST(FunctionStart, WithoutACompilerTheReferenceRuns) {
  TemporaryFolder folder;
  std::string text = in_child("reference", {{"THTRAIN_CACHE_DIR", folder.path("cache")}, {"THTRAIN_CXX", ""}});
  EXPECT_TRUE(text.starts_with("warning: no native code: ")) << text;
  EXPECT_TRUE(text.ends_with("; running the reference implementation, which is slow\nexit 0")) << text;
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1) << text;  // said once
}

TEST(FunctionStart, WithoutACompilerNothingIsGuarded) {
  TemporaryFolder folder;
  EXPECT_EQ(in_child("guarded", {{"THTRAIN_CACHE_DIR", folder.path("cache")}, {"THTRAIN_CXX", ""}}), "exit 0");
}

TEST(FunctionStart, TheReferenceRunsUntilTheBackgroundIsDone) {
  TemporaryFolder folder;
  std::string compiler = folder.path("slow-g++");
  std::ofstream(compiler) << "#!/bin/sh\n[ \"$1\" = --version ] && exec g++ --version\n"
                             "while [ ! -e \"$THTRAIN_TEST_GO\" ]; do sleep 0.01; done\nexec g++ \"$@\"\n";
  ASSERT_EQ(chmod(compiler.c_str(), 0755), 0);
  std::vector<std::pair<std::string, std::string>> environment{
      {"THTRAIN_CACHE_DIR", folder.path("cache")}, {"THTRAIN_CXX", compiler}, {"THTRAIN_TEST_GO", folder.path("go")}};
  EXPECT_EQ(in_child("background", environment), "exit 0");
  EXPECT_EQ(in_child("background_again", environment), "exit 0");
}

TEST(FunctionStart, TheReferenceGoesOnWhereTheUserEndsTheBackground) {
  TemporaryFolder folder;
  std::string compiler = folder.path("endless-g++");
  std::ofstream(compiler) << "#!/bin/sh\n[ \"$1\" = --version ] && exec g++ --version\nsleep 1000\n";
  ASSERT_EQ(chmod(compiler.c_str(), 0755), 0);
  EXPECT_EQ(
      in_child("background_interrupted", {{"THTRAIN_CACHE_DIR", folder.path("cache")}, {"THTRAIN_CXX", compiler}}),
      "exit 0");
}

// The products of the layer and of the next, and what is between them.
TEST(FunctionStart, AChangedWidthCompilesOnlyWhatChanged) {
  TemporaryFolder folder;
  std::vector<std::pair<std::string, std::string>> environment{{"THTRAIN_CACHE_DIR", folder.path("cache")}};
  EXPECT_TRUE(in_child("network", environment).ends_with("exit 0"));  // a busy machine is told that it takes long
  EXPECT_TRUE(in_child("network_of_another_width", environment).ends_with("exit 0"));
}

TEST(FunctionStart, ConstantsArePartOfTheKey) {
  TemporaryFolder folder;
  EXPECT_EQ(in_child("constants", {{"THTRAIN_CACHE_DIR", folder.path("cache")}}), "exit 0");
}

}  // namespace
}  // namespace thtrain
