// Random typed programs over the builders: leaves, statements that each make a value of values before, outputs and
// updates, and what the program is called with. A plan is built anew for each mode, printed as C++, and made smaller.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "compiler/runtime/function.h"
#include "compiler/runtime/shared.h"

namespace thtrain {

struct Statement {
  std::string text;               // C++; $0, $1, ... stand for the arguments
  std::vector<size_t> arguments;  // indices among all values: the leaves first, then the statements
  std::function<Expr(const std::vector<Expr>&)> build;
};

struct ProgramPlan {
  struct Leaf {
    Type type;
    bool is_shared;
    Tensor initial = {};  // of a shared variable
  };
  uint64_t seed = 0;
  std::vector<Leaf> leaves;
  std::vector<Statement> statements;
  std::vector<size_t> outputs;                     // indices
  std::vector<std::pair<size_t, size_t>> updates;  // a shared leaf, and the index of its next value
  std::vector<std::vector<Tensor>> calls;          // the inputs of each call
};

/// The same seed gives the same plan. Values, first and second gradients; all dtypes; lengths of 0 and 1, known and
/// named, and some that masks decide; NaN and infinities among the inputs of one plan in eight; in one of four few
/// different numbers, so that elements are equal and meet kinks.
ProgramPlan random_plan(uint64_t seed);

struct BuiltProgram {
  std::vector<In> inputs;
  std::vector<Out> outputs;
  std::vector<Update> updates;
  std::vector<Shared> shared;
  std::vector<Expr> values;  // all of them, by their indices
};
/// New leaves each time.
BuiltProgram build(const ProgramPlan& plan);
/// Values of all statements on these leaves, by their indices; empty where no output and no update needs one.
std::vector<Expr> values_on(const ProgramPlan& plan, std::vector<Expr> leaves);
/// The plan with inputs in place of shared variables, what updates were of as outputs, and one call.
ProgramPlan with_inputs_alone(ProgramPlan plan);

/// A program that can be pasted into a test.
std::string as_cpp(const ProgramPlan& plan);

/// A smaller plan that still `fails`: fewer outputs and updates, a value instead of what was made of it, fewer calls.
ProgramPlan shrunk(ProgramPlan plan, const std::function<bool(const ProgramPlan&)>& fails);

}  // namespace thtrain
