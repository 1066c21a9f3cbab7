// Tests of compiler/libraries/threads.h.
#include "compiler/libraries/threads.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <numeric>
#include <thread>
#include <tuple>
#include <vector>

namespace thtrain {
namespace {

TEST(Partition, CoversEveryIndexOnceInOrder) {
  for (long n : {0L, 1L, 2L, 15L, 16L, 17L, 31L, 32L, 33L, 100L, 1000L, 784L})
    for (long grain : {0L, 1L, 7L, 64L})
      for (long multiple : {1L, 4L, 16L})
        for (int threads : {1, 2, 3, 8, 64}) {
          SCOPED_TRACE(testing::Message() << n << " " << grain << " " << multiple << " " << threads);
          Partition partition(n, grain, multiple, threads);
          EXPECT_EQ(partition.pieces() == 0, n == 0);
          EXPECT_LE(partition.pieces(), threads);
          long at = 0;
          for (int i = 0; i < partition.pieces(); ++i) {
            long begin = partition.begin(i), end = partition.end(i);
            EXPECT_EQ(begin, at);
            EXPECT_GT(end, begin);
            EXPECT_TRUE(partition.pieces() == 1 || end - begin >= grain);
            EXPECT_TRUE(i + 1 == partition.pieces() || (end - begin) % multiple == 0);
            at = end;
          }
          EXPECT_EQ(at, n);
        }
}

TEST(Partition, IsEvenToOneUnit) {
  Partition partition(1000, 1, 16, 4);  // 62 units of 16, and 8 more
  std::vector<long> lengths;
  for (int i = 0; i < 4; ++i) lengths.push_back(partition.end(i) - partition.begin(i));
  EXPECT_EQ(lengths, (std::vector<long>{256, 256, 240, 248}));
}

TEST(Partition, DoesNotSplitBelowTheGrain) {
  EXPECT_EQ(Partition(100, 64, 1, 8).pieces(), 1);
  EXPECT_EQ(Partition(128, 64, 1, 8).pieces(), 2);
  EXPECT_EQ(Partition(15, 1, 16, 8).pieces(), 1);
}

TEST(ThreadCount, RequestThenEnvironmentThenCores) {
  unsetenv("OMP_NUM_THREADS");
  int cores = thread_count();
  EXPECT_GE(cores, 1);
  setenv("OMP_NUM_THREADS", "3", 1);
  EXPECT_EQ(thread_count(), 3);
  EXPECT_EQ(thread_count(2), 2);
  setenv("OMP_NUM_THREADS", "5,2", 1);
  EXPECT_EQ(thread_count(), 5);
  setenv("OMP_NUM_THREADS", " 5 , 2", 1);
  EXPECT_EQ(thread_count(), 5);
  for (const char* nonsense : {"", "many", "0", "-2", "4x", "4,", "4,x", "4 2", "99999999999999999999"}) {
    setenv("OMP_NUM_THREADS", nonsense, 1);
    EXPECT_EQ(thread_count(), cores) << nonsense;
  }
  unsetenv("OMP_NUM_THREADS");
  EXPECT_EQ(thread_count(100000), 256);
}

TEST(RunPieces, EachPieceOnce) {
  for (int round = 0; round < 2000; ++round) {
    int pieces = round % 7;
    std::vector<std::atomic<int>> counts(7);
    run_pieces(pieces, [&](int i) { counts[static_cast<size_t>(i)]++; });
    for (int i = 0; i < 7; ++i) ASSERT_EQ(counts[static_cast<size_t>(i)].load(), i < pieces ? 1 : 0) << round;
  }
}

TEST(RunPieces, WritesAreSeenByTheCaller) {
  std::vector<long> values(4);
  for (long round = 0; round < 20000; ++round) {
    run_pieces(4, [&](int i) { values[static_cast<size_t>(i)] = round + i; });
    for (int i = 0; i < 4; ++i) ASSERT_EQ(values[static_cast<size_t>(i)], round + i);
  }
}

TEST(RunPieces, WakesSleepingThreads) {
  for (int round = 0; round < 20; ++round) {
    std::atomic<int> sum = 0;
    run_pieces(3, [&](int i) { sum += i + 1; });
    EXPECT_EQ(sum, 6);
    usleep(2000);  // longer than they spin
  }
}

TEST(RunPieces, CallerSleepsWhileAPieceIsLong) {
  std::atomic<int> done = 0;
  run_pieces(2, [&](int) {
    usleep(20000);
    ++done;
  });
  EXPECT_EQ(done, 2);
}

TEST(RunPieces, NestedCallsRunSeriallyInOrder) {
  std::atomic<bool> right = true;
  run_pieces(4, [&](int) {
    if (!inside_parallel()) right = false;
    auto self = std::this_thread::get_id();
    std::vector<int> order;
    run_pieces(5, [&](int j) {
      if (std::this_thread::get_id() != self) right = false;
      order.push_back(j);
    });
    if (order != std::vector<int>{0, 1, 2, 3, 4}) right = false;
  });
  EXPECT_TRUE(right);
  EXPECT_FALSE(inside_parallel());
}

TEST(RunPieces, OnePieceIsNotInside) {
  run_pieces(1, [&](int) { EXPECT_FALSE(inside_parallel()); });
}

TEST(RunPieces, ManyCallersAtOnce) {
  std::vector<std::thread> callers;
  std::vector<long> sums(4);
  for (size_t c = 0; c < sums.size(); ++c)
    callers.emplace_back([&sums, c] {
      for (int round = 0; round < 3000; ++round) {
        std::atomic<long> sum = 0;
        run_pieces(3, [&](int i) { sum += i; });
        sums[c] += sum;
      }
    });
  for (auto& caller : callers) caller.join();
  for (long sum : sums) EXPECT_EQ(sum, 9000);
}

TEST(RunPieces, WorksInAForkedChild) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "the thread sanitizer ends a child of a program with threads that starts threads";
#endif
  std::atomic<int> sum = 0;
  run_pieces(2, [&](int i) { sum += i + 1; });  // the parent's pool exists
  pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    std::atomic<int> own = 0;
    for (int round = 0; round < 100; ++round) run_pieces(3, [&](int i) { own += i; });
    _exit(own == 300 ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  run_pieces(2, [&](int i) { sum += i + 1; });
  EXPECT_EQ(sum, 6);
}

struct Record {
  std::atomic<int> calls = 0;
  std::vector<std::pair<long, long>> ranges = std::vector<std::pair<long, long>>(1000);
};

void record(ThContext*, void* const* buffers, const long* lengths, long begin, long end) {
  auto* out = static_cast<Record*>(buffers[0]);
  out->ranges[static_cast<size_t>(begin / lengths[0])] = {begin, end};
  ++out->calls;
}

TEST(ParallelFor, RangesAreThoseOfThePartitionWhoeverRunsThem) {
  for (int threads : {1, 2, 3, 5}) {
    ThContext context{};
    context.threads = threads;
    long lengths[] = {8};
    for (int round = 0; round < 50; ++round) {
      Record out;
      void* buffers[] = {&out};
      parallel_for(&context, record, buffers, lengths, 500, 10, 8);
      Partition partition(500, 10, 8, threads);
      ASSERT_EQ(out.calls, partition.pieces());
      for (int i = 0; i < partition.pieces(); ++i)
        ASSERT_EQ(out.ranges[static_cast<size_t>(partition.begin(i) / 8)],
                  std::pair(partition.begin(i), partition.end(i)));
    }
  }
}

TEST(ParallelFor, NothingToDoCallsNothing) {
  ThContext context{};
  context.threads = 4;
  Record out;
  void* buffers[] = {&out};
  long lengths[] = {1};
  parallel_for(&context, record, buffers, lengths, 0, 1, 1);
  EXPECT_EQ(out.calls, 0);
}

TEST(RecordFailure, TheFirstIsKeptWhole) {
  for (int round = 0; round < 500; ++round) {
    ThContext context{};
    run_pieces(4, [&](int piece) { record_failure(&context, piece, 10 * piece, 20 * piece); });
    const long piece = context.failure.word - 1;
    ASSERT_TRUE(piece >= 0 && piece < 4) << piece;
    ASSERT_EQ(context.failure.value, 10 * piece);
    ASSERT_EQ(context.failure.limit, 20 * piece);
    record_failure(&context, 7, 1, 1);
    ASSERT_EQ(context.failure.word, piece + 1);
  }
}

}  // namespace
}  // namespace thtrain
