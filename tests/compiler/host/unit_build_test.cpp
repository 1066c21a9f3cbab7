// Tests of compiler/host/unit_build.h, through the cache: kernels as objects of their own.
#include "compiler/host/unit_build.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <thread>

#include "compiler/base/error.h"
#include "compiler/host/compile_units.h"
#include "compiler/host/host_compiler.h"
#include "tests/support/folder_test.h"
#include "tests/support/kernel_programs.h"

namespace thtrain {
namespace {

#ifdef __SANITIZE_THREAD__
constexpr bool kThreadsAreWatched = true;
#else
constexpr bool kThreadsAreWatched = false;
#endif

namespace fs = std::filesystem;

class UnitBuildTest : public FolderTest {
 protected:
  std::unique_ptr<Cache> make_cache(const std::string& compiler = "g++", int cores = 2) const {
    Cpu processor = cpu();
    processor.cores = cores;
    return std::make_unique<Cache>(Cache::Options{folder_, geteuid(), compiler.c_str(), std::getenv("PATH")},
                                   processor);
  }
  /// A compiler that says who it is, and then runs `body`.
  std::string script(const std::string& body) const {
    return put_script("cxx", "[ \"$1\" = --version ] && echo 'cxx 1' && exit\nhere=${0%/*}\n" + body);
  }
  void remove_programs() const { fs::remove_all(folder_ + "/objects"); }
};

TEST_F(UnitBuildTest, ALongProgramIsCompiledInUnitsAndKeptAsAWhole) {
  SourceText program = adding_program({1, 2, 4, 8});
  auto cache = make_cache();
  EXPECT_EQ(sum_of(cache->load_object(program)), 15);
  EXPECT_EQ(cache->stats().kernels_compiled, 4);
  EXPECT_EQ(cache->stats().kernel_hits, 0);
  EXPECT_EQ(files("units", ".o").size(), 2u);
  EXPECT_EQ(files("kernels").size(), 4u);
  EXPECT_TRUE(fs::is_empty(folder_ + "/tmp"));
  ASSERT_EQ(files("objects", ".cpp").size(), 1u);
  std::ifstream text(files("objects", ".cpp")[0]);
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(text), {}), whole_text(program));

  fs::remove_all(folder_ + "/units");
  fs::remove_all(folder_ + "/kernels");
  auto again = make_cache("");
  EXPECT_EQ(sum_of(again->load_object(program)), 15) << "a warm start needs no units and no compiler";
  EXPECT_EQ(again->stats().kernels_compiled, 0);
  EXPECT_EQ(again->stats().kernel_hits, 4);
}

TEST_F(UnitBuildTest, AShortProgramIsOneTranslationUnit) {
  auto cache = make_cache();
  EXPECT_EQ(sum_of(cache->load_object(adding_program({1, 2}, 10))), 3);
  EXPECT_EQ(cache->stats().kernels_compiled, 2);
  EXPECT_TRUE(files("units").empty());
}

TEST_F(UnitBuildTest, EqualKernelsOfTwoProgramsAreOneObject) {
  make_cache()->load_object(adding_program({1, 2, 4}));
  auto cache = make_cache();
  EXPECT_EQ(sum_of(cache->load_object(adding_program({4, 8, 2}))), 14);
  EXPECT_EQ(cache->stats().kernels_compiled, 1);
  EXPECT_EQ(cache->stats().kernel_hits, 2);
  EXPECT_EQ(files("kernels").size(), 4u);
}

TEST_F(UnitBuildTest, AProgramOfKnownKernelsCompilesItsEntryAlone) {
  make_cache()->load_object(adding_program({1, 2, 4}));
  const size_t units = files("units", ".o").size();
  auto cache = make_cache();
  EXPECT_EQ(sum_of(cache->load_object(adding_program({4, 2}))), 6);
  EXPECT_EQ(cache->stats().kernels_compiled, 0);
  EXPECT_EQ(files("units", ".o").size(), units);
}

