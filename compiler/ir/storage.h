// Memory of values: the address space that it lies in, and who keeps it. Tensors and shared variables lie in it.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <utility>

namespace thtrain {

// ---- for other parts of the compiler -------------------------------------------------------------------------------

/// Memory that the host does not read and write by itself, such as a device's. No address is of two spaces, the host's
/// memory among them. It lives until the process ends.
class AddressSpace {
 public:
  explicit AddressSpace(std::string name) : name_(std::move(name)) {}
  AddressSpace(const AddressSpace&) = delete;
  AddressSpace& operator=(const AddressSpace&) = delete;
  virtual ~AddressSpace() = default;
  const std::string& name() const { return name_; }

  /// At least `bytes` bytes, aligned to 64, of any content. std::bad_alloc where there are none. Thread-safe.
  virtual void* allocate(size_t bytes) const = 0;
  virtual void release(void* block, size_t bytes) const = 0;
  /// Copies to the host, and from there. When it returns the host's bytes are there, or may change.
  virtual void read(void* host, const void* from, size_t bytes) const = 0;
  virtual void write(void* to, const void* host, size_t bytes) const = 0;
  /// Copies within it, of what does not overlap.
  virtual void copy(void* to, const void* from, size_t bytes) const = 0;

 private:
  std::string name_;
};

/// A handle of memory: copies are the same memory, which is released with the last of them.
class Storage {
 public:
  Storage() = default;
  /// Memory of the host that `owner` keeps.
  explicit Storage(std::shared_ptr<void> owner) : owner_(std::move(owner)) {}
  /// Memory of a space that somebody else keeps.
  explicit Storage(const AddressSpace* space) : space_(space) {}
  /// At least `bytes` bytes of a space, aligned to 64, of any content; null: of the host. std::bad_alloc where there
  /// are none.
  static Storage allocate(size_t bytes, const AddressSpace* space = nullptr);

  /// Null: the memory is the host's.
  const AddressSpace* space() const { return space_; }
  /// Of what was allocated, the first byte.
  void* begin() const { return owner_.get(); }
  bool is_same(const Storage& other) const { return owner_ == other.owner_ && owner_ != nullptr; }

 private:
  std::shared_ptr<void> owner_;
  const AddressSpace* space_ = nullptr;
};

}  // namespace thtrain
