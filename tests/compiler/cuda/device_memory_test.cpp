// The order of what is done in a device's memory.
#include "compiler/cuda/device_memory.h"

#include <gtest/gtest.h>

#include <vector>

#include "compiler/base/error.h"
#include "compiler/cuda/emulated/driver.h"
#include "compiler/cuda/sent_arguments.h"
#include "tests/support/datasets_support.h"

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

// Memory that has run out in the middle of it costs the call, and no other one.
TEST_F(DeviceMemoryTest, ArgumentsGoOnWhereAnotherCallFoundNoRoom) {
  const cuda::Device device(cuda::emulated::driver(), 0);
  const cuda::DeviceMemory memory(device, "memory");
  SentArguments arguments(device, memory);
  for (const int64_t n : {5, 80'000, 80'000, 5, 600}) {
    arguments.begin_call(false);
    const std::vector<Tensor> given = {Tensor::zeros(DType::kFloat64, {n})};
    if (n > 1000) {
      EXPECT_THROW(arguments.send(given), UserError);
      continue;
    }
    double got = 1;
    memory.stream().copy_out(&got, arguments.there(arguments.send(given)[0].data<double>() + n - 1), sizeof got);
    memory.stream().wait();
    EXPECT_EQ(got, 0) << n;
  }
}

TEST(EmulatedBytes, AreAnInteger) {
  for (const char* text : {"abc", "", "0", "-1", "1e9", "99999999999999999999", "5000 "}) {
    const EnvironmentVariable bytes("THTRAIN_EMULATED_BYTES", text);
    EXPECT_EQ(error_text([] { cuda::emulated::bytes_of_device(); }),
              str("error: THTRAIN_EMULATED_BYTES is not a number of bytes that a device may have\n",
                  "  expected: an integer from 4096 to 1099511627776", *text ? "\n  got:      " : "", text));
  }
  const EnvironmentVariable bytes("THTRAIN_EMULATED_BYTES", "4096");
  EXPECT_EQ(cuda::emulated::bytes_of_device(), 4096U);
}

TEST(EmulatedVariables, AreNumbersToo) {
  for (const char* text : {"abc", "", "-1", "1.5", "18446744073709551616", "7 "}) {
    const std::string got = *text ? str("\n  got:      ", text) : "";
    {
      const EnvironmentVariable order("THTRAIN_EMULATED_ORDER", text);
      EXPECT_EQ(error_text([] { cuda::emulated::start({}); }),
                str("error: THTRAIN_EMULATED_ORDER is not a number that draws the order of blocks and threads\n",
                    "  expected: an integer from 0 to 18446744073709551615", got));
    }
    {
      const EnvironmentVariable streams("THTRAIN_EMULATED_STREAMS", text);
      EXPECT_EQ(error_text([] { cuda::emulated::start({}); }),
                str("error: THTRAIN_EMULATED_STREAMS is not a number that draws the order of streams\n",
                    "  expected: an integer from 0 to 18446744073709551615", got));
    }
    const EnvironmentVariable checks("THTRAIN_EMULATED_CHECKS", text);
    EXPECT_EQ(error_text([] { cuda::emulated::wants_checks(); }),
              str("error: THTRAIN_EMULATED_CHECKS is neither 0 nor 1\n  expected: an integer from 0 to 1", got));
  }
  for (const bool wanted : {false, true}) {
    const EnvironmentVariable checks("THTRAIN_EMULATED_CHECKS", wanted ? "1" : "0");
    EXPECT_EQ(cuda::emulated::wants_checks(), wanted);
  }
}

struct Failing : cuda::UnreadWork {
  int reads = 0;
  bool has_checks = true;
  bool may_fail() const override { return has_checks; }
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

// Work without checks is left while others work; who reads waits for all of it.
TEST_F(DeviceMemoryTest, WorkOfSeveralMayBeUnread) {
  const cuda::Device device(cuda::emulated::driver(), 0);
  const cuda::DeviceMemory memory(device, "memory");
  Failing safe, other, checked;
  safe.has_checks = other.has_checks = false;
  for (Failing* work : {&safe, &other, &safe}) memory.leave(*work);
  memory.settle_checks();
  EXPECT_TRUE(memory.has_left(safe) && memory.has_left(other));
  memory.leave(checked);
  memory.settle_checks(&checked);
  EXPECT_EQ(safe.reads + other.reads + checked.reads, 0);
  EXPECT_THROW(memory.settle_checks(&safe), UserError);
  EXPECT_EQ(safe.reads, 1);
  EXPECT_EQ(other.reads, 1);
  EXPECT_EQ(checked.reads, 1);
  EXPECT_FALSE(memory.has_left(safe) || memory.has_left(other));
  memory.settle();
}

}  // namespace
}  // namespace thtrain::device_memory_test
