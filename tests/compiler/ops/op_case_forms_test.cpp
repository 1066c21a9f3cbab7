// Every op's cases in other clothes: inputs that are views without order, and lengths that only a call tells.
#include <gtest/gtest.h>

#include <map>

#include "compiler/ir/compare.h"
#include "compiler/ir/op.h"
#include "compiler/ir/print.h"
#include "compiler/ops/evaluate.h"
#include "compiler/ops/index/index.h"
#include "compiler/ops/registry.h"
#include "compiler/ops/shape/shape.h"
#include "compiler/passes/rename_lengths.h"
#include "tests/support/native_program.h"
#include "tests/support/op_case_runner.h"

namespace thtrain::op_case_forms_test {
namespace {

constexpr size_t kOutputs = 150;  // of one program: compile time grows faster than the text

bool is_elementwise(const Op& op) {
  return op.scalar != nullptr;
}

// An elementwise op has a case for each dtype, and one loop for all of them: a few will do here.
std::vector<OpCase> cases_of(const Op& op) {
  std::vector<OpCase> out;
  std::map<std::string, size_t> met;
  for (OpCase& c : op.cases())
    if (!is_elementwise(op) || met[c.name.substr(0, c.name.find('_'))]++ < 2) out.push_back(std::move(c));
  return out;
}

struct Batch {
  std::vector<Expr> variables, outputs;
  std::vector<std::pair<std::string, double>> names;  // of each output: its case and bound
  std::map<int64_t, std::vector<Tensor>> values;      // of the variables, for each value of the named lengths
  size_t cases = 0;

  // Not where there is something that native code cannot do.
  void add(const std::string& name, double bound, const std::vector<Expr>& inputs, const std::vector<Expr>& results,
           const std::map<int64_t, std::vector<Tensor>>& its_values) {
    if (!is_all_native({inputs, results, {}})) return;
    for (const Expr& out : results) {
      if (out.type().kind != TypeKind::kTensor) continue;
      outputs.push_back(out);
      names.emplace_back(name, bound);
    }
    variables.insert(variables.end(), inputs.begin(), inputs.end());
    for (const auto& [length, tensors] : its_values)
      values[length].insert(values[length].end(), tensors.begin(), tensors.end());
    ++cases;
  }

