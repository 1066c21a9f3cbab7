// main() of every test program. Tests run in the root of the tree ("tests/golden/x.npy", "configs/labs/x.toml"), and
// compiled programs are cached in the build folder, never in the user's own cache.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

int main(int argc, char** argv) {
  setenv("THTRAIN_CACHE_DIR", THTRAIN_BUILD_DIR "/test-cache", /*overwrite=*/0);
  // What the programs under test say of a setting of the environment is only in the tests that make the setting.
  for (const char* name : {"OPENBLAS_CORETYPE", "OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"}) unsetenv(name);
  testing::InitGoogleTest(&argc, argv);
  const char* given = std::getenv("THTRAIN_TEST_ROOT");  // of programs that were packed (bench/gpu_check.sh)
  const char* root = given ? given : THTRAIN_SOURCE_DIR;
  if (chdir(root) != 0) {
    std::perror(root);
    return 1;
  }
  return RUN_ALL_TESTS();
}
