// What is known of each byte of an allocation, or of a shared array, of an emulated device: who wrote and who read it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <vector>

namespace thtrain::cuda::emulated {

/// By whom, when and where.
struct Access {
  uint32_t block = 0;
  uint32_t interval = 0;  // barriers of the block before it
  uint32_t clock = 0;     // the thread's own
  int32_t from = 0;       // where in the code, from the kernel on
  uint16_t thread = 0;
  bool is_there = false, is_atomic = false;
};

/// Of neighbouring bytes. Two accesses of which neither waits for the other are enough: who waits for both, waits for a
/// third one too, but for warps of which some lanes meet.
struct Cell {
  uint32_t generation = 0;  // of what it tells; of an older one it tells nothing
  Access writes[2], reads[2];
};

class Shadow {
 public:
  explicit Shadow(size_t bytes) : bytes_(bytes), written_(bytes, 0) {}

  size_t bytes() const { return bytes_; }
  std::vector<char>& written() { return written_; }

  /// Cells so small that each lies within the access, or outside of it.
  void fit(size_t offset, size_t bytes) {
    size_t unit = unit_ == 0 ? 16 : unit_;
    while (offset % unit != 0 || bytes % unit != 0) unit /= 2;
    if (unit == unit_) return;
    Cells finer = cells_of(unit);
    for (size_t i = 0; unit_ != 0 && i * unit < bytes_; ++i) finer.get()[i] = cells_.get()[i * unit / unit_];
    cells_ = std::move(finer);
    unit_ = unit;
  }
  size_t unit() const { return unit_; }
  Cell& at(size_t offset) { return cells_.get()[offset / unit_]; }

 private:
  struct Free {
    void operator()(Cell* cells) const { std::free(cells); }
  };
  using Cells = std::unique_ptr<Cell, Free>;
  // Pages of zeros, which the system has where somebody touches them.
  Cells cells_of(size_t unit) const {
    return Cells(static_cast<Cell*>(std::calloc((bytes_ + unit - 1) / unit, sizeof(Cell))));
  }

  size_t bytes_, unit_ = 0;
  std::vector<char> written_;
  Cells cells_;
};

}  // namespace thtrain::cuda::emulated
