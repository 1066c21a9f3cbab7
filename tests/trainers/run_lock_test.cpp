#include "trainers/run_lock.h"

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <memory>
#include <thread>

#include "tests/support/datasets_support.h"

namespace thtrain {
namespace {

namespace fs = std::filesystem;

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
  EXPECT_TRUE(fs::is_empty(folder.path()));
  RunLock again(folder.path());
}

TEST(RunLock, GoesWithItsProcess) {
  TemporaryFolder folder;
  pid_t child = ::fork();
  if (child == 0) {
    new RunLock(folder.path());
    ::_exit(0);  // as if killed
  }
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  EXPECT_FALSE(is_locked(folder.path()));
}

// Neither the files of the folder nor its name matter.
TEST(RunLock, IsOfTheFolderItself) {
  TemporaryFolder folder;
  const std::string a = folder.path("a"), b = folder.path("b");
  fs::create_directory(a);
  folder.write("a/lock", "1\n");  // of an earlier version
  auto lock = std::make_unique<RunLock>(a);
  for (const auto& entry : fs::directory_iterator(a)) fs::remove(entry);
  EXPECT_TRUE(is_locked(a));
  EXPECT_THROW(RunLock second(a), UserError);
  EXPECT_TRUE(lock->is_at(a));
  fs::rename(a, b);
  EXPECT_TRUE(is_locked(b));
  EXPECT_TRUE(lock->is_at(b));
  EXPECT_FALSE(lock->is_at(a));
  fs::create_directory(a);
  EXPECT_FALSE(lock->is_at(a));
  EXPECT_FALSE(is_locked(a));
  RunLock other(a);
  fs::remove(b);
  EXPECT_FALSE(lock->is_at(b));
}

// Who asks whether a folder is locked has its lock for a moment.
TEST(RunLock, AQuestionDoesNotKeepItFromAWriter) {
  TemporaryFolder folder;
  std::atomic<bool> ends = false;
  std::thread asks([&] {
    while (!ends) is_locked(folder.path());
  });
  for (int i = 0; i < 200; ++i) EXPECT_NO_THROW(RunLock lock(folder.path()));
  ends = true;
  asks.join();
}

TEST(RunLock, OfWhatIsNoFolder) {
  TemporaryFolder folder;
  folder.write("file", "");
  EXPECT_EQ(error_text([&] { RunLock lock(folder.path("file")); }),
            str("error: ", folder.path("file"),
                ": the folder cannot be opened\n  got:      a part of the path is not a folder"));
  EXPECT_FALSE(is_locked(folder.path("file")));
  EXPECT_FALSE(is_locked(folder.path("nothing")));
}

// A child made by fork() has the lock's descriptor.
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
}

}  // namespace
}  // namespace thtrain
