// An address space that the host cannot reach by its addresses, as a device's memory.
#pragma once

#include <sys/mman.h>

#include <cstring>
#include <new>
#include <vector>

#include "compiler/ir/storage.h"

namespace thtrain {

/// Addresses lie in a range without access: who reads or writes there by itself ends the process.
class FarMemory : public AddressSpace {
 public:
  FarMemory()
      : AddressSpace("far memory"),
        range_(static_cast<char*>(mmap(nullptr, kBytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0))) {}
  ~FarMemory() override { munmap(range_, kBytes); }

  void* allocate(size_t bytes) const override {
    const size_t begin = (used_ + 63) / 64 * 64;
    if (begin + bytes > kBytes) throw std::bad_alloc();
    used_ = begin + bytes;
    ++blocks;
    return range_ + begin;
  }
  void release(void*, size_t) const override { --blocks; }
  void read(void* host, const void* from, size_t bytes) const override { std::memcpy(host, at(from), bytes); }
  void write(void* to, const void* host, size_t bytes) const override { std::memcpy(at(to), host, bytes); }
  void copy(void* to, const void* from, size_t bytes) const override { std::memcpy(at(to), at(from), bytes); }

  mutable int blocks = 0;  // allocated and not released

 private:
  static constexpr size_t kBytes = 1 << 20;
  char* at(const void* address) const { return contents_.data() + (static_cast<const char*>(address) - range_); }

  char* range_;
  mutable size_t used_ = 0;
  mutable std::vector<char> contents_ = std::vector<char>(kBytes, '\x5a');
};

}  // namespace thtrain
