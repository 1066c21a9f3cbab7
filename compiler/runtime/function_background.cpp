// A function that another thread compiles (FunctionOptions::background), as its caller sees it.
#include <chrono>

#include "compiler/runtime/function.h"
#include "compiler/runtime/function_state.h"

namespace thtrain {

bool Function::is_compiling() const {
  const Function::State& s = *state_;
  return s.coming.valid() && s.coming.wait_for(std::chrono::seconds(0)) != std::future_status::ready;
}

void Function::wait() {
  take_coming(*state_, true);
}

}  // namespace thtrain
