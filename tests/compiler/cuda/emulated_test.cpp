// The rules of the emulated device, each by itself, through the classes that the runtime uses.
#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <numeric>
#include <optional>
#include <set>
#include <thread>
#include <vector>

#include "compiler/base/error.h"
#include "compiler/cuda/cubin.h"
#include "compiler/cuda/device.h"
#include "compiler/cuda/emulated/driver.h"
#include "tests/support/datasets_support.h"

namespace thtrain::cuda_emulated_test {
namespace {

using namespace cuda;  // NOLINT

constexpr const char* kKernels = R"(
extern "C" __global__ void k_scale(const float* in0, float* out0, long n, float by) {
  const long i = (long)blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out0[i] = in0[i] * by;
}
extern "C" __global__ void k_add_one(int* out0, int stop) {
  for (int i = 0; i < stop; ++i) out0[i] += 1;
}
extern "C" __global__ void k_some_wait(int some) {
  if ((int)threadIdx.x < some) __syncthreads();
}
extern "C" __global__ void k_types(signed char a, double b, bool c, long d, double* out0) {
  out0[0] = a + b + (c ? 100 : 0) + d;
}
)";

std::string image() {
  return compile_cubin(emulated::nvrtc(), kKernels, 75);
}

/// What a call throws.
template <class Action>
std::string thrown(Action action) {
  try {
    action();
  } catch (const Error& error) {
    return error.messages().front().what;
  }
  return "nothing";
}

/// One device of a megabyte.
class EmulatedDevice : public testing::Test {
 protected:
  void SetUp() override {
    emulated::start({.devices = 1, .bytes = 1 << 20});
    device_.emplace(emulated::driver(), 0);
  }
  std::optional<Device> device_;
};

TEST_F(EmulatedDevice, RunsAKernelOnDeviceMemory) {
  std::vector<float> values(1000), results(1000);
  std::iota(values.begin(), values.end(), 0.0F);
  const DeviceBuffer in(*device_, 4000), out(*device_, 4000);
  const Module module(*device_, image());
  Stream stream(*device_);
  stream.copy_in(in.address(), values.data(), 4000);
  stream.launch(module.kernel("k_scale"), 4, 256, in.address(), out.address(), 1000L, 0.5F);
  stream.copy_out(results.data(), out.address(), 4000);
  stream.wait();
  for (size_t i = 0; i < 1000; ++i) EXPECT_EQ(results[i], static_cast<float>(i) / 2);
}

TEST_F(EmulatedDevice, ArgumentsHaveTheirOwnTypes) {
  const DeviceBuffer out(*device_, 8);
  const Module module(*device_, image());
  Stream stream(*device_);
  double result = 0;
  stream.launch(module.kernel("k_types"), 1, 1, static_cast<signed char>(-3), 0.25, true, 1000L, out.address());
  stream.copy_out(&result, out.address(), 8);
  stream.wait();
  EXPECT_EQ(result, 1097.25);
}

using EmulatedDeviceDeathTest = EmulatedDevice;
TEST_F(EmulatedDeviceDeathTest, TheHostCannotTouchDeviceMemory) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  const DeviceBuffer buffer(*device_, 64);
  volatile char* address = reinterpret_cast<volatile char*>(buffer.address());  // NOLINT: that is the test
  EXPECT_DEATH(address[0] = 1, "");
  EXPECT_DEATH((void)address[63], "");
}

TEST_F(EmulatedDevice, NewMemoryIsFullOfNaN) {
  const DeviceBuffer buffer(*device_, 8);
  Stream stream(*device_);
  double value = 0;
  stream.copy_out(&value, buffer.address(), 8);
  stream.wait();
  EXPECT_NE(value, value);
}

