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
// Pictures of a folder, and a list of files.
TEST(DataFingerprint, OfSeveralFiles) {
  struct Listed : RowSource {
    std::vector<OpenedFile> files;
    void read(int64_t, int64_t, std::byte*) const override {}
    void list_files(std::vector<OpenedFile>& out) const override { out = files; }
  };
  auto text = [](std::vector<OpenedFile> files) {
    auto source = std::make_shared<Listed>();
    source->files = std::move(files);
    return data_fingerprint(DataArray{.raw = {}, .source = source, .origin = "pics", .where = {}});
  };
  const OpenedFile a{"pics/a/1.png", {.size = 7, .inode = 1, .modified_seconds = 5, .modified_nanoseconds = 6}};
  OpenedFile path = a, size = a, time = a, inode = a;
  path.path = "pics/b/1.png";
  size.state.size = 8;
  time.state.modified_nanoseconds = 7;
  inode.state.inode = 2;
  const std::string then = text({a, a});
  EXPECT_TRUE(then.starts_with("pics, 2 files ")) << then;
  EXPECT_TRUE(text({a}).starts_with("pics, 1 file ")) << text({a});
  for (const OpenedFile& other : {path, size, time}) EXPECT_NE(text({a, other}), then);
  EXPECT_EQ(text({a, inode}), then);  // a copy
  EXPECT_EQ(text({}), "pics");
}

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
