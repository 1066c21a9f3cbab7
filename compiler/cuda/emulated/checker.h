// The checks of an emulated device: what the threads of a launch read and write, told by the hooks of
// device_text/emulated_checks.h, and what nobody has written.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "compiler/codegen/device_text/module_abi.h"
#include "compiler/cuda/emulated/driver.h"
#include "compiler/cuda/emulated/shadow.h"
#include "compiler/cuda/functions.h"

namespace thtrain::cuda::emulated {

/// A pointer that a launch is given: each has addresses of its own (Memory::window), so that an access tells of which
/// parameter it is.
struct PointerParameter {
  int number = 0;
  DeviceAddress address = 0;
  const char* reached = nullptr;  // where the kernel finds it
};

/// Of one device. A kernel is wrong where
///   - a thread touches what is outside of the allocation that the parameter points into, outside of an array of
///     the block's or its own, or of no parameter at all; or a location that is no multiple of the size;
///   - it reads what nobody has written: no copy, fill or kernel, or of a shared array no thread of the block;
///   - two threads touch the same bytes, one of them writes, not both atomically, and neither waits for the other: by a
///     barrier of the block or the warp. Shuffles order nothing, and blocks have no order.
///   - its shared arrays are larger than a block may have.
class Checker {
 public:
  explicit Checker(std::function<void(const Touch&)> on_touch = {}) : on_touch_(std::move(on_touch)) {}
  void allocated(DeviceAddress address, size_t bytes);
  void freed(DeviceAddress address) { shadows_.erase(address); }
  void written(DeviceAddress address, size_t bytes);
  void copied(DeviceAddress to, DeviceAddress from, size_t bytes);
  /// Has somebody written each of them?
  bool is_written(DeviceAddress address, size_t bytes) const;

  /// The launch that runs from here on.
  void begin(const std::vector<PointerParameter>& parameters, int threads, const void* kernel);
  ThChecks hooks();
  /// What is wrong, or empty. `line_of` says where code is.
  std::string complaint(const std::function<std::string(const void*)>& line_of) const;

 private:
  /// Where an access may lie: an allocation as a parameter reaches it, or a shared array.
  struct Region {
    const char* begin = nullptr;
    size_t bytes = 0;
    size_t before = 0, behind = 0;  // bytes around it that are nobody else's
    Shadow* shadow = nullptr;
    std::string name = {};
    bool is_shared = false;
  };
  enum class Fault : uint8_t { kNone, kUnknown, kBounds, kAlignment, kUnwritten, kRace, kIndex, kShared };
  struct Wrong {
    Fault fault = Fault::kNone;
    ThAccess kind = TH_READ;
    Access now = {}, other = {};
    bool other_writes = false;
    size_t offset = 0, bytes = 0;
    Region region = {};
  };

  bool access(ThAccess kind, const char* at, size_t bytes, size_t alignment, const Access& now);
  bool shared(const char* name, const char* at, size_t bytes, size_t behind);
  Access now(int thread, const void* from, bool is_atomic = false) const;
  void meeting(int first, unsigned mask);
  bool is_ordered(const Access& before, const Access& now) const;
  void keep(Access (&kept)[2], const Access& now) const;
  const Access* conflict(const Cell& cell, ThAccess kind, const Access& now) const;
  bool stop(Fault fault, ThAccess kind, const Access& now, size_t offset, size_t bytes, const Region* region);
  std::string told(const Access& access, const std::function<std::string(const void*)>& line_of) const;

  const std::function<void(const Touch&)> on_touch_;
  std::map<DeviceAddress, std::unique_ptr<Shadow>> shadows_;  // of the allocations
  uint32_t generation_ = 0;                                   // of launches and of blocks
  // Of the launch.
  std::vector<Region> regions_;
  std::vector<std::unique_ptr<Shadow>> shared_shadows_;
  size_t shared_bytes_ = 0;
  const char* kernel_ = nullptr;
  int threads_ = 0;
  uint32_t launch_ = 0, block_generation_ = 0;
  long block_ = 0;
  uint32_t interval_ = 0;
  std::vector<uint32_t> clocks_;  // [thread][lane]: of another lane of its warp, as far as it has waited for it
  Wrong wrong_;
};

}  // namespace thtrain::cuda::emulated
