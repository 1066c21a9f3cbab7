// Every op's own cases on a target: many cases are one program, since starting the compiler takes longer than compiling
// a case.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "compiler/runtime/function.h"

namespace thtrain {

/// The outputs of some ops' cases, and values of their inputs: those of the cases, then some that are hard on
/// comparisons and signs.
struct CaseProgram {
  std::vector<Expr> variables, outputs;
  std::vector<std::vector<Tensor>> draws;
  std::vector<std::pair<std::string, double>> names;  // of each output: its case and bound

  /// For this target, with all passes or without.
  Function compiled(const kernel::Target& target, bool optimized) const;
  /// Computes all draws and compares them with the references.
  void expect_references(Function& f, bool optimized) const;
};

/// Visits programs that hold the cases of all ops.
void for_each_case_program(const std::function<void(const CaseProgram&)>& visit);

}  // namespace thtrain