  void run() {
    if (outputs.empty()) return;
    NativeProgram program({variables, outputs, {}}, usual_width("g++"), false);
    for (const auto& [length, tensors] : values) {
      std::vector<std::pair<Expr, Tensor>> bound;
      for (size_t i = 0; i < variables.size(); ++i) bound.emplace_back(variables[i], tensors[i]);
      std::vector<Tensor> expected = evaluate(outputs, bound), got = program(tensors);
      for (size_t i = 0; i < got.size(); ++i) {
        auto where = difference(got[i], expected[i], names[i].second);
        EXPECT_FALSE(where) << names[i].first << " with lengths of " << length << " at " << *where << "\n"
                            << expr_text(outputs[i]);
      }
    }
    size_t done = cases;
    *this = {};
    cases = done;
  }
};

// Elementwise ops, or the others.
class OpCaseForms : public testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(All, OpCaseForms, testing::Bool(), [](const testing::TestParamInfo<bool>& info) {
  return info.param ? "elementwise" : "structural";
});

// ---- views ---------------------------------------------------------------------------------------------------------

// A variable, and an expression of type `type` that is a view of it with its axes in reverse, every second element,
// backwards along the last axis; `value` lies in it.
struct Strided {
  Expr variable, view;
  Tensor value;
};

Strided strided(const Type& type, const Tensor& value, const std::string& name) {
  Shape shape = value.shape();
  Dims dims;
  std::vector<Index> picks;
  for (size_t axis = type.rank(); axis-- > 0;) {
    dims.push_back(2 * shape[axis]);
    if (axis + 1 == type.rank())
      picks.emplace_back(Slice{.step = -2});
    else
      picks.emplace_back(Slice{.start = 1, .step = 2});
  }
  Expr variable = make_input({.dtype = type.dtype, .dims = dims}, name);
  Expr view = transpose(subtensor(variable, picks));
  Shape whole = variable.type().known_shape();
  Tensor storage = Tensor::zeros(type.dtype, whole);
  Shape strides, all = storage.strides();
  for (size_t axis = 0; axis < type.rank(); ++axis) {
    int64_t stride = all[type.rank() - 1 - axis];
    strides.push_back(axis + 1 == type.rank() ? -2 * stride : 2 * stride);
  }
  // Both ways begin with element 1 of the first two, or of the last two, along an axis.
  int64_t first = 0;
  for (size_t axis = 0; axis < type.rank(); ++axis)
    first += all[type.rank() - 1 - axis] * (axis + 1 == type.rank() ? 2 * shape[axis] - 1 : 1);
  if (value.size() > 0) storage.view(shape, strides, first).assign(value);
  return {variable, view, storage};
}

TEST_P(OpCaseForms, InputsThatAreStridedViews) {
  Batch batch;
  uint64_t seed = 1;
  for (const Op* op : all_ops()) {
    if (!op->cases || is_elementwise(*op) != GetParam()) continue;
    for (const OpCase& c : cases_of(*op)) {
      CaseInputs plain = make_inputs(c, "x", seed++);
      std::vector<Expr> variables, views;
      std::vector<Tensor> values;
      std::vector<std::pair<Expr, Tensor>> bound;
      for (size_t i = 0; i < c.inputs.size(); ++i) {
        // A scalar has no strides, and its value may be a length.
        Strided made = c.inputs[i].rank() == 0 ? Strided{plain.variables[i], plain.variables[i], plain.values[i]}
                                               : strided(c.inputs[i], plain.values[i], str(op->name, c.name, i));
        ASSERT_TRUE(made.view.type() == type_of(plain.values[i])) << made.view.type().text();
        ASSERT_TRUE(same_bits(evaluate({made.view}, {{made.variable, made.value}})[0], plain.values[i]));
        variables.push_back(made.variable);
        views.push_back(made.view);
        values.push_back(made.value);
      }
      batch.add(str(op->name, " ", c.name), c.bound, variables, c.build(views), {{0, values}});
      if (batch.outputs.size() > kOutputs) batch.run();
    }
  }
  batch.run();
  EXPECT_GT(batch.cases, GetParam() ? 400u : 150u);  // not skipped
}

// ---- lengths -------------------------------------------------------------------------------------------------------

// Do the lengths that the ops need equal come out equal?
bool lengths_hold(const Graph& graph, int64_t length) {
  auto value = [&](const Dim& dim) { return dim.evaluate([&](const std::string&) { return length; }); };
  std::vector<LengthCheck> checks = collect_checks(graph);
  return std::all_of(checks.begin(), checks.end(),
                     [&](const LengthCheck& check) { return value(check.left) == value(check.right); });
}

// Equal lengths get one name; a length of 1 stays, as it says what is broadcast.
std::vector<Type> with_names(const std::vector<Type>& types, const std::string& prefix) {
  std::vector<Type> out = types;
  for (Type& type : out)
    for (Dim& dim : type.dims)
      if (dim.is_known() && !dim.is(1)) dim = Dim::named(str(prefix, dim.value()));
  return out;
}

TEST_P(OpCaseForms, LengthsThatACallTells) {
  Batch batch;
  uint64_t seed = 1;
  size_t number = 0;
  for (const Op* op : all_ops()) {
    if (!op->cases || is_elementwise(*op) != GetParam()) continue;
    for (const OpCase& c : cases_of(*op)) {
      std::string text = str(op->name, " ", c.name);
      std::vector<Type> types = with_names(c.inputs, str("n", number, "_"));
      std::vector<Expr> variables, results;
      for (const Type& type : types) variables.push_back(make_input(type, str("x", number, "_", variables.size())));
      ++number;
      std::map<int64_t, std::vector<Tensor>> values;
      bool holds = true;
      try {
        results = c.build(variables);
        Graph graph{variables, results, {}};
        if (!is_all_native(graph)) continue;
        for (int64_t length : {0, 1, 5}) {
          holds = holds && lengths_hold(graph, length);
          if (!holds) break;
          values[length] = make_values(c, types, length, seed++);
          std::vector<std::pair<Expr, Tensor>> bound;
          for (size_t i = 0; i < variables.size(); ++i) bound.emplace_back(variables[i], values[length][i]);
          evaluate(results, bound);
        }
      } catch (const UserError&) {  // a case that holds for its own lengths only
        continue;
      }
      if (holds) batch.add(text, c.bound, variables, results, values);
      if (batch.outputs.size() > kOutputs) batch.run();
    }
  }
  batch.run();
  EXPECT_GT(batch.cases, GetParam() ? 400u : 150u);  // not skipped
}

}  // namespace
}  // namespace thtrain::op_case_forms_test