TEST_F(EmulatedDevice, MemoryRunsOutAndIsHadAgain) {
  auto first = std::make_unique<DeviceBuffer>(*device_, 700'000);
  EXPECT_EQ(first->address() % 256, 0U);
  EXPECT_EQ(thrown([&] { DeviceBuffer(*device_, 400'000); }), "the device's memory has run out");
  const DeviceBuffer small(*device_, 1), none(*device_, 0);
  EXPECT_EQ(none.address(), 0U);
  first = nullptr;
  DeviceBuffer(*device_, 700'000);
}

TEST_F(EmulatedDevice, CopiesLieWithinOneAllocation) {
  const DeviceBuffer a(*device_, 100), b(*device_, 100);
  Stream stream(*device_);
  char host[200] = {};
  const std::string refused = "CUDA_ERROR_INVALID_VALUE ",
                    text = refused + "(the destination has no 101 bytes in one allocation of the device)";
  EXPECT_EQ(thrown([&] { stream.copy_in(a.address(), host, 101); }), "cuMemcpyHtoDAsync_v2: " + text);
  EXPECT_EQ(thrown([&] { stream.copy(b.address(), a.address(), 101); }), "cuMemcpyDtoDAsync_v2: " + text);
  EXPECT_EQ(thrown([&] { stream.fill(a.address(), 0, 101); }), "cuMemsetD8Async: " + text);
  EXPECT_EQ(thrown([&] { stream.copy_out(host, reinterpret_cast<DeviceAddress>(host), 8); }),
            "cuMemcpyDtoHAsync_v2: " + refused + "(the source has no 8 bytes in one allocation of the device)");
  EXPECT_EQ(thrown([&] { stream.copy(a.address() + 8, a.address(), 16); }),
            "cuMemcpyDtoDAsync_v2: CUDA_ERROR_INVALID_VALUE (source and destination have bytes in common)");
  stream.copy_in(a.address() + 1, host, 99);
  stream.wait();
}

TEST_F(EmulatedDevice, AStreamDoesNothingBeforeSomebodyWaits) {
  const DeviceBuffer buffer(*device_, 4);
  Stream stream(*device_);
  int in = 1, out = 0;
  stream.copy_in(buffer.address(), &in, 4);
  stream.copy_out(&out, buffer.address(), 4);
  in = 2;
  EXPECT_EQ(out, 0);
  stream.wait();
  EXPECT_EQ(out, 2);
}

// A copy takes what the host last wrote before it was done: who writes too early is seen.
TEST_F(EmulatedDevice, PageLockedMemoryIsReadLate) {
  const DeviceBuffer buffer(*device_, 4);
  const PinnedBuffer pinned(*device_, 8);
  Stream stream(*device_);
  int out = 0;
  std::memset(pinned.data(), 1, 4);
  stream.copy_in(buffer.address(), pinned.data(), 4);
  std::memset(pinned.data(), 2, 4);
  stream.copy_out(&out, buffer.address(), 4);
  stream.wait();
  EXPECT_EQ(out, 0x02020202);
  stream.copy_in(buffer.address(), pinned.data() + 4, 4);
  stream.copy_out(&out, buffer.address(), 4);
  stream.wait();
  EXPECT_EQ(out, -1) << "what nobody has written";
}

TEST_F(EmulatedDevice, PageLockedMemoryIsVerified) {
  const DeviceBuffer buffer(*device_, 100);
  const PinnedBuffer pinned(*device_, 50), none(*device_, 0);
  EXPECT_EQ(none.data(), nullptr);
  Stream stream(*device_);
  const std::string text = "CUDA_ERROR_INVALID_VALUE (of 51 bytes of the host only some are in page-locked memory)";
  EXPECT_EQ(thrown([&] { stream.copy_in(buffer.address(), pinned.data(), 51); }), "cuMemcpyHtoDAsync_v2: " + text);
  EXPECT_EQ(thrown([&] { stream.copy_out(pinned.data() - 1, buffer.address(), 51); }), "cuMemcpyDtoHAsync_v2: " + text);
  stream.copy_in(buffer.address(), pinned.data() + 1, 49);
  void* block = nullptr;
  const Driver& driver = device_->driver();
  EXPECT_EQ(driver.cuMemHostAlloc(&block, 0, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(driver.cuMemHostAlloc(&block, 8, 64), CUDA_ERROR_INVALID_VALUE) << "flags";
  EXPECT_EQ(driver.cuMemHostAlloc(&block, 8, 0), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuMemFreeHost(static_cast<char*>(block) + 1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(driver.cuMemFreeHost(block), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuMemFreeHost(block), CUDA_ERROR_INVALID_VALUE);
  stream.wait();
}

// Two streams write the same bytes, and nothing says which is first.
TEST_F(EmulatedDevice, StreamsRunInTheOrderOfASeed) {
  auto last = [](uint64_t seed, bool waits) {
    emulated::start({.devices = 1, .bytes = 1 << 16, .seed = seed});
    const Device device(emulated::driver(), 0);
    const DeviceBuffer buffer(device, 1);
    Stream a(device), b(device);
    const Event event(device);
    a.fill(buffer.address(), 1, 1);
    a.record(event);
    if (waits) b.wait_for(event);
    b.fill(buffer.address(), 2, 1);
    device.wait();
    char out = 0;
    b.copy_out(&out, buffer.address(), 1);
    b.wait();
    return int{out};
  };
  device_.reset();
  std::set<int> without, with;
  for (uint64_t seed = 0; seed < 16; ++seed) {
    without.insert(last(seed, false));
    with.insert(last(seed, true));
    EXPECT_EQ(last(seed, false), last(seed, false)) << seed;
  }
  EXPECT_EQ(without, (std::set<int>{1, 2}));
  const EnvironmentVariable seed("THTRAIN_EMULATED_STREAMS", "12");
  EXPECT_EQ(emulated::Options().seed, 12U);
  EXPECT_EQ(with, std::set<int>{2});
}

// An event is its last recording; one that was never recorded is no reason to wait.
TEST_F(EmulatedDevice, EventsAreOfTheirLastRecording) {
  const DeviceBuffer buffer(*device_, 4);
  const Event event(*device_), never(*device_);
  Stream stream(*device_), other(*device_);
  int out = 0;
  other.wait_for(never);
  never.wait();
  stream.fill(buffer.address(), 1, 4);
  stream.record(event);
  stream.copy_out(&out, buffer.address(), 4);
  event.wait();
  stream.record(event);
  event.wait();
  EXPECT_EQ(out, 0x01010101);
  other.wait();
}

TEST_F(EmulatedDevice, EventsHaveTimesWhereTheyAreWanted) {
  const DeviceBuffer buffer(*device_, 4);
  const Event begin(*device_, true), end(*device_, true), without(*device_), never(*device_, true);
  Stream stream(*device_);
  stream.record(begin);
  stream.fill(buffer.address(), 1, 4);
  stream.record(end);
  EXPECT_THROW(end.seconds_since(begin), InternalError) << "nobody has waited";
  stream.record(without);
  stream.wait();
  EXPECT_GT(end.seconds_since(begin), 0);
  EXPECT_LT(end.seconds_since(begin), 60);
  EXPECT_THROW(end.seconds_since(without), InternalError);
  EXPECT_THROW(end.seconds_since(never), InternalError);
}

TEST_F(EmulatedDevice, LaunchesAreVerified) {
  const DeviceBuffer buffer(*device_, 4);
  const Module module(*device_, image());
  Stream stream(*device_);
  CUfunc_st* kernel = module.kernel("k_add_one");
  int host = 0;
  const std::string what = "cuLaunchKernel: CUDA_ERROR_INVALID_VALUE ";
  EXPECT_EQ(thrown([&] { stream.launch(kernel, 1, 1, &host, 1); }),
            what + "(parameter 0 of k_add_one is no address of the device)");
  EXPECT_EQ(thrown([&] { stream.launch(kernel, 0, 1, buffer.address(), 1); }), what + "(0 blocks of 1 threads)");
  EXPECT_EQ(thrown([&] { stream.launch(kernel, 1, 1025, buffer.address(), 1); }), what + "(1 blocks of 1025 threads)");
  EXPECT_EQ(thrown([&] { stream.launch(kernel, 1, 1, buffer.address()); }),
            what + "(parameter 1 of k_add_one is not given)");
  EXPECT_EQ(thrown([&] { (void)module.kernel("k_other"); }),
            "cuModuleGetFunction: CUDA_ERROR_NOT_FOUND (the module has no kernel k_other)");
  stream.launch(kernel, 1, 1, DeviceAddress{0}, 0);  // of no elements
  stream.wait();
}

TEST_F(EmulatedDevice, ImagesAreOfItsOwnCompiler) {
  EXPECT_EQ(thrown([&] { Module(*device_, "\177ELF"); }),
            "cuModuleLoadData: CUDA_ERROR_INVALID_IMAGE (the image is none of the emulated device)");
  EXPECT_EQ(thrown([&] { compile_cubin(emulated::nvrtc(), "extern \"C\" __global__ void k() { x = 1; }", 75); }),
            "nvrtcCompileProgram: error 6");
}

// Blocks are shared out among the host's threads; of several that are wrong the first in the launch's order is named.
TEST_F(EmulatedDevice, BlocksRunSideBySide) {
  constexpr unsigned kBlocks = 3000;
  const std::string text = R"(
extern "C" __global__ void k_count(unsigned* out0) {
  __shared__ unsigned own[64];
  own[threadIdx.x] = blockIdx.x;
  __syncthreads();
  atomicAdd(out0 + own[63 - threadIdx.x], 1u);
  atomicAdd(out0 + 3000, 1u);
}
extern "C" __global__ void k_wrong(unsigned last) {
  if (blockIdx.x >= last && threadIdx.x < 40) __syncthreads();
}
)";
  {
    const DeviceBuffer out(*device_, 4 * (kBlocks + 1));
    const Module module(*device_, compile_cubin(emulated::nvrtc(), text, 75));
    Stream stream(*device_);
    std::vector<unsigned> counts(kBlocks + 1);
    stream.fill(out.address(), 0, 4 * (kBlocks + 1));
    stream.launch(module.kernel("k_count"), kBlocks, 64, out.address());
    stream.copy_out(counts.data(), out.address(), 4 * (kBlocks + 1));
    stream.wait();
    EXPECT_EQ(counts.back(), 64 * kBlocks);
    counts.pop_back();
    EXPECT_EQ(counts, std::vector<unsigned>(kBlocks, 64));
    stream.launch(module.kernel("k_wrong"), kBlocks, 64, 1234U);
    EXPECT_EQ(thrown([&] { stream.wait(); }),
              "cuStreamSynchronize: CUDA_ERROR_LAUNCH_FAILED (kernel k_wrong: thread 40 of block 1234 has ended, and "
              "thread 39 waits in line 10)");
  }
}

// Each call says what spoiled the context, until it is released.
TEST_F(EmulatedDevice, ErrorsOfKernelsSpoilTheContext) {
  for (const bool is_address : {false, true}) {
    {
      const DeviceBuffer buffer(*device_, 256);
      const Module module(*device_, image());
      Stream stream(*device_), other(*device_);
      if (is_address)
        stream.launch(module.kernel("k_add_one"), 1, 1, buffer.address(), 65);
      else
        stream.launch(module.kernel("k_some_wait"), 3, 64, 40);
      const std::string text = is_address ? "CUDA_ERROR_ILLEGAL_ADDRESS (kernel k_add_one: reads or writes outside of "
                                            "the memory that it was given)"
                                          : "CUDA_ERROR_LAUNCH_FAILED (kernel k_some_wait: thread 40 of block 0 has "
                                            "ended, and thread 39 waits in line 10)";
      char byte = 7;
      stream.copy_in(buffer.address(), &byte, 1);
      EXPECT_EQ(thrown([&] { stream.wait(); }), "cuStreamSynchronize: " + text);
      EXPECT_EQ(thrown([&] { other.fill(buffer.address(), 0, 1); }), "cuMemsetD8Async: " + text);
      EXPECT_EQ(thrown([&] { DeviceBuffer(*device_, 8); }), "cuMemAlloc_v2: " + text);
    }
    device_.reset();
    device_.emplace(emulated::driver(), 0);
    const DeviceBuffer again(*device_, 8);
  }
}

TEST_F(EmulatedDevice, EachDeviceHasItsOwnMemoryAndHandles) {
  device_.reset();
  emulated::start({.devices = 2, .bytes = 1 << 16});
  const Device a(emulated::driver(), 0), b(emulated::driver(), 1);
  const DeviceBuffer of_a(a, 100), of_b(b, 100);
  Stream on_a(a), on_b(b);
  const Event event(a);
  char out = 0;
  EXPECT_EQ(thrown([&] { on_b.fill(of_a.address(), 1, 100); }),
            "cuMemsetD8Async: CUDA_ERROR_INVALID_VALUE (the destination has no 100 bytes in one allocation of the "
            "device)");
  EXPECT_EQ(thrown([&] { on_b.record(event); }),
            "cuEventRecord: CUDA_ERROR_INVALID_HANDLE (no event of the current context)");
  on_a.fill(of_a.address(), 3, 100);
  on_a.record(event);
  on_b.wait_for(event);  // events of another device may be waited for
  on_b.fill(of_b.address(), 4, 100);
  on_b.copy_out(&out, of_b.address(), 1);
  on_b.wait();
  EXPECT_EQ(out, 4);
  EXPECT_EQ(thrown([] { Device(emulated::driver(), 2); }),
            "cuDeviceGet: CUDA_ERROR_INVALID_DEVICE (there is no device of that number)");
}

TEST(EmulatedDriver, IsInitializedAndHasACurrentContext) {
  emulated::start({});
  const Driver& driver = emulated::driver();
  DeviceAddress address = 0;
  int count = 0;
  EXPECT_EQ(driver.cuDeviceGetCount(&count), CUDA_ERROR_NOT_INITIALIZED);
  EXPECT_EQ(driver.cuMemAlloc_v2(&address, 8), CUDA_ERROR_NOT_INITIALIZED);
  const Device device(driver, 0);
  EXPECT_EQ(device.compute_capability(), 75);
  // Another thread has none.
  std::thread([&] {
    EXPECT_EQ(driver.cuMemAlloc_v2(&address, 8), CUDA_ERROR_INVALID_CONTEXT);
    const DeviceBuffer own(device, 8);
    EXPECT_NE(own.address(), 0U);
  }).join();
}

TEST(EmulatedDriver, HasEveryFunctionOfTheList) {
#define TH_REQUIRED(name, parameters) EXPECT_NE(emulated::driver().name, nullptr) << #name;
#define TH_OPTIONAL(name, parameters, loss) TH_REQUIRED(name, parameters)
#include "compiler/cuda/driver_functions.inc"
#define TH_REQUIRED(name, parameters) EXPECT_NE(emulated::nvrtc().name, nullptr) << #name;
#define TH_OPTIONAL(name, parameters, loss) TH_REQUIRED(name, parameters)
#include "compiler/cuda/nvrtc_functions.inc"
}

}  // namespace
}  // namespace thtrain::cuda_emulated_test
