#include "compiler/runtime/call_scope.h"

#include "compiler/base/error.h"
#include "compiler/base/escape.h"

namespace thtrain {

static const void* mark_of_thread() {
  thread_local char mark = 0;
  return &mark;
}

[[noreturn]] static void throw_busy(const void* caller, const std::string& function) {
  const bool is_within = caller == mark_of_thread();
  throw UserError({.what = str(escaped(function), ": the function is called or copied ",
                               is_within ? "within a call of its own" : "during a call by another thread"),
                   .expected = "one call at a time: a call has the function's buffers for itself",
                   .hint = is_within ? "make a copy before the call, and let the callback call the copy"
                                     : "make a copy for each thread before the first call"});
}

CallScope::CallScope(CallMark& mark, const std::string& function) : mark_(mark) {
  const void* caller = nullptr;
  if (!mark.thread.compare_exchange_strong(caller, mark_of_thread(), std::memory_order_acquire)) [[unlikely]]
    throw_busy(caller, function);
}

void require_no_call(const CallMark& mark, const std::string& function) {
  if (const void* caller = mark.thread.load(std::memory_order_acquire)) throw_busy(caller, function);
}

}  // namespace thtrain
