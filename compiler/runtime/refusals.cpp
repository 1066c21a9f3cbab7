#include "compiler/runtime/refusals.h"

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
      const std::string keys = one.keys.size() == 1
                                   ? one.first.key
                                   : str(one.keys.size(), " choices, of which the first is ", one.first.key);
      const char* where = one.keys.size() == 1 ? " there" : "";
      const std::string list =
          one.without_list.empty()
              ? std::string()
              : str("; only_candidates allows no other", where, ", and is not followed",
                    one.keys.size() == 1 ? std::string() : str(" for ", one.without_list.size(), " of them"));
      std::fprintf(stderr, "thtrain: warning: %s\n",
                   printable(str(one.first.what, " not taken for ", keys, ": ", one.first.reason, list)).c_str());
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
