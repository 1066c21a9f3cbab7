#include "trainers/folder_guard.h"

#include <gtest/gtest.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <filesystem>
#include <optional>

#include "tests/support/datasets_support.h"
#include "tests/support/training_support.h"
#include "trainers/run_folder.h"

namespace thtrain {
namespace {

namespace fs = std::filesystem;

/// What happens to a folder, in order: "moved", or "deleted NAME" for a file in it.
class FolderWatch {
 public:
  explicit FolderWatch(const std::string& folder) : descriptor_(::inotify_init1(IN_NONBLOCK | IN_CLOEXEC)) {
    EXPECT_GE(::inotify_add_watch(descriptor_, folder.c_str(), IN_MOVE_SELF | IN_DELETE), 0);
  }
  ~FolderWatch() { ::close(descriptor_); }
  FolderWatch(const FolderWatch&) = delete;
  FolderWatch& operator=(const FolderWatch&) = delete;

  std::string first() const {
    alignas(inotify_event) char buffer[4096];
    if (::read(descriptor_, buffer, sizeof buffer) <= 0) return "nothing";
    const auto* event = reinterpret_cast<const inotify_event*>(buffer);
    return event->mask & IN_MOVE_SELF ? "moved" : str("deleted ", event->name);
  }

 private:
  int descriptor_;
};

TEST(FolderGuard, GoesWithWhatIsInItAndWithTheEmptyFoldersAbove) {
  TemporaryFolder temporary;
  {
    FolderGuard location(temporary.path("a/b/run"));
    temporary.write("a/b/run/run.json", "");
    location.made();
  }
  EXPECT_TRUE(fs::is_empty(temporary.path()));
  {
    FolderGuard location(temporary.path("run"));
    temporary.write("run/run.json", "");
    location.made();
    location.keep();
  }
  EXPECT_TRUE(fs::exists(temporary.path("run/run.json")));
}

TEST(FolderGuard, OfAFolderThatWasThereOnlyWhatIsInItGoes) {
  TemporaryFolder temporary;
  fs::create_directories(temporary.path("run/lost+found"));
  fs::create_directory_symlink("run", temporary.path("link"));
  {
    FolderGuard location(temporary.path("link"));
    temporary.write("run/run.json", "");
    temporary.write("run/plots/a.svg", "");
    EXPECT_FALSE(is_empty_folder(temporary.path("link")));
    location.made();
  }
  EXPECT_TRUE(fs::is_symlink(temporary.path("link")));
  EXPECT_TRUE(is_empty_folder(temporary.path("link")));
  EXPECT_TRUE(fs::exists(temporary.path("run/lost+found")));
  EXPECT_FALSE(is_empty_folder(temporary.path("none")));
}

// A second signal may end the process in the middle of it: what is left then is not called as the folder was.
TEST(FolderGuard, IsRenamedBeforeItIsRemoved) {
  TemporaryFolder temporary;
  std::optional<FolderGuard> location(temporary.path("run"));
  temporary.write("run/config.toml", "");
  temporary.write("run/run.json", "");
  location->made();
  FolderWatch watch(temporary.path("run"));
  location.reset();
  EXPECT_EQ(watch.first(), "moved");
  EXPECT_TRUE(fs::is_empty(temporary.path()));
}

TEST(FolderGuard, UnfinishedRunThatGivesWayIsRenamedToo) {
  TemporaryFolder temporary;
  RunFolder::create(temporary.path("run"), small_experiment());
  FolderWatch watch(temporary.path("run"));
  RunFolder::create(temporary.path("run"), small_experiment());
  EXPECT_EQ(watch.first(), "moved");
  fs::remove_all(temporary.path("run"));
  EXPECT_TRUE(fs::is_empty(temporary.path()));
}

}  // namespace
}  // namespace thtrain
