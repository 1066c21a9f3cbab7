// Tests of compiler/host/shared_object.h: where code is loaded from, and folders that do not execute.
#include "compiler/host/shared_object.h"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <link.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>

#include "compiler/base/error.h"
#include "compiler/host/cache.h"
#include "tests/support/folder_test.h"

namespace thtrain {
namespace {

namespace fs = std::filesystem;

constexpr const char* kSource = "extern \"C\" int answer() { return 42; }\n";

class SharedObjectTest : public FolderTest {
 protected:
  void SetUp() override {
    FolderTest::SetUp();
    for (const char* part : {"/cache", "/temporary"}) fs::create_directory(root_ + part);
  }
  std::unique_ptr<Cache> make_cache() const {
    return std::make_unique<Cache>(Cache::Options{root_ + "/cache", geteuid(), "g++", std::getenv("PATH")}, cpu());
  }
  static int answer(const LoadedObject& loaded) {
    return loaded.object ? reinterpret_cast<int (*)()>(loaded.object->symbol("answer"))() : -1;
  }
  /// As the dynamic linker calls what `answer` is in.
  static std::string linker_name(const LoadedObject& loaded) {
    Dl_info info{};
    return dladdr(loaded.object->symbol("answer"), &info) ? info.dli_fname : "";
  }
  static std::string maps() {
    std::ifstream file("/proc/self/maps");
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  }

