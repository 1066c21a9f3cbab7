#include "compiler/tuning/refusals.h"

#include <algorithm>
#include <cstdio>
#include <mutex>
#include <set>
#include <utility>
#include <vector>

#include "compiler/base/escape.h"
#include "compiler/base/str.h"

namespace thtrain {
namespace {

// Of one candidate.
struct Collected {
  Refusal first;
  std::vector<std::string> keys = {}, without_list = {};
};

struct Refusals {
  std::mutex mutex;
  int scopes = 0;
  std::vector<Collected> collected;
  std::set<std::pair<std::string, std::string>> said;  // `what` and `identity`

  Collected& of(const Refusal& refusal) {
    for (Collected& known : collected)
      if (known.first.what == refusal.what && known.first.identity == refusal.identity) return known;
    return collected.emplace_back(Collected{refusal});
  }

  void say() {
    for (const Collected& one : std::exchange(collected, {})) {
      if (one.keys.empty() || !said.insert({one.first.what, one.first.identity}).second) continue;
      const size_t all = one.keys.size(), without_list = one.without_list.size();
      std::string text = str(one.first.what, " not taken for ");
      if (all > 1) text += str(all, " choices, of which the first is ");
      text += str(one.first.key, ": ", one.first.reason);
      if (without_list > 0) text += "; only_candidates allows no other there, and is not followed";
      if (without_list > 0 && without_list < all) text += str(" for ", without_list, " of them");
      std::fprintf(stderr, "thtrain: warning: %s\n", printable(text).c_str());
    }
  }
};

Refusals& refusals() {
  static Refusals all;
  return all;
}

void add(std::vector<std::string>& keys, const std::string& key) {
  if (std::find(keys.begin(), keys.end(), key) == keys.end()) keys.push_back(key);
}

}  // namespace

RefusalScope::RefusalScope() {
  std::lock_guard lock(refusals().mutex);
  ++refusals().scopes;
}

RefusalScope::~RefusalScope() {
  std::lock_guard lock(refusals().mutex);
  if (--refusals().scopes == 0) refusals().say();
}

void tell_refusal(const Refusal& refusal) {
  const RefusalScope alone;
  std::lock_guard lock(refusals().mutex);
  add(refusals().of(refusal).keys, refusal.key);
}

void tell_list_not_followed(const Refusal& refusal) {
  const RefusalScope alone;
  std::lock_guard lock(refusals().mutex);
  add(refusals().of(refusal).without_list, refusal.key);
}

}  // namespace thtrain