TEST_F(UnitBuildTest, WhatIsLinkedHasNoKernelsOfOthers) {
  if (!generated_flags().empty()) GTEST_SKIP() << "what sanitizers register of a kernel keeps it";
  make_cache("g++", 1)->load_object(adding_program({1, 2, 4}));
  auto cache = make_cache("g++", 1);
  LoadedObject loaded = cache->load_object(adding_program({4, 2}));
  std::ifstream file(loaded.object->path(), std::ios::binary);
  const std::string linked(std::istreambuf_iterator<char>(file), {});
  SourceText all = adding_program({1, 2, 4});
  EXPECT_EQ(linked.find(kernel_symbol(all, all.kernels[0])), std::string::npos);
  EXPECT_NE(linked.find(kernel_symbol(all, all.kernels[1])), std::string::npos);
}

TEST_F(UnitBuildTest, TwoUnitsMayHoldTheSameKernel) {
  make_cache("g++", 1)->load_object(adding_program({1, 2}));
  // As if another process had compiled 2 with 4 at the same time, and 1 and 4 were found in the two.
  fs::rename(folder_ + "/kernels", root_ + "/first");
  make_cache("g++", 1)->load_object(adding_program({2, 4}));
  for (const auto& file : fs::directory_iterator(root_ + "/first"))
    if (!fs::exists(folder_ + "/kernels/" + file.path().filename().string()))
      fs::rename(file.path(), folder_ + "/kernels/" + file.path().filename().string());
  auto cache = make_cache("g++", 1);
  EXPECT_EQ(sum_of(cache->load_object(adding_program({1, 2, 4}))), 7);
  EXPECT_EQ(cache->stats().kernels_compiled, 0);
}

TEST_F(UnitBuildTest, CompilersRunSideBySide) {
  // Each compiler waits until there are three: two units of kernels and the entry.
  std::string compiler = script(
      "case $* in *-c\\ -o*) touch \"$here/begun-$$\"; "
      "while [ $(ls \"$here\" | grep -c begun-) -lt 3 ]; do sleep 0.01; done;; esac; exec g++ \"$@\"");
  setenv("THTRAIN_COMPILE_LIMIT", "20", 1);
  EXPECT_EQ(sum_of(make_cache(compiler, 2)->load_object(adding_program({1, 2}))), 3);
  unsetenv("THTRAIN_COMPILE_LIMIT");
}

TEST_F(UnitBuildTest, OneCompilerRunsWhereTheProcessMayUseOneCore) {
  std::string compiler = script(
      "case $* in *-c\\ -o*) mkdir \"$here/busy\" || touch \"$here/two\"; sleep 0.1; rmdir \"$here/busy\";; esac\n"
      "exec g++ \"$@\"");
  EXPECT_EQ(sum_of(make_cache(compiler, 1)->load_object(adding_program({1, 2, 4}))), 7);
  EXPECT_FALSE(fs::exists(root_ + "/two"));
}

TEST_F(UnitBuildTest, AStoredObjectThatWasDamagedIsCompiledAnew) {
  make_cache("g++", 1)->load_object(adding_program({1, 2}));
  for (const char* kind : {"units", "kernels"}) {
    std::string path = files(kind, std::string(kind) == "units" ? ".o" : "").at(0);
    auto compiled = [&] {
      remove_programs();
      auto cache = make_cache("g++", 1);
      EXPECT_EQ(sum_of(cache->load_object(adding_program({1, 2}))), 3);
      return cache->stats().kernels_compiled;
    };
    const int64_t lost = std::string(kind) == "units" ? 2 : 1;
    fs::resize_file(path, fs::file_size(path) / 2);
    EXPECT_EQ(compiled(), lost) << kind;
    { std::fstream(path, std::ios::in | std::ios::out | std::ios::binary).seekp(20) << '!' << '?'; }
    EXPECT_EQ(compiled(), lost) << kind;
    ASSERT_EQ(chmod(path.c_str(), 0666), 0);
    EXPECT_EQ(compiled(), lost) << kind;
    EXPECT_EQ(compiled(), 0) << "nothing was wrong any more";
  }
}

