// Random scans compared with the same loops unrolled: values, gradients, forward mode, second derivatives, updates. The
// reference computes both; native and debug mode are compared with it for some of them, which takes longer.
// THTRAIN_FUZZ_SEED and THTRAIN_FUZZ_CASES ask for more.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/fuzz/random_scan.h"
#include "tests/support/fuzz_settings.h"

namespace thtrain {
namespace {

void expect_near(const std::vector<Tensor>& got, const std::vector<Tensor>& wanted, const std::string& what) {
  ASSERT_EQ(got.size(), wanted.size()) << what;
  for (size_t o = 0; o < got.size(); ++o) {
    ASSERT_EQ(got[o].shape(), wanted[o].shape()) << what << ", output " << o;
    for (int64_t i = 0; i < got[o].size(); ++i) {
      const double a = got[o].as_double(i), b = wanted[o].as_double(i);
      ASSERT_LE(std::abs(a - b), 1e-9 * std::max(1.0, std::abs(b)))
          << what << ", output " << o << ", element " << i << ": " << a << ", expected " << b;
    }
  }
}

std::vector<Tensor> call(const RandomScan& random, const std::vector<Expr>& outputs, Mode mode) {
  return function({random.inputs().begin(), random.inputs().end()}, {outputs.begin(), outputs.end()}, {},
                  {.mode = mode, .unused_inputs = UnusedInputs::kAllowed})(random.values());
}

int64_t steps_that_run(const RandomScan& random) {
  if (!random.has_condition()) return random.limit();
  const std::vector<Tensor> done = call(random, random.conditions(), Mode::kReference);
  for (size_t t = 0; t < done.size(); ++t)
    if (done[t].as_int() != 0) return static_cast<int64_t>(t) + 1;
  return random.limit();
}

// A cost that reads some of the values, each in its own way, as `forms` says.
Expr cost_of(const RandomScan::Result& made, int64_t steps, const std::vector<size_t>& forms) {
  Expr out = make_constant(Tensor(0.0));
  for (size_t k = 0; k < made.outputs.size(); ++k) {
    const Expr& y = made.outputs[k];
    switch (forms[k]) {
      case 0:
        break;
      case 1:
        out = out + sum(sqr(y));
        break;
      case 2:
        out = out + (steps > 0 ? sum(sin(y[-1])) : sum(y));
        break;
      case 3:
        out = out + sum(sqr(cumsum(y, 0)));
        break;
      case 4:
        out = out + sum(exp(0.5 * y[gt(y, 0.05)]));
        break;
      default:
        out = out + sum(sin(y)) + (steps > 0 ? sum(sqr(y[0])) : sum(y));
    }
  }
  for (size_t k = 0; k < made.shared.size(); ++k)
    if (forms[made.outputs.size() + k] % 2 == 1) out = out + sum(cos(made.shared[k]));
  return out;
}

struct ScanCase {
  RandomScan random;
  std::string text;
  int64_t steps;
  std::vector<size_t> forms;
  std::vector<Expr> variables;
  RandomScan::Result scan;

  explicit ScanCase(uint64_t seed)
      : random(seed),
        text(str("seed ", seed, ": ", random.text())),
        steps(steps_that_run(random)),
        variables(random.variables()),
        scan(random.as_scan()) {
    std::mt19937_64 draws(seed);
    for (size_t k = 0; k < scan.outputs.size() + scan.shared.size(); ++k) forms.push_back(draws() % 6);
  }

