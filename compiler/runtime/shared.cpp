#include "compiler/runtime/shared.h"

#include <iterator>
#include <map>
#include <mutex>
#include <utility>

#include "compiler/base/escape.h"

namespace thtrain {
namespace {

// Which variable holds which memory: two must never hold the same, or an update of one would change the other unseen.
class BufferOwners {
 public:
  /// Until the result is gone, the memory of `value` is that of `owner`. UserError where it is another variable's.
  std::shared_ptr<void> claim(const SharedStorage& owner, const Tensor& value, const Origin& origin) {
    if (value.bytes() == 0) return nullptr;
    const char* begin = static_cast<const char*>(value.raw());
    const char* end = begin + value.bytes();
    std::lock_guard lock(mutex_);
    // Claims are apart from one another, but for those of one variable: their ends are in the order of their begins.
    for (auto at = claims_.lower_bound({end, 0}); at != claims_.begin() && std::prev(at)->second.end > begin; --at)
      if (std::prev(at)->second.owner != &owner) fail(owner, std::prev(at)->second, origin);
    const Key key{begin, ++serial_};
    claims_.emplace(key, Claim{end, &owner, owner.name});
    return std::shared_ptr<void>(nullptr, [this, key](void*) {
      std::lock_guard release(mutex_);
      claims_.erase(key);
    });
  }

 private:
  struct Claim {
    const char* end;
    const SharedStorage* owner;
    std::string name;
  };
  using Key = std::pair<const char*, uint64_t>;

  [[noreturn]] static void fail(const SharedStorage& owner, const Claim& other, const Origin& origin) {
    auto called = [](const std::string& name) {
      return name.empty() ? std::string("a shared variable") : escaped(name);
    };
    throw UserError({.what = str(called(owner.name), ": the borrowed tensor is the memory of ", called(other.name)),
                     .expected = "memory that no other shared variable holds",
                     .node = origin.text(),
                     .config = origin.config(),
                     .hint = "without borrow the variable takes a copy"});
  }

  std::mutex mutex_;
  std::map<Key, Claim> claims_;
  uint64_t serial_ = 0;
};

BufferOwners& buffer_owners() {
  static BufferOwners* owners = new BufferOwners;  // variables in static tables die late
  return *owners;
}

}  // namespace

Shared::Shared(const Tensor& value, std::string name, bool borrow, std::source_location where) {
  auto storage = std::make_shared<SharedStorage>();
  storage->name = std::move(name);
  storage->type = type_of(value);
  storage->value = borrow ? value.contiguous() : value.copy();
  storage->claim = buffer_owners().claim(*storage, storage->value, Origin::here(where));
  leaf_ = make_shared_leaf(std::move(storage), where);
}

Tensor Shared::get_value(bool borrow) const {
  return borrow ? storage().value : storage().value.copy();
}

void Shared::set_value(const Tensor& value, bool borrow) const {
  SharedStorage& s = storage();
  if (value.dtype() != s.type.dtype)
    if (std::optional<Tensor> same_numbers = value.integers_as(s.type.dtype)) return set_value(*same_numbers, borrow);
  if (!(type_of(value) == s.type))
    throw UserError({.what = str("set_value of ", s.name.empty() ? "a shared variable" : escaped(s.name),
                                 ": the value does not fit the variable's type"),
                     .expected = s.type.text(),
                     .got = value.type_text(),
                     .node = leaf_.node().origin.text()});
  if (!borrow) return s.value.assign(value);
  Tensor own = value.contiguous();
  std::shared_ptr<void> claim = buffer_owners().claim(s, own, leaf_.node().origin);
  const Tensor old = std::exchange(s.value, std::move(own));  // freed after its claim is given up
  s.claim = std::move(claim);
}

}  // namespace thtrain
