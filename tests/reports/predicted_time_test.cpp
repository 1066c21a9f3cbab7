// The roofline: by hand, of a program of three steps.
#include "reports/predicted_time.h"

#include <gtest/gtest.h>

namespace thtrain {
namespace {

// Two calls: a product that runs once in each, a copy that runs three times in each, and a step of the host.
Profile some_profile() {
  Profile out;
  out.calls = 2;
  out.seconds = 1;
  out.steps = {{.is_on_device = true, .calls = 2, .flops = 1e9, .bytes = 1e6},
               {.is_on_device = true, .calls = 6, .flops = 0, .bytes = 4e6},
               {.calls = 2, .flops = 1e3, .bytes = 1e3}};
  return out;
}

// 1e9 operations at 1e11 a second are 10 ms; 4e6 bytes at 1e9 a second 4 ms, three times; 1e3 bytes at 1e10 0.1 us.
TEST(PredictedTime, OfAProcessorGoesByTheRateOfArraysOfItsSize) {
  const MachineRates rates{
      .flops = 1e11, .streams = {{.size = 1e3, .bytes_per_second = 1e10}, {.size = 2e6, .bytes_per_second = 1e9}}};
  const PredictedTime time = predicted_time(some_profile(), rates);
  EXPECT_DOUBLE_EQ(time.seconds_of_arithmetic, 0.01);
  EXPECT_DOUBLE_EQ(time.seconds_of_memory, 0.012 + 1e-7);
  EXPECT_EQ(time.seconds_of_launches, 0);
  EXPECT_DOUBLE_EQ(time.seconds, 0.022 + 1e-7);
  EXPECT_EQ(time.steps, 5);
  EXPECT_EQ(time.host_steps, 0);
  EXPECT_DOUBLE_EQ(time.flops, 1e9 + 1e3);
  EXPECT_DOUBLE_EQ(time.bytes, 13e6 + 1e3);
}

TEST(PredictedTime, OfADeviceCountsLaunchesAndNothingOfTheHost) {
  const DeviceSheet device{"d", "a device", 1e12, 1e11, 1e10};
  const PredictedTime single = predicted_time(some_profile(), device, false, 3, 1e-3),
                      twice = predicted_time(some_profile(), device, true, 3, 0);
  EXPECT_DOUBLE_EQ(single.seconds_of_arithmetic, 0.001);
  EXPECT_DOUBLE_EQ(single.seconds_of_memory, 0.0012);
  EXPECT_DOUBLE_EQ(single.seconds_of_launches, 0.003);
  EXPECT_EQ(single.steps, 3);
  EXPECT_EQ(single.host_steps, 1);
  EXPECT_DOUBLE_EQ(twice.seconds, 0.01 + 0.0012);
}

TEST(PredictedTime, DevicesHaveNames) {
  EXPECT_STREQ(find_device_sheet("a100")->full_name, "NVIDIA A100 SXM, 80 GB");
  EXPECT_EQ(find_device_sheet("A100"), nullptr);
  for (const DeviceSheet& sheet : device_sheets()) EXPECT_GE(sheet.flops32, sheet.flops64) << sheet.name;
}

}  // namespace
}  // namespace thtrain