  /// Runs `test` in a process with mounts of its own, where /cache, and with `temporary` also /temporary, do not
  /// execute; TMPDIR is /temporary. The exit status, 77 where the system does not let it mount.
  int where_nothing_executes(bool temporary, const std::function<bool()>& test) {
    pid_t child = fork();
    if (child == 0) {
      bool mounted = unshare(CLONE_NEWNS) == 0 && mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0;
      for (const char* part : {"/cache", "/temporary"})
        if (temporary || std::string(part) == "/cache")
          mounted = mounted && mount("none", (root_ + part).c_str(), "tmpfs", MS_NOEXEC | MS_NOSUID, "mode=700") == 0;
      if (!mounted) _exit(77);
      setenv("TMPDIR", (root_ + "/temporary").c_str(), 1);
      bool right = false;
      try {
        right = test();
      } catch (const std::exception& error) {
        std::fprintf(stderr, "%s\n", error.what());
      }
      _exit(right ? 0 : 1);
    }
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
};

TEST_F(SharedObjectTest, WhatBecomesOfTheFileIsNothingToALoadedObject) {
  auto cache = make_cache();
  LoadedObject loaded = cache->load_object(kSource);
  EXPECT_EQ(answer(loaded), 42);
  EXPECT_TRUE(loaded.object->path().starts_with(root_ + "/cache/objects/"));
  EXPECT_EQ(maps().find(loaded.object->path()), std::string::npos) << maps();
  pid_t child = fork();
  if (child == 0) {  // code that is mapped from a file goes with it: SIGBUS
    std::ofstream(loaded.object->path(), std::ios::trunc) << "xx";
    _exit(answer(loaded) == 42 ? 0 : 1);
  }
  int status = 1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(answer(make_cache()->load_object(kSource)), 42);  // found damaged, and made again
}

TEST_F(SharedObjectTest, WhatIsCutIsNotGivenToTheLinker) {
  LoadedObject loaded = make_cache()->load_object(kSource);
  std::ifstream file(loaded.object->path(), std::ios::binary);
  std::string bytes{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  bytes.resize(bytes.size() - detail::entry_trailer("", "", "").size());
  EXPECT_TRUE(is_whole_object(bytes));
  for (size_t size : {size_t{0}, size_t{10}, size_t{63}, size_t{64}, bytes.size() / 2, bytes.size() - 1})
    EXPECT_FALSE(is_whole_object(bytes.substr(0, size))) << size;
  EXPECT_FALSE(is_whole_object(std::string(bytes.size(), 'x')));
}

TEST_F(SharedObjectTest, LinkersNameLeadsToTheCodeForOtherProcessesToo) {
  if (!fs::exists("/proc/self/fd")) GTEST_SKIP() << "/proc is not mounted";
  auto cache = make_cache();
  LoadedObject loaded = cache->load_object(kSource);
  std::string name = linker_name(loaded);
  EXPECT_TRUE(name.starts_with(str("/proc/", getpid(), "/fd/"))) << name;
  cache.reset();  // the name holds as long as the object is loaded
  pid_t child = fork();
  if (child == 0) {
    std::error_code error;
    const size_t trailer = detail::entry_trailer("", "", "").size();
    _exit(fs::file_size(name, error) + trailer == fs::file_size(loaded.object->path(), error) ? 0 : 1);
  }
  int status = 1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
}

// Descriptors have the numbers of closed ones, and the dynamic linker knows by its name what it did not unload.
TEST_F(SharedObjectTest, AnObjectThatStaysLoadedIsNotTakenForALaterOne) {
  auto cache = make_cache();
  void* stays = nullptr;
  {
    LoadedObject first = cache->load_object(kSource);
    stays = dlopen(linker_name(first).c_str(), RTLD_NOW | RTLD_NOLOAD | RTLD_NODELETE);
    ASSERT_NE(stays, nullptr);
  }
  LoadedObject later = cache->load_object("extern \"C\" int answer() { return 7; }\n");
  EXPECT_EQ(answer(later), 7);
  dlclose(stays);
}

TEST_F(SharedObjectTest, PathServesWhereProcIsNotMounted) {
  make_cache()->load_object(kSource);
  pid_t child = fork();
  if (child == 0) {
    if (unshare(CLONE_NEWNS) != 0 || mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
        mount("none", "/proc", "tmpfs", 0, nullptr) != 0)
      _exit(77);
    LoadedObject loaded = make_cache()->load_object(kSource);
    _exit(answer(loaded) == 42 && linker_name(loaded) == loaded.object->path() ? 0 : 1);
  }
  int status = 1;
  waitpid(child, &status, 0);
  if (WEXITSTATUS(status) == 77) GTEST_SKIP() << "this system does not let the test hide /proc";
  EXPECT_EQ(status, 0);
}

TEST_F(SharedObjectTest, FoldersNeedNotExecute) {
  testing::internal::CaptureStderr();
  int status = where_nothing_executes(true, [&] {
    bool first = answer(make_cache()->load_object(kSource)) == 42;
    auto cache = make_cache();  // a warm start: nothing is compiled
    LoadedObject one = cache->load_object(kSource);
    LoadedObject other = cache->load_object("extern \"C\" int answer() { return 7; }\n");
    return first && answer(one) == 42 && answer(other) == 7 && cache->stats().kernels_compiled == 1 &&
           cache->folder_text() == root_ + "/cache" && maps().find("/memfd:thtrain") != std::string::npos;
  });
  std::string warnings = testing::internal::GetCapturedStderr();
  if (status == 77) GTEST_SKIP() << "this system does not let the test mount";
  EXPECT_EQ(status, 0) << warnings;
  EXPECT_EQ(warnings, "");
}

TEST_F(SharedObjectTest, ThePrivateFolderNeedNotExecute) {
  testing::internal::CaptureStderr();
  int status = where_nothing_executes(true, [&] {
    Cache cache({"/proc/no/such", geteuid(), "g++", std::getenv("PATH")}, cpu());
    return answer(cache.load_object(kSource)) == 42 && maps().find("/memfd:thtrain") != std::string::npos;
  });
  std::string warnings = testing::internal::GetCapturedStderr();
  if (status == 77) GTEST_SKIP() << "this system does not let the test mount";
  EXPECT_EQ(status, 0) << warnings;
}

}  // namespace
}  // namespace thtrain
