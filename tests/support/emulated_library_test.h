// A device of its own for each test of an emulated library, and numbers in its memory.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <vector>

#include "compiler/cuda/device.h"
#include "compiler/cuda/emulated/driver.h"

namespace thtrain::cuda {

class EmulatedLibraryTest : public testing::Test {
 protected:
  void SetUp() override {
    emulated::start({.devices = 1, .bytes = 1 << 20});
    device_.emplace(emulated::driver(), 0);
    stream_.emplace(*device_);
  }
  template <class T>
  T* put(const std::vector<T>& numbers) {
    buffers_.push_back(std::make_unique<DeviceBuffer>(*device_, numbers.size() * sizeof(T)));
    stream_->copy_in(buffers_.back()->address(), numbers.data(), numbers.size() * sizeof(T));
    stream_->wait();
    return reinterpret_cast<T*>(buffers_.back()->address());
  }
  template <class T>
  std::vector<T> got(const T* at, size_t count) {
    std::vector<T> out(count);
    stream_->copy_out(out.data(), address_of(at), count * sizeof(T));
    stream_->wait();
    return out;
  }

  std::optional<Device> device_;
  std::optional<Stream> stream_;
  std::vector<std::unique_ptr<DeviceBuffer>> buffers_;
};

}  // namespace thtrain::cuda
