#include "trainers/run_lock.h"

#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <memory>

#include "datasets/file.h"
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

// What a stranger's folder has at its place: nothing is written into another file, nor does anything wait.
TEST(RunLock, WhatIsNoFileOfItsOwnIsRefused) {
  TemporaryFolder folder;
  const std::string lock = folder.path("run/lock");
  std::filesystem::create_directory(folder.path("run"));
  folder.write("victim", "precious");
  auto refusal = [&](const std::string& got) {
    EXPECT_EQ(error_text([&] { RunLock take(folder.path("run")); }),
              str("error: ", lock,
                  ": the lock of this run folder cannot be taken\n"
                  "  expected: a file of its own, or nothing\n"
                  "  got:      ",
                  got, "\n  hint:     remove it, if no other process uses this folder"));
    EXPECT_FALSE(is_locked(folder.path("run")));
    EXPECT_TRUE(std::filesystem::exists(std::filesystem::symlink_status(lock)));
    EXPECT_EQ(read_file(folder.path("victim")), "precious");
    std::filesystem::remove(lock);
  };
  std::filesystem::create_symlink("../victim", lock);
  refusal("a symbolic link");
  std::filesystem::create_symlink("../nothing", lock);
  refusal("a symbolic link");
  EXPECT_FALSE(std::filesystem::exists(folder.path("nothing")));
  std::filesystem::create_hard_link(folder.path("victim"), lock);
  refusal("a file that has another name, too");
  std::filesystem::create_directory(lock);
  refusal("a folder");
  ASSERT_EQ(::mkfifo(lock.c_str(), 0600), 0);
  refusal("a device, pipe or socket");
  RunLock good(folder.path("run"));
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
