#include "tests/fuzz/judged_programs.h"

#include <gtest/gtest.h>

#include "compiler/ir/defined_lengths.h"
#include "compiler/ir/op.h"
#include "compiler/ops/bounded.h"
#include "compiler/ops/evaluate.h"
#include "compiler/passes/pipeline.h"

namespace thtrain {
namespace {

Graph graph_of(const BuiltProgram& built) {
  Graph out;
  for (const In& input : built.inputs) out.inputs.push_back(input.variable);
  for (const Out& output : built.outputs) out.outputs.push_back(output.expr);
  out.updates = built.updates;
  return out;
}

}  // namespace

Function compiled(const BuiltProgram& built, Mode mode, const std::optional<kernel::Target>& target) {
  return function(built.inputs, built.outputs, built.updates,
                  {.mode = mode,
                   .threads = 1,
                   .target = target,
                   .unused_inputs = UnusedInputs::kAllowed,
                   .on_note = [](const std::string&) {}});
}

ProgramCase case_of(const BuiltProgram& built, const std::vector<Tensor>& inputs) {
  ProgramCase out{.canonical = canonical_lengths(graph_of(built)), .leaves = {}, .lengths = {}};
  for (size_t i = 0; i < inputs.size(); ++i) out.leaves.emplace_back(out.canonical.graph.inputs[i], inputs[i]);
  for (const Shared& shared : built.shared) out.leaves.emplace_back(shared.expr(), shared.get_value());
  for (const auto& [leaf, value] : out.leaves) out.lengths.bind_names(leaf, value);
  for (const Expr& definition : definitions_of(out.canonical.graph.roots())) {
    const int64_t value = evaluate({definition}, out.leaves)[0].as_int();
    for (const DefinedLength& length : definition.node().op->defines(definition.node()))
      if (length.output == definition.output()) out.lengths.set(length.name, value);
  }
  // Lengths that must be equal, and are not in this call: a mistake of the program's user.
  Lengths lengths;
  for (size_t i = 0; i < inputs.size(); ++i) lengths.bind_names(built.inputs[i].variable, inputs[i]);
  for (const LengthCheck& check : out.canonical.shape_checks)
    if (lengths.evaluate(check.left) != lengths.evaluate(check.right)) throw UserError(Message{.what = check.what});
  return out;
}

CalledProgram call(Function& f, const BuiltProgram& built, const std::vector<Tensor>& inputs) {
  CalledProgram out;
  try {
    out.values = f(inputs);
    for (const Shared& shared : built.shared) out.values.push_back(shared.get_value());
  } catch (const UserError& error) {
    out.user_error = error.what();
  }
  return out;
}

std::string apart(const BuiltProgram& built, const ProgramCase& c, const std::vector<Tensor>& reference,
                  const std::vector<Tensor>& native, const kernel::Target& target) {
  const Graph optimized = optimize(c.canonical.graph, {.target = target});
  BoundedEvaluator bounded(c.leaves, c.lengths, Infinities::kUnknown);
  for (size_t i = 0; i < built.outputs.size(); ++i) {
    const Tensor plain_error = bounded(c.canonical.graph.outputs[i]).error, error = bounded(optimized.outputs[i]).error;
    if (auto where = beyond_bounds({native[i], error}, {reference[i], plain_error}))
      return str("native code and reference mode differ in output ", i, " at ", *where);
  }
  return {};
}

std::optional<std::string> wrong_in_some_mode(const ProgramPlan& plan, bool with_native) {
  const BuiltProgram checked = build(plan), plain = build(plan), native = build(plan);
  try {
    Function debug = compiled(checked, Mode::kDebug), reference = compiled(plain, Mode::kReference);
    std::optional<Function> alone;
    if (with_native) alone = compiled(native, Mode::kNative);
    for (const std::vector<Tensor>& inputs : plan.calls) {
      for (size_t i = 0; i < checked.shared.size(); ++i) {
        plain.shared[i].set_value(checked.shared[i].get_value());
        native.shared[i].set_value(checked.shared[i].get_value());
      }
      const ProgramCase c = case_of(plain, inputs);
      const CalledProgram expected = call(reference, plain, inputs), got = call(debug, checked, inputs);
      if (expected.user_error.empty() != got.user_error.empty())
        return str("reference mode says '", expected.user_error, "', debug mode '", got.user_error, "'");
      if (!got.user_error.empty()) return std::nullopt;
      if (std::string where = apart(plain, c, expected.values, got.values); !where.empty()) return where;
      if (!with_native) continue;
      const CalledProgram bare = call(*alone, native, inputs);
      if (!bare.user_error.empty()) return str("native mode alone says '", bare.user_error, "'");
      for (size_t i = 0; i < got.values.size(); ++i)
        if (auto where = beyond_bounds(exactly(bare.values[i]), exactly(got.values[i])))
          return str("native and debug mode differ in value ", i, " at ", *where);
    }
  } catch (const UserError&) {
    return std::nullopt;
  } catch (const std::exception& error) {
    return error.what();
  }
  return "";
}

void fuzz_programs(const FuzzSettings& settings, const ProgramJudge& judge) {
  SCOPED_TRACE(settings.text());
  int64_t judged = 0;
  for (int64_t i = 0; i < settings.cases; ++i) {
    const ProgramPlan plan = random_plan(settings.seed + static_cast<uint64_t>(i));
    const bool thoroughly = i % 4 == 0;
    const std::optional<std::string> wrong = judge(plan, thoroughly);
    judged += wrong.has_value();
    if (wrong.value_or("").empty()) continue;
    const ProgramPlan small =
        shrunk(plan, [&](const ProgramPlan& p) { return !judge(p, thoroughly).value_or("").empty(); });
    ADD_FAILURE() << *judge(small, thoroughly) << "\n" << as_cpp(small) << "the whole program: " << *wrong;
  }
  EXPECT_GE(judged, settings.cases * 3 / 4) << "too many programs of which nothing can be said";
}

}  // namespace thtrain
