#include "trainers/data_fingerprint.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "tests/support/datasets_support.h"

namespace thtrain {
namespace {

// Sets the time of the last write, as a tool that keeps times does.
void set_time(const std::string& path, time_t seconds) {
  timespec times[2] = {{.tv_sec = seconds, .tv_nsec = 5}, {.tv_sec = seconds, .tv_nsec = 5}};
  ASSERT_EQ(::utimensat(AT_FDCWD, path.c_str(), times, 0), 0);
}

TEST(DataFingerprint, HasSizeTimeAndSamples) {
  TemporaryFolder folder;
  folder.write("x", "abc");
  std::string path = folder.path("x");
  set_time(path, 0);
  std::string text = data_fingerprint(path), begin = "3 bytes, modified 1970-01-01 00:00:00.000000005, samples ";
  EXPECT_TRUE(text.starts_with(begin)) << text;
  EXPECT_EQ(text.size(), begin.size() + 32);
  EXPECT_EQ(data_fingerprint(path + "[array]"), data_fingerprint(path));
  EXPECT_EQ(data_fingerprint("the generator of digits, seed 1"), "the generator of digits, seed 1");
}

// Another value, at the same size and time.
TEST(DataFingerprint, SeesChangesOfSmallFilesAndOfTheEndsOfLargeOnes) {
  TemporaryFolder folder;
  std::string path = folder.path("x");
  for (size_t size : {size_t{5000}, size_t{1} << 18, (size_t{1} << 18) + 1, size_t{3'000'001}}) {
    std::string bytes(size, 'a');
    auto fingerprint = [&] {
      folder.write("x", bytes);
      set_time(path, 1000);
      return data_fingerprint(path);
    };
    std::string before = fingerprint();
    for (size_t at : {size_t{0}, size_t{4095}, size - 1, size - 4096}) {
      bytes[at] = 'b';
      EXPECT_NE(fingerprint(), before) << size << " " << at;
      bytes[at] = 'a';
    }
    EXPECT_EQ(fingerprint(), before);
    set_time(path, 1001);
    EXPECT_NE(data_fingerprint(path), before);
  }
}

}  // namespace
}  // namespace thtrain
