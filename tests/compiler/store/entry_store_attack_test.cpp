// What other users may try against a folder of entries, and accidents that look like it.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "compiler/base/error.h"
#include "compiler/base/str.h"
#include "compiler/store/entry_store.h"
#include "compiler/store/trusted_folder.h"
#include "tests/support/folder_test.h"

namespace thtrain {
namespace {

namespace fs = std::filesystem;

constexpr uid_t kStranger = 65534;

class EntryStoreAttack : public FolderTest {
 protected:
  void SetUp() override {
    FolderTest::SetUp();
    EntryStore(folder_, geteuid()).write("programs", "a", "ours");
  }
  void TearDown() override {
    set_mode("", 0700);
    FolderTest::TearDown();
  }

  void set_mode(const std::string& part, mode_t mode) { ASSERT_EQ(chmod((root_ + part).c_str(), mode), 0); }
  void give_away(const std::string& part) { ASSERT_EQ(lchown((root_ + part).c_str(), kStranger, kStranger), 0); }
  /// Is the entry "programs/a" of the folder read?
  bool is_read(const std::string& folder) const {
    EntryStore store(folder, geteuid());
    return store.read("programs", "a").has_value();
  }
  /// The warning of a store that was asked to write and went to the private folder; "" where it did not.
  std::string warning_of_write(const std::string& folder) const {
    EntryStore store(folder, geteuid());
    testing::internal::CaptureStderr();
    std::string path = store.write("programs", "b", "new");
    std::string warning = testing::internal::GetCapturedStderr(), private_folder = store.private_folder();
    EXPECT_EQ(store.read("programs", "b")->content, "new");
    EXPECT_EQ(path.starts_with(folder + "/"), private_folder.empty()) << path;
    std::string begin = str("thtrain: warning: cache folder ", folder, " cannot be used (");
    std::string end = str("): compiled code is kept in ", private_folder, " until the program ends\n");
    if (warning.empty()) return {};
    EXPECT_TRUE(warning.starts_with(begin) && warning.ends_with(end)) << warning;
    return warning.substr(begin.size(), warning.size() - begin.size() - end.size());
  }
};

TEST_F(EntryStoreAttack, FolderThatOthersMayWriteToIsNotUsed) {
  for (mode_t mode : {0777u, 0707u}) {
    set_mode("/cache", mode);
    EXPECT_FALSE(is_read(folder_));
    EXPECT_EQ(warning_of_write(folder_), str("other users may write to ", folder_, ", mode 0",
                                             mode == 0777 ? "777" : "707", ": `chmod go-w ", folder_, "` ends that"));
    EXPECT_FALSE(fs::exists(folder_ + "/programs/b"));
  }
  set_mode("/cache", 0755);
  EXPECT_TRUE(is_read(folder_));
  EXPECT_EQ(warning_of_write(folder_), "");
}

TEST_F(EntryStoreAttack, EveryFolderAboveCountsUpToTheRoot) {
  EntryStore(root_ + "/one/two/cache", geteuid()).write("programs", "a", "ours");
  for (const char* part : {"", "/one", "/one/two"}) {
    set_mode(part, 0777);
    EXPECT_FALSE(is_read(root_ + "/one/two/cache")) << part;
    EXPECT_EQ(warning_of_write(root_ + "/one/two/cache"),
              str("other users may write to ", root_, part, ", mode 0777: `chmod go-w ", root_, part, "` ends that"));
    set_mode(part, 0755);
  }
  EXPECT_TRUE(is_read(root_ + "/one/two/cache"));
}

TEST_F(EntryStoreAttack, StickyFolderAboveIsFineWhereTheNextOneIsOurs) {
  set_mode("", 01777);
  EXPECT_TRUE(is_read(folder_));
  EXPECT_EQ(warning_of_write(folder_), "");
  if (geteuid() != 0) GTEST_SKIP() << "only root can make a folder of another user";
  give_away("/cache");
  EXPECT_FALSE(is_read(folder_));
  EXPECT_EQ(warning_of_write(folder_), folder_ + " belongs to another user (number 65534)");
}

TEST_F(EntryStoreAttack, FolderThatAnotherUserOwnsIsNotUsed) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can make a folder of another user";
  EntryStore(root_ + "/one/cache", geteuid()).write("programs", "a", "ours");
  give_away("/one");
  EXPECT_FALSE(is_read(root_ + "/one/cache"));
  EXPECT_EQ(warning_of_write(root_ + "/one/cache"), root_ + "/one belongs to another user (number 65534)");
}

TEST_F(EntryStoreAttack, GroupMayWriteOnlyWhereItIsThePrivateOneOfTheUser) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can choose a group";
  set_mode("/cache", 0775);
  EXPECT_TRUE(is_read(folder_)) << "root's own group";
  ASSERT_EQ(chown(folder_.c_str(), 0, 100), 0);  // "users" on Debian
  EXPECT_FALSE(is_read(folder_));
  EXPECT_EQ(warning_of_write(folder_),
            str("other users may write to ", folder_, ", mode 0775: `chmod go-w ", folder_, "` ends that"));
}

