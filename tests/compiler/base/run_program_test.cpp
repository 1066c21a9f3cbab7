// Programs that hang, die and are interrupted.
#include "compiler/base/run_program.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include "compiler/base/error.h"
#include "compiler/base/file_descriptor.h"
#include "tests/support/folder_test.h"

namespace thtrain {
namespace {

namespace fs = std::filesystem;

/// Hangs with a process of its group that hangs too; both refuse to be asked politely. Their numbers go to $1.
constexpr const char* kHangs =
    "trap '' TERM INT HUP; echo begun; sleep 1000 & echo $$ $! > $0.ids.new; "
    "mv $0.ids.new $0.ids; wait; sleep 1000";

class RunProgramTest : public FolderTest {
 protected:
  std::string script(const std::string& name, const std::string& body) const { return put_script(name, body); }
  static void wait_for(const std::string& path) {
    for (int i = 0; i < 3000 && !fs::exists(path); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
    EXPECT_TRUE(fs::exists(path)) << path;
  }
  /// Are the processes whose numbers the script wrote gone?
  static bool all_gone(const std::string& script) {
    std::ifstream ids(script + ".ids");
    int read = 0;
    for (pid_t id = 0; ids >> id; ++read)
      for (int i = 0; runs(id); ++i) {
        if (i == 1000) return false;
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
      }
    return read == 2;
  }
  /// Not where it only waits to be reaped.
  static bool runs(pid_t id) {
    std::ifstream file(str("/proc/", id, "/stat"));
    std::string number, name, state;
    return file >> number >> name >> state && state != "Z" && state != "X";
  }
};

TEST_F(RunProgramTest, OneThatHangsIsEndedAtItsLimitWithItsGroup) {
  std::string path = script("hangs", kHangs);
  Finished finished = run_program({.words = {path}}, {.limit_seconds = 1});
  EXPECT_TRUE(finished.out_of_time);
  EXPECT_EQ(finished.exit_code, -1);
  EXPECT_EQ(finished.output, "begun\n");
  EXPECT_EQ(finished.trouble, "it did not end within 1 s");
  EXPECT_TRUE(all_gone(path));
}

TEST_F(RunProgramTest, OneThatClosesItsOutputAndHangsIsEndedToo) {
  std::string path = script("hangs", "exec >&- 2>&-; sleep 1000");
  EXPECT_TRUE(run_program({.words = {path}}, {.limit_seconds = 0.3}).out_of_time);
}

TEST_F(RunProgramTest, OneThatLeavesAServerBehindIsNotWaitedForLonger) {
  std::string path = script("serves", "sleep 30 & echo done; echo $! > $0.id");
  Finished finished = run_program({.words = {path}}, {.limit_seconds = 20});
  EXPECT_EQ(finished.exit_code, 0);
  EXPECT_EQ(finished.output, "done\n");
  pid_t server = 0;
  std::ifstream(path + ".id") >> server;
  ASSERT_GT(server, 0);
  EXPECT_EQ(kill(server, SIGKILL), 0) << "it was ended, or waited for";
}

TEST_F(RunProgramTest, WhoWaitsIsToldHowLong) {
  double longest = 0;
  int calls = 0;
  run_program({.words = {script("slow", "sleep 0.5")}}, {.waiting = [&](double seconds) {
                ++calls;
                EXPECT_GE(seconds, longest);
                longest = seconds;
              }});
  EXPECT_GT(calls, 2);
  EXPECT_GT(longest, 0.2);
}

TEST_F(RunProgramTest, OneThatIsCancelledIsEnded) {
  const std::string path = script("hangs", kHangs);
  std::atomic<bool> is_cancelled = false;
  std::thread other([&] {
    wait_for(path + ".ids");
    is_cancelled = true;
  });
  const Finished finished = run_program({.words = {path}}, {.is_cancelled = &is_cancelled});
  other.join();
  EXPECT_EQ(finished.exit_code, -1);
  EXPECT_EQ(finished.trouble, "another program of its group failed");
  EXPECT_TRUE(all_gone(path));
}

TEST_F(RunProgramTest, FlagOfTheHostEndsTheWholeGroup) {
  std::string path = script("hangs", kHangs);
  std::atomic<int> flag = 0;
  set_interrupt_flag(&flag);
  std::thread user([&] {
    wait_for(path + ".ids");
    flag = SIGINT;
  });
  try {
    run_program({.words = {path}});
    ADD_FAILURE() << "no exception";
  } catch (const Interrupted& interrupted) {
    EXPECT_EQ(interrupted.signal(), SIGINT);
    EXPECT_EQ(interrupted.messages()[0].what, path + " was ended by SIGINT (Interrupt)");
  }
  user.join();
  set_interrupt_flag(nullptr);
  EXPECT_TRUE(all_gone(path));
}

// A process that handles no signals: the first Ctrl-C ends it by that signal, and the compiler's group before it.
TEST_F(RunProgramTest, SignalEndsTheGroupAndThenThisProcess) {
  for (int number : {SIGINT, SIGTERM, SIGHUP}) {
    std::string path = script(str("hangs-", number), kHangs);
    pid_t child = fork();
    if (child == 0) {
      signal(number, SIG_DFL);
      try {
        run_program({.words = {path}});
      } catch (const Interrupted&) {
      }
      _exit(3);
    }
    wait_for(path + ".ids");
    kill(child, number);
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == number) << status;
    EXPECT_TRUE(all_gone(path));
  }
}

TEST_F(RunProgramTest, HandlersOfTheHostAreLeftAlone) {
  static volatile sig_atomic_t seen;
  seen = 0;
  auto before = signal(SIGTERM, [](int) { seen = 1; });
  std::string path = script("slow", str("kill -TERM ", getpid(), "; echo done"));
  EXPECT_EQ(run_program({.words = {path}}).output, "done\n");
  EXPECT_EQ(seen, 1);
  signal(SIGTERM, SIG_DFL);
  run_program({.words = {script("quick", "exit 0")}});
  struct sigaction now {};
  sigaction(SIGTERM, nullptr, &now);
  EXPECT_EQ(now.sa_handler, SIG_DFL);
  signal(SIGTERM, before);
}

TEST(RunProgram, OutputExitCodeAndSignals) {
  Finished fine = run_program({.words = {"/bin/sh", "-c", "echo out; echo err >&2; exit 3"}});
  EXPECT_EQ(fine.exit_code, 3);
  EXPECT_EQ(fine.output, "out\nerr\n");
  Finished killed = run_program({.words = {"/bin/sh", "-c", "kill -9 $$"}});
  EXPECT_EQ(killed.exit_code, -1);
  EXPECT_EQ(killed.trouble, "ended by SIGKILL (Killed)");
  Finished absent = run_program({.words = {"/no/such/program"}});
  EXPECT_EQ(absent.exit_code, -1);
  EXPECT_EQ(absent.trouble, "cannot start it: no such file or folder");
  // Of a long output the beginning and the end are kept.
  Finished long_output = run_program({.words = {"/bin/sh", "-c", "echo first; head -c 1000000 /dev/zero; echo last"}});
  EXPECT_TRUE(long_output.output.starts_with("first\n") && long_output.output.ends_with("last\n"));
  EXPECT_LT(long_output.output.size(), 600000u);
}

TEST(RunProgram, HostThatIgnoresItsChildren) {
  auto before = signal(SIGCHLD, SIG_IGN);
  EXPECT_EQ(run_program({.words = {"/bin/sh", "-c", "echo out"}}).output, "out\n");
  signal(SIGCHLD, before);
}

TEST(RunProgram, IsStartedInAFolderWithVariablesOfItsOwn) {
  const FileDescriptor folder(open("/usr", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  setenv("THTRAIN_TEST_OLD", "old", 1);
  const Finished finished = run_program({.words = {"sh", "-c", "pwd; echo $THTRAIN_TEST_OLD $THTRAIN_TEST_NEW; cat"},
                                         .environment = {{"THTRAIN_TEST_OLD", "other"}, {"THTRAIN_TEST_NEW", "new"}},
                                         .folder = folder.get()});
  unsetenv("THTRAIN_TEST_OLD");
  EXPECT_EQ(finished.output, "/usr\nother new\n") << "the input is empty";
}

TEST(LimitOf, ReadsSeconds) {
  const char* name = "THTRAIN_TEST_LIMIT";
  for (const auto& [text, seconds] : {std::pair{"", 7.0}, {"0", 0.0}, {"2.5", 2.5}}) {
    setenv(name, text, 1);
    EXPECT_EQ(limit_of(name, 7, "seconds"), seconds) << text;
  }
  unsetenv(name);
  EXPECT_EQ(limit_of(name, 7, "seconds"), 7);
}

}  // namespace
}  // namespace thtrain
