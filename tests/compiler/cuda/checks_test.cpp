// What the emulated device says of kernels that are wrong, each beside one that is right.
#include <gtest/gtest.h>

#include "compiler/base/error.h"
#include "compiler/cuda/cubin.h"
#include "compiler/cuda/device.h"
#include "compiler/cuda/emulated/driver.h"
#include "compiler/host/host_compiler.h"

namespace thtrain::cuda_checks_test {
namespace {

using namespace cuda;  // NOLINT

constexpr long kFloats = 128;

/// Runs a kernel on an input, which is written, an output and a third buffer, which are not, of 128 floats each.
class CheckedDevice : public testing::Test {
 protected:
  void SetUp() override {
    if (!generated_flags().empty()) GTEST_SKIP() << "a sanitizer has the functions that tell of accesses";
    emulated::start({.devices = 1, .bytes = 1 << 20, .checks = true});
    device_.emplace(emulated::driver(), 0);
  }

  /// What is said, behind the kernel's name. `body` is what "k" does with in0, out0, out1 and n = 128.
  std::string said(const std::string& body, unsigned blocks = 1, unsigned threads = 64) {
    const std::string text =
        "extern \"C\" __global__ void k(const float* in0, float* out0, float* out1, long n) {\n"
        "  const long block = blockIdx.x, thread = threadIdx.x, i = block * blockDim.x + thread;\n" +
        body + "}\n";
    std::string out;
    {
      const Module module(*device_, compile_cubin(emulated::nvrtc(), text, 75));
      const std::vector<float> ones(kFloats, 1.0F);
      const DeviceBuffer in0(*device_, 4 * kFloats), out0(*device_, 4 * kFloats), out1(*device_, 4 * kFloats);
      Stream stream(*device_);
      stream.copy_in(in0.address(), ones.data(), 4 * kFloats);
      stream.launch(module.kernel("k"), blocks, threads, in0.address(), out0.address(), out1.address(), kFloats);
      try {
        stream.wait();
      } catch (const Error& error) {
        out = error.messages().front().what;
      }
    }
    device_.reset();
    device_.emplace(emulated::driver(), 0);
    const std::string before = "(kernel k: ";
    const size_t at = out.find(before);
    return at == std::string::npos ? out : out.substr(at + before.size(), out.size() - at - before.size() - 1);
  }

