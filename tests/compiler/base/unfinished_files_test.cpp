#include "compiler/base/unfinished_files.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "compiler/base/file.h"
#include "tests/support/datasets_support.h"

namespace thtrain {
namespace {

// What a process leaves that `number` ends while it writes: its status, and the files.
std::pair<int, std::vector<std::string>> left_by(int number) {
  TemporaryFolder folder;
  folder.write("a.csv", "earlier");
  const pid_t child = ::fork();
  if (child == 0) {
    for (int other : {SIGINT, SIGTERM, SIGHUP}) ::signal(other, other == SIGHUP ? SIG_IGN : SIG_DFL);
    remove_unfinished_on_signals();
    AtomicFile first(folder.path("a.csv")), second(folder.path("b.csv"));
    first.write("half");
    ::raise(number);
    second.commit();
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder.path()))
    files.push_back(entry.path().filename().string());
  std::sort(files.begin(), files.end());
  EXPECT_EQ(read_file(folder.path("a.csv")), "earlier");
  return {WIFSIGNALED(status) ? WTERMSIG(status) : 0, files};
}

TEST(UnfinishedFiles, AreRemovedByASignalThatEndsTheProcess) {
  using Left = std::pair<int, std::vector<std::string>>;
  EXPECT_EQ(left_by(SIGINT), (Left{SIGINT, {"a.csv"}}));
  EXPECT_EQ(left_by(SIGTERM), (Left{SIGTERM, {"a.csv"}}));
  const Left ignored = left_by(SIGHUP);
  EXPECT_EQ(ignored.first, 0);
  EXPECT_EQ(std::count(ignored.second.begin(), ignored.second.end(), "b.csv"), 1);
}

}  // namespace
}  // namespace thtrain
