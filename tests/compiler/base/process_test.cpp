// Processes: how they start, what they have of this one, and how they end.
#include "compiler/base/process.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <thread>

#include "compiler/base/file_descriptor.h"
#include "compiler/base/str.h"

namespace thtrain {
namespace {

Launch shell(const std::string& text) {
  return {.words = {"sh", "-c", text}};
}

// What the shell writes.
std::string output_of(Launch launch) {
  auto [read, written] = make_pipe();
  launch.output = written.get();
  Process process(launch);
  written.reset();
  std::string out;
  for (char c; ::read(read.get(), &c, 1) == 1;) out += c;
  process.wait();
  return out;
}

bool is_gone(pid_t id) {
  for (int i = 0; i < 1000; ++i) {
    std::ifstream file(str("/proc/", id, "/stat"));
    std::string number, name, state;
    if (!(file >> number >> name >> state) || state == "Z" || state == "X") return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return false;
}

TEST(Process, EndsWithACodeOrASignal) {
  EXPECT_EQ(Process(shell("exit 3")).wait().exit_code, 3);
  Process killed(shell("kill -9 $$"));
  const ProcessEnd end = killed.wait();
  EXPECT_EQ(end.exit_code, 128 + SIGKILL);
  EXPECT_EQ(end.signal, SIGKILL);
  EXPECT_EQ(signal_text(end.signal), "SIGKILL (Killed)");
}

TEST(Process, OneThatCannotBeStartedSaysWhy) {
  EXPECT_EQ(Process({.words = {"/no/such/program"}}).error(), ENOENT);
  EXPECT_EQ(Process({.words = {"/etc/passwd"}}).error(), EACCES);
  EXPECT_EQ(Process({.words = {"true"}, .folder = 1 << 20}).error(), EBADF);
  EXPECT_EQ(Process({.words = {"true"}, .output = 1 << 20}).error(), EBADF);
}

TEST(Process, SignalsHaveTheirDefaultButForStopsThatAreIgnored) {
  const auto before_int = signal(SIGINT, SIG_IGN), before_pipe = signal(SIGPIPE, SIG_IGN),
             before_term = signal(SIGTERM, [](int) {});
  sigset_t blocked, before;
  sigemptyset(&blocked);
  sigaddset(&blocked, SIGUSR1);
  sigprocmask(SIG_BLOCK, &blocked, &before);
  auto bits = [](int number) { return 1ull << (number - 1); };
  const std::string out = output_of(shell("grep -e SigBlk -e SigIgn /proc/self/status | cut -f2"));
  sigprocmask(SIG_SETMASK, &before, nullptr);
  signal(SIGINT, before_int);
  signal(SIGPIPE, before_pipe);
  signal(SIGTERM, before_term);
  EXPECT_EQ(std::stoull(out.substr(0, 16), nullptr, 16), 0u) << out;
  EXPECT_EQ(std::stoull(out.substr(17), nullptr, 16), bits(SIGINT)) << out;
}

TEST(Process, HasNoDescriptorsThatProgramsDoNotInherit) {
  const FileDescriptor held(open("/dev/null", O_RDONLY | O_CLOEXEC));
  EXPECT_EQ(output_of(shell(str("test -e /proc/$$/fd/", held.get(), " || echo closed"))), "closed\n");
}

TEST(Process, StopEndsTheGroupThatDoesNotListen) {
  auto [read, written] = make_pipe();
  Launch launch = shell("trap '' TERM; sleep 1000 & echo $!; wait");
  launch.output = written.get();
  Process process(launch);
  written.reset();
  pid_t other = 0;
  for (char c; ::read(read.get(), &c, 1) == 1 && c != '\n';) other = 10 * other + (c - '0');
  EXPECT_FALSE(process.has_ended());
  EXPECT_EQ(process.stop().signal, SIGKILL);
  EXPECT_TRUE(is_gone(other));
}

TEST(Process, GoesWithItsObject) {
  pid_t id = 0;
  {
    const Process process(shell("sleep 1000"));
    id = process.id();
  }
  EXPECT_TRUE(is_gone(id));
}

// The process that started it is killed: the system ends it.
TEST(Process, GetsASignalWhereItsParentEnds) {
  auto [read, written] = make_pipe();
  const pid_t parent = fork();
  if (parent == 0) {
    Launch launch = shell("sleep 1000");
    launch.signal_at_end = SIGTERM;
    const Process process(launch);
    const pid_t id = process.id();
    (void)!::write(written.get(), &id, sizeof id);
    pause();
    _exit(0);
  }
  pid_t id = 0;
  ASSERT_EQ(::read(read.get(), &id, sizeof id), static_cast<ssize_t>(sizeof id));
  kill(parent, SIGKILL);
  waitpid(parent, nullptr, 0);
  EXPECT_TRUE(is_gone(id));
}

}  // namespace
}  // namespace thtrain
