// Tests of compiler/base/side_by_side.h.
#include "compiler/base/side_by_side.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <stdexcept>
#include <thread>
#include <vector>

namespace thtrain {
namespace {

void nothing() {}

TEST(SideBySide, EachJobRunsOnce) {
  for (size_t workers : {1, 2, 7, 50}) {
    std::vector<std::atomic<int>> runs(20);
    run_side_by_side(
        runs.size(), workers, [&](size_t i) { ++runs[i]; }, nothing);
    for (size_t i = 0; i < runs.size(); ++i) EXPECT_EQ(runs[i], 1) << i << ", " << workers;
  }
  run_side_by_side(
      0, 4, [](size_t) { FAIL() << "there is no job"; }, nothing);
}

TEST(SideBySide, AsManyJobsRunAtOnceAsThereAreWorkers) {
  std::atomic<int> running = 0;
  auto job = [&](size_t) {
    ++running;
    while (running < 3) std::this_thread::yield();  // the test ends it where this never comes true
  };
  run_side_by_side(3, 3, job, nothing);
  EXPECT_EQ(running, 3);
}

TEST(SideBySide, OneWorkerIsTheCaller) {
  const std::thread::id self = std::this_thread::get_id();
  run_side_by_side(
      3, 1, [&](size_t) { EXPECT_EQ(std::this_thread::get_id(), self); }, nothing);
}

TEST(SideBySide, TheFirstFailureStopsTheOthersAndIsThrown) {
  std::atomic<bool> stopped = false;
  std::atomic<int> begun = 0;
  auto job = [&](size_t i) {
    ++begun;
    if (i == 1) throw std::runtime_error("the second");
    while (!stopped) std::this_thread::yield();
    throw std::runtime_error("ended by the second");
  };
  try {
    run_side_by_side(10, 2, job, [&] { stopped = true; });
    FAIL() << "no error";
  } catch (const std::runtime_error& error) {
    EXPECT_STREQ(error.what(), "the second");
  }
  EXPECT_EQ(begun, 2);
}

}  // namespace
}  // namespace thtrain
