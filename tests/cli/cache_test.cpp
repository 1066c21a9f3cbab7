// `thtrain cache`: what it lists and removes, and that what it removed is made again.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <regex>

#include "tests/support/cli_support.h"
#include "tests/support/datasets_support.h"

namespace thtrain::cache_test {
namespace {

class CliCache : public testing::Test {
 protected:
  void SetUp() override {
    workshop.write("tiny.toml", tiny_experiment());
    const Ended ended = workshop.run({"check", "tiny.toml", "compiler.threads=1"});
    ASSERT_EQ(ended.code, 0) << ended.err;
  }
  std::string output(const std::vector<std::string>& arguments) const {
    const Ended ended = workshop.run(arguments);
    EXPECT_EQ(ended.code, 0) << ended.err;
    EXPECT_EQ(ended.err, "");
    return replaced(ended.out, workshop.path("cache"), "FOLDER");
  }
  size_t entries() const {
    const std::string lines = output({"cache", "list", "--json"});
    return static_cast<size_t>(std::count(lines.begin(), lines.end(), '\n'));
  }
  // Used `days` ago.
  void make_older(const std::string& kind, int days) const {
    const auto then = std::filesystem::file_time_type::clock::now() - std::chrono::hours(24 * days);
    for (const auto& file : std::filesystem::directory_iterator(workshop.path("cache/" + kind)))
      std::filesystem::last_write_time(file.path(), then);
  }
  size_t files(const std::string& kind) const {
    const std::filesystem::directory_iterator all(workshop.path("cache/" + kind));
    return static_cast<size_t>(std::distance(begin(all), end(all)));
  }
  Workshop workshop;
  EnvironmentVariable folder{"THTRAIN_CACHE_DIR", workshop.path("cache").c_str()};
};

TEST_F(CliCache, ListsEntriesWithSizeAndAge) {
  make_older("programs", 3);
  const std::string text = output({"cache", "list"});
  EXPECT_TRUE(std::regex_search(text, std::regex("(^|\n) *size +last used +entry\n"))) << text;
  EXPECT_TRUE(std::regex_search(text, std::regex("[0-9.]+ KiB  +3 days  +programs/[0-9a-f]+"))) << text;
  EXPECT_TRUE(std::regex_search(text, std::regex("[0-9.]+ KiB  +below 1 min  +objects/[0-9a-f-]+\\.so"))) << text;
  EXPECT_TRUE(std::regex_search(text, std::regex("\n\n[0-9]+ entries, [0-9.]+ [KM]iB, in FOLDER\n$"))) << text;
  EXPECT_EQ(entries(), files("programs") + files("objects") + files("kernels") + files("compilers"));
}

TEST_F(CliCache, WhatIsUsedAgainIsNew) {
  make_older("programs", 3);
  EXPECT_EQ(workshop.run({"check", "tiny.toml", "compiler.threads=1"}).code, 0);
  EXPECT_EQ(output({"cache", "list"}).find("3 days"), std::string::npos);
}

TEST_F(CliCache, PurgesAllOrByAge) {
  make_older("programs", 3);
  const size_t before = entries(), programs = files("programs");
  EXPECT_EQ(output({"cache", "purge", "--days", "4"}), "removed: 0 entries, 0 B, in FOLDER\n");
  EXPECT_EQ(entries(), before);
  const std::string removed = output({"cache", "purge", "--days=3"});
  EXPECT_TRUE(removed.starts_with("removed: " + std::to_string(programs) + " entr")) << removed;
  EXPECT_EQ(entries(), before - programs);
  output({"cache", "purge"});
  EXPECT_EQ(output({"cache", "list"}), "0 entries, 0 B, in FOLDER\n");
  EXPECT_EQ(workshop.run({"check", "tiny.toml", "compiler.threads=1"}).code, 0);
  EXPECT_EQ(files("programs"), programs) << "they are made again";
}

TEST_F(CliCache, LimitRemovesWhatWasUsedLongestAgo) {
  make_older("objects", 5);
  make_older("kernels", 9);
  const size_t objects = files("objects"), programs = files("programs");
  int64_t kept = 0;
  for (const char* kind : {"objects", "programs", "compilers"})
    for (const auto& file : std::filesystem::directory_iterator(workshop.path("cache/" + std::string(kind))))
      kept += static_cast<int64_t>(std::filesystem::file_size(file.path()));
  output({"cache", "limit", std::to_string(kept)});
  EXPECT_EQ(files("kernels"), 0u);
  EXPECT_EQ(files("objects"), objects);
  output({"cache", "limit", std::to_string(kept - 1)});
  EXPECT_EQ(files("objects"), objects - 1);
  output({"cache", "limit", "1G"});
  EXPECT_EQ(files("programs"), programs);
  output({"cache", "limit", "0"});
  EXPECT_EQ(entries(), 0u);
}

TEST_F(CliCache, AFolderThatOthersCouldChangeIsLeftAlone) {
  ASSERT_EQ(chmod(workshop.path("cache").c_str(), 0777), 0);
  const Ended ended = workshop.run({"cache", "purge"});
  EXPECT_EQ(ended.code, 2);
  EXPECT_TRUE(ended.err.starts_with("error: " + workshop.path("cache") + ": the cache folder is not used: "))
      << ended.err;
  EXPECT_TRUE(ended.err.ends_with("\n  hint:     set THTRAIN_CACHE_DIR to a folder that only you can change\n"));
  EXPECT_GT(files("programs"), 0u);
}

}  // namespace
}  // namespace thtrain::cache_test
