#include "bench/scratch_folder.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "compiler/base/str.h"
#include "tests/support/datasets_support.h"

namespace thtrain {
namespace {

TEST(ScratchFolder, RemovesWhatInterruptedProcessesLeft) {
  const pid_t ended = ::fork();
  if (ended == 0) ::_exit(0);
  ASSERT_EQ(::waitpid(ended, nullptr, 0), ended);
  const ScratchFolder around;
  EnvironmentVariable temporary("TMPDIR", around.path().c_str());
  const std::filesystem::path left = around.path() + str("/thtrain_bench_", ended, "_abcdef"),
                              own = around.path() + str("/thtrain_bench_", ::getpid(), "_abcdef"),
                              other = around.path() + "/other";
  for (const auto& folder : {left, own, other}) std::filesystem::create_directories(folder / "inside");
  std::string path;
  {
    const ScratchFolder folder;
    path = folder.path();
    EXPECT_TRUE(std::filesystem::is_directory(path));
  }
  EXPECT_FALSE(std::filesystem::exists(path));
  EXPECT_FALSE(std::filesystem::exists(left));
  EXPECT_TRUE(std::filesystem::exists(own / "inside"));
  EXPECT_TRUE(std::filesystem::exists(other / "inside"));
}

}  // namespace
}  // namespace thtrain
