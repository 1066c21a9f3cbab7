// The mode that stops at the first value that is NaN, infinite or too large: Mode::kNanGuard.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "compiler/plan/program.h"
#include "compiler/runtime/function_state.h"

namespace thtrain {

/// Looks at what each step of a program with probes has written, floats and complex numbers, and at nothing before it:
/// a call costs one more reading of each result, and a copy of each argument that a step writes over.
class NanGuard {
 public:
  explicit NanGuard(const Function::State& state);

  /// ThContext::probe of a guarded program. Where a result is bad the call ends with a BadValueError that names the
  /// function, the step, the iterations of the loops around it, the expression, where it was built, its first bad
  /// element, and which of the step's arguments were bad.
  static void probe(ThContext* context, int step, int after, void* const* buffers, const long* iterations);

 private:
  void before(Function::State& state, size_t number, void* const* buffers);
  void after(Function::State& state, size_t number, void* const* buffers, const long* iterations);
  [[noreturn]] void fail(const Function::State& state, size_t number, size_t output, const Tensor& value,
                         int64_t position, const long* iterations) const;
  std::string arguments_text(const Node& node, const BadValues& bad) const;

  std::vector<StepInLoops> steps_;
  std::vector<Tensor> arguments_;  // of the last node, as they were: copies of what its first step may write over
};

}  // namespace thtrain
