#include "compiler/base/file.h"

#include <sys/stat.h>

#include <fstream>
#include <thread>

#include "tests/support/datasets_support.h"

namespace thtrain {
namespace {

TEST(InputFile, ReadsAnywhere) {
  TemporaryFolder folder;
  std::string path = folder.write("a", "0123456789");
  InputFile file(path);
  EXPECT_EQ(file.size(), 10u);
  char part[3];
  file.read_at(4, std::as_writable_bytes(std::span(part)));
  EXPECT_EQ(std::string(part, 3), "456");
  EXPECT_EQ(file.beginning(4), "0123");
  EXPECT_EQ(file.beginning(40), "0123456789");
  EXPECT_EQ(read_file(path), "0123456789");
}

TEST(InputFile, SaysThatAFileWasCutShortWhileItWasRead) {
  TemporaryFolder folder;
  std::string path = folder.write("a", "0123456789");
  InputFile file(path);
  std::filesystem::resize_file(path, 7);
  char part[4];
  EXPECT_EQ(error_text([&] { file.read_at(5, std::as_writable_bytes(std::span(part))); }),
            "error: " + path +
                ": the file was cut short while it was read\n  expected: at least 9 bytes\n  got:      7 bytes\n"
                "  hint:     another program has changed it: write it again, whole");
}

TEST(IsSameFile, FollowsLinks) {
  TemporaryFolder folder;
  std::string path = folder.write("a", "x");
  std::filesystem::create_symlink(path, folder.path("link"));
  std::filesystem::create_hard_link(path, folder.path("hard"));
  EXPECT_TRUE(is_same_file(path, folder.path("link")));
  EXPECT_TRUE(is_same_file(folder.path("hard"), folder.path() + "/./a"));
  EXPECT_FALSE(is_same_file(path, folder.write("b", "x")));
  EXPECT_FALSE(is_same_file(path, folder.path("none")));
  EXPECT_FALSE(is_same_file(folder.path("none"), folder.path("none")));
}

TEST(InputFile, APipeIsRefusedAndDoesNotBlock) {
  TemporaryFolder folder;
  std::string path = folder.path("pipe");
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  EXPECT_EQ(error_text([&] { InputFile file(path); }),
            "error: " + path + ": not a regular file\n  expected: a file\n  got:      a device, pipe or socket");
}

TEST(AtomicFile, ReplacesOnlyWhenCommitted) {
  TemporaryFolder folder;
  std::string path = folder.write("a", "old");
  {
    AtomicFile file(path);
    file.write("new and longer");
    EXPECT_EQ(file.written(), 14u);
    EXPECT_EQ(read_file(path), "old");
  }
  EXPECT_EQ(read_file(path), "old");
  {
    AtomicFile file(path);
    file.write("new");
    file.commit();
  }
  EXPECT_EQ(read_file(path), "new");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path()), {}), 1) << "a temporary file is left";
}

TEST(AtomicFile, ManyWritersLeaveOneWholeFile) {
  TemporaryFolder folder;
  std::string path = folder.path("a");
  std::vector<std::thread> writers;
  for (char c = 'a'; c < 'e'; ++c) {
    writers.emplace_back([&path, c] {
      for (int i = 0; i < 20; ++i) {
        AtomicFile file(path);
        file.write(std::string(5000, c));
        file.commit();
      }
    });
  }
  for (std::thread& writer : writers) writer.join();
  std::string bytes = read_file(path);
  EXPECT_EQ(bytes, std::string(5000, bytes.at(0)));
}

TEST(AtomicFile, AWriteThatFailsNamesThePath) {
  TemporaryFolder folder;
  std::string path = folder.write("a", "old");
  EXPECT_EQ(error_text([&] {
              AtomicFile file(path);
              std::filesystem::remove_all(folder.path());
              file.write("new");
              file.commit();
            }),
            "error: " + path + ": the file cannot be written\n  expected: a folder " + folder.path() +
                "\n  got:      no such folder\n  hint:     run: mkdir -p " + folder.path());
}

TEST(AtomicFile, ACheckOfTheOpenedFileMayRefuseIt) {
  TemporaryFolder folder;
  const std::string path = folder.write("a", "old");
  int files = 0;
  EXPECT_EQ(error_text([&] {
              AtomicFile file(path, [&] {
                for (const auto& entry : std::filesystem::directory_iterator(folder.path())) files += entry.exists();
                throw UserError(Message{.what = "another folder"});
              });
            }),
            "error: another folder");
  EXPECT_EQ(files, 2) << "the check comes when the temporary file is there";
  EXPECT_EQ(read_file(path), "old");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path()), {}), 1) << "a temporary file is left";
}

TEST(AtomicFile, ReplacesFilesOnly) {
  TemporaryFolder folder;
  const std::string expected = ": the file cannot be written\n  expected: a new name, or that of a file\n  got:      ";
  EXPECT_EQ(error_text([&] { AtomicFile file(folder.path()); }), "error: " + folder.path() + expected + "a folder");
  EXPECT_EQ(error_text([] { AtomicFile file("/dev/null"); }),
            "error: /dev/null" + expected + "a device, pipe or socket");
  EXPECT_NO_THROW(check_replaceable(folder.write("a", "old")));
  EXPECT_NO_THROW(check_replaceable(folder.path("new")));
}

TEST(WriteError, SaysWhatIsMissing) {
  const std::string head = "error: out/a: the file cannot be written\n";
  EXPECT_EQ(std::string(write_error("out/a", ENOSPC).what()),
            head +
                "  expected: free space on its disk\n  got:      a full disk\n"
                "  hint:     make room and try again; an earlier file of this name is unchanged");
  EXPECT_EQ(std::string(write_error("out/a", EDQUOT).what()),
            head +
                "  expected: free space on its disk\n  got:      a full quota\n"
                "  hint:     make room and try again; an earlier file of this name is unchanged");
  EXPECT_EQ(std::string(write_error("out/a", EROFS).what()),
            head + "  expected: write permission for the folder out\n  got:      a read-only file system");
  EXPECT_EQ(std::string(write_error("a", EIO).what()),
            "error: a: the file cannot be written\n  got:      input/output error");
}

TEST(FileErrors, AFolderThatIsAFileCannotHoldFiles) {
  TemporaryFolder folder;
  std::string path = folder.write("a", "x") + "/b";
  EXPECT_EQ(error_text([&] { InputFile file(path); }), "error: " + path + ": no such file");
}

}  // namespace
}  // namespace thtrain
