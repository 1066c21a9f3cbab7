// Every op's own cases: type rule, reference and native code agree, and derivatives are those of finite differences.
#include <gtest/gtest.h>

#include <cmath>

#include "compiler/autodiff/verify_grad.h"
#include "compiler/ir/compare.h"
#include "compiler/ir/print.h"
#include "compiler/ops/evaluate.h"
#include "compiler/ops/registry.h"
#include "tests/support/op_case_runner.h"

namespace thtrain {
namespace {

std::vector<const Op*> ops_with_cases() {
  std::vector<const Op*> out;
  for (const Op* op : all_ops())
    if (op->cases) out.push_back(op);
  return out;
}

constexpr uint64_t kHardDraws = 3;
constexpr double kHardUlps = 64;  // equal summands round alike: their errors add up

class OpCases : public testing::TestWithParam<const Op*> {};

// One function for each op: the outputs of all its cases.
TEST_P(OpCases, NativeEqualsReference) {
  std::vector<Expr> variables, outputs;
  std::vector<std::vector<Tensor>> draws(takes_any_values(*GetParam()) ? 1 + kHardDraws : 1);
  std::vector<std::pair<std::string, double>> names;  // of each output: its case and bound
  uint64_t seed = 1;
  for (const OpCase& c : GetParam()->cases()) {
    CaseInputs in = make_inputs(c, c.name + "_", seed++);
    for (const Expr& out : c.build(in.variables)) {
      if (out.type().kind != TypeKind::kTensor) continue;
      outputs.push_back(out);
      names.emplace_back(c.name, c.bound);
    }
    variables.insert(variables.end(), in.variables.begin(), in.variables.end());
    for (size_t d = 0; d < draws.size(); ++d)
      for (const Tensor& value : d == 0 ? in.values : make_hard_values(*GetParam(), c.inputs, d))
        draws[d].push_back(value);
  }

  std::vector<In> ins(variables.begin(), variables.end());
  std::vector<Out> outs(outputs.begin(), outputs.end());
  // No rewriting: this is about the op's own code.
  std::set<std::string> without;
  for (const PipelineEntry& entry : pipeline()) without.insert(entry.pass.name);
  for (bool optimized : {false, true}) {
    FunctionOptions options{.without = optimized ? std::set<std::string>{} : without,
                            .unused_inputs = UnusedInputs::kAllowed};
    Function f = function(ins, outs, {}, options);
    for (const std::vector<Tensor>& values : draws) {
      std::vector<std::pair<Expr, Tensor>> bound;
      for (size_t i = 0; i < variables.size(); ++i) bound.emplace_back(variables[i], values[i]);
      const std::vector<Tensor> expected = evaluate(outputs, bound), got = f(values);
      ASSERT_EQ(got.size(), expected.size());
      for (size_t i = 0; i < got.size(); ++i) {
        double bound_ulps = optimized && names[i].second == 0 ? 16 : names[i].second;
        if (&values != &draws[0] && bound_ulps > 0) bound_ulps += kHardUlps;
        auto where = difference(got[i], expected[i], bound_ulps);
        EXPECT_FALSE(where) << GetParam()->name << " " << names[i].first << (optimized ? " optimized" : "")
                            << (&values == &draws[0] ? "" : " of hard values") << " at " << *where << "\n"
                            << expr_text(outputs[i]);
      }
    }
  }
}

TEST_P(OpCases, GradientIsThatOfDifferences) {
  uint64_t seed = 100;
  for (const OpCase& c : GetParam()->cases()) {
    ++seed;
    if (!c.smooth) continue;
    bool in_double = true;
    for (const Type& type : c.inputs)
      in_double = in_double && type.is_known() && (type.dtype == DType::kFloat64 || !is_float(type.dtype)) &&
                  !is_complex(type.dtype);
    if (!in_double) continue;
    CaseInputs in = make_inputs(c, "x", seed);
    const std::vector<Expr> outputs = c.build(in.variables);
    std::vector<Expr> wrt;
    std::vector<std::pair<Expr, Tensor>> values;
    for (size_t i = 0; i < in.variables.size(); ++i) {
      values.emplace_back(in.variables[i], in.values[i]);
      if (in.variables[i].dtype() == DType::kFloat64 && in.values[i].size() > 0) wrt.push_back(in.variables[i]);
    }
    const GradReport report = verify_grad(outputs, wrt, values, {.seed = seed});
    EXPECT_TRUE(report.is_right) << GetParam()->name << " " << c.name << ": " << report.text;
  }
}

INSTANTIATE_TEST_SUITE_P(All, OpCases, testing::ValuesIn(ops_with_cases()),
                         [](const testing::TestParamInfo<const Op*>& info) { return info.param->name; });

}  // namespace
}  // namespace thtrain
