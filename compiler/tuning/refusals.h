// What is said of users' candidates that are not taken: one line for each, however many computations asked for it.
#pragma once

#include <string>

namespace thtrain {

/// While one lives, refusals are collected; when the last one ends, each is said on standard error, once in a process.
/// Any thread may have one.
class RefusalScope {
 public:
  RefusalScope();
  ~RefusalScope();
  RefusalScope(const RefusalScope&) = delete;
  RefusalScope& operator=(const RefusalScope&) = delete;
};

/// `what` ("the candidate mine of /home/ann/mine.so") is not taken for a computation, by the text of its key.
struct Refusal {
  std::string what;
  std::string identity;  // with `what`: what is said once; a file that was built anew has another one
  std::string key, reason;
};
/// Said at once where no RefusalScope lives.
void tell_refusal(const Refusal& refusal);
/// Of one that was told in this scope: the list `only_candidates` allows no other for that key, and is not followed.
void tell_list_not_followed(const Refusal& refusal);

}  // namespace thtrain
