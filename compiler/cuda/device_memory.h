// The memory of a device as an address space, in which tensors and shared variables lie, and the order of what is done
// there.
#pragma once

#include <exception>
#include <mutex>
#include <vector>

#include "compiler/cuda/device.h"
#include "compiler/ir/storage.h"

namespace thtrain::cuda {

/// Work that was asked for, and of which nobody knows yet how it ended.
class UnreadWork {
 public:
  /// Waits for it. Throws what has failed.
  virtual void read() = 0;
  /// Has it checks?
  virtual bool may_fail() const = 0;

 protected:
  ~UnreadWork() = default;
};

/// All functions of a device share one stream, so that they, and whoever reads and writes the memory, do so in the
/// order in which they ask for it.
class DeviceMemory : public AddressSpace {
 public:
  /// The device lives as long.
  DeviceMemory(const Device& device, std::string name);

  /// UserError where the memory has run out, with the bytes that it was asked for.
  void* allocate(size_t bytes) const override;
  /// The driver waits for all work.
  void release(void* block, size_t bytes) const override;
  /// Waits, and throws what has failed of work that nobody has read.
  void read(void* host, const void* from, size_t bytes) const override;
  /// Of at most kSmall bytes nobody waits for anything.
  void write(void* to, const void* host, size_t bytes) const override;
  /// In the order of the work. Throws what has failed of work that may fail and that nobody has read.
  void copy(void* to, const void* from, size_t bytes) const override;
  static constexpr size_t kSmall = 1024;

  /// Functions take turns: who holds it asks for work.
  std::recursive_mutex& turn() const { return turn_; }
  Stream& stream() const { return stream_; }
  /// Of copies that come from the host while `stream()` computes.
  Stream& arrivals() const { return arrivals_; }
  /// It is read before anybody reads what it has computed, and before others work here if it may fail.
  void leave(UnreadWork& work) const;
  bool has_left(const UnreadWork& work) const;
  void settle() const;
  /// Only where work that may fail, but for this, is unread: what others ask for is then to have no effect.
  void settle_checks(const UnreadWork* but = nullptr) const;
  /// Whose work it is ends: what has failed of it comes from the next settle().
  void settle_later(UnreadWork& work) const;

 private:
  const Device& device_;
  mutable std::recursive_mutex turn_;
  mutable Stream stream_, arrivals_;
  mutable std::vector<UnreadWork*> unread_;
  mutable std::exception_ptr failed_;
  const PinnedBuffer small_;  // small values until they have arrived
  mutable size_t small_used_ = 0;
};

}  // namespace thtrain::cuda
