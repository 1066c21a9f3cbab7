// Random programs whose results are compared with the references, within bounds that follow from magnitudes.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "compiler/ir/lengths.h"
#include "compiler/kernel/target.h"
#include "compiler/passes/rename_lengths.h"
#include "tests/fuzz/random_program.h"
#include "tests/support/fuzz_settings.h"

namespace thtrain {

/// The program's graph and its leaves' values in one call.
struct ProgramCase {
  CanonicalGraph canonical;
  std::vector<std::pair<Expr, Tensor>> leaves;
  Lengths lengths;
};
/// UserError where lengths that must be equal are not: a mistake of the program's user.
ProgramCase case_of(const BuiltProgram& built, const std::vector<Tensor>& inputs);

/// With one thread and no notes.
Function compiled(const BuiltProgram& built, Mode mode, const std::optional<kernel::Target>& target = {});

/// One call: results, then the shared variables; or what the caller did wrong.
struct CalledProgram {
  std::vector<Tensor> values;
  std::string user_error;
};
CalledProgram call(Function& f, const BuiltProgram& built, const std::vector<Tensor>& inputs);

/// Where the reference's results and those of native code for the target are farther apart than the bounds of both
/// graphs allow; "" where they are not.
std::string apart(const BuiltProgram& built, const ProgramCase& c, const std::vector<Tensor>& reference,
                  const std::vector<Tensor>& native, const kernel::Target& target = {});

/// What is wrong with a program (empty: nothing), unless its user made a mistake: an extremum of nothing, an index
/// outside. `thoroughly`: one in four.
using ProgramJudge = std::function<std::optional<std::string>(const ProgramPlan& plan, bool thoroughly)>;

/// Whether it gives the same in reference mode, in debug mode and, `with_native`, in native code.
std::optional<std::string> wrong_in_some_mode(const ProgramPlan& plan, bool with_native);

/// Runs the cases; prints what failed, made smaller, as C++.
void fuzz_programs(const FuzzSettings& settings, const ProgramJudge& judge);

}  // namespace thtrain
