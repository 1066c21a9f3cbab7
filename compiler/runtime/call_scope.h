// One call of a function at a time.
#pragma once

#include <atomic>
#include <string>

namespace thtrain {

/// Whose call goes on: a mark of its thread, null between calls. A copy has none.
struct CallMark {
  std::atomic<const void*> thread = nullptr;
  CallMark() = default;
  CallMark(const CallMark&) {}
};

/// A call of `function`, or what else needs its buffers, while it lives. UserError where another one goes on: in
/// another thread, or around this one.
class CallScope {
 public:
  CallScope(CallMark& mark, const std::string& function);
  ~CallScope() { mark_.thread.store(nullptr, std::memory_order_release); }
  CallScope(const CallScope&) = delete;
  CallScope& operator=(const CallScope&) = delete;

 private:
  CallMark& mark_;
};

/// UserError where a call goes on: its buffers cannot be copied.
void require_no_call(const CallMark& mark, const std::string& function);

}  // namespace thtrain
