#include "compiler/runtime/buffer_owners.h"

#include <iterator>
#include <map>
#include <mutex>
#include <utility>

namespace thtrain {
namespace {

// Two owners must never hold the same memory, or what one of them writes would change the other unseen.
class BufferOwners {
 public:
  std::shared_ptr<void> claim(const void* owner, const std::string& called, const Tensor& value, const Origin& origin) {
    if (value.bytes() == 0) return nullptr;
    const char* begin = static_cast<const char*>(value.address());
    const char* end = begin + value.bytes();
    std::lock_guard lock(mutex_);
    // Claims are apart from one another, but for those of one owner: their ends are in the order of their begins.
    for (auto at = claims_.lower_bound({end, 0}); at != claims_.begin() && std::prev(at)->second.end > begin; --at)
      if (std::prev(at)->second.owner != owner)
        throw UserError({.what = str(called, ": the borrowed tensor is the memory of ", std::prev(at)->second.called),
                         .expected = "memory that no other shared variable holds and no function writes",
                         .node = origin.text(),
                         .config = origin.config(),
                         .hint = "without borrow the variable takes a copy"});
    const Key key{begin, ++serial_};
    claims_.emplace(key, Claim{end, owner, called});
    return std::shared_ptr<void>(nullptr, [this, key](void*) {
      std::lock_guard release(mutex_);
      claims_.erase(key);
    });
  }

 private:
  struct Claim {
    const char* end;
    const void* owner;
    std::string called;
  };
  using Key = std::pair<const char*, uint64_t>;

  std::mutex mutex_;
  std::map<Key, Claim> claims_;
  uint64_t serial_ = 0;
};

}  // namespace

std::shared_ptr<void> claim_buffer(const void* owner, const std::string& called, const Tensor& value,
                                   const Origin& origin) {
  static BufferOwners* owners = new BufferOwners;  // variables in static tables die late
  return owners->claim(owner, called, value, origin);
}

}  // namespace thtrain
