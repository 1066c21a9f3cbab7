// Lesson 20: a GPU. One formula, the sums of the squares of rows, as loops of C and as a kernel of CUDA C++; who
// touches which element; and what happens where a barrier is missing. No GPU is needed: the emulated device runs the
// kernel on the host, thread by thread, and checks each load and store. `./thtrain lesson 20` builds and runs it.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "compiler/api.h"
#include "compiler/cuda/cubin.h"
#include "compiler/cuda/device.h"
#include "compiler/cuda/emulated/driver.h"
#include "compiler/host/host_compiler.h"

using namespace thtrain;

static void expect(bool holds, const char* what) {
  std::printf("%-75s %s\n", what, holds ? "yes" : "NO");
  if (!holds) std::exit(1);
}

constexpr int64_t kRows = 4, kShort = 40, kLong = 2000;

// What the program of the formula is for a target; of a device its kernel alone.
static Explanation explained(int64_t columns, const kernel::Target& target) {
  const Expr x = tensor("x", {kRows, columns}, DType::kFloat32);
  return function({x}, {sum(sqr(x), 1)}, {}, {.threads = 1, .target = target}).explain();
}

// The number that is read at row, column.
static float value_at(int64_t row, int64_t column) {
  return static_cast<float>((row + 1) * (column % 7 - 3)) / 8;
}

// Launches the kernel of a text as a driver's user does: compile, load, copy, launch, copy back, wait. The sums, or
// none and what the device says of the kernel.
static std::vector<float> launched(const cuda::Device& device, const std::string& text, int64_t columns,
                                   unsigned blocks, unsigned threads, std::string& complaint) {
  std::vector<float> x, sums(kRows);
  for (int64_t row = 0; row < kRows; ++row)
    for (int64_t column = 0; column < columns; ++column) x.push_back(value_at(row, column));
  const cuda::Module module(device, cuda::compile_cubin(cuda::emulated::nvrtc(), text, device.compute_capability()));
  const cuda::DeviceBuffer in(device, 4 * x.size()), out(device, 4 * sums.size());
  cuda::Stream stream(device);
  try {
    stream.copy_in(in.address(), x.data(), in.bytes());
    stream.launch(module.kernel("k0_sqr_sum"), blocks, threads, in.address(), out.address());
    stream.copy_out(sums.data(), out.address(), out.bytes());
    stream.wait();
  } catch (const Error& error) {
    complaint = error.messages().front().what;
    return {};
  }
  return sums;
}

static bool are_right(const std::vector<float>& sums, int64_t columns) {
  for (int64_t row = 0; row < static_cast<int64_t>(sums.size()); ++row) {
    double expected = 0;
    for (int64_t column = 0; column < columns; ++column) expected += std::pow(value_at(row, column), 2);
    if (std::abs(sums[static_cast<size_t>(row)] - expected) > 1e-6 * expected) return false;
  }
  return sums.size() == static_cast<size_t>(kRows);
}

int main() {
  if (!generated_flags().empty()) {
    std::printf("A sanitizer takes the place of the device's own checks: nothing to see here.\n");
    return 0;
  }
  // Who touches the input: told by the device of each load while a kernel runs.
  static std::array<std::array<int, kShort>, kRows> reader;
  static size_t reads = 0;
  cuda::emulated::start({.checks = true, .on_touch = [](const cuda::emulated::Touch& touch) {
                           if (touch.where != "parameter 0" || !touch.is_read) return;
                           ++reads;
                           const size_t element = touch.offset / sizeof(float);
                           if (element < kRows * kShort) reader[element / kShort][element % kShort] = touch.thread;
                         }});
  const cuda::Device device(cuda::emulated::driver(), 0);

  // For a processor without vectors the formula is two loops: this is what is to be shared out.
  const std::string c = explained(kShort, kernel::c99_target()).cpp;
  const size_t loops = c.rfind("\nstatic void k0_");
  std::printf("Two loops, in C:%s\n", c.substr(loops, c.find("\n}\n", loops) + 3 - loops).c_str());

  // The kernel is the program of one thread. A warp, 32 threads side by side, takes a row: each thread sums every 32nd
  // element, and shuffles add the 32 sums without any memory. Four warps make a block.
  const std::string of_warps = explained(kShort, kernel::emulated_cuda_target()).device;
  std::printf("A warp for each row, in CUDA C++:\n%s\n", of_warps.c_str());
  std::string complaint;
  expect(are_right(launched(device, of_warps, kShort, 1, 128, complaint), kShort), "the sums are right");
  expect(reads == kRows * kShort, "each element was read once");

  // Neighbours in memory are read by neighbours in the warp at the same time: one access for all of them.
  std::printf("\nWhich lane of which warp reads which element (columns 0 to 39; lanes are 0 to 9, a to v):\n");
  bool is_side_by_side = true;
  for (size_t row = 0; row < kRows; ++row) {
    std::printf("  row %zu, warp %d: ", row, reader[row][0] / 32);
    for (size_t column = 0; column < kShort; ++column) {
      std::printf("%c", "0123456789abcdefghijklmnopqrstuv"[reader[row][column] % 32]);
      is_side_by_side = is_side_by_side && reader[row][column] == static_cast<int>(32 * row + column % 32);
    }
    std::printf("\n");
  }
  expect(is_side_by_side, "column j is read by lane j % 32 of the row's warp");

  // Rows of 2,000 elements get a block each. Its warps leave their sums in a shared array, wait for each other at a
  // barrier, and then read the sums of all.
  const std::string of_blocks = explained(kLong, kernel::emulated_cuda_target()).device,
                    barrier = "  __syncthreads();\n";
  const size_t at = of_blocks.find(barrier);
  std::printf("\nA block for each row: the end of its kernel\n%s\n",
              of_blocks.substr(of_blocks.find("  if ((thread % 32L)")).c_str());
  expect(at != std::string::npos && of_blocks.find("__shared__ float parts[8]") < at, "a barrier guards the array");
  expect(are_right(launched(device, of_blocks, kLong, kRows, 256, complaint), kLong), "the sums are right");

  // Without the barrier a thread may read what no other one has written yet. On a GPU such a kernel is often right, and
  // then is not; here it is refused in each run.
  std::string wrong = of_blocks;
  launched(device, wrong.erase(at, barrier.size()), kLong, kRows, 256, complaint);
  std::printf("\nWithout the barrier:\n%s\n", complaint.c_str());
  expect(complaint.find("of the shared array parts") != std::string::npos,
         "the device names the line, the thread and the array");

  std::printf("\nTo try: let `j += 32L` be `j += 16L` in the first text. Which elements are read twice?\n");
}
