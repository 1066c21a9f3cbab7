// Tests of compiler/host/cache.h.
#include "compiler/host/cache.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <thread>
#include <vector>

#include "compiler/base/error.h"
#include "tests/support/folder_test.h"

namespace thtrain {
namespace {

namespace fs = std::filesystem;

std::string source_of(int value) {
  return str("extern \"C\" int answer() { return ", value, "; }\n");
}

int answer(const LoadedObject& loaded) {
  return loaded.object ? reinterpret_cast<int (*)()>(loaded.object->symbol("answer"))() : -1;
}

class CacheTest : public FolderTest {
 protected:
  std::unique_ptr<Cache> make_cache(const char* compiler = "g++", const Cpu& processor = cpu()) const {
    return std::make_unique<Cache>(Cache::Options{folder_, geteuid(), compiler, std::getenv("PATH")}, processor);
  }
};

TEST_F(CacheTest, CompilesOnceThenFindsOnDisk) {
  auto first = make_cache();
  EXPECT_EQ(answer(first->load_object(source_of(42))), 42);
  EXPECT_EQ(first->stats().kernels_compiled, 1);
  EXPECT_EQ(first->stats().kernel_hits, 0);
  EXPECT_GT(first->stats().compile_seconds, 0);
  ASSERT_EQ(files("objects", ".so").size(), 1u);
  std::string path = files("objects", ".so")[0];
  std::ifstream source(path.substr(0, path.size() - 3) + ".cpp");
  std::string line;
  std::getline(source, line);
  EXPECT_EQ(line + "\n", source_of(42));
  EXPECT_TRUE(fs::is_empty(folder_ + "/tmp"));

  auto second = make_cache();
  EXPECT_EQ(answer(second->load_object(source_of(42))), 42);
  EXPECT_EQ(second->stats().kernels_compiled, 0);
  EXPECT_EQ(second->stats().kernel_hits, 1);
  EXPECT_EQ(second->stats().compile_seconds, 0);
}

TEST_F(CacheTest, OneObjectIsOpenedOnceWhileItIsUsed) {
  auto cache = make_cache();
  LoadedObject one = cache->load_object(source_of(1)), two = cache->load_object(source_of(1));
  EXPECT_EQ(one.object, two.object);
  EXPECT_EQ(cache->stats().kernels_compiled, 1);
  EXPECT_EQ(cache->stats().kernel_hits, 1);
  EXPECT_NE(cache->load_object(source_of(2)).object, one.object);
  EXPECT_THROW(one.object->symbol("question"), InternalError);
  cache.reset();
  EXPECT_EQ(answer(one), 1) << "an object outlives its cache";
}

TEST_F(CacheTest, KeyCoversCompilerFlagsAndProcessor) {
  make_cache("g++")->load_object(source_of(1));
  EXPECT_EQ(files("objects", ".so").size(), 1u);
  auto clang = make_cache("clang++");
  EXPECT_EQ(answer(clang->load_object(source_of(1))), 1);
  EXPECT_EQ(clang->stats().kernels_compiled, 1);
  auto narrow = make_cache("g++", detect_cpu("16"));
  if (cpu().vector_bytes != 16) {
    narrow->load_object(source_of(1));
    EXPECT_EQ(narrow->stats().kernels_compiled, 1);
  }
}

TEST_F(CacheTest, CutOrForeignObjectsAreRebuilt) {
  make_cache()->load_object(source_of(7));
  std::string path = files("objects", ".so").at(0);
  auto rebuilt = [&] {
    auto cache = make_cache();
    const bool there = cache->has_object(source_of(7));
    EXPECT_EQ(answer(cache->load_object(source_of(7))), 7);
    EXPECT_EQ(make_cache()->load_object(source_of(7)).object->path(), path);
    EXPECT_TRUE(make_cache()->has_object(source_of(7)));
    EXPECT_EQ(cache->stats().kernels_compiled, there ? 0 : 1);
    return !there;
  };
  fs::resize_file(path, fs::file_size(path) / 2);
  EXPECT_TRUE(rebuilt());
  fs::resize_file(path, 0);
  EXPECT_TRUE(rebuilt());
  { std::fstream(path, std::ios::in | std::ios::out | std::ios::binary).seekp(1000) << '!' << '?'; }
  EXPECT_TRUE(rebuilt());
  ASSERT_EQ(chmod(path.c_str(), 0666), 0);
  EXPECT_TRUE(rebuilt());
  if (geteuid() == 0) {
    ASSERT_EQ(chown(path.c_str(), 65534, 65534), 0);
    EXPECT_TRUE(rebuilt());
  }
  EXPECT_FALSE(rebuilt()) << "nothing was wrong any more";
}

TEST_F(CacheTest, ObjectThatCannotBeLoadedIsRebuilt) {
  make_cache()->load_object(source_of(7));
  std::string path = files("objects", ".so").at(0);
  // As if it had been linked with a library that is gone: the entry holds, dlopen does not take it.
  EntryStore(folder_, geteuid()).write("objects", fs::path(path).filename().string(), "no shared object");
  auto cache = make_cache();
  EXPECT_EQ(answer(cache->load_object(source_of(7))), 7);
  EXPECT_EQ(cache->stats().kernels_compiled, 1);
}

// A compiler before which another program changed the source, or behind which it cut the object, once.
TEST_F(CacheTest, FilesThatAreChangedWhileItCompilesAreMadeAgain) {
  for (const char* change : {"echo x >\"$source\"; g++ \"$@\"", "g++ \"$@\" && truncate -s 100 \"$output\""}) {
    fs::remove_all(folder_);
    fs::remove(root_ + "/met");
    const std::string compiler =
        put_script("cxx", str("[ \"$1\" = --version ] && echo 'cxx 1' && exit\nfor word; do case $last in -o) "
                              "output=$word;; esac; case $word in *.cpp) source=$word;; esac; last=$word; done\n"
                              "[ -e ",
                              root_, "/met ] && exec g++ \"$@\"\ntouch ", root_, "/met\n", change, "\n"));
    auto cache = make_cache(compiler.c_str());
    EXPECT_EQ(answer(cache->load_object(source_of(7))), 7) << change;
    EXPECT_EQ(cache->stats().kernels_compiled, 1);
  }
  // Always: no fault of the generated code.
  fs::remove_all(folder_);
  const std::string compiler = put_script(
      "cxx",
      "[ \"$1\" = --version ] && echo 'cxx 1' && exit\nfor word; do case $word in *.cpp) echo x >$word;; esac; "
      "done\nexec g++ \"$@\"\n");
  try {
    make_cache(compiler.c_str())->load_object(source_of(7));
    FAIL() << "no error";
  } catch (const UserError& error) {
    EXPECT_EQ(std::string(error.what()), str("error: files in the cache folder ", folder_,
                                             " are changed while the compiler reads them\n"
                                             "  expected: a folder that no other program writes to\n"
                                             "  hint:     THTRAIN_CACHE_DIR names another folder"));
  }
}

TEST_F(CacheTest, SourceThatDoesNotCompileIsKeptAndNamed) {
  auto cache = make_cache();
  try {
    cache->load_object("no code");
    FAIL() << "no error";
  } catch (const InternalError& error) {
    ASSERT_EQ(files("objects", ".cpp").size(), 1u);
    EXPECT_EQ(error.messages()[0].node, "generated source " + files("objects", ".cpp")[0]);
  }
  EXPECT_TRUE(files("objects", ".so").empty());
  EXPECT_TRUE(fs::is_empty(folder_ + "/tmp"));
  EXPECT_EQ(cache->stats().kernels_compiled, 0);
}

TEST_F(CacheTest, ProgramsByKey) {
  auto cache = make_cache();
  EXPECT_EQ(cache->load_program("key"), std::nullopt);
  std::string bytes("a\0b", 3);
  cache->store_program("key", bytes);
  EXPECT_EQ(cache->load_program("key"), bytes);
  EXPECT_EQ(cache->load_program("other"), std::nullopt);
  EXPECT_EQ(cache->stats().program_hits, 1);
  EXPECT_EQ(make_cache("clang++")->load_program("key"), std::nullopt) << "made for another compiler";
  std::string path = files("programs", "").at(0);
  fs::resize_file(path, fs::file_size(path) - 1);
  EXPECT_EQ(make_cache()->load_program("key"), std::nullopt);
}

TEST_F(CacheTest, WithoutACompilerAnyCompilersEntryServes) {
  {
    auto clang = make_cache("clang++");
    clang->load_object(source_of(5));
    clang->store_program("key", "bytes");
  }
  auto none = make_cache("");
  EXPECT_FALSE(none->has_compiler());
  EXPECT_EQ(none->compiler_text(), "THTRAIN_CXX is empty");
  EXPECT_EQ(none->load_program("key"), "bytes");
  EXPECT_EQ(answer(none->load_object(source_of(5))), 5);
  EXPECT_EQ(none->stats().kernel_hits, 1);
  LoadedObject missing = none->load_object(source_of(6));
  EXPECT_EQ(missing.object, nullptr);
  EXPECT_EQ(missing.reason, "THTRAIN_CXX is empty");

  Cache no_path({folder_, geteuid(), nullptr, root_.c_str()}, cpu());
  EXPECT_EQ(answer(no_path.load_object(source_of(5))), 5);
  EXPECT_EQ(no_path.load_object(source_of(6)).reason, "neither g++ nor clang++ is on PATH");
}

TEST_F(CacheTest, WithoutACompilerTheReasonNamesAFolderThatIsRefused) {
  make_cache()->load_object(source_of(5));
  ASSERT_EQ(chmod(folder_.c_str(), 0777), 0);
  LoadedObject loaded = make_cache("")->load_object(source_of(5));
  EXPECT_EQ(loaded.object, nullptr);
  EXPECT_EQ(loaded.reason,
            str("THTRAIN_CXX is empty; cache folder ", folder_, " cannot be used (other users may write to ", folder_,
                ", mode 0777: `chmod go-w ", folder_, "` ends that)"));
}

TEST_F(CacheTest, WithoutACompilerADamagedEntryIsPassedOver) {
  make_cache("g++")->load_object(source_of(5));
  make_cache("clang++")->load_object(source_of(5));
  auto paths = files("objects", ".so");
  ASSERT_EQ(paths.size(), 2u);
  fs::resize_file(paths[0], 100);
  EXPECT_EQ(make_cache("")->load_object(source_of(5)).object->path(), paths[1]);
}

TEST_F(CacheTest, TwoProcessesWithAnEmptyCacheAtOnce) {
  std::vector<pid_t> children;
  for (int i = 0; i < 2; ++i) {
    pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      bool right = false;
      try {
        auto cache = make_cache();
        right = answer(cache->load_object(source_of(9))) == 9 && answer(cache->load_object(source_of(10))) == 10;
        cache->store_program("key", "bytes");
        right = right && cache->load_program("key") == "bytes";
      } catch (const std::exception& error) {
        std::fprintf(stderr, "%s\n", error.what());
      }
      _exit(right ? 0 : 1);
    }
    children.push_back(child);
  }
  for (pid_t child : children) {
    int status = -1;
    waitpid(child, &status, 0);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  }
  auto after = make_cache();
  EXPECT_EQ(answer(after->load_object(source_of(9))), 9);
  EXPECT_EQ(after->stats().kernels_compiled, 0);
  EXPECT_TRUE(fs::is_empty(folder_ + "/tmp"));
}

TEST_F(CacheTest, ThreadsThatCompileTheSameAtOnce) {
  auto cache = make_cache();
  std::atomic<int> right = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i) threads.emplace_back([&] { right += answer(cache->load_object(source_of(11))) == 11; });
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(right, 3);
}

