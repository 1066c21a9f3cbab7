// The memory of an emulated device: a range of addresses without access, which the host cannot touch, and the same
// pages a second time for kernels and copies.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "compiler/cuda/functions.h"

namespace thtrain::cuda::emulated {

/// Each allocation has pages of its own, ends with the last of them (but for what alignment to 256 bytes leaves), and
/// is followed by a page that nobody has: kernels that go further are seen. New memory is full of ones, which are NaN.
class Memory {
 public:
  explicit Memory(size_t bytes);
  ~Memory();
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  size_t bytes() const { return bytes_; }
  /// 0 where there is no room.
  DeviceAddress allocate(size_t bytes);
  /// False where no allocation begins there.
  bool free(DeviceAddress address);
  /// Are these bytes within one allocation?
  bool holds(DeviceAddress address, size_t bytes) const;
  /// Where kernels and copies find an address.
  char* reached(DeviceAddress address) const { return reached_ + (address - addresses()); }
  /// The same pages once more, for a parameter of that number: its bytes are so far from those of others that a wrong
  /// index meets no other window.
  static constexpr size_t kAroundWindow = size_t{1} << 32;
  char* window(size_t number, DeviceAddress address);
  /// Is it an address of the first two? Then nobody but a kernel or the host touches it by mistake.
  bool is_near(const void* address) const;

 private:
  struct Block {
    size_t page = 0, pages = 0, bytes = 0;
  };
  DeviceAddress addresses() const { return reinterpret_cast<DeviceAddress>(reserved_); }

  size_t bytes_ = 0;
  int file_ = -1;
  char *reserved_ = nullptr, *reached_ = nullptr;
  std::vector<char*> windows_;
  std::map<DeviceAddress, Block> blocks_;
};

}  // namespace thtrain::cuda::emulated
