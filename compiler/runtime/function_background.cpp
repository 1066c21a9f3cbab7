// A function that another thread compiles (FunctionOptions::background), as its caller sees it.
#include <chrono>

#include "compiler/runtime/function.h"
#include "compiler/runtime/function_state.h"

namespace thtrain {

bool Function::is_compiling() const {
  const Function::State& s = state_behind(state_);
  return s.pending.valid() && s.pending.wait_for(std::chrono::seconds(0)) != std::future_status::ready;
}

void Function::wait() {
  Function::State& s = state_behind(state_);
  const CallScope scope(*s.mark, name());
  take_pending(s, true);
}

}  // namespace thtrain
