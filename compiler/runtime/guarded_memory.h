// Memory that knows whether a function wrote outside of it.
#pragma once

#include <cstddef>
#include <cstdint>

namespace thtrain {

/// So many bytes, aligned to 64, between two zones of known bytes; beyond these lie pages that nobody may touch.
class GuardedMemory {
 public:
  /// Each byte is `fill`. std::bad_alloc where there is no memory.
  GuardedMemory(size_t bytes, uint8_t fill);
  ~GuardedMemory();
  GuardedMemory(const GuardedMemory&) = delete;
  GuardedMemory& operator=(const GuardedMemory&) = delete;

  void* data() const { return data_; }
  size_t bytes() const { return bytes_; }
  /// How many bytes behind the end the last write reached; 0: none was behind it.
  size_t reached_behind() const;
  /// How many bytes before the begin the first write reached.
  size_t reached_before() const;

 private:
  unsigned char* mapped_ = nullptr;
  size_t mapped_bytes_ = 0, bytes_ = 0;
  unsigned char *data_ = nullptr, *begin_ = nullptr, *end_ = nullptr;  // of what may be touched: [begin_, end_)
};

}  // namespace thtrain
