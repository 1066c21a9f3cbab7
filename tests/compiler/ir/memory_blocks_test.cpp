// Large blocks come back, and not too many are kept.
#include "compiler/ir/memory_blocks.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <thread>
#include <vector>

#include "compiler/ir/tensor.h"

namespace thtrain {
namespace {

constexpr size_t kSize = (size_t{5} << 20) + 8;
const bool kKeeps = free_list_limit() > 0;  // not under a sanitizer

TEST(MemoryBlocks, AreAligned) {
  for (size_t bytes : {size_t{0}, size_t{1}, size_t{1000}, kLargeBlockBytes - 1, kLargeBlockBytes, kSize}) {
    void* block = allocate_block(bytes);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(block) % (bytes < kLargeBlockBytes ? 64 : size_t{2} << 20), 0u) << bytes;
    if (bytes > 0) std::memset(block, 1, bytes);
    free_block(block, bytes);
  }
}

TEST(MemoryBlocks, ALargeOneComesBackToTheNextOfItsSize) {
  if (!kKeeps) GTEST_SKIP() << "sanitizers see every block freed";
  void* first = allocate_block(kSize);
  void* second = allocate_block(kSize);
  EXPECT_NE(first, second);
  free_block(first, kSize);
  const size_t kept = free_list_bytes();
  void* other = allocate_block(2 * kSize);
  EXPECT_NE(other, first);
  EXPECT_EQ(allocate_block(kSize - 8), first) << "the same number of pages";
  EXPECT_EQ(free_list_bytes(), kept - (size_t{6} << 20));
  free_block(first, kSize - 8);
  free_block(second, kSize);
  free_block(other, 2 * kSize);
}

TEST(MemoryBlocks, ZerosAreZeroInAUsedBlock) {
  const Shape shape{1000, 300};
  void* where;
  {
    Tensor used = Tensor::empty(DType::kFloat64, shape);
    where = used.raw();
    std::memset(where, 0xff, used.bytes());
  }
  Tensor zeros = Tensor::zeros(DType::kFloat64, shape);
  if (kKeeps) {
    EXPECT_EQ(zeros.raw(), where);
  }
  for (int64_t i = 0; i < zeros.size(); ++i) ASSERT_EQ(zeros.data<double>()[i], 0);
}

TEST(MemoryBlocks, NotMoreIsKeptThanSaid) {
  if (!kKeeps) GTEST_SKIP() << "sanitizers see every block freed";
  const size_t limit = free_list_limit(), each = limit / 5;  // six do not fit; never touched, so they have no pages
  std::vector<void*> blocks;
  for (int i = 0; i < 6; ++i) blocks.push_back(allocate_block(each));
  for (void* block : blocks) free_block(block, each);
  EXPECT_LE(free_list_bytes(), limit);
  EXPECT_EQ(allocate_block(each), blocks.back()) << "the last freed is the first given";
  EXPECT_GE(free_list_bytes(), 3 * each);
  free_block(blocks.back(), each);
  const size_t kept = free_list_bytes();
  void* huge = allocate_block(limit + 1);
  free_block(huge, limit + 1);
  EXPECT_EQ(free_list_bytes(), kept) << "what would push out everything else is not kept";
}

// Sizes that a loop uses in turn, of more bytes together than keep their pages.
TEST(MemoryBlocks, ThoseOfALoopComeBackEachInItsTurn) {
  if (!kKeeps) GTEST_SKIP() << "sanitizers see every block freed";
  const size_t sizes[] = {kKeptPagesBytes / 2, kKeptPagesBytes / 2 + kSize, kKeptPagesBytes + 2 * kSize};
  for (int turn = 0; turn < 3; ++turn)
    for (size_t bytes : sizes) {
      const size_t kept = free_list_bytes();
      auto* block = static_cast<unsigned char*>(allocate_block(bytes));
      if (turn > 0) {
        EXPECT_LE(free_list_bytes() + bytes, kept) << bytes;
      }
      for (size_t at : {size_t{0}, bytes / 2, bytes - 1}) block[at] = static_cast<unsigned char>(turn + 1);
      for (size_t at : {size_t{0}, bytes / 2, bytes - 1}) EXPECT_EQ(block[at], turn + 1);
      free_block(block, bytes);
    }
}

TEST(MemoryBlocks, ThreadsShareThem) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([t] {
      for (int i = 0; i < 200; ++i) {
        auto* block = static_cast<unsigned char*>(allocate_block(kLargeBlockBytes));
        block[0] = static_cast<unsigned char>(t);
        std::this_thread::yield();
        EXPECT_EQ(block[0], t);
        free_block(block, kLargeBlockBytes);
      }
    });
  for (std::thread& thread : threads) thread.join();
  if (!kKeeps) {
    EXPECT_EQ(free_list_bytes(), 0u) << "a sanitizer sees each of them freed";
  }
}

}  // namespace
}  // namespace thtrain
