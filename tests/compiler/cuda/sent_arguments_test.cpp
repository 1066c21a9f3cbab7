// Arguments that are copied to a device while it computes: with the bits of calls that wait, in any order of streams.
#include "compiler/cuda/sent_arguments.h"

#include <gtest/gtest.h>

#include <array>

#include "compiler/api.h"
#include "compiler/cuda/device_program.h"
#include "tests/support/device_under_test.h"
#include "tests/support/target_calls.h"

namespace thtrain::sent_arguments_test {
namespace {

TEST(SentArguments, EachCallComputesWithItsOwn) {
  constexpr size_t kCalls = 9;
  const cuda::Device& device = device_of(kernel::emulated_cuda_target()).device;
  const cuda::DeviceMemory memory(device, "memory");
  for (int order = 0; order < 12; ++order) {  // each time another one of the streams is drawn
    SentArguments arguments(device, memory);
    std::array<double, kCalls> results{};
    for (size_t i = 0; i < kCalls; ++i) {
      arguments.begin_call(i > 0);
      if (i >= 2) {
        EXPECT_NE(results[i - 2], 0) << "two calls may be at work, and no more";
      }
      // Of other lengths in the middle: its memory grows.
      const auto number = static_cast<double>(i + 1);
      std::vector<Tensor> given = {Tensor(int64_t{7}), Tensor::vector({0.0, number})};
      if (i > 4) given.insert(given.begin(), Tensor::zeros(DType::kFloat64, {100}));
      const std::span<const Tensor> copies = arguments.send(given);
      EXPECT_EQ(copies.back().text(), given.back().text());
      given.back().data<double>()[1] = -1;
      memory.stream().copy_out(&results[i], arguments.there(copies.back().data<double>() + 1), sizeof(double));
      EXPECT_EQ(results[i], 0) << "nobody has waited";
      arguments.end_call();
    }
    EXPECT_EQ(arguments.there(&results), 0U);
    memory.stream().wait();
    for (size_t i = 0; i < kCalls; ++i) EXPECT_EQ(results[i], static_cast<double>(i + 1)) << order;
  }
}

// Nothing is read until the end.
TEST(SentArguments, CallsThatNobodyWaitsForHaveTheBitsOfThoseThatWait) {
  std::vector<Tensor> values;
  for (const bool waits : {false, true}) {
    const Expr x = f64("x", {8, 5}), rate = scalar("rate");
    const Shared w(numbers({5, 3}), "w");
    Function step =
        function({x, rate}, {}, {{w, w + rate * sum(tanh(dot(x, w)), {0})}}, {.target = device_under_test()});
    for (int i = 0; i < 20; ++i) {
      Tensor batch = numbers({8, 5});
      batch.data<double>()[0] = i;
      step({batch, Tensor(0.01 * i)});
      batch.data<double>()[0] = -1;  // the caller's again
      if (waits) w.get_value();
    }
    values.push_back(w.get_value());
  }
  EXPECT_TRUE(same_bits(values[0], values[1]));
}

}  // namespace
}  // namespace thtrain::sent_arguments_test
