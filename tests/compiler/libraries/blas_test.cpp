// Tests of compiler/libraries/blas.h.
#include "compiler/libraries/blas.h"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "compiler/base/error.h"
#include "compiler/host/host_compiler.h"

namespace thtrain {
namespace {

Cpu processor(const char* vendor, int family, int model, bool avx2, bool avx512) {
  Cpu out;
  out.architecture = "x86-64";
  out.vendor = vendor;
  out.family = family;
  out.model_number = model;
  out.avx2 = out.fma = avx2;
  out.avx512f = out.avx512dq = out.avx512vl = out.avx512bw = avx512;
  return out;
}

TEST(OpenblasCoretype, NewIntelsGetTheKernelsOfTheirVectors) {
  EXPECT_EQ(openblas_coretype(processor("GenuineIntel", 6, 207, true, true)), "SkylakeX");
  EXPECT_EQ(openblas_coretype(processor("GenuineIntel", 6, 198, true, false)), "Haswell");
  EXPECT_EQ(openblas_coretype(processor("GenuineIntel", 6, 42, false, false)), std::nullopt);
}

TEST(OpenblasCoretype, KnownAmdsChooseThemselvesAndNewerOnesDoNot) {
  EXPECT_EQ(openblas_coretype(processor("AuthenticAMD", 0x19, 0x11, true, true)), std::nullopt);
  EXPECT_EQ(openblas_coretype(processor("AuthenticAMD", 0x17, 0x31, true, false)), std::nullopt);
  EXPECT_EQ(openblas_coretype(processor("AuthenticAMD", 0x1a, 0x02, true, true)), "SkylakeX");
  EXPECT_EQ(openblas_coretype(processor("AuthenticAMD", 0x1a, 0x02, true, false)), "Haswell");
}

TEST(OpenblasCoretype, OtherArchitecturesChooseThemselves) {
  Cpu arm;
  arm.architecture = "arm64";
  EXPECT_EQ(openblas_coretype(arm), std::nullopt);
}

TEST(Blas, KernelsFitTheProcessorAndItHasNoThreadsOfItsOwn) {
  const Blas& library = blas();
  EXPECT_FALSE(cpu().avx2 && cpu().fma && library.has_old_kernels()) << library.corename;
  EXPECT_EQ(library.version.substr(0, 9), "OpenBLAS ");
  EXPECT_EQ(library.version.find(' ', 9), std::string::npos) << library.version;
  auto threads = reinterpret_cast<int (*)()>(library.symbol("openblas_get_num_threads"));
  EXPECT_EQ(threads(), 1);
}

TEST(Blas, KernelsAreOlderThanTheInstructionsThatTheyDoWithout) {
  Cpu cpu;
  EXPECT_FALSE(detail::are_older("Prescott", cpu)) << "the processor has no more";
  cpu.avx2 = cpu.fma = true;
  for (const char* old : {"Prescott", "Sandybridge", "Steamroller"}) EXPECT_TRUE(detail::are_older(old, cpu)) << old;
  for (const char* good : {"Haswell", "Zen", "SkylakeX"}) EXPECT_FALSE(detail::are_older(good, cpu)) << good;
  cpu.avx512f = cpu.avx512dq = cpu.avx512vl = cpu.avx512bw = true;
  for (const char* old : {"Prescott", "Haswell", "Zen"}) EXPECT_TRUE(detail::are_older(old, cpu)) << old;
  for (const char* good : {"SkylakeX", "Cooperlake", "a name of tomorrow"})
    EXPECT_FALSE(detail::are_older(good, cpu)) << good;
}

TEST(Blas, LeavesTheEnvironmentAsItWas) {
  auto values = [] {
    std::string out;
    for (const char* name : {"OPENBLAS_CORETYPE", "OPENBLAS_NUM_THREADS"}) {
      const char* text = std::getenv(name);
      out += text ? text : "(none)";
    }
    return out;
  };
  std::string before = values();
  const char* const names[] = {"libopenblas.so.0"};
  detail::load_blas(names, cpu());
  EXPECT_EQ(values(), before);
}

TEST(Blas, FindsLapackByName) {
  auto potrf = blas().lapack<void(const char*, const int*, double*, const int*, int*)>("dpotrf_");
  double a[] = {4, 2, 2, 5};
  int n = 2, info = -1;
  potrf("L", &n, a, &n, &info);
  EXPECT_EQ(info, 0);
  EXPECT_EQ(a[0], 2);
  EXPECT_EQ(a[1], 1);
  EXPECT_EQ(a[3], 2);
  EXPECT_THROW(blas().symbol("no_such_function_"), InternalError);
}

TEST(Blas, MissingLibraryNamesTheCommandThatInstallsIt) {
  const char* const names[] = {"libthtrain_has_no_such_blas.so.0"};
  try {
    detail::load_blas(names, cpu());
    FAIL() << "no error";
  } catch (const UserError& error) {
    EXPECT_EQ(error.messages()[0].what, "OpenBLAS is not installed: matrix products need it");
    EXPECT_EQ(error.messages()[0].got,
              "libthtrain_has_no_such_blas.so.0: cannot open shared object file: No such file or directory");
    EXPECT_EQ(error.messages()[0].hint, "apt-get install libopenblas0");
  }
}

TEST(Blas, LibraryThatIsThereAndCannotBeLoadedIsNotCalledMissing) {
  std::string path = testing::TempDir() + "libthtrain_broken_blas.so";
  std::ofstream(path) << "no shared object, and long enough to be looked at: " << std::string(100, '.');
  const char* const names[] = {"libthtrain_has_no_such_blas.so.0", path.c_str(), "libthtrain_has_no_such_blas.so"};
  try {
    detail::load_blas(names, cpu());
    FAIL() << "no error";
  } catch (const UserError& error) {
    EXPECT_EQ(error.messages()[0].what, "OpenBLAS is installed, but cannot be loaded: matrix products need it");
    EXPECT_EQ(error.messages()[0].expected, path);
    EXPECT_EQ(error.messages()[0].got, path + ": invalid ELF header");
  }
  std::filesystem::remove(path);
}

// Each of these needs a process that has not loaded the library: a death test of the "threadsafe" style is one.
class BlasInANewProcess : public testing::Test {
 protected:
  void SetUp() override { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

TEST_F(BlasInANewProcess, UsersChoiceOfKernelsHoldsWithoutAWarning) {
  EXPECT_EXIT(
      {
        setenv("OPENBLAS_CORETYPE", "Prescott", 1);
        std::string core = blas().corename;
        std::fprintf(stderr, "kernels %s\n", core.c_str());
        std::exit(0);
      },
      testing::ExitedWithCode(0), "^kernels Prescott\n$");
}

TEST_F(BlasInANewProcess, LibraryOfTheHostProgramIsReportedAndOldKernelsWarnedAboutOnce) {
  if (!cpu().avx2) GTEST_SKIP() << "this processor is as old as those kernels";
  EXPECT_EXIT(
      {
        setenv("OPENBLAS_CORETYPE", "Prescott", 1);
        void* host = dlopen("libopenblas.so.0", RTLD_NOW | RTLD_LOCAL);
        unsetenv("OPENBLAS_CORETYPE");
        blas();
        blas();
        std::exit(host && blas().was_loaded && blas().corename == "Prescott" ? 0 : 1);
      },
      testing::ExitedWithCode(0),
      "^thtrain: warning: OpenBLAS [^ ]+ uses its Prescott kernels on .*: matrix products are several times slower "
      "than they could be(; it was loaded before thtrain: set OPENBLAS_CORETYPE=[A-Za-z]+ before the program starts)?"
      "\n$");
}

// As under `ulimit -v`: the library is there, and there is no room for it. Of some 35 MiB it gets 8.
[[noreturn]] void load_with_little_memory() {
  rlim_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  rlimit limit{};
  limit.rlim_cur = limit.rlim_max = pages * static_cast<rlim_t>(sysconf(_SC_PAGESIZE)) + (8 << 20);
  setrlimit(RLIMIT_AS, &limit);
  try {
    blas();
  } catch (const UserError& error) {
    std::fprintf(stderr, "%s\n", error.what());
  }
  std::exit(0);
}

TEST_F(BlasInANewProcess, TooLittleMemoryIsNotCalledMissing) {
  if (!generated_flags().empty()) GTEST_SKIP() << "sanitizers need more address space than any limit leaves";
  EXPECT_EXIT(load_with_little_memory(), testing::ExitedWithCode(0),
              "^error: OpenBLAS is installed, but cannot be loaded: matrix products need it\n"
              "  expected: libopenblas.so.0\n  got:      libopenblas.so.0: [^\n]*(memory|segment)[^\n]*\n"
              "  hint:     `ulimit -v` tells whether the memory of this process is limited\n$");
}

}  // namespace
}  // namespace thtrain
