// Random programs on the emulated device, which checks each load and store: typed programs are within the bounds of the
// reference's values, as those of a processor, and have the same bits in debug mode, which compares each step; bodies
// with loops and branches in each other, and scans, are near the reference's values. THTRAIN_FUZZ_SEED and
// THTRAIN_FUZZ_CASES make a longer run of it.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>

#include "compiler/api.h"
#include "compiler/host/host_compiler.h"
#include "compiler/ops/bounded.h"
#include "tests/fuzz/judged_programs.h"
#include "tests/fuzz/random_body.h"
#include "tests/fuzz/random_scan.h"
#include "tests/support/device_under_test.h"

namespace thtrain::random_device_programs_test {
namespace {

// Before the device is opened. A sanitizer has the functions that tell of accesses.
void check_accesses() {
  if (generated_flags().empty()) ::setenv("THTRAIN_EMULATED_CHECKS", "1", 1);
}

// Compares a function on the device with one that was compiled otherwise, call after call. `compare` is given the
// program's case and both values, and says what is wrong.
using Compare = std::function<std::string(const BuiltProgram& built, const ProgramCase& c,
                                          const std::vector<Tensor>& expected, const std::vector<Tensor>& got)>;
std::optional<std::string> wrong(const ProgramPlan& plan, Mode mode, const std::optional<kernel::Target>& target,
                                 const Compare& compare) {
  const BuiltProgram plain = build(plan), there = build(plan);
  try {
    Function other = compiled(plain, mode, target), device = compiled(there, Mode::kNative, device_under_test());
    for (const std::vector<Tensor>& inputs : plan.calls) {
      for (size_t i = 0; i < plain.shared.size(); ++i) plain.shared[i].set_value(there.shared[i].get_value());
      const ProgramCase c = case_of(plain, inputs);
      const CalledProgram expected = call(other, plain, inputs), got = call(device, there, inputs);
      if (expected.user_error.empty() != got.user_error.empty())
        return str("the other function says '", expected.user_error, "', the device '", got.user_error, "'");
      if (!got.user_error.empty()) return std::nullopt;
      if (std::string where = compare(plain, c, expected.values, got.values); !where.empty()) return where;
    }
  } catch (const UserError&) {
    return std::nullopt;
  } catch (const std::exception& error) {
    return error.what();
  }
  return "";
}

std::optional<std::string> far_from_reference(const ProgramPlan& plan, bool) {
  return wrong(plan, Mode::kReference, {},
               [](const BuiltProgram& built, const ProgramCase& c, const std::vector<Tensor>& expected,
                  const std::vector<Tensor>& got) { return apart(built, c, expected, got, device_under_test()); });
}

std::optional<std::string> unlike_debug_mode(const ProgramPlan& plan, bool) {
  return wrong(plan, Mode::kDebug, device_under_test(),
               [](const BuiltProgram&, const ProgramCase&, const std::vector<Tensor>& expected,
                  const std::vector<Tensor>& got) -> std::string {
                 for (size_t i = 0; i < got.size(); ++i)
                   if (auto where = beyond_bounds(exactly(got[i]), exactly(expected[i])))
                     return str("the device and its debug mode differ in value ", i, " at ", *where);
                 return "";
               });
}

// Near enough: the reference adds in another order.
std::string far(const std::vector<Tensor>& got, const std::vector<Tensor>& expected) {
  for (size_t o = 0; o < got.size(); ++o) {
    if (got[o].shape() != expected[o].shape()) return str("output ", o, " has another shape");
    for (int64_t i = 0; i < got[o].size(); ++i) {
      const double a = got[o].as_double(i), b = expected[o].as_double(i);
      if (!(std::abs(a - b) <= 1e-9 * std::max(1.0, std::abs(b))) && !(std::isnan(a) && std::isnan(b)))
        return str("output ", o, ", element ", i, ": ", a, ", expected ", b);
    }
  }
  return "";
}

void expect_near_on_device(const std::vector<Expr>& inputs, const std::vector<Expr>& outputs,
                           const std::vector<Tensor>& values, const std::string& text) {
  auto called = [&](const FunctionOptions& options) {
    FunctionOptions all = options;
    all.unused_inputs = UnusedInputs::kAllowed;
    return function({inputs.begin(), inputs.end()}, {outputs.begin(), outputs.end()}, {}, all)(values);
  };
  try {
    EXPECT_EQ(far(called({.target = device_under_test()}), called({.mode = Mode::kReference})), "") << text;
  } catch (const Error& error) {
    ADD_FAILURE() << text << "\n" << error.what();
  }
}

// One in seven again. Debug mode compares all memory before and after a step, and so reads what nobody has written.
TEST(RandomDeviceProgramsInDebugMode, HaveTheSameBits) {
  if (std::getenv("THTRAIN_EMULATED_CHECKS")) GTEST_SKIP() << "the device refuses that: a process of its own is needed";
  FuzzSettings settings = fuzz_settings(1, 100);
  settings.cases = std::max<int64_t>(1, settings.cases / 10);
  fuzz_programs(settings, unlike_debug_mode);
}

// Parts may run side by side: seven tenths of typed programs, two of bodies, one of scans.
constexpr int64_t kParts = 4;
class RandomDevicePrograms : public testing::TestWithParam<int64_t> {
 protected:
  void SetUp() override { check_accesses(); }

