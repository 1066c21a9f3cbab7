// Tests of compiler/store/entry_store.h.
#include "compiler/store/entry_store.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <utime.h>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include "compiler/base/error.h"
#include "compiler/base/str.h"
#include "compiler/store/cache_folder.h"
#include "tests/support/folder_test.h"

namespace thtrain {
namespace {

namespace fs = std::filesystem;

class EntryStoreTest : public FolderTest {
 protected:
  static std::string bytes_of(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    std::ostringstream out;
    out << file.rdbuf();
    return out.str();
  }
  static void put(const std::string& path, const std::string& bytes) { std::ofstream(path, std::ios::binary) << bytes; }
  static mode_t mode_of(const std::string& path) {
    struct stat info {};
    EXPECT_EQ(stat(path.c_str(), &info), 0) << path;
    return info.st_mode & 07777;
  }
  static std::optional<std::string> content(EntryStore& store, const char* name) {
    auto entry = store.read("programs", name);
    return entry ? std::optional(entry->content) : std::nullopt;
  }
};

const std::string kBytes = std::string("some bytes\0and more\n", 20);

TEST_F(EntryStoreTest, ReadsBackWhatItWroteAndOtherStoresDoToo) {
  EntryStore store(folder_, geteuid());
  EXPECT_EQ(content(store, "a"), std::nullopt);
  EXPECT_FALSE(fs::exists(folder_)) << "made by a mere look";
  std::string path = store.write("programs", "a", kBytes);
  EXPECT_EQ(path, folder_ + "/programs/a");
  EXPECT_EQ(content(store, "a"), kBytes);
  EntryStore other(folder_, geteuid());
  EXPECT_EQ(content(other, "a"), kBytes);
  store.write("programs", "a", "");
  EXPECT_EQ(content(other, "a"), "");
  EXPECT_TRUE(fs::is_empty(folder_ + "/tmp"));
}

TEST_F(EntryStoreTest, EverythingIsForThisUserAlone) {
  mode_t before = umask(0);
  EntryStore store(root_ + "/deep/er", geteuid());
  std::string path = store.write("programs", "a", kBytes);
  umask(before);
  for (const char* part : {"/deep", "/deep/er", "/deep/er/programs", "/deep/er/tmp"})
    EXPECT_EQ(mode_of(root_ + part), 0700u) << part;
  EXPECT_EQ(mode_of(path), 0600u);
}

TEST_F(EntryStoreTest, CutOrAlteredEntriesAreRemoved) {
  EntryStore store(folder_, geteuid());
  std::string path = store.write("programs", "a", kBytes), whole = bytes_of(path);
  for (size_t length = 0; length < whole.size(); ++length) {
    put(path, whole.substr(0, length));
    ASSERT_EQ(content(store, "a"), std::nullopt) << length;
    ASSERT_FALSE(fs::exists(path)) << length;
  }
  for (size_t at = 0; at < whole.size(); ++at) {
    std::string altered = whole;
    altered[at] = static_cast<char>(altered[at] ^ 1);
    store.write("programs", "a", kBytes);
    put(path, altered);
    ASSERT_EQ(content(store, "a"), std::nullopt) << at;
  }
  put(path, whole + "x");
  EXPECT_EQ(content(store, "a"), std::nullopt);
  store.write("programs", "a", kBytes);
  EXPECT_EQ(content(store, "a"), kBytes);
}

TEST_F(EntryStoreTest, EntriesThatOthersMayWriteAreRemoved) {
  EntryStore store(folder_, geteuid());
  for (mode_t mode : {0660u, 0602u}) {
    std::string path = store.write("programs", "a", kBytes);
    ASSERT_EQ(chmod(path.c_str(), mode), 0);
    EXPECT_EQ(content(store, "a"), std::nullopt);
    EXPECT_FALSE(fs::exists(path));
  }
}

TEST_F(EntryStoreTest, EntriesOfAnotherUserAreNotRead) {
  EntryStore store(folder_, geteuid());
  std::string path = store.write("programs", "a", kBytes);
  EntryStore stranger(folder_, geteuid() + 1);
  EXPECT_EQ(content(stranger, "a"), std::nullopt);
  EXPECT_EQ(stranger.read_any("programs", "a", ""), std::nullopt);
  EXPECT_TRUE(fs::exists(path)) << "not the stranger's to remove";
}

TEST_F(EntryStoreTest, EntriesThatWereGivenAwayAreRemoved) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can give a file away";
  EntryStore store(folder_, geteuid());
  const std::string path = store.write("programs", "a", kBytes);
  ASSERT_EQ(chown(path.c_str(), 65534, 65534), 0);
  EXPECT_EQ(content(store, "a"), std::nullopt);
  EXPECT_FALSE(fs::exists(path));
  EXPECT_EQ(store.write("programs", "a", kBytes), path);
  EXPECT_EQ(content(store, "a"), kBytes);
}

TEST_F(EntryStoreTest, LinksAndFoldersAreNoEntries) {
  EntryStore store(folder_, geteuid());
  std::string path = store.write("programs", "real", kBytes);
  fs::create_symlink(path, folder_ + "/programs/link");
  EXPECT_EQ(content(store, "link"), std::nullopt);
  EXPECT_TRUE(fs::exists(path));
  fs::create_directory(folder_ + "/programs/folder");
  EXPECT_EQ(content(store, "folder"), std::nullopt);
}

TEST_F(EntryStoreTest, FindsAnyEntryBetweenPrefixAndSuffixThatHolds) {
  EntryStore store(folder_, geteuid());
  store.write_plain("objects", "key-0.so", "no entry");
  store.write("objects", "key-1.so", "one");
  store.write("objects", "key-2.so", "two");
  store.write("objects", "kez-0.so", "other");
  store.write_plain("objects", "key-1.cpp", "source");
  auto entry = store.read_any("objects", "key", ".so");
  ASSERT_TRUE(entry);
  EXPECT_EQ(entry->content, "one");
  EXPECT_EQ(entry->path, folder_ + "/objects/key-1.so");
  EXPECT_FALSE(store.read_any("objects", "none", ".so"));
}

TEST_F(EntryStoreTest, FolderThatCannotBeMadeGivesWayToAPrivateOneWithOneWarning) {
  put(root_ + "/file", "in the way");
  setenv("TMPDIR", root_.c_str(), 1);
  std::string made;
  {
    EntryStore store(root_ + "/file/cache", geteuid());
    EXPECT_EQ(content(store, "a"), std::nullopt);
    testing::internal::CaptureStderr();
    std::string path = store.write("programs", "a", kBytes);
    store.write("programs", "b", kBytes);
    std::string warning = testing::internal::GetCapturedStderr();
    made = store.private_folder();
    EXPECT_EQ(warning, str("thtrain: warning: cache folder ", root_, "/file/cache cannot be used (", root_,
                           "/file is not a folder): compiled code is kept in ", made, " until the program ends\n"));
    EXPECT_EQ(path, made + "/programs/a");
    EXPECT_EQ(content(store, "a"), kBytes);
    EXPECT_EQ(mode_of(made), 0700u);
    pid_t child = fork();
    if (child == 0) {
      store.~EntryStore();  // a child must not take the folder away
      _exit(0);
    }
    waitpid(child, nullptr, 0);
    EXPECT_TRUE(fs::exists(made));
  }
  EXPECT_FALSE(fs::exists(made));
  unsetenv("TMPDIR");
}

/// Runs `f` in a child whose user is not root; true where it returns true.
template <class F>
bool as_another_user(F f) {
  pid_t child = fork();
  if (child == 0) {
    if (geteuid() == 0 && (setgid(65534) != 0 || setuid(65534) != 0)) _exit(2);
    _exit(f() ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

TEST_F(EntryStoreTest, ReadOnlyFolderIsReadAndNewEntriesGoToThePrivateOne) {
  ASSERT_EQ(chmod(root_.c_str(), 01777), 0);
  testing::internal::CaptureStderr();
  bool right = as_another_user([&] {
    EntryStore(folder_, geteuid()).write("programs", "old", kBytes);
    for (const char* part : {"/programs", "/tmp", ""}) chmod((folder_ + part).c_str(), 0500);
    EntryStore store(folder_, geteuid());
    bool read = content(store, "old") == kBytes && store.private_folder().empty();
    std::string path = store.write("programs", "new", "x");
    bool written =
        path.starts_with(store.private_folder()) && content(store, "new") == "x" && content(store, "old") == kBytes;
    for (const char* part : {"", "/programs", "/tmp"}) chmod((folder_ + part).c_str(), 0700);
    return read && written;
  });
  std::string warning = testing::internal::GetCapturedStderr();
  EXPECT_TRUE(right);
  EXPECT_NE(warning.find("cannot be used (permission denied)"), std::string::npos) << warning;
  EXPECT_EQ(warning.find("warning"), warning.rfind("warning")) << warning;
}

TEST_F(EntryStoreTest, FolderOfAnotherUserIsNotTrusted) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can make a folder of another user";
  EntryStore(folder_, geteuid()).write("programs", "a", kBytes);
  ASSERT_EQ(chown((folder_ + "/programs").c_str(), 65534, 65534), 0);
  EntryStore store(folder_, geteuid());
  EXPECT_EQ(content(store, "a"), std::nullopt);
  testing::internal::CaptureStderr();
  EXPECT_TRUE(store.write("programs", "a", "b").starts_with(store.private_folder()));
  EXPECT_NE(testing::internal::GetCapturedStderr().find("belongs to another user"), std::string::npos);
  EXPECT_EQ(content(store, "a"), "b");
}

TEST_F(EntryStoreTest, NoFolderAtAllIsAnErrorThatNamesBoth) {
  put(root_ + "/file", "");
  setenv("TMPDIR", (root_ + "/file").c_str(), 1);
  EntryStore store("", geteuid());
  EXPECT_THROW(store.write("programs", "a", "b"), UserError);
  unsetenv("TMPDIR");
}

TEST_F(EntryStoreTest, TemporariesOfKilledProcessesAreRemovedOnceOld) {
  EntryStore(folder_, geteuid()).write("programs", "a", kBytes);
  put(folder_ + "/tmp/old", "");
  put(folder_ + "/tmp/young", "");
  utimbuf times{std::time(nullptr) - 7200, std::time(nullptr) - 7200};
  ASSERT_EQ(utime((folder_ + "/tmp/old").c_str(), &times), 0);
  EntryStore(folder_, geteuid()).write("programs", "b", kBytes);
  EXPECT_FALSE(fs::exists(folder_ + "/tmp/old"));
  EXPECT_TRUE(fs::exists(folder_ + "/tmp/young"));
}

TEST_F(EntryStoreTest, ManyWritersOfOneEntry) {
  EntryStore store(folder_, geteuid());
  std::vector<std::thread> threads;
  std::atomic<int> wrong = 0;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 50; ++i) {
        store.write("programs", "a", kBytes);
        if (content(store, "a") != kBytes) ++wrong;
      }
    });
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

TEST(DefaultCacheFolder, OwnVariableThenXdgThenHome) {
  auto with = [](const char* own, const char* xdg, const char* home) {
    own ? setenv("THTRAIN_CACHE_DIR", own, 1) : unsetenv("THTRAIN_CACHE_DIR");
    xdg ? setenv("XDG_CACHE_HOME", xdg, 1) : unsetenv("XDG_CACHE_HOME");
    home ? setenv("HOME", home, 1) : unsetenv("HOME");
    return default_cache_folder();
  };
  auto saved = [](const char* name) -> std::optional<std::string> {
    const char* text = std::getenv(name);
    return text ? std::optional<std::string>(text) : std::nullopt;
  };
  auto own = saved("THTRAIN_CACHE_DIR"), xdg = saved("XDG_CACHE_HOME"), home = saved("HOME");
  EXPECT_EQ(with("/own", "/xdg", "/home/x"), "/own");
  EXPECT_EQ(with("own", nullptr, nullptr), (fs::current_path() / "own").string());
  EXPECT_EQ(with("", "/xdg", "/home/x"), "/xdg/thtrain");
  EXPECT_EQ(with(nullptr, "relative", "/home/x"), "/home/x/.cache/thtrain");
  EXPECT_EQ(with(nullptr, nullptr, "/home/x"), "/home/x/.cache/thtrain");
  with(own ? own->c_str() : nullptr, xdg ? xdg->c_str() : nullptr, home ? home->c_str() : nullptr);
}

}  // namespace
}  // namespace thtrain
