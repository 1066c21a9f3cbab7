// Every op's own cases on the target of scalar C99: many cases are one program, since starting the compiler takes
// longer than compiling a case.
#include <gtest/gtest.h>

#include "compiler/ir/compare.h"
#include "compiler/ir/print.h"
#include "compiler/ops/evaluate.h"
#include "compiler/ops/registry.h"
#include "tests/support/op_case_runner.h"

namespace thtrain::c99_cases_test {
namespace {

constexpr size_t kOutputs = 120;  // of a program: compile time grows faster than the text
constexpr double kOptimizedUlps = 16;
constexpr double kHardUlps = 64;    // equal summands round alike: their errors add up
constexpr uint64_t kHardDraws = 2;  // of values that are hard on comparisons and signs

struct Batch {
  std::vector<Expr> variables, outputs;
  std::vector<std::vector<Tensor>> draws = std::vector<std::vector<Tensor>>(1 + kHardDraws);
  std::vector<std::pair<std::string, double>> names;  // of each output: its case and bound

  void add(const Op& op, uint64_t seed) {
    for (const OpCase& c : op.cases()) {
      CaseInputs in = make_inputs(c, str(op.name, "_", c.name, "_"), seed++);
      for (const Expr& out : c.build(in.variables)) {
        if (out.type().kind != TypeKind::kTensor) continue;
        outputs.push_back(out);
        names.emplace_back(str(op.name, " ", c.name), c.bound);
      }
      variables.insert(variables.end(), in.variables.begin(), in.variables.end());
      for (size_t d = 0; d < draws.size(); ++d)
        for (const Tensor& value : d == 0 || !takes_any_values(op) ? in.values : make_hard_values(op, c.inputs, d))
          draws[d].push_back(value);
    }
  }

  void expect_equal(bool optimized) const {
    std::set<std::string> without;  // without rewriting it is about the ops' own code
    for (const PipelineEntry& entry : pipeline())
      if (!optimized) without.insert(entry.pass.name);
    Function f = function({variables.begin(), variables.end()}, {outputs.begin(), outputs.end()}, {},
                          {.target = kernel::c99_target(), .without = without, .allow_unused_inputs = true});
    ASSERT_TRUE(f.is_native());
    for (const std::vector<Tensor>& values : draws) {
      std::vector<std::pair<Expr, Tensor>> bound;
      for (size_t i = 0; i < variables.size(); ++i) bound.emplace_back(variables[i], values[i]);
      const std::vector<Tensor> expected = evaluate(outputs, bound), got = f(values);
      for (size_t i = 0; i < got.size(); ++i) {
        double ulps = optimized && names[i].second == 0 ? kOptimizedUlps : names[i].second;
        if (&values != &draws[0] && ulps > 0) ulps += kHardUlps;
        auto where = difference(got[i], expected[i], ulps);
        EXPECT_FALSE(where) << names[i].first << (optimized ? " optimized" : "")
                            << (&values == &draws[0] ? "" : " of hard values") << " at " << *where << "\n"
                            << expr_text(outputs[i]);
      }
    }
  }
};

class C99Cases : public testing::TestWithParam<bool> {};

TEST_P(C99Cases, EveryOpEqualsItsReference) {
  Batch batch;
  uint64_t seed = 1;
  for (const Op* op : all_ops()) {
    if (!op->cases) continue;
    batch.add(*op, seed++);
    if (batch.outputs.size() < kOutputs) continue;
    batch.expect_equal(GetParam());
    batch = {};
  }
  batch.expect_equal(GetParam());
}

INSTANTIATE_TEST_SUITE_P(Programs, C99Cases, testing::Bool(),
                         [](const auto& info) { return info.param ? "optimized" : "plain"; });

}  // namespace
}  // namespace thtrain::c99_cases_test