  std::optional<Device> device_;
};

TEST_F(CheckedDevice, Bounds) {
  EXPECT_EQ(said("  if (i < n) out0[i] = in0[i];\n", 3), "");
  EXPECT_EQ(
      said("  if (i <= n) out0[i] = 1.0f;\n", 3),
      "line 3 `if (i <= n) out0[i] = 1.0f;` (thread 0 of block 2) writes 4 bytes at byte 512 of parameter 1, which "
      "has 512");
  EXPECT_EQ(
      said("  out0[i] = in0[i - 1];\n"),
      "line 3 `out0[i] = in0[i - 1];` (thread 0 of block 0) reads 4 bytes at byte -4 of parameter 0, which has 512");
  // Of another allocation of the launch.
  EXPECT_EQ(said("  if (i == 1) out0[2000] = 1.0f;\n"),
            "line 3 `if (i == 1) out0[2000] = 1.0f;` (thread 1 of block 0) writes 4 bytes at byte 8000 of parameter 1, "
            "which has 512");
}

// A number that is declared volatile is read as a whole while others change it by atomic operations.
TEST_F(CheckedDevice, VolatileReadsAmongAtomicOperations) {
  const std::string cas = "  atomicCAS((unsigned long long*)out0, 0ULL, 1ULL);\n",
                    first = "  if (thread == 0) ((long*)out0)[0] = 0;\n  __syncthreads();\n";
  EXPECT_EQ(said(first + "  if (*(const volatile long*)out0 != 0) return;\n" + cas), "");
  EXPECT_NE(said(first + "  if (*(const long*)out0 != 0) return;\n" + cas), "");
}

TEST_F(CheckedDevice, BoundsOfSharedArrays) {
  const std::string array = "  __shared__ float a[64];\n  __shared__ float b[64];\n  b[thread] = 0.0f;\n";
  EXPECT_EQ(said(array + "  a[thread] = b[thread];\n"), "");
  EXPECT_EQ(
      said(array + "  a[thread + 1] = b[thread];\n"),
      "line 6 `a[thread + 1] = b[thread];` (thread 63 of block 0) writes 4 bytes at byte 256 of the shared array a, "
      "which has 256");
  EXPECT_EQ(said("  __shared__ double a[8000];\n  a[thread] = 0.0;\n"),
            "its shared arrays have 64000 bytes; a block has 49152");
}

TEST_F(CheckedDevice, ArraysOfAThread) {
  const std::string array = "  float a[4];\n  for (long j = 0; j < 4; ++j) a[j] = in0[i];\n";
  EXPECT_EQ(said(array + "  out0[i] = a[thread % 4];\n"), "");
  EXPECT_EQ(
      said(array + "  out0[i] = a[thread % 5];\n"),
      "line 5 `out0[i] = a[thread % 5];` (thread 4 of block 0) has an index outside of an array of the thread's own");
}

TEST_F(CheckedDevice, AddressesOfNobody) {
  EXPECT_EQ(said("  float own[2] = {1.0f, 2.0f};\n  float* p = own + thread % 2;\n  out0[i] = *p;\n"), "");
  EXPECT_EQ(said("  out0[i] = *(const float*)(4096 * n);\n"),
            "line 3 `out0[i] = *(const float*)(4096 * n);` (thread 0 of block 0) reads 4 bytes of no parameter and no "
            "shared array");
}

TEST_F(CheckedDevice, Alignment) {
  EXPECT_EQ(said("  ((double*)out0)[i] = 1.0;\n"), "");
  EXPECT_EQ(
      said("  *(double*)(out0 + 2 * i + 1) = 1.0;\n", 1, 32),
      "line 3 `*(double*)(out0 + 2 * i + 1) = 1.0;` (thread 0 of block 0) writes 8 bytes at byte 4 of parameter 1, "
      "where no 8 may begin");
}

TEST_F(CheckedDevice, MemoryThatNobodyWrote) {
  EXPECT_EQ(said("  out1[i] = 1.0f;\n  out0[i] = out1[i];\n"), "");
  EXPECT_EQ(
      said("  out0[i] = out1[i];\n"),
      "line 3 `out0[i] = out1[i];` (thread 0 of block 0) reads 4 bytes at byte 0 of parameter 2, which nobody has "
      "written");
  const std::string array = "  __shared__ float a[64];\n  if (thread < 40) a[thread] = 1.0f;\n  __syncthreads();\n";
  EXPECT_EQ(said(array + "  out0[i] = a[thread % 40];\n", 2), "");
  // The block before has written them all.
  EXPECT_EQ(
      said("  __shared__ float a[64];\n  if (thread < 64 - block) a[thread] = 1.0f;\n  __syncthreads();\n"
           "  out0[i] = a[thread];\n",
           2),
      "line 6 `out0[i] = a[thread];` (thread 63 of block 1) reads 4 bytes at byte 252 of the shared array a, which "
      "no thread of the block has written");
}

TEST_F(CheckedDevice, CopiesOfMemoryThatNobodyWrote) {
  const DeviceBuffer a(*device_, 8), b(*device_, 8);
  Stream stream(*device_);
  double out = 1;
  stream.fill(a.address(), 0, 8);
  stream.copy(b.address(), a.address(), 8);
  stream.copy_out(&out, b.address(), 8);
  stream.wait();
  EXPECT_EQ(out, 0);
  const DeviceBuffer c(*device_, 8);
  stream.copy(b.address(), c.address(), 4);
  stream.copy_out(&out, b.address() + 4, 4);
  stream.wait();
  stream.copy_out(&out, b.address(), 8);
  try {
    stream.wait();
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_EQ(
        error.messages().front().what,
        "cuStreamSynchronize: CUDA_ERROR_LAUNCH_FAILED (the host is given 8 bytes that nobody has written, or some "
        "of them)");
  }
}

TEST_F(CheckedDevice, RacesInSharedMemory) {
  const std::string begin = "  __shared__ float a[64];\n  a[thread] = in0[i];\n", end = "  out0[i] = a[63 - thread];\n";
  EXPECT_EQ(said(begin + "  __syncthreads();\n" + end), "");
  EXPECT_EQ(said(begin + end),
            "line 5 `out0[i] = a[63 - thread];` (thread 0 of block 0) reads 4 bytes at byte 252 of the shared array a, "
            "which no thread of the block has written");
  // Had it been written, then not by one who waits.
  EXPECT_EQ(
      said(begin + "  if (thread >= 32) out0[i] = a[63 - thread];\n"),
      "line 5 `if (thread >= 32) out0[i] = a[63 - thread];` (thread 32 of block 0) reads 4 bytes at byte 124 of the "
      "shared array a; line 4 `a[thread] = in0[i];` (thread 31 of block 0) writes there too, and neither waits for "
      "the other");
  // Scratch that is used again: what one thread still reads, another one overwrites.
  const std::string twice = begin + "  __syncthreads();\n  const float one = a[63 - thread];\n",
                    again = "  a[thread] = one;\n  __syncthreads();\n" + end;
  EXPECT_EQ(said(twice + "  __syncthreads();\n" + again), "");
  EXPECT_EQ(
      said(twice + again),
      "line 6 `const float one = a[63 - thread];` (thread 32 of block 0) reads 4 bytes at byte 124 of the shared "
      "array a; line 7 `a[thread] = one;` (thread 31 of block 0) writes there too, and neither waits for the other");
  // Two that store the same.
  EXPECT_EQ(
      said("  __shared__ float a[64];\n  if (thread >= 62) a[0] = 1.0f;\n"),
      "line 4 `if (thread >= 62) a[0] = 1.0f;` (thread 63 of block 0) writes 4 bytes at byte 0 of the shared array "
      "a; line 4 `if (thread >= 62) a[0] = 1.0f;` (thread 62 of block 0) writes there too, and neither waits for "
      "the other");
}

// Threads of a warp do not wait for each other by themselves, nor by a shuffle.
TEST_F(CheckedDevice, RacesWithinAWarp) {
  const std::string begin = "  __shared__ float a[64];\n  a[thread] = in0[i];\n",
                    end = "  out0[i] = a[thread / 32 * 32 + 31 - thread % 32];\n";
  EXPECT_EQ(said(begin + "  __syncwarp();\n" + end), "");
  EXPECT_EQ(said(begin + "  __syncthreads();\n" + end), "");
  EXPECT_EQ(
      said(begin + "  if (thread % 32 >= 16)" + end),
      "line 5 `if (thread % 32 >= 16)  out0[i] = a[thread / 32 * 32 + 31 - thread % 32];` (thread 16 of block 0) "
      "reads 4 bytes at byte 60 of the shared array a; line 4 `a[thread] = in0[i];` (thread 15 of block 0) writes "
      "there too, and neither waits for the other");
  EXPECT_EQ(
      said(begin + "  const float b = __shfl_sync(0xffffffffu, in0[i], 0);\n" + end + "  out0[i] += b;\n"),
      "line 6 `out0[i] = a[thread / 32 * 32 + 31 - thread % 32];` (thread 0 of block 0) reads 4 bytes at byte 124 "
      "of the shared array a; line 4 `a[thread] = in0[i];` (thread 31 of block 0) writes there too, and neither "
      "waits for the other");
  // A barrier of the warp is none of the block.
  EXPECT_EQ(
      said(begin + "  __syncwarp();\n  out0[i] = a[63 - thread];\n"),
      "line 6 `out0[i] = a[63 - thread];` (thread 0 of block 0) reads 4 bytes at byte 252 of the shared array a; line "
      "4 `a[thread] = in0[i];` (thread 63 of block 0) writes there too, and neither waits for the other");
}

TEST_F(CheckedDevice, RacesInGlobalMemory) {
  EXPECT_EQ(said("  out0[i] = 1.0f;\n  __syncthreads();\n  out1[i] = out0[block * 64 + 63 - thread];\n", 2), "");
  EXPECT_EQ(said("  out0[i] = 1.0f;\n  __syncthreads();\n  out1[i] = out0[127 - i];\n", 2),
            "line 5 `out1[i] = out0[127 - i];` (thread 0 of block 0) reads 4 bytes at byte 508 of parameter 1, which "
            "nobody has written");
  // No barrier is between blocks.
  EXPECT_EQ(said("  out0[thread] = 1.0f;\n", 2),
            "line 3 `out0[thread] = 1.0f;` (thread 0 of block 1) writes 4 bytes at byte 0 of parameter 1; line 3 "
            "`out0[thread] = 1.0f;` (thread 0 of block 0) writes there too, and neither waits for the other");
  EXPECT_EQ(
      said("  out0[i] = in0[0];\n  if (i == 127) ((float*)in0)[0] = 2.0f;\n", 2),
      "line 4 `if (i == 127) ((float*)in0)[0] = 2.0f;` (thread 63 of block 1) writes 4 bytes at byte 0 of parameter "
      "0; line 3 `out0[i] = in0[0];` (thread 0 of block 0) reads there too, and neither waits for the other");
}

// Elements of one byte, of which a thread has one each, are no race; nor are atomic operations with each other.
TEST_F(CheckedDevice, ElementsAndAtomicOperations) {
  EXPECT_EQ(said("  ((signed char*)out0)[i] = (signed char)i;\n", 2), "");
  EXPECT_EQ(said("  ((int*)out0)[i] = 0;\n  __syncthreads();\n  atomicAdd((int*)out0 + block * 64, 1);\n", 2), "");
  EXPECT_EQ(said("  atomicAdd((int*)in0, 1);\n", 2), "");
  EXPECT_EQ(
      said("  atomicAdd((int*)in0, 1);\n  if (i == 100) out0[0] = in0[0];\n", 2),
      "line 4 `if (i == 100) out0[0] = in0[0];` (thread 36 of block 1) reads 4 bytes at byte 0 of parameter 0; line "
      "3 `atomicAdd((int*)in0, 1);` (thread 0 of block 0) writes there too, and neither waits for the other");
  EXPECT_EQ(said("  atomicAdd((int*)out0, 1);\n"),
            "line 3 `atomicAdd((int*)out0, 1);` (thread 0 of block 0) changes 4 bytes at byte 0 of parameter 1, which "
            "nobody has written");
}

TEST_F(CheckedDevice, Waiting) {
  EXPECT_EQ(said("  if (block == 0) __syncthreads();\n", 2), "");
  EXPECT_EQ(said("  if (thread < 40) __syncthreads();\n"),
            "thread 40 of block 0 has ended, and thread 39 waits in line 3");
  EXPECT_EQ(said("  if (thread < 10)\n    __syncthreads();\n  else\n    __syncthreads();\n"),
            "thread 0 of block 0 waits in line 4, and thread 63 waits in line 6");
  EXPECT_EQ(said("  if (thread < 10) __shfl_down_sync(0x3ffu, 1, 1);\n"),
            "line 3: thread 9 of block 0 takes from lane 10, which gives nothing");
  EXPECT_EQ(said("  __shfl_sync(0xffffu, 1, 0);\n", 1, 32),
            "thread 31 of block 0 waits in line 3 with a mask that leaves it out");
}

// What was compiled for a device that checks nothing does not run on one that does.
TEST_F(CheckedDevice, ImagesTellOfTheirAccesses) {
  emulated::start({.checks = false});
  const std::string image = compile_cubin(emulated::nvrtc(), "extern \"C\" __global__ void k() {}", 75);
  emulated::start({.checks = true});
  const Device device(emulated::driver(), 0);
  try {
    const Module module(device, image);
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_EQ(error.messages().front().what,
              "cuModuleLoadData: CUDA_ERROR_INVALID_IMAGE (kernels of the image do not tell what they read and write)");
  }
}

}  // namespace
}  // namespace thtrain::cuda_checks_test
