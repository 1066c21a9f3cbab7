#include "trainers/stale_files.h"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <memory>

#include "tests/support/datasets_support.h"
#include "trainers/run_lock.h"

namespace thtrain {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> names_in(const std::string& folder) {
  std::vector<std::string> out;
  for (const auto& entry : fs::recursive_directory_iterator(folder))
    if (!entry.is_directory()) out.push_back(entry.path().lexically_relative(folder));
  std::sort(out.begin(), out.end());
  return out;
}

// The number of a process that is no more.
pid_t gone() {
  pid_t child = ::fork();
  if (child == 0) ::_exit(0);
  ::waitpid(child, nullptr, 0);
  return child;
}

TEST(StaleFiles, OnlyUnfinishedFilesOfARunGo) {
  TemporaryFolder folder;
  for (const char* kept : {"checkpoint.npz", "checkpoint.npz.tmp-", "checkpoint.npz.tmp-a-0", "checkpoint.npz.tmp-1",
                           "p.npy.tmp-1-0", "mine/checkpoint.npz.tmp-1-0"})
    folder.write(kept, "");
  std::vector<std::string> before = names_in(folder.path());
  for (const char* stale :
       {"checkpoint.npz.tmp-17-0", "best.npz.tmp-17-12", "run.json.tmp-1-1", "table.json.tmp-17-0",
        "plots/learning_curves.png.tmp-17-3", "plots/learning_curves.svg.tmp-17-4", "plots/samples.png.tmp-17-3",
        "plots/first_filters_at_epoch_0001.png.tmp-17-3", "profile/trace.json.tmp-17-3"})
    folder.write(stale, "");
  remove_stale_files(folder.path());
  EXPECT_EQ(names_in(folder.path()), before);
}

TEST(StaleFiles, OnlyNewFoldersOfDeadProcessesGo) {
  TemporaryFolder folder;
  std::string mine = new_folder_name(folder.path()).substr(folder.path().size() + 1),
              dead = str(".thtrain-new-", gone(), "-0"), held = str(".thtrain-new-", gone(), "-1");
  for (const std::string& name : {mine, dead, held, std::string(".thtrain-new-x-0"), std::string("run.1.new")})
    folder.write(name + "/config.toml", "");
  auto lock = std::make_unique<RunLock>(folder.path(held));  // of a process of another machine, say
  remove_stale_folders(folder.path());
  std::vector<std::string> expected = {mine + "/config.toml", held + "/config.toml", ".thtrain-new-x-0/config.toml",
                                       "run.1.new/config.toml"};
  std::sort(expected.begin(), expected.end());
  EXPECT_EQ(names_in(folder.path()), expected);
  remove_stale_folders(folder.path("no such folder"));
}

TEST(StaleFiles, AFolderThatWasSetAsideGoesWithTheNextRun) {
  TemporaryFolder folder;
  folder.write("run/config.toml", "");
  const std::string run = folder.path("run");
  pid_t child = ::fork();
  if (child == 0) ::_exit(set_aside(run) == run);  // killed before it removed anything
  int status = 1;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_FALSE(fs::exists(run));
  EXPECT_EQ(names_in(folder.path()).size(), 1u);
  remove_stale_folders(folder.path());
  EXPECT_TRUE(fs::is_empty(folder.path()));
  EXPECT_EQ(set_aside(folder.path("none")), folder.path("none"));
}

}  // namespace
}  // namespace thtrain
