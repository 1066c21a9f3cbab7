// Sums over the devices of ranks: the bits of those on hosts.
#include "trainers/ranks/device_ranks.h"

#include <gtest/gtest.h>

#include "compiler/base/random_state.h"
#include "compiler/cuda/emulated/driver.h"
#include "compiler/ir/variables.h"
#include "compiler/ops/index/index.h"
#include "tests/support/thread_carrier.h"
#include "trainers/device_shards.h"

namespace thtrain::device_ranks_test {

using Texts = std::vector<std::string>;

const FunctionOptions kOnDevice{.target = kernel::emulated_cuda_target()};

std::vector<float> numbers_of(int64_t shard, int64_t elements) {
  RandomState random(shard);
  std::vector<float> out;
  for (int64_t i = 0; i < elements; ++i)
    out.push_back(static_cast<float>(random.uniform(-1, 1) * std::pow(10, random.uniform(-3, 3))));
  return out;
}

TEST(DeviceRanks, SumAsRanksOfHostsDo) {
  for (int size : {2, 4})
    for (int64_t elements : {2, 7, 1000}) {
      std::vector<std::vector<float>> on_hosts(static_cast<size_t>(size)), on_devices(static_cast<size_t>(size));
      const Texts errors = run_ranks(size, [&](Ranks& ranks) {
        const auto rank = static_cast<size_t>(ranks.rank());
        const Shared values(Tensor::of(numbers_of(ranks.rank(), elements), {elements}), "values");
        DeviceRanks devices(values, ranks, kOnDevice);
        for (int round = 0; round < 2; ++round) {
          values.set_value(Tensor::of(numbers_of(ranks.rank(), elements), {elements}));
          devices.sum();
        }
        const Tensor found = values.get_value();
        on_devices[rank].assign(found.data<float>(), found.data<float>() + elements);
        on_hosts[rank] = numbers_of(ranks.rank(), elements);
        ranks.sum(on_hosts[rank]);
      });
      EXPECT_EQ(errors, Texts(static_cast<size_t>(size)));
      EXPECT_EQ(on_devices, on_hosts) << size << ' ' << elements;
    }
}

TEST(DeviceRanks, ARankThatSendsNothingIsNamed) {
  const Texts errors = run_ranks(
      2,
      [](Ranks& ranks) {
        const Shared values(Tensor::zeros(DType::kFloat32, {10}), "values");
        DeviceRanks devices(values, ranks, kOnDevice);
        devices.sum();
        if (ranks.rank() == 0) devices.sum();
        if (ranks.rank() == 1) std::this_thread::sleep_for(std::chrono::seconds(5));
      },
      2);
  EXPECT_NE(errors[0].find("rank 1 ("), std::string::npos) << errors[0];
  EXPECT_NE(errors[0].find(" has sent nothing for "), std::string::npos) << errors[0];
}

// Shards of one process, and of several: ((s0 + s1) + (s2 + s3)).
TEST(DeviceShards, AreSummedByTheTree) {
  constexpr int64_t kShards = 4;
  const std::vector<int64_t> sizes = {5, 1, 3};
  std::vector<float> expected;
  for (size_t i = 0; i < 9; ++i) {
    auto at = [&](int64_t shard) { return numbers_of(shard, 9)[i]; };
    // The third shard has no examples, but says something.
    const float third = i < 6 ? 0 : 2;
    expected.push_back((at(0) + at(1)) + (third + at(3)));
  }
  for (int size : {1, 2, 4}) {
    const Texts errors = run_ranks(size, [&](Ranks& ranks) {
      const int64_t each = kShards / size, first = ranks.rank() * each;
      DeviceShards shards(DType::kFloat32, sizes, each, ranks, kOnDevice);
      const Expr x = tensor("x", {9}, DType::kFloat32);
      std::vector<Function> functions = shards.for_levels(
          function({x}, {}, {shards.update({x[Slice{.stop = 5}], x[5], x[Slice{.start = 6}]})}, kOnDevice));
      Function read = function({}, {shards.part(0, {5}), shards.part(1, {}), shards.part(2, {3})}, {}, kOnDevice);
      for (int step = 0; step < 2; ++step) {
        shards.begin_step();
        for (int64_t shard = first; shard < first + each; ++shard) {
          if (shard == 2) {
            shards.add_zeros(Tensor::vector({2.0F, 2.0F, 2.0F}));
            continue;
          }
          functions[shards.level()]({Tensor::of(numbers_of(shard, 9), {9})});
          shards.add();
        }
        shards.sum_over_ranks();
      }
      std::vector<float> found;
      for (const Tensor& part : read(std::vector<Tensor>()))
        found.insert(found.end(), part.data<float>(), part.data<float>() + part.size());
      EXPECT_EQ(found, expected) << size;
    });
    EXPECT_EQ(errors, Texts(static_cast<size_t>(size)));
  }
}

}  // namespace thtrain::device_ranks_test
