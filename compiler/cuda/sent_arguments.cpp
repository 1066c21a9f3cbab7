#include "compiler/cuda/sent_arguments.h"

namespace thtrain {

void SentArguments::begin_call(bool is_behind) {
  if (is_behind) current_ = 1 - current_;
  std::optional<Slot>& slot = slots_[current_];
  if (slot)
    slot->done.wait();
  else
    slot.emplace(device_);
}

// Where it grows, work of before may still read the old memory: the driver waits as it frees that.
void SentArguments::make_room(Slot& slot, size_t bytes) {
  if (!there_ || there_->bytes() < bytes) there_.emplace(device_, bytes);
  // Where there was no memory for one of them, both are made again.
  if (slot.host && slot.device && slot.device->bytes() >= bytes) return;
  slot.host.emplace(device_, bytes);
  slot.device.emplace(device_, bytes);
}

std::span<const Tensor> SentArguments::send(std::span<const Tensor> arguments) {
  constexpr size_t kAlignment = 64;
  Slot& slot = *slots_[current_];
  std::vector<size_t> offsets;
  size_t bytes = 0;
  for (const Tensor& given : arguments) {
    offsets.push_back(bytes);
    if (!given.is_on_host()) continue;
    bytes += (given.bytes() + kAlignment - 1) / kAlignment * kAlignment;
  }
  make_room(slot, bytes);
  slot.copies.clear();
  for (size_t i = 0; i < arguments.size(); ++i) {
    const Tensor& given = arguments[i];
    if (!given.is_on_host()) {  // the caller keeps it
      slot.copies.push_back(Tensor::wrap(given.dtype(), given.shape(), given.strides(),
                                         const_cast<void*>(given.address()), *given.space()));
      continue;
    }
    slot.copies.push_back(Tensor::wrap(given.dtype(), given.shape(), row_major_strides(given.shape()),
                                       slot.host->data() + offsets[i], nullptr));
    slot.copies.back().assign(given);
  }
  if (bytes == 0) return slot.copies;
  memory_.arrivals().copy_in(slot.device->address(), slot.host->data(), bytes);
  memory_.arrivals().record(slot.arrived);
  memory_.stream().wait_for(slot.arrived);
  memory_.stream().copy(there_->address(), slot.device->address(), bytes);
  return slot.copies;
}

cuda::DeviceAddress SentArguments::there(const void* address) const {
  const std::optional<Slot>& slot = slots_[current_];
  if (!slot || !slot->host) return 0;
  for (const Tensor& copy : slot->copies)
    if (!copy.is_on_host() && copy.address() == address) return cuda::address_of(address);
  const char* const at = static_cast<const char*>(address);
  const bool is_copy = at >= slot->host->data() && at < slot->host->data() + slot->host->bytes();
  return is_copy ? there_->address() + static_cast<size_t>(at - slot->host->data()) : 0;
}

void SentArguments::end_call() {
  memory_.stream().record(slots_[current_]->done);
}

void SentArguments::free() {
  for (std::optional<Slot>& slot : slots_) slot.reset();
  there_.reset();
}

}  // namespace thtrain
