// Checksums, histograms and the series of event files; tests/cli/event_file_test.py decodes what a run writes.
#include "reports/event_file.h"

#include <cmath>
#include <filesystem>
#include <limits>

#include "compiler/base/file.h"
#include "tests/support/datasets_support.h"

namespace thtrain {
namespace {

namespace fs = std::filesystem;

// RFC 3720, appendix B.4.
TEST(Crc32c, OfTheExamplesOfRfc3720) {
  std::string up, down;
  for (int i = 0; i < 32; ++i) up += static_cast<char>(i), down += static_cast<char>(31 - i);
  EXPECT_EQ(crc32c(std::string(32, '\0')), 0x8a9136aaU);
  EXPECT_EQ(crc32c(std::string(32, '\xff')), 0x62a8ab43U);
  EXPECT_EQ(crc32c(up), 0x46dd794eU);
  EXPECT_EQ(crc32c(down), 0x113fdb5cU);
  std::string command(48, '\0');  // an iSCSI read
  const std::pair<int, int> bytes[] = {{0, 0x01},  {1, 0xc0},  {16, 0x14}, {22, 0x04},
                                       {27, 0x14}, {31, 0x18}, {32, 0x28}, {40, 0x02}};
  for (const auto& [at, byte] : bytes) command[static_cast<size_t>(at)] = static_cast<char>(byte);
  EXPECT_EQ(crc32c(command), 0xd9963a56U);
  EXPECT_EQ(crc32c(""), 0U);
}

TEST(Histogram, CountsEachNumberOnce) {
  const std::vector<double> values = {0, 1, 2, 3, 4, 4, 1};
  const HistogramSummary found = histogram_of(values, 4);
  EXPECT_EQ(found.min, 0);
  EXPECT_EQ(found.max, 4);
  EXPECT_EQ(found.count, 7);
  EXPECT_EQ(found.sum, 15);
  EXPECT_EQ(found.sum_of_squares, 47);
  EXPECT_EQ(found.limits, (std::vector<double>{1, 2, 3, 4}));
  EXPECT_EQ(found.counts, (std::vector<double>{1, 2, 1, 3}));
}

TEST(Histogram, OfEqualAndOfExtremeNumbers) {
  const HistogramSummary equal = histogram_of(std::vector<double>{5, 5, 5});
  EXPECT_EQ(equal.limits, std::vector<double>{5});
  EXPECT_EQ(equal.counts, std::vector<double>{3});
  const double next = std::nextafter(1.0, 2.0);  // no room for buckets between them
  EXPECT_EQ(histogram_of(std::vector<double>{1, next}).counts, std::vector<double>{2});
  const double largest = std::numeric_limits<double>::max();
  const HistogramSummary wide = histogram_of(std::vector<double>{-largest, largest, 0}, 2);
  EXPECT_EQ(wide.counts, (std::vector<double>{1, 2}));
  EXPECT_EQ(wide.limits, (std::vector<double>{0, largest}));
}

TEST(EventFile, NamesComeInTheOrderOfTheFiles) {
  TemporaryFolder temporary;
  std::vector<std::string> paths;
  for (int i = 0; i < 3; ++i) paths.push_back(EventFile(temporary.path(""), 1).path());
  EXPECT_TRUE(std::is_sorted(paths.begin(), paths.end())) << paths[0] << ' ' << paths[1];
  for (const std::string& path : paths) {
    EXPECT_TRUE(is_event_file(fs::path(path).filename().string())) << path;
    EXPECT_NE(read_file(path).find("brain.Event:2"), std::string::npos);
  }
  EXPECT_FALSE(is_event_file("metrics.jsonl"));
}

TEST(EventFile, WhatIsNoPictureIsLeftOut) {
  TemporaryFolder temporary;
  EventFile file(temporary.path(""), 1);
  const std::string before = read_file(file.path());
  file.picture("plots/x", 1, "GIF89a");
  file.picture("plots/x", 1, "\x89PNG\r\n\x1a\n");
  EXPECT_EQ(read_file(file.path()), before);
}

TEST(EventFile, SaysWhatCannotBeWritten) {
  TemporaryFolder temporary;
  const std::string text = error_text([&] { EventFile(temporary.path("none"), 1); });
  EXPECT_TRUE(text.starts_with(str("error: ", temporary.path("none"), "/events.out.tfevents."))) << text;
  EXPECT_NE(text.find(str(": the file cannot be written\n  expected: a folder ", temporary.path("none"),
                          "\n  got:      no such folder\n")),
            std::string::npos)
      << text;
}

}  // namespace
}  // namespace thtrain