TEST_F(UnitBuildTest, ExchangedEntriesAreCompiledAnew) {
  make_cache()->load_object(adding_program({1, 2}));
  for (const char* kind : {"units", "kernels"}) {
    auto paths = files(kind, std::string(kind) == "units" ? ".o" : "");
    ASSERT_EQ(paths.size(), 2u);
    fs::rename(paths[0], root_ + "/between");
    fs::rename(paths[1], paths[0]);
    fs::rename(root_ + "/between", paths[1]);
    remove_programs();
    auto cache = make_cache();
    EXPECT_EQ(sum_of(cache->load_object(adding_program({1, 2}))), 3);
    EXPECT_EQ(cache->stats().kernels_compiled, 2) << kind;
  }
}

// It holds, and is no object: as if an assembler had been broken when it was made.
TEST_F(UnitBuildTest, AStoredObjectThatDoesNotLinkIsCompiledAnew) {
  make_cache("g++", 1)->load_object(adding_program({1, 2}));
  std::string name = fs::path(files("units", ".o").at(0)).filename().string();
  EntryStore(folder_, geteuid()).write("units", name, "no object");
  remove_programs();
  auto cache = make_cache("g++", 1);
  EXPECT_EQ(sum_of(cache->load_object(adding_program({1, 2, 4}))), 7);
  EXPECT_EQ(cache->stats().kernels_compiled, 3);
  remove_programs();
  auto again = make_cache("g++", 1);
  EXPECT_EQ(sum_of(again->load_object(adding_program({1, 2, 4}))), 7);
  EXPECT_EQ(again->stats().kernels_compiled, 0);
}

TEST_F(UnitBuildTest, TheKeyCoversTheCompiler) {
  make_cache("g++")->load_object(adding_program({1, 2}));
  auto clang = make_cache("clang++");
  EXPECT_EQ(sum_of(clang->load_object(adding_program({1, 2}))), 3);
  EXPECT_EQ(clang->stats().kernels_compiled, 2);
}

/// The error's whole text with <...> for names and for the command.
template <class E>
std::string error_of(Cache& cache, const SourceText& program, const std::string& compiler) {
  try {
    cache.load_object(program);
  } catch (const E& error) {
    std::istringstream lines(error.what());
    std::string out;
    for (std::string line; std::getline(lines, line); out += line + "\n") {
      for (const char* kind : {"/units/", "/objects/"})
        if (size_t at = line.find(kind); at != std::string::npos) line = line.substr(0, at) + kind + "<...>";
      if (size_t at = line.find(compiler + " -"); at != std::string::npos) line = line.substr(0, at) + "<...>";
    }
    return out;
  }
  return "no such error";
}

