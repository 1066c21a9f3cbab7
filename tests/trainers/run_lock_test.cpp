#include "trainers/run_lock.h"

#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <memory>

#include "tests/support/datasets_support.h"

namespace thtrain {
namespace {

TEST(RunLock, OneAtATime) {
  TemporaryFolder folder;
  EXPECT_FALSE(is_locked(folder.path()));
  {
    RunLock lock(folder.path());
    EXPECT_TRUE(is_locked(folder.path()));
    EXPECT_EQ(error_text([&] { RunLock second(folder.path()); }),
              str("error: ", folder.path(),
                  ": another process writes to this run folder\n"
                  "  expected: one process for each run folder\n"
                  "  got:      process ",
                  ::getpid(),
                  "\n"
                  "  hint:     wait until it is done, or stop it first"));
  }
  EXPECT_FALSE(is_locked(folder.path()));
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
  RunLock again(folder.path());
}

TEST(RunLock, GoesWithItsProcessAndItsFolder) {
  TemporaryFolder folder;
  pid_t child = ::fork();
  if (child == 0) {
    new RunLock(folder.path());
    ::_exit(0);  // as if killed: the file stays
  }
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  EXPECT_TRUE(std::filesystem::exists(folder.path("lock")));
  EXPECT_FALSE(is_locked(folder.path()));
  std::filesystem::create_directory(folder.path("a"));
  auto lock = std::make_unique<RunLock>(folder.path("a"));
  std::filesystem::rename(folder.path("a"), folder.path("b"));
  lock->moved_to(folder.path("b"));
  EXPECT_TRUE(is_locked(folder.path("b")));
  lock.reset();
  EXPECT_TRUE(std::filesystem::is_empty(folder.path("b")));
}

// A child made by fork() has the lock's descriptor, and leaves the file to its parent.
TEST(RunLock, StaysWithItsMaker) {
  TemporaryFolder folder;
  auto lock = std::make_unique<RunLock>(folder.path());
  pid_t child = ::fork();
  if (child == 0) {
    lock.reset();
    ::_exit(0);
  }
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  EXPECT_TRUE(is_locked(folder.path()));
  EXPECT_TRUE(std::filesystem::exists(folder.path("lock")));
}

}  // namespace
}  // namespace thtrain