  // Of the scan, or of the loop unrolled: outputs, a cost, its gradients, and with `second` those of their norm.
  std::vector<Expr> gradients(const RandomScan::Result& made, bool second) const {
    std::vector<Expr> out = made.outputs;
    out.insert(out.end(), made.shared.begin(), made.shared.end());
    const GradOptions options{.disconnected = Disconnected::kZero};
    out.push_back(cost_of(made, steps, forms));
    const std::vector<Expr> first = grad(out.back(), variables, options);
    out.insert(out.end(), first.begin(), first.end());
    if (!second) return out;
    Expr norm = make_constant(Tensor(0.0));
    for (const Expr& g : first) norm = norm + sum(sqr(g));
    for (const Expr& g : grad(norm, variables, options)) out.push_back(g);
    return out;
  }
  // How the cost changes in one direction, and the gradient of that.
  std::vector<Expr> forward(const RandomScan::Result& made) const {
    std::vector<Expr> directions;
    for (const Expr& variable : variables) directions.push_back(cos(variable + 0.5));
    std::vector<Expr> out = jvp(std::vector<Expr>{cost_of(made, steps, forms)}, variables, directions,
                                {.disconnected = Disconnected::kZero});
    if (random.is_truncated()) return out;  // what is left out of the gradient is not left out of the direction
    for (const Expr& g : grad(out[0], variables, {.disconnected = Disconnected::kZero})) out.push_back(g);
    return out;
  }
};

void for_each_case(int64_t default_cases, const std::function<void(const ScanCase& c, int64_t i)>& test) {
  const FuzzSettings settings = fuzz_settings(1, default_cases);
  SCOPED_TRACE(settings.text());
  for (int64_t i = 0; i < settings.cases; ++i) {
    const uint64_t seed = settings.seed + static_cast<uint64_t>(i);
    try {
      test(ScanCase(seed), i);
    } catch (const Error& error) {
      ADD_FAILURE() << "seed " << seed << ": " << RandomScan(seed).text() << "\n" << error.what();
    }
  }
}

TEST(RandomScans, AreTheirLoopsUnrolled) {
  for_each_case(100, [](const ScanCase& c, int64_t i) {
    const std::vector<Expr> wanted = c.gradients(c.random.unrolled(c.steps, true), i % 3 == 0);
    expect_near(call(c.random, c.gradients(c.scan, i % 3 == 0), Mode::kReference),
                call(c.random, wanted, Mode::kReference), c.text);
  });
}

TEST(RandomScans, HaveTheForwardModeOfTheirLoopsUnrolled) {
  for_each_case(50, [](const ScanCase& c, int64_t) {
    expect_near(call(c.random, c.forward(c.scan), Mode::kReference),
                call(c.random, c.forward(c.random.unrolled(c.steps, false)), Mode::kReference), c.text);
  });
}

TEST(RandomScans, GiveTheSameInEveryMode) {
  for_each_case(6, [](const ScanCase& c, int64_t i) {
    std::vector<Expr> outputs = c.gradients(c.scan, i % 3 == 0);
    for (const Expr& more : c.forward(c.scan)) outputs.push_back(more);
    const std::vector<Tensor> native = call(c.random, outputs, Mode::kNative);
    expect_near(native, call(c.random, outputs, Mode::kReference), "native, " + c.text);
    expect_near(call(c.random, outputs, Mode::kDebug), native, "debug, " + c.text);
  });
}

TEST(RandomScans, UpdateTheirVariables) {
  int64_t calls = 0;
  for (uint64_t seed = 1; calls < 8; ++seed) {
    const ScanCase c(seed);
    if (c.scan.updates.empty()) continue;
    const Mode mode = calls++ % 4 == 0 ? Mode::kNative : Mode::kReference;
    const std::vector<Tensor> wanted = call(c.random, c.random.unrolled(c.steps, false).shared, Mode::kReference);
    Function f =
        function({c.random.inputs().begin(), c.random.inputs().end()}, {c.scan.outputs.begin(), c.scan.outputs.end()},
                 c.scan.updates, {.mode = mode, .unused_inputs = UnusedInputs::kAllowed});
    f(c.random.values());
    std::vector<Tensor> got;
    for (const Shared& variable : c.random.shared()) got.push_back(variable.get_value());
    expect_near(got, wanted, c.text);
  }
}

}  // namespace
}  // namespace thtrain