TEST_F(UnitBuildTest, AUnitThatDoesNotCompileIsNamedAndEndsTheOthers) {
  SourceText program = adding_program({1, 2, 4});
  program.kernels[1].code = str("(ThContext*) { int wrong = ; /*", std::string(40'000, '.'), "*/ }\n");
  std::string compiler = script(
      "for a; do case $a in *.cpp) source=$a;; esac; done\n"
      "case $* in *small_program*|*-shared\\ *) exec g++ \"$@\";; esac\n"
      "grep -q wrong $source && exec g++ \"$@\"\nexec sleep 1000");
  auto cache = make_cache(compiler, 3);
  auto begin = std::chrono::steady_clock::now();
  std::string text = error_of<InternalError>(*cache, program, compiler);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(60));
  const size_t got = text.find("units/<...>"), node = text.find("  node:");
  EXPECT_TRUE(text.starts_with("error: generated code did not compile\n  got:      units/")) << text;
  EXPECT_NE(got, std::string::npos) << text;
  EXPECT_EQ(text.substr(node), str("  node:     generated source ", folder_,
                                   "/units/<...>\n  hint:     THTRAIN_CXX chooses another compiler\n            "
                                   "command in ",
                                   folder_, ": <...>\n"))
      << text;
  EXPECT_TRUE(files("units", ".o").empty());
  EXPECT_TRUE(files("kernels").empty());
  EXPECT_TRUE(fs::is_empty(folder_ + "/tmp"));
  EXPECT_EQ(cache->stats().kernels_compiled, 0);
}

TEST_F(UnitBuildTest, ALinkThatFailsIsNamedAndNothingIsKept) {
  std::string compiler =
      script("case $* in *small_program*|*-c\\ -o*) exec g++ \"$@\";; esac; echo 'ld: error: no such thing'; exit 1");
  auto cache = make_cache(compiler);
  EXPECT_EQ(error_of<InternalError>(*cache, adding_program({1, 2}), compiler),
            str("error: generated code did not compile\n  got:      ld: error: no such thing\n  node:     generated "
                "source ",
                folder_, "/objects/<...>\n  hint:     THTRAIN_CXX chooses another compiler\n            command in ",
                folder_, ": <...>\n"));
  EXPECT_TRUE(files("units", ".o").empty());
  EXPECT_TRUE(files("kernels").empty());
  EXPECT_TRUE(fs::is_empty(folder_ + "/tmp"));
}

TEST_F(UnitBuildTest, EachCompilerHasTheLimitAndTheFirstThatMeetsItEndsAll) {
  std::string compiler = script("case $* in *-c\\ -o*) exec sleep 1000;; esac; exec g++ \"$@\"");
  setenv("THTRAIN_COMPILE_LIMIT", "0.5", 1);
  auto cache = make_cache(compiler);
  std::string text = error_of<UserError>(*cache, adding_program({1, 2, 4, 8}), compiler);
  unsetenv("THTRAIN_COMPILE_LIMIT");
  EXPECT_EQ(text,
            str("error: the compiler did not end within 0.5 s, and was ended\n  node:     generated source ", folder_,
                "/units/<...>\n  hint:     THTRAIN_COMPILE_LIMIT sets that time (0: no limit), THTRAIN_CXX the "
                "compiler\n            command in ",
                folder_, ": <...>\n"));
}

// The signal ends the process by its default, and before it all compilers: of three units and of the entry.
TEST_F(UnitBuildTest, AnInterruptEndsAllCompilers) {
  if (kThreadsAreWatched) GTEST_SKIP() << "the thread sanitizer has no threads in a forked process";
  std::string compiler = script("echo $$ >\"$here/id-$$\"; exec sleep 1000");
  pid_t child = fork();
  if (child == 0) {
    make_cache(compiler, 3)->load_object(adding_program({1, 2, 4}));
    _exit(0);
  }
  std::vector<pid_t> ids;
  for (int i = 0; i < 3000 && ids.size() < 4; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    ids.clear();
    for (const auto& file : fs::directory_iterator(root_))
      if (pid_t id = 0; file.path().filename().string().starts_with("id-") && std::ifstream(file.path()) >> id)
        ids.push_back(id);
  }
  EXPECT_EQ(ids.size(), 4u);
  kill(child, SIGINT);
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGINT) << status;
  for (pid_t id : ids) EXPECT_NE(kill(id, 0), 0) << id;
}

TEST_F(UnitBuildTest, TwoProcessesWithAnEmptyCacheAtOnce) {
  if (kThreadsAreWatched) GTEST_SKIP() << "the thread sanitizer has no threads in a forked process";
  std::vector<pid_t> children;
  for (int i = 0; i < 2; ++i) {
    pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) _exit(sum_of(make_cache()->load_object(adding_program({1, 2, 4}))) == 7 ? 0 : 1);
    children.push_back(child);
  }
  for (pid_t child : children) {
    int status = -1;
    waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
  }
  EXPECT_TRUE(fs::is_empty(folder_ + "/tmp"));
}

TEST_F(UnitBuildTest, WhereTheFolderCannotBeMadeThePrivateOneServes) {
  std::ofstream(root_ + "/cache") << "a file in the way";
  testing::internal::CaptureStderr();
  {
    auto cache = make_cache();
    EXPECT_EQ(sum_of(cache->load_object(adding_program({1, 2, 4}))), 7);
    EXPECT_EQ(sum_of(cache->load_object(adding_program({1, 2, 8}))), 11);
    EXPECT_EQ(cache->stats().kernels_compiled, 4);
  }
  std::string warning = testing::internal::GetCapturedStderr();
  EXPECT_EQ(std::count(warning.begin(), warning.end(), '\n'), 1) << warning;
}

}  // namespace
}  // namespace thtrain