TEST_F(EntryStoreAttack, LinkOfAnotherUserIsNotFollowed) {
  set_mode("", 01777);
  fs::create_directory_symlink(folder_, root_ + "/link");
  EXPECT_TRUE(is_read(root_ + "/link")) << "our own link";
  EXPECT_EQ(warning_of_write(root_ + "/link"), "");
  if (geteuid() != 0) GTEST_SKIP() << "only root can make a link of another user";
  give_away("/link");
  EXPECT_FALSE(is_read(root_ + "/link"));
  EXPECT_EQ(warning_of_write(root_ + "/link"), str("the link ", root_, "/link belongs to another user (number 65534)"));
}

TEST_F(EntryStoreAttack, LinksLeadOnlyThroughFoldersThatMayBeTrusted) {
  fs::create_directories(root_ + "/open/inner");
  fs::rename(folder_, root_ + "/open/inner/cache");
  fs::create_directory_symlink("open/inner/../inner/cache", root_ + "/relative");
  fs::create_directory_symlink(root_ + "/relative", root_ + "/absolute");
  EXPECT_TRUE(is_read(root_ + "/absolute"));
  set_mode("/open", 0777);
  EXPECT_FALSE(is_read(root_ + "/absolute"));
  fs::create_directory_symlink("loop", root_ + "/loop");
  EXPECT_EQ(warning_of_write(root_ + "/loop"), root_ + "/loop: too many levels of symbolic links");
}

TEST_F(EntryStoreAttack, KindOfEntriesMayNotBeALink) {
  fs::rename(folder_ + "/programs", root_ + "/elsewhere");
  fs::create_directory_symlink(root_ + "/elsewhere", folder_ + "/programs");
  EXPECT_FALSE(is_read(folder_));
  EXPECT_EQ(warning_of_write(folder_), folder_ + "/programs is not a folder");
}

TEST_F(EntryStoreAttack, ExchangedEntriesAreRemoved) {
  EntryStore store(folder_, geteuid());
  store.write("programs", "b", "other");
  store.write("objects", "a", "object");
  fs::rename(folder_ + "/programs/a", folder_ + "/programs/c");
  fs::rename(folder_ + "/programs/b", folder_ + "/programs/a");
  fs::rename(folder_ + "/programs/c", folder_ + "/programs/b");
  EXPECT_FALSE(store.read("programs", "a"));
  EXPECT_FALSE(store.read("programs", "b"));
  EXPECT_FALSE(fs::exists(folder_ + "/programs/a"));
  store.write("programs", "a", "ours");
  fs::rename(folder_ + "/objects/a", folder_ + "/programs/a");
  EXPECT_FALSE(store.read("programs", "a")) << "of another kind";
}

// What is opened is what was checked: a folder that replaces the checked one is not seen.
TEST_F(EntryStoreAttack, FolderThatIsExchangedAfterTheCheckIsNotSeen) {
  EntryStore(root_ + "/forged", geteuid()).write("programs", "a", "forged");
  EntryStore store(folder_, geteuid());
  EXPECT_EQ(store.read("programs", "a")->content, "ours");
  fs::rename(folder_, root_ + "/away");
  fs::rename(root_ + "/forged", folder_);
  EXPECT_EQ(store.read("programs", "a")->content, "ours");
  store.write("programs", "b", "new");
  EXPECT_TRUE(fs::exists(root_ + "/away/programs/b"));
  EXPECT_FALSE(fs::exists(folder_ + "/programs/b"));
}

TEST_F(EntryStoreAttack, FolderThatIsRemovedMeanwhileIsMadeAnew) {
  EntryStore store(folder_, geteuid());
  EXPECT_TRUE(store.read("programs", "a"));
  fs::remove_all(folder_);
  EXPECT_FALSE(store.read("programs", "a"));
  EXPECT_EQ(store.write("programs", "a", "again"), folder_ + "/programs/a");
  EXPECT_EQ(store.read("programs", "a")->content, "again");
  EXPECT_TRUE(fs::exists(folder_ + "/programs/a"));
  fs::remove_all(folder_ + "/programs");
  EXPECT_EQ(store.write("programs", "a", "once more"), folder_ + "/programs/a");
  EXPECT_TRUE(is_read(folder_));
}

TEST_F(EntryStoreAttack, FolderIsWalkedOnceForAStore) {
  EntryStore store(folder_, geteuid());
  EXPECT_TRUE(store.read("programs", "a"));
  set_mode("", 0777);  // from now on a new store would refuse it
  EXPECT_TRUE(store.read("programs", "a"));
  EXPECT_FALSE(is_read(folder_));
}

}  // namespace
}  // namespace thtrain
