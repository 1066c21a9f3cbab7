// Page-locked memory of the host, of an emulated device's context.
#pragma once

#include <cstddef>
#include <map>
#include <memory>

namespace thtrain::cuda::emulated {

/// Its bytes are what the host last wrote there when a copy comes to them, which may be late: as on a device.
class PinnedBlocks {
 public:
  /// Full of ones; null where there is no memory.
  void* allocate(size_t bytes);
  /// False where no block begins there. The host cannot touch it afterwards.
  bool free(const void* block);
  /// Is some of these bytes in a block, and some not in it?
  bool is_partly_outside(const void* address, size_t bytes) const;

 private:
  struct Unmap {
    size_t bytes;
    void operator()(char* block) const;
  };
  std::map<const char*, std::unique_ptr<char, Unmap>> blocks_;
};

}  // namespace thtrain::cuda::emulated
