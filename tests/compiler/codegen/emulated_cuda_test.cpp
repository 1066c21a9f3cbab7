// The emulated device itself, under CUDA kernels that are written by hand.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstdlib>
#include <vector>

#include "compiler/codegen/entry_abi.h"
//
#include "compiler/codegen/device_text/emulated_cuda.h"
//
#include "compiler/codegen/device_text/emulated_launch.h"

namespace thtrain::emulated_cuda_test {
namespace {

constexpr const char* kOrder = "THTRAIN_EMULATED_ORDER";

// What a launch says of a mistake: its check, thread and block; {-1} where there is none.
struct Failure {
  long check = -1, value = 0, limit = 0;
};

template <class Kernel, class... Arguments>
Failure launched(Kernel kernel, long blocks, int threads, Arguments... arguments) {
  Failure out;
  ThContext context{};
  context.host = &out;
  context.fail = [](ThContext* failed, int check, long value, long limit) {
    *static_cast<Failure*>(failed->host) = {check, value, limit};
    failed->failure.word = check + 1;
  };
  launch(&context, 7, kernel, blocks, threads, arguments...);
  return out;
}

__global__ void sum_of_block(const long* in0, long* out0, bool has_barrier) {
  const long block = blockIdx.x, thread = threadIdx.x;
  __shared__ long parts[4];
  long own = in0[block * 128 + thread];
  for (int behind = 16; behind > 0; behind /= 2) own += __shfl_down_sync(0xffffffffu, own, behind);
  if (thread % 32 == 0) parts[thread / 32] = own;
  if (has_barrier) __syncthreads();
  if (thread == 0) out0[block] = parts[0] + parts[1] + parts[2] + parts[3];
}

std::vector<long> sums(const char* order, bool has_barrier = true) {
  setenv(kOrder, order, 1);
  std::vector<long> in(5 * 128), out(5);
  for (size_t i = 0; i < in.size(); ++i) in[i] = static_cast<long>(i * i % 101);
  EXPECT_EQ(launched(sum_of_block, 5, 128, in.data(), out.data(), has_barrier).check, -1);
  unsetenv(kOrder);
  return out;
}

TEST(EmulatedCuda, ThreadsExchangeByShufflesSharedArraysAndBarriers) {
  std::vector<long> expected(5);
  for (size_t i = 0; i < 5 * 128; ++i) expected[i / 128] += static_cast<long>(i * i % 101);
  for (const char* order : {"0", "1", "7", "12345"}) EXPECT_EQ(sums(order), expected) << order;
}

TEST(EmulatedCuda, WithoutItsBarrierAKernelIsRightInSomeOrdersAlone) {
  EXPECT_NE(sums("0", false), sums("0"));
}

__global__ void rotated(const double* in0, double* out0) {
  const int thread = static_cast<int>(threadIdx.x);
  const double next = __shfl_down_sync(0xffffffffu, in0[thread], 1), third = __shfl_sync(0xffffffffu, next, 3);
  out0[thread] = next;
  out0[64 + thread] = third;
}

TEST(EmulatedCuda, TheLastLanesOfAShuffleKeepTheirOwn) {
  std::array<double, 64> in;
  std::array<double, 128> out;
  for (size_t i = 0; i < in.size(); ++i) in[i] = static_cast<double>(i) / 4;
  EXPECT_EQ(launched(rotated, 1, 64, in.data(), out.data()).check, -1);
  for (size_t i = 0; i < in.size(); ++i) {
    EXPECT_EQ(out[i], in[i % 32 == 31 ? i : i + 1]);
    EXPECT_EQ(out[64 + i], in[i / 32 * 32 + 4]);
  }
}

__global__ void numbers_of_threads(int* out0, long n) {
  const long i = static_cast<long>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < n) out0[i] += static_cast<int>(1000 * gridDim.x + blockIdx.x);
}

TEST(EmulatedCuda, EachThreadRunsOnceInEveryOrder) {
  for (const char* order : {"0", "3", "99"}) {
    setenv(kOrder, order, 1);
    std::vector<int> out(1000);
    EXPECT_EQ(launched(numbers_of_threads, 11, 96, out.data(), 1000).check, -1);
    for (size_t i = 0; i < out.size(); ++i) EXPECT_EQ(out[i], 11000 + static_cast<int>(i / 96)) << order;
  }
  unsetenv(kOrder);
}

TEST(EmulatedCuda, NoBlocksAreNoLaunch) {
  EXPECT_EQ(launched(numbers_of_threads, 0, 96, nullptr, 0).check, -1);
}

__global__ void barrier_of_some(int some) {
  if (static_cast<int>(threadIdx.x) < some) __syncthreads();
}
__global__ void two_barriers(int first) {
  if (static_cast<int>(threadIdx.x) < first)
    __syncthreads();
  else
    __syncthreads();
}
__global__ void barrier_of_odd_blocks() {
  if (blockIdx.x % 2 == 1) __syncthreads();
}
__global__ void shuffle_of(unsigned mask, int lanes) {
  if (static_cast<int>(threadIdx.x) < lanes) __shfl_down_sync(mask, 1, 1);
}

TEST(EmulatedCuda, ThreadsThatWaitForEachOtherInVainAreNamed) {
  const auto expect = [](const Failure& got, long thread, long block) {
    EXPECT_EQ(got.check, 7);
    EXPECT_EQ(got.value, thread);
    EXPECT_EQ(got.limit, block);
  };
  expect(launched(barrier_of_some, 3, 64, 40), 40, 0);
  EXPECT_EQ(launched(barrier_of_some, 3, 64, 64).check, -1);
  expect(launched(two_barriers, 1, 64, 10), 0, 0);
  EXPECT_EQ(launched(barrier_of_odd_blocks, 4, 64).check, -1);
  expect(launched(shuffle_of, 1, 32, 0xffffffffu, 16), 16, 0);
}

// A lane that the mask leaves out neither gives nor may it call; a lane that it names must be there.
TEST(EmulatedCuda, AShuffleIsOfTheLanesOfItsMask) {
  EXPECT_EQ(launched(shuffle_of, 1, 32, 0xffffffffu, 32).check, -1);
  EXPECT_EQ(launched(shuffle_of, 1, 32, 0x0000ffffu, 32).check, 7) << "called by lanes that it leaves out";
  EXPECT_EQ(launched(shuffle_of, 1, 32, 0x0000ffffu, 16).check, 7) << "lane 15 takes what lane 16 does not give";
}

__global__ void counted(unsigned* counts, long long* least, int n) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i >= n) return;
  atomicAdd(counts + i % 3, 1u);
  atomicMin(least, static_cast<long long>(1000 - i));
}

TEST(EmulatedCuda, AtomicOperationsMeetEveryThread) {
  std::array<unsigned, 3> counts{};
  long long least = 1 << 20;
  EXPECT_EQ(launched(counted, 4, 64, counts.data(), &least, 200).check, -1);
  EXPECT_EQ(counts, (std::array<unsigned, 3>{67, 67, 66}));
  EXPECT_EQ(least, 801);
}

__global__ void failing(int wrong, long* failure) {
  const int thread = static_cast<int>(threadIdx.x);
  if (thread != wrong) return;
  if (atomicCAS(reinterpret_cast<unsigned long long*>(failure), 0ULL, 5ULL) == 0) {
    failure[1] = thread;
    failure[2] = 9;
  }
}

TEST(EmulatedCuda, TheWordOfFailureBecomesTheCallsOwn) {
  const Failure got = launched(failing, 2, 32, 3);
  EXPECT_EQ(got.check, 4);
  EXPECT_EQ(got.value, 3);
  EXPECT_EQ(got.limit, 9);
  EXPECT_EQ(launched(failing, 2, 32, 32).check, -1);
}

}  // namespace
}  // namespace thtrain::emulated_cuda_test
