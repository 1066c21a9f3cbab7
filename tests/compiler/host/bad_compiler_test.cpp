// Compilers that hang, die or make no code: what the user reads.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "compiler/base/error.h"
#include "compiler/host/cache.h"
#include "compiler/host/host_compiler.h"
#include "tests/support/folder_test.h"

namespace thtrain {
namespace {

namespace fs = std::filesystem;

TEST(CompileLimit, ComesFromTheEnvironment) {
  const char* before = std::getenv("THTRAIN_COMPILE_LIMIT");
  std::string saved = before ? before : "";
  unsetenv("THTRAIN_COMPILE_LIMIT");
  EXPECT_EQ(compile_limit(), 600);
  for (const auto& [text, seconds] : {std::pair{"", 600.0}, {"0", 0.0}, {"2.5", 2.5}}) {
    setenv("THTRAIN_COMPILE_LIMIT", text, 1);
    EXPECT_EQ(compile_limit(), seconds) << text;
  }
  for (const char* text : {"soon", "-1", "inf", "nan", "3s", " 3"}) {
    setenv("THTRAIN_COMPILE_LIMIT", text, 1);
    try {
      compile_limit();
      ADD_FAILURE() << text;
    } catch (const UserError& error) {
      EXPECT_EQ(std::string(error.what()),
                str("error: THTRAIN_COMPILE_LIMIT is not a time\n  expected: seconds that one run of the compiler may "
                    "take, or 0 for no limit\n  got:      ",
                    text));
    }
  }
  before ? setenv("THTRAIN_COMPILE_LIMIT", saved.c_str(), 1) : unsetenv("THTRAIN_COMPILE_LIMIT");
}

class BadCompiler : public FolderTest {
 protected:
  /// A compiler that says who it is, and then runs `body`.
  std::string compiler(const std::string& body) const {
    return put_script("cxx", "if [ \"$1\" = --version ]; then echo 'cxx 1'; exit; fi\n" + body);
  }
  /// The whole text of the error, with <...> for the source's name and for the command.
  template <class E>
  std::string error_of(const std::string& path) const {
    Cache cache({root_ + "/cache", geteuid(), path.c_str(), nullptr}, cpu());
    try {
      cache.load_object("int x;\n");
    } catch (const E& error) {
      std::istringstream lines(error.what());
      std::string out;
      for (std::string line; std::getline(lines, line); out += line + "\n") {
        for (const char* kind : {"/objects/", "/checks/"})
          if (size_t at = line.find(kind); at != std::string::npos) line = line.substr(0, at) + kind + "<...>";
        if (size_t at = line.find(path + " -"); at != std::string::npos) line = line.substr(0, at) + "<...>";
      }
      EXPECT_TRUE(fs::is_empty(root_ + "/cache/tmp"));
      return out;
    }
    return "no such error";
  }
};

TEST_F(BadCompiler, OneThatHangsIsEndedAndNamed) {
  std::string path = compiler("echo starting; sleep 1000");
  setenv("THTRAIN_COMPILE_LIMIT", "0.5", 1);
  std::string text = error_of<UserError>(path);
  unsetenv("THTRAIN_COMPILE_LIMIT");
  EXPECT_EQ(text, str("error: the compiler did not end within 0.5 s, and was ended\n  got:      starting\n  node:     "
                      "generated source ",
                      root_,
                      "/cache/objects/<...>\n  hint:     THTRAIN_COMPILE_LIMIT sets that "
                      "time (0: no limit), THTRAIN_CXX the compiler\n            command in ",
                      root_, "/cache: <...>\n"));
}

TEST_F(BadCompiler, WaitingIsToldOnce) {
  const std::string path = compiler("sleep 0.5; while [ $1 != -o ]; do shift; done; echo made >$2");
  std::ofstream(root_ + "/a.cpp") << "int x;\n";
  for (const auto& [word_after, text] :
       {std::pair(0.1, str("thtrain: compiling: ", path,
                           " has been running for 0 s; Ctrl-C stops it, and THTRAIN_COMPILE_LIMIT after 600 s\n")),
        {60.0, std::string()}}) {
    CompilerGroup group;
    group.word_after = word_after;
    testing::internal::CaptureStderr();
    compile_unit({path, "cxx 1"}, {}, root_ + "/a.cpp", root_ + "/a.o", {}, group);
    EXPECT_EQ(testing::internal::GetCapturedStderr(), text);
  }
}

TEST_F(BadCompiler, OneThatIsKilledHasItsOutputAndTheSignalsNameShown) {
  EXPECT_EQ(error_of<UserError>(compiler("echo working; echo on it >&2; kill -9 $$")),
            str("error: the compiler was killed\n  got:      ended by SIGKILL (Killed)\n            working\n"
                "            on it\n  node:     generated source ",
                root_,
                "/cache/objects/<...>\n  hint:     a system "
                "that runs out of memory kills programs\n            command in ",
                root_, "/cache: <...>\n"));
}

TEST_F(BadCompiler, DriverWhosePartWasKilledIsTold) {
  EXPECT_EQ(error_of<UserError>(compiler("echo 'g++: fatal error: Killed signal terminated program cc1plus'; "
                                         "echo 'compilation terminated.'; exit 1")),
            str("error: the compiler was killed\n  got:      g++: fatal error: Killed signal terminated program "
                "cc1plus\n            compilation terminated.\n  node:     generated source ",
                root_,
                "/cache/objects/<...>\n  hint:     a system that runs out of memory kills programs\n            "
                "command in ",
                root_, "/cache: <...>\n"));
}

TEST_F(BadCompiler, CrashIsOursToLookAt) {
  EXPECT_EQ(
      error_of<InternalError>(compiler("case $* in *small_program*) exec g++ \"$@\";; esac; echo half; kill -SEGV $$")),
      str("error: generated code did not compile\n  got:      ended by SIGSEGV (Segmentation fault)\n"
          "            half\n  node:     generated source ",
          root_, "/cache/objects/<...>\n  hint:     THTRAIN_CXX chooses another compiler\n            command in ",
          root_, "/cache: <...>\n"));
}

// It does not compile a small program either: no list of its texts is needed to know whose fault that is.
TEST_F(BadCompiler, OneThatIsNotCompleteIsNamed) {
  for (const char* complaint :
       {"g++: fatal error: cannot execute 'cc1plus': execvp: No such file or directory",
        "g++: error: unrecognized command-line option '-fgcse'", "/usr/bin/ld: cannot find -lmvec: no such file"}) {
    const std::string path = compiler(str("echo \"", complaint, "\"; echo 'compilation terminated.'; exit 1"));
    EXPECT_EQ(error_of<UserError>(path),
              str("error: the compiler ", path,
                  " is not complete\n  expected: one that compiles a small program with the same flags\n  got:      ",
                  complaint, "\n  node:     generated source ", root_,
                  "/cache/checks/<...>\n  hint:     THTRAIN_CXX chooses another compiler\n            command in ",
                  root_, "/cache: <...>\n"));
  }
}

// Where the small program compiles, the code that was generated is to blame.
TEST_F(BadCompiler, CompleteOneThatDoesNotTakeTheCodeIsOursToLookAt) {
  const std::string path =
      compiler("case $* in *small_program*) exec g++ \"$@\";; esac; echo 'a.cpp:1: error: no'; exit 1");
  EXPECT_EQ(
      error_of<InternalError>(path),
      str("error: generated code did not compile\n  got:      a.cpp:1: error: no\n  node:     generated source ", root_,
          "/cache/objects/<...>\n  hint:     THTRAIN_CXX chooses another compiler\n            command in ", root_,
          "/cache: <...>\n"));
}

// A small program includes what the source includes: a compiler without that header is not complete.
TEST_F(BadCompiler, SmallProgramHasTheHeadersOfTheSource) {
  EXPECT_TRUE(small_program("#include <immintrin.h>\nint x;\n")
                  .starts_with("// Shows whether the compiler is complete.\n#include <immintrin.h>\nextern "));
  EXPECT_EQ(small_program("int x;\n").find("#include"), std::string::npos);
  Cache cache({root_ + "/cache", geteuid(), "g++", std::getenv("PATH")}, cpu());
  EXPECT_TRUE(cache.load_object(small_program("#include <math.h>\n"), "small_program").object);
}

TEST_F(BadCompiler, ObjectWithoutWhatWasAskedForIsTheCompilersFault) {
  // It compiles another file than it is given.
  std::ofstream(root_ + "/other.cpp") << "int other;\n";
  const std::string path = compiler(str("for a; do shift; case $a in *.cpp) a=", root_,
                                        "/other.cpp;; esac; set -- \"$@\" \"$a\"; done; exec g++ \"$@\""));
  Cache cache({root_ + "/cache", geteuid(), path.c_str(), nullptr}, cpu());
  std::string text;
  try {
    cache.load_object("extern \"C\" int answer() { return 5; }\n", "answer");
  } catch (const UserError& error) {
    text = error.what();
  }
  const size_t begin = text.find(".so exports");
  EXPECT_EQ(text.substr(0, text.find("/objects/")),
            str("error: what the compiler ", path, " made is not what was asked for\n  got:      ", root_, "/cache"));
  EXPECT_EQ(text.substr(begin), ".so exports no answer\n  hint:     THTRAIN_CXX chooses another compiler");
}

// One that is in the cache already is made again.
TEST_F(BadCompiler, StoredObjectWithoutWhatIsAskedForIsMadeAgain) {
  const std::string path = compiler(str("if [ -e ", root_,
                                        "/good ]; then exec g++ \"$@\"; fi\n"
                                        "touch ",
                                        root_, "/good; echo 'int other;' >", root_,
                                        "/other.cpp\n"
                                        "while [ $1 != -o ]; do shift; done; exec g++ -shared -fPIC -o $2 ",
                                        root_, "/other.cpp"));
  const char* source = "extern \"C\" int answer() { return 5; }\n";
  EXPECT_THROW(Cache({root_ + "/cache", geteuid(), path.c_str(), nullptr}, cpu()).load_object(source, "answer"),
               UserError);
  Cache cache({root_ + "/cache", geteuid(), path.c_str(), nullptr}, cpu());
  LoadedObject loaded = cache.load_object(source, "answer");
  EXPECT_EQ(reinterpret_cast<int (*)()>(loaded.object->symbol("answer"))(), 5);
}

TEST_F(BadCompiler, WhatTheSystemRefusesIsNoFaultOfTheCode) {
  const std::string path = compiler("echo 'as: out.s: No space left on device'; exit 1");
  const char* variable = std::getenv("TMPDIR");
  const std::string folder = variable && *variable ? variable : "/tmp";
  EXPECT_EQ(error_of<UserError>(path),
            str("error: the compiler ", path,
                " made no code\n  got:      as: out.s: No space left on device\n  node:     "
                "generated source ",
                root_, "/cache/objects/<...>\n  hint:     make room on the disk; TMPDIR (now ", folder,
                ") names the folder of the compiler's temporary files, THTRAIN_CACHE_DIR that "
                "of its results\n            command in ",
                root_, "/cache: <...>\n"));
}

TEST_F(BadCompiler, OneThatWritesNothingOrNoCodeIsNamed) {
  const std::string nothing = compiler("exit 0");
  EXPECT_EQ(error_of<UserError>(nothing), str("error: the compiler ", nothing,
                                              " made no code\n  got:      exit code 0, and no file\n  node:     "
                                              "generated source ",
                                              root_,
                                              "/cache/objects/<...>\n  hint:     THTRAIN_CXX chooses another compiler\n"
                                              "            command in ",
                                              root_, "/cache: <...>\n"));
  const std::string path = compiler("while [ $1 != -o ]; do shift; done; echo garbage >$2");
  Cache cache({root_ + "/cache", geteuid(), path.c_str(), nullptr}, cpu());
  try {
    cache.load_object("int x;\n");
    FAIL() << "no error";
  } catch (const UserError& error) {
    EXPECT_EQ(error.messages()[0].what, str("what the compiler ", path, " made cannot be loaded"));
  }
}

// It writes without an end, and is ended all the same; of what it wrote, little is kept.
TEST_F(BadCompiler, OneThatWritesWithoutAnEndIsEnded) {
  setenv("THTRAIN_COMPILE_LIMIT", "0.3", 1);
  const std::string text = error_of<UserError>(compiler("exec yes"));
  unsetenv("THTRAIN_COMPILE_LIMIT");
  EXPECT_TRUE(text.starts_with("error: the compiler did not end within 0.3 s, and was ended\n")) << text;
  EXPECT_LT(text.size(), 10000u);
}

// The compiler works in the folder that was checked, wherever its path leads by now.
TEST_F(BadCompiler, FolderThatIsExchangedWhileItIsCompiledIsNotUsed) {
  std::string path = compiler(str("mv ", root_, "/cache ", root_, "/away; mkdir ", root_, "/cache; exec g++ \"$@\""));
  Cache cache({root_ + "/cache", geteuid(), path.c_str(), nullptr}, cpu());
  LoadedObject loaded = cache.load_object("extern \"C\" int answer() { return 5; }\n");
  EXPECT_EQ(reinterpret_cast<int (*)()>(loaded.object->symbol("answer"))(), 5);
  EXPECT_TRUE(fs::is_empty(root_ + "/cache"));
}

}  // namespace
}  // namespace thtrain
