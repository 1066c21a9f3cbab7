// The emulated device itself, under CUDA kernels that are written by hand.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstdlib>
#include <vector>

#include "compiler/codegen/device_text/module_abi.h"
#include "compiler/cuda/emulated/stacks.h"
// It follows the interface.
#include "compiler/codegen/device_text/emulated_cuda.h"

namespace thtrain::emulated_cuda_test {
namespace {

constexpr const char* kOrder = "THTRAIN_EMULATED_ORDER";

// The thread and the block of a mistake; {-1, -1} where there is none.
struct Failure {
  long thread = -1, block = -1;
  bool is_any() const { return block >= 0; }
};

template <class... Parameters, class... Arguments>
Failure launched(void (*kernel)(Parameters...), long blocks, int threads, Arguments... arguments) {
  const auto body = [&] { kernel(static_cast<Parameters>(arguments)...); };
  using Body = decltype(body);
  ThWrong wrong{};
  long next = 0;
  ThShare share = cuda::emulated::share_of(threads, next);
  const bool is_right = th_run_blocks(
      blocks, threads, [](const void* of) { (*static_cast<Body*>(of))(); }, &body, &share, &wrong);
  return is_right ? Failure() : Failure{wrong.thread, wrong.block};
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
  EXPECT_FALSE(launched(sum_of_block, 5, 128, in.data(), out.data(), has_barrier).is_any());
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
  EXPECT_FALSE(launched(rotated, 1, 64, in.data(), out.data()).is_any());
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
    EXPECT_FALSE(launched(numbers_of_threads, 11, 96, out.data(), 1000).is_any());
    for (size_t i = 0; i < out.size(); ++i) EXPECT_EQ(out[i], 11000 + static_cast<int>(i / 96)) << order;
  }
  unsetenv(kOrder);
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
    EXPECT_EQ(got.thread, thread);
    EXPECT_EQ(got.block, block);
  };
  expect(launched(barrier_of_some, 3, 64, 40), 40, 0);
  EXPECT_FALSE(launched(barrier_of_some, 3, 64, 64).is_any());
  expect(launched(two_barriers, 1, 64, 10), 0, 0);
  EXPECT_FALSE(launched(barrier_of_odd_blocks, 4, 64).is_any());
  expect(launched(shuffle_of, 1, 32, 0xffffffffu, 16), 16, 0);
}

// A lane that the mask leaves out neither gives nor may it call; a lane that it names must be there.
TEST(EmulatedCuda, AShuffleIsOfTheLanesOfItsMask) {
  EXPECT_FALSE(launched(shuffle_of, 1, 32, 0xffffffffu, 32).is_any());
  EXPECT_TRUE(launched(shuffle_of, 1, 32, 0x0000ffffu, 32).is_any()) << "called by lanes that it leaves out";
  EXPECT_TRUE(launched(shuffle_of, 1, 32, 0x0000ffffu, 16).is_any()) << "lane 15 takes what lane 16 does not give";
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
  EXPECT_FALSE(launched(counted, 4, 64, counts.data(), &least, 200).is_any());
  EXPECT_EQ(counts, (std::array<unsigned, 3>{67, 67, 66}));
  EXPECT_EQ(least, 801);
}

}  // namespace
}  // namespace thtrain::emulated_cuda_test
