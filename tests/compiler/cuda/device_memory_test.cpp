// The order of what is done in a device's memory.
#include "compiler/cuda/device_memory.h"

#include <gtest/gtest.h>

#include <vector>

#include "compiler/base/error.h"
#include "compiler/cuda/emulated/driver.h"

namespace thtrain::device_memory_test {
namespace {

class DeviceMemoryTest : public testing::Test {
 protected:
  DeviceMemoryTest() { cuda::emulated::start({.devices = 1, .bytes = 1 << 20}); }
};

// More than the memory that keeps them holds, so that they are waited for in between.
TEST_F(DeviceMemoryTest, SmallValuesArriveAlthoughNobodyWaits) {
  const cuda::Device device(cuda::emulated::driver(), 0);
  const cuda::DeviceMemory memory(device, "memory");
  constexpr size_t kValues = 100, kBytes = cuda::DeviceMemory::kSmall - 1;
  std::vector<char*> blocks;
  std::vector<char> value(kBytes), got(kBytes);
  for (size_t i = 0; i < kValues; ++i) {
    blocks.push_back(static_cast<char*>(memory.allocate(kBytes)));
    value.assign(kBytes, static_cast<char>(i));
    memory.write(blocks.back(), value.data(), kBytes);
  }
  for (size_t i = 0; i < kValues; ++i) {
    memory.read(got.data(), blocks[i], kBytes);
    value.assign(kBytes, static_cast<char>(i));
    EXPECT_EQ(got, value) << i;
    memory.release(blocks[i], kBytes);
  }
}

struct Failing : cuda::UnreadWork {
  int reads = 0;
  void read() override {
    ++reads;
    throw UserError({.what = "it has failed"});
  }
};

TEST_F(DeviceMemoryTest, WhatHasFailedIsToldOnce) {
  const cuda::Device device(cuda::emulated::driver(), 0);
  const cuda::DeviceMemory memory(device, "memory");
  void* const block = memory.allocate(4);
  int value = 3;
  memory.write(block, &value, 4);
  Failing work;
  memory.leave(work);
  EXPECT_THROW(memory.read(&value, block, 4), UserError);
  EXPECT_FALSE(memory.has_left(work));
  memory.read(&value, block, 4);
  EXPECT_EQ(value, 3);
  memory.settle_later(work);
  EXPECT_EQ(work.reads, 1) << "it was read";
  memory.leave(work);
  memory.settle_later(work);
  EXPECT_EQ(work.reads, 2);
  EXPECT_THROW(memory.settle(), UserError);
  memory.settle();
  EXPECT_EQ(work.reads, 2);
  memory.release(block, 4);
}

}  // namespace
}  // namespace thtrain::device_memory_test
