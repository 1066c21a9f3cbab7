// The arguments of calls on a device: copied ahead of the work, from page-locked memory, while the call before
// computes.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <vector>

#include "compiler/cuda/device_memory.h"
#include "compiler/ir/tensor.h"

namespace thtrain {

/// Of one function. There is room for two calls: the host fills what the call before the last had, and a stream of
/// copies brings it to the device. What computes takes it from there into memory whose addresses stay.
class SentArguments {
 public:
  SentArguments(const cuda::Device& device, const cuda::DeviceMemory& memory) : device_(device), memory_(memory) {}

  /// Waits for the call before the last. `is_behind`: the last one may be at work.
  void begin_call(bool is_behind);
  /// Copies of the arguments, row-major, until the call after the next one begins; those of the device's memory
  /// themselves. What is asked for from now on reads them on the device.
  std::span<const Tensor> send(std::span<const Tensor> arguments);
  /// Where the device has what lies at this address of what send() gave; 0: it is no address of that.
  cuda::DeviceAddress there(const void* address) const;
  /// Behind the work of a call that nobody waits for.
  void end_call();
  /// Nothing may be at work.
  void free();

 private:
  struct Slot {
    explicit Slot(const cuda::Device& device) : arrived(device), done(device) {}
    std::optional<cuda::PinnedBuffer> host = {};
    std::optional<cuda::DeviceBuffer> device = {};
    cuda::Event arrived, done;
    std::vector<Tensor> copies = {};
  };
  void make_room(Slot& slot, size_t bytes);

  const cuda::Device& device_;
  const cuda::DeviceMemory& memory_;
  std::array<std::optional<Slot>, 2> slots_;
  size_t current_ = 0;
  std::optional<cuda::DeviceBuffer> there_;
};

}  // namespace thtrain