  // Of `tenths` of the cases: those of this part.
  static FuzzSettings part(int64_t tenths) {
    const FuzzSettings all = fuzz_settings(1, 100);
    const int64_t cases = all.cases * tenths / 10, begin = cases * GetParam() / kParts,
                  end = cases * (GetParam() + 1) / kParts;
    return {all.seed + static_cast<uint64_t>(begin), end - begin};
  }
};

TEST_P(RandomDevicePrograms, GiveTheReferencesValues) {
  const FuzzSettings settings = part(7);
  if (settings.cases > 0) fuzz_programs(settings, far_from_reference);
}

TEST_P(RandomDevicePrograms, BodiesWithLoopsAndBranches) {
  const FuzzSettings settings = part(2);
  for (int64_t i = 0; i < settings.cases; ++i) {
    const uint64_t seed = settings.seed + static_cast<uint64_t>(i);
    std::mt19937_64 random(seed);
    const auto below = [&](size_t n) { return random() % n; };
    const RandomBody body = random_body(below, 1 + seed % 4);
    const Expr s = vector("s", {5}), c = vector("c", {5});
    Expr value = body.build(s, c) + s * c;
    if (random() % 2) value = value[gt(value, 0.1)];
    const std::vector<Expr> first = grad(sum(sqr(value)), {s, c});
    std::vector<Tensor> inputs;
    for (int k = 0; k < 2; ++k) {
      Tensor x = Tensor::empty(DType::kFloat64, {5});
      for (int64_t e = 0; e < 5; ++e) x.data<double>()[e] = static_cast<double>(random() % 2001) / 1000 - 1;
      inputs.push_back(x);
    }
    expect_near_on_device({s, c}, {value, first[0], first[1]}, inputs, str("seed ", seed, ": ", body.text));
  }
}

TEST_P(RandomDevicePrograms, ScansWithTheirGradients) {
  const FuzzSettings settings = part(1);
  for (int64_t i = 0; i < settings.cases; ++i) {
    const uint64_t seed = settings.seed + static_cast<uint64_t>(i);
    const RandomScan scan(seed);
    std::vector<Expr> outputs = scan.as_scan().outputs;
    Expr cost = make_constant(Tensor(0.0));
    for (const Expr& output : outputs) cost = cost + sum(sqr(output));
    for (const Expr& gradient : grad(cost, scan.variables(), {.disconnected = Disconnected::kZero}))
      outputs.push_back(gradient);
    expect_near_on_device(scan.inputs(), outputs, scan.values(), str("seed ", seed, ": ", scan.text()));
  }
}

INSTANTIATE_TEST_SUITE_P(All, RandomDevicePrograms, testing::Range(int64_t{0}, kParts));

}  // namespace
}  // namespace thtrain::random_device_programs_test
