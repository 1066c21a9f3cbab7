#include "datasets/content.h"

#include "compiler/base/escape.h"
#include "tests/support/datasets_support.h"

namespace thtrain {
namespace {

TEST(ContentText, SaysWhatAFileSeemsToBe) {
  const std::pair<std::string, std::string> rows[] = {
      {"", "an empty file"},
      {"\x93NUMPY\1", "a .npy file"},
      {"PK\3\4", "a zip archive, such as an .npz file"},
      {"PKzip is a program", "text that begins with \"PKzip is a program\""},
      {"\x1f\x8b\x08", "a gzipped file"},
      {std::string("\0\0\x8\3", 4), "an IDX file"},
      {std::string("\0\0\x7\3", 4), "bytes of no known format"},
      {"\x89HDF\r\n\x1a\n", "an HDF5 file"},
      {"\xff\xd8\xff\xe0", "a picture"},
      {"\xff\xfe"
       "a",
       "text in UTF-16"},
      {"\xef\xbb\xbf"
       "a,b\r\n1,2",
       "text that begins with \"a,b\""},
      {"gr\xc3\xb6\xc3\x9f"
       "e\t1",
       "text that begins with \"gr\xc3\xb6\xc3\x9f"
       "e\\t1\""},
      {"a\1b", "bytes of no known format"},
  };
  for (const auto& [bytes, text] : rows) EXPECT_EQ(content_text(bytes), text);
}

TEST(Excerpt, IsShortAndPrintable) {
  EXPECT_EQ(excerpt("a\x1b[31m\x7f"), "a\\x1b[31m\\x7f");
  EXPECT_EQ(excerpt("abcdef", 6), "abcdef");
  EXPECT_EQ(excerpt("abcdefg", 6), "abcdef...");
  EXPECT_EQ(excerpt("ab\xc3\xb6z", 3), "ab...") << "a character of two bytes is not cut";
  EXPECT_EQ(excerpt("\x80\x80\x80\x80", 2), "...");
}

}  // namespace
}  // namespace thtrain