TEST_F(CacheTest, FolderThatCannotBeMadeStillCompiles) {
  std::ofstream(root_ + "/cache") << "a file in the way";
  testing::internal::CaptureStderr();
  {
    auto cache = make_cache();
    EXPECT_EQ(answer(cache->load_object(source_of(12))), 12);
    EXPECT_EQ(answer(cache->load_object(source_of(13))), 13);
    EXPECT_TRUE(cache->folder_text().ends_with(str(" (", folder_, " cannot be used)"))) << cache->folder_text();
  }
  std::string warning = testing::internal::GetCapturedStderr();
  EXPECT_TRUE(warning.starts_with("thtrain: warning: cache folder " + folder_)) << warning;
  EXPECT_EQ(std::count(warning.begin(), warning.end(), '\n'), 1) << warning;
}

TEST_F(CacheTest, WarmStartRunsNoProgram) {
  std::string log = root_ + "/log", wrapper = root_ + "/my-g++";
  std::ofstream(wrapper) << "#!/bin/sh\necho run >> " << log << "\nexec g++ \"$@\"\n";
  ASSERT_EQ(chmod(wrapper.c_str(), 0755), 0);
  make_cache(wrapper.c_str())->load_object(source_of(14));
  auto size = fs::file_size(log);
  EXPECT_EQ(answer(make_cache(wrapper.c_str())->load_object(source_of(14))), 14);
  EXPECT_EQ(fs::file_size(log), size);
}

// Two valid entries that were exchanged gave a program the code or the plan of another one, at every start.
TEST_F(CacheTest, ExchangedEntriesAreRebuilt) {
  {
    auto cache = make_cache();
    cache->load_object(source_of(1));
    cache->load_object(source_of(2));
    cache->store_program("one", "program one");
    cache->store_program("two", "program two");
  }
  for (const char* kind : {"objects", "programs"}) {
    auto paths = files(kind, std::string(kind) == "objects" ? ".so" : "");
    ASSERT_EQ(paths.size(), 2u);
    fs::rename(paths[0], root_ + "/between");
    fs::rename(paths[1], paths[0]);
    fs::rename(root_ + "/between", paths[1]);
  }
  auto cache = make_cache();
  EXPECT_EQ(cache->load_program("one"), std::nullopt);
  EXPECT_EQ(cache->load_program("two"), std::nullopt);
  EXPECT_EQ(answer(cache->load_object(source_of(1))), 1);
  EXPECT_EQ(answer(cache->load_object(source_of(2))), 2);
  EXPECT_EQ(cache->stats().kernels_compiled, 2);
}

}  // namespace
}  // namespace thtrain
