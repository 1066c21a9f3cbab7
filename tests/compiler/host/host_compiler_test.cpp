// Tests of compiler/host/host_compiler.h.
#include "compiler/host/host_compiler.h"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <vector>

#include "compiler/base/error.h"
#include "compiler/base/str.h"
#include "tests/support/folder_test.h"

namespace thtrain {
namespace {

namespace fs = std::filesystem;

class HostCompilerTest : public FolderTest {
 protected:
  void SetUp() override {
    FolderTest::SetUp();
    fs::create_directory(root_ + "/bin");
    fs::create_directory(root_ + "/other");
  }
  /// A program that writes a line to the log each time it is run.
  std::string script(const std::string& name, const std::string& body) {
    return put_script(name, str("echo run >> ", root_, "/log\n", body));
  }
  long runs() const {
    std::ifstream log(root_ + "/log");
    return std::count(std::istreambuf_iterator<char>(log), std::istreambuf_iterator<char>(), '\n');
  }
  CompilerSearch find(const char* wanted, const std::string& path) {
    EntryStore store(root_ + "/cache", geteuid());
    return find_host_compiler(store, wanted, path.c_str());
  }
};

TEST_F(HostCompilerTest, TakesGccThenClangInTheOrderOfPath) {
  std::string path = str(root_, "/bin:", root_, "/other");
  EXPECT_EQ(find(nullptr, path).reason, "neither g++ nor clang++ is on PATH");
  script("bin/clang++", "echo 'Debian clang version 14'");
  EXPECT_EQ(find(nullptr, path).compiler->path, root_ + "/bin/clang++");
  EXPECT_TRUE(find(nullptr, path).compiler->is_clang());
  script("other/g++", "echo 'g++ 12'; echo more");
  auto found = find(nullptr, path).compiler;
  EXPECT_EQ(found->path, root_ + "/other/g++");
  EXPECT_EQ(found->identity, "g++ 12");
  EXPECT_FALSE(found->is_clang());
}

TEST_F(HostCompilerTest, WantedProgramIsTheOnlyCandidate) {
  script("bin/g++", "echo 'g++ 12'");
  std::string mine = script("other/my-g++", "echo 'g++ 13'");
  EXPECT_EQ(find(mine.c_str(), root_ + "/bin").compiler->identity, "g++ 13");
  EXPECT_EQ(find("my-g++", root_ + "/other").compiler->path, mine);
  EXPECT_EQ(find("my-g++", root_ + "/bin").reason, "THTRAIN_CXX names my-g++, which is not a program");
  EXPECT_EQ(find("", root_ + "/bin").reason, "THTRAIN_CXX is empty");
}

TEST_F(HostCompilerTest, AsksABinaryOnceUntilItChanges) {
  std::string path = script("bin/g++", "echo 'g++ 12'");
  for (int i = 0; i < 3; ++i) EXPECT_EQ(find(nullptr, root_ + "/bin").compiler->identity, "g++ 12");
  EXPECT_EQ(runs(), 1);
  script("bin/g++", "echo 'g++ 13.1'");
  EXPECT_EQ(find(nullptr, root_ + "/bin").compiler->identity, "g++ 13.1");
  EXPECT_EQ(runs(), 2);
}

TEST_F(HostCompilerTest, BrokenProgramIsPassedOver) {
  script("bin/g++", "echo 'cannot find cc1plus'; exit 1");
  EXPECT_EQ(find(nullptr, root_ + "/bin").reason, str(root_, "/bin/g++ --version failed: cannot find cc1plus"));
  script("bin/g++", "exit 3");
  EXPECT_EQ(find(nullptr, root_ + "/bin").reason, str(root_, "/bin/g++ --version failed: exit code 3, and no output"));
  script("bin/g++", "exit 0");
  EXPECT_EQ(find(nullptr, root_ + "/bin").reason, str(root_, "/bin/g++ --version failed: it printed nothing"));
  script("bin/g++", "printf '\\033[31mno\\a\\n'; exit 1");
  EXPECT_EQ(find(nullptr, root_ + "/bin").reason, str(root_, "/bin/g++ --version failed: \\x1b[31mno\\x07"));
  script("bin/clang++", "echo 'clang version 14'");
  EXPECT_EQ(find(nullptr, root_ + "/bin").compiler->identity, "clang version 14");
}

TEST_F(HostCompilerTest, ProgramThatDoesNotSayWhoItIsIsPassedOverInTheEnd) {
  script("bin/g++", "sleep 1000");
  script("bin/clang++", "echo 'clang version 14'");
  setenv("THTRAIN_COMPILE_LIMIT", "0.3", 1);
  std::string wanted = root_ + "/bin/g++";
  EXPECT_EQ(find(wanted.c_str(), "").reason, wanted + " --version failed: it did not end within 0.3 s");
  EXPECT_EQ(find(nullptr, root_ + "/bin").compiler->identity, "clang version 14");
  unsetenv("THTRAIN_COMPILE_LIMIT");
}

TEST_F(HostCompilerTest, RelativePathsAreMadeAbsolute) {
  script("bin/my-g++", "echo 'g++ 13'");
  std::string relative = fs::relative(root_ + "/bin").string();
  for (const CompilerSearch& search : {find((relative + "/my-g++").c_str(), ""), find("my-g++", relative)}) {
    ASSERT_TRUE(search.compiler) << search.reason;
    EXPECT_TRUE(fs::path(search.compiler->path).is_absolute()) << search.compiler->path;
    EXPECT_TRUE(fs::equivalent(search.compiler->path, root_ + "/bin/my-g++"));
  }
}

TEST_F(HostCompilerTest, FilesThatAreNoProgramsDoNotCount) {
  std::ofstream(root_ + "/bin/g++") << "text";
  fs::create_directory(root_ + "/other/g++");
  EXPECT_FALSE(find(nullptr, str(root_, "/bin::", root_, "/other")).compiler);
  EXPECT_FALSE(find_host_compiler(*std::make_unique<EntryStore>("", geteuid()), nullptr, nullptr).compiler);
}

TEST(CompileFlags, FollowCompilerAndProcessor) {
  Cpu cpu;
  cpu.architecture = "x86-64";
  cpu.vector_bytes = 64;
  auto has = [](const std::vector<std::string>& flags, const char* flag) {
    return std::find(flags.begin(), flags.end(), flag) != flags.end();
  };
  auto gcc = compile_flags({"g++", "g++ 12"}, cpu), clang = compile_flags({"clang++", "clang version 14"}, cpu);
  EXPECT_TRUE(has(gcc, "vect-epilogues-nomask=0"));
  EXPECT_FALSE(has(clang, "vect-epilogues-nomask=0"));
  for (const auto& flags : {gcc, clang}) {
    EXPECT_TRUE(has(flags, "-ffp-contract=off"));
    EXPECT_TRUE(has(flags, "-march=native"));
    EXPECT_TRUE(has(flags, "-mprefer-vector-width=512"));
    EXPECT_EQ(has(flags, "-nostdlib"), generated_flags().empty());
  }
  cpu.vector_bytes = 32;
  EXPECT_FALSE(has(compile_flags({"g++", "g++ 12"}, cpu), "-mprefer-vector-width=512"));
  cpu.architecture = "arm64";
  EXPECT_TRUE(has(compile_flags({"g++", "g++ 12"}, cpu), "-mcpu=native"));
}

// Code for fewer instructions than the processor's: the compiler must not use the others either.
TEST(CompileFlags, ForcedInstructionsLeaveOutTheOthers) {
  Cpu cpu;
  cpu.architecture = "x86-64";
  cpu.avx2 = cpu.fma = cpu.avx512f = true;
  auto text = [&](const char* isa) {
    cpu.isa = isa;
    return join(compile_flags({"g++", "g++ 12"}, cpu), " ") + " ";
  };
  EXPECT_EQ(text("avx512").find("-mno-avx"), std::string::npos);
  EXPECT_NE(text("avx2").find(" -mno-avx512f "), std::string::npos);
  EXPECT_NE(text("sse2").find(" -mno-avx "), std::string::npos);
}

// Neither generated code nor thtrain itself: what flushes or forgets in one object does so in the whole process.
TEST(CompileFlags, NothingRelaxesIeeeArithmetic) {
  constexpr const char* kRelaxing[] = {"fast-math",     "Ofast",           "unsafe-math",      "finite-math",
                                       "assoc",         "reciprocal-math", "no-signed-zeros",  "fp-contract=fast",
                                       "limited-range", "fp-model",        "denormal-fp-math", "daz-ftz"};
  std::map<std::string, std::string> texts;
  for (int vector_bytes : {16, 32, 64})
    for (const char* compiler : {"g++", "clang++"}) {
      Cpu cpu;
      cpu.architecture = "x86-64";
      cpu.vector_bytes = vector_bytes;
      texts[str(compiler, " ", vector_bytes)] = join(compile_flags({compiler, str(compiler, " 14")}, cpu), " ");
    }
  texts["C99"] = join(c99_flags(), " ");
  for (const char* file : {"CMakeLists.txt", "CMakePresets.json", "cmake/generated.cmake"}) {
    std::ifstream in(file);
    texts[file] = {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  }
  for (const auto& [name, text] : texts) {
    ASSERT_FALSE(text.empty()) << name;
    for (const char* relaxing : kRelaxing)
      EXPECT_EQ(text.find(relaxing), std::string::npos) << name << ": " << relaxing;
  }
}

class EachCompiler : public HostCompilerTest, public testing::WithParamInterface<const char*> {
 protected:
  HostCompiler compiler() {
    CompilerSearch search = find(GetParam(), std::getenv("PATH"));
    EXPECT_TRUE(search.compiler) << search.reason << ": install it to run the tests";
    return search.compiler.value_or(HostCompiler{});
  }
  std::string source(const std::string& text) {
    std::string path = root_ + "/source.cpp";
    std::ofstream(path) << text;
    return path;
  }
};

TEST_P(EachCompiler, CompilesWhatGeneratedCodeUses) {
  HostCompiler chosen = compiler();
#if defined(__x86_64__)
  const char* text =
      "typedef double v2 __attribute__((vector_size(16)));\n"
      "typedef long m2 __attribute__((vector_size(16)));\n"
      "extern \"C\" v2 _ZGVbN2v_exp(v2);\n"
      "extern \"C\" double sinh(double);\n"
      "extern \"C\" double f(double x) {\n"
      "  v2 v = {x, -x}; v2 e = _ZGVbN2v_exp(v); m2 m = v > 0.0; v2 r = m ? e : -e;\n"
      "  return r[0] + r[1] + sinh(x);\n"
      "}\n";
  double want = std::exp(1.5) - std::exp(-1.5) + std::sinh(1.5);
#else
  const char* text = "extern \"C\" double sinh(double);\nextern \"C\" double f(double x) { return 2 * sinh(x); }\n";
  double want = 2 * std::sinh(1.5);
#endif
  std::string output = root_ + "/out.so";
  compile_object(chosen, compile_flags(chosen, cpu()), source(text), output);
  void* handle = dlopen(output.c_str(), RTLD_NOW | RTLD_LOCAL);
  ASSERT_TRUE(handle) << dlerror();
  auto f = reinterpret_cast<double (*)(double)>(dlsym(handle, "f"));
  EXPECT_NEAR(f(1.5), want, 1e-13);
  dlclose(handle);
}

TEST_P(EachCompiler, ComplaintNamesCommandLineAndSource) {
  HostCompiler chosen = compiler();
  std::string path = source("int one;\nint f() { return two; }\n");
  try {
    compile_object(chosen, compile_flags(chosen, cpu()), path, root_ + "/out.so");
    FAIL() << "no error";
  } catch (const InternalError& error) {
    const Message& message = error.messages()[0];
    EXPECT_EQ(message.what, "generated code did not compile");
    EXPECT_NE(message.got.find("source.cpp:2:"), std::string::npos) << message.got;
    EXPECT_NE(message.got.find("error: "), std::string::npos) << message.got;
    EXPECT_EQ(message.got.find('\n'), std::string::npos) << message.got;
    EXPECT_EQ(message.node, "generated source " + path);
    EXPECT_TRUE(message.hint.starts_with("THTRAIN_CXX chooses another compiler\ncommand: " + chosen.path))
        << message.hint;
  }
}

INSTANTIATE_TEST_SUITE_P(Compilers, EachCompiler, testing::Values("g++", "clang++"),
                         [](const auto& info) { return std::string(info.param) == "g++" ? "gcc" : "clang"; });

}  // namespace
}  // namespace thtrain
