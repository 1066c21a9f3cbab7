#include "tests/support/case_programs.h"

#include <gtest/gtest.h>

#include <set>

#include "compiler/ir/compare.h"
#include "compiler/ir/print.h"
#include "compiler/ops/evaluate.h"
#include "compiler/ops/registry.h"
#include "compiler/passes/pipeline.h"
#include "tests/support/op_case_runner.h"

namespace thtrain {
namespace {

constexpr size_t kOutputs = 120;  // of a program: compile time grows faster than the text
constexpr double kOptimizedUlps = 16;
constexpr double kHardUlps = 64;    // equal summands round alike: their errors add up
constexpr uint64_t kHardDraws = 2;  // of values that are hard on comparisons and signs

void add(CaseProgram& program, const Op& op, uint64_t seed) {
  for (const OpCase& c : op.cases()) {
    CaseInputs in = make_inputs(c, str(op.name, "_", c.name, "_"), seed++);
    for (const Expr& out : c.build(in.variables)) {
      if (out.type().kind != TypeKind::kTensor) continue;
      program.outputs.push_back(out);
      program.names.emplace_back(str(op.name, " ", c.name), c.bound);
    }
    program.variables.insert(program.variables.end(), in.variables.begin(), in.variables.end());
    program.draws.resize(1 + kHardDraws);
    for (size_t d = 0; d < program.draws.size(); ++d)
      for (const Tensor& value : d == 0 || !takes_any_values(op) ? in.values : make_hard_values(op, c.inputs, d))
        program.draws[d].push_back(value);
  }
}

}  // namespace

Function CaseProgram::compiled(const kernel::Target& target, bool optimized) const {
  std::set<std::string> without;  // without rewriting it is about the ops' own code
  for (const PipelineEntry& entry : pipeline())
    if (!optimized) without.insert(entry.pass.name);
  return function({variables.begin(), variables.end()}, {outputs.begin(), outputs.end()}, {},
                  {.target = target, .without = without, .unused_inputs = UnusedInputs::kAllowed});
}

void CaseProgram::expect_references(Function& f, bool optimized) const {
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

void for_each_case_program(const std::function<void(const CaseProgram&)>& visit) {
  CaseProgram program;
  uint64_t seed = 1;
  for (const Op* op : all_ops()) {
    if (!op->cases) continue;
    add(program, *op, seed++);
    if (program.outputs.size() < kOutputs) continue;
    visit(program);
    program = {};
  }
  visit(program);
}

}  // namespace thtrain
