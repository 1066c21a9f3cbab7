#include "datasets/text_lines.h"

#include "tests/support/datasets_support.h"

namespace thtrain {
namespace {

std::vector<std::string> lines_of(const std::string& path) {
  InputFile file(path);
  TextLines lines(file);
  std::vector<std::string> out;
  for (std::string_view line; lines.next(line);) {
    out.emplace_back(line);
    EXPECT_EQ(lines.number(), static_cast<int64_t>(out.size()));
  }
  return out;
}

TEST(TextLines, EndAnyWay) {
  TemporaryFolder folder;
  using Lines = std::vector<std::string>;
  const std::pair<std::string, Lines> rows[] = {
      {"", {}},
      {"a", {"a"}},
      {"a\n", {"a"}},
      {"a\r\nb\rc\nd", {"a", "b", "c", "d"}},
      {"\n\r\n\r", {"", "", ""}},
      {"a\r", {"a"}},
      {"a\r\n", {"a"}},
      {"\xef\xbb\xbf"
       "a\nb",
       {"a", "b"}},
      {"\xef\xbb\xbf", {}},
  };
  for (const auto& [text, lines] : rows) EXPECT_EQ(lines_of(folder.write("t", text)), lines) << text;
}

// The file comes in pieces of a MiB: an end of a line anywhere around that border.
TEST(TextLines, CrossTheBorderOfAPiece) {
  TemporaryFolder folder;
  constexpr size_t kPiece = size_t{1} << 20;
  for (const char* end : {"\n", "\r", "\r\n"}) {
    for (size_t length = kPiece - 3; length <= kPiece + 2; ++length) {
      std::vector<std::string> lines = lines_of(folder.write("t", std::string(length, 'x') + end + "b" + end + "c"));
      ASSERT_EQ(lines.size(), 3u) << length;
      EXPECT_EQ(lines[0].size(), length);
      EXPECT_EQ(lines[1] + lines[2], "bc");
    }
  }
}

TEST(CountLines, CountsThoseThatAreNotEmpty) {
  TemporaryFolder folder;
  for (const auto& [text, count] : {std::pair("", 0), {"\n\n", 0}, {"a", 1}, {"a\r\n\r\nb\rc\n", 3}})
    EXPECT_EQ(count_lines(TextFile(folder.write("t", text))), count) << text;
}

}  // namespace
}  // namespace thtrain
