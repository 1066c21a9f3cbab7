#include "compiler/base/escape.h"

#include <gtest/gtest.h>

namespace thtrain {
namespace {

TEST(Escape, StaysOnOneLineAndReadsBack) {
  const std::pair<std::string, std::string> pairs[] = {
      {"W", "W"},
      {"", ""},
      {"hidden/W 1", "hidden/W 1"},
      {"a b\"\n*/}{", "a b\"\\n*/}{"},
      {"\\", "\\\\"},
      {"\\n", "\\\\n"},
      {"\t\r\x1b[31m", "\\t\\x0d\\x1b[31m"},
      {std::string("\0", 1), "\\x00"},
      {"\x7f", "\\x7f"},
      {"\u00df \u03b1 \u5b57 \U0001f600", "\u00df \u03b1 \u5b57 \U0001f600"},
      {"\u202e", "\\xe2\\x80\\xae"},  // right to left
      {"\u0085", "\\xc2\\x85"},       // next line
      {"\xff", "\\xff"},
      {"\xc3", "\\xc3"},                    // half a character
      {"\xc0\x80", "\\xc0\\x80"},           // an overlong form
      {"\xed\xa0\x80", "\\xed\\xa0\\x80"},  // half a surrogate pair
  };
  for (const auto& [name, text] : pairs) {
    EXPECT_EQ(escaped(name), text);
    EXPECT_EQ(unescaped(text), name);
  }
}

TEST(Escape, ReadsWhatWasNotWrittenByIt) {
  EXPECT_EQ(unescaped("\\"), "\\");
  EXPECT_EQ(unescaped("\\q"), "q");
  EXPECT_EQ(unescaped("\\x"), "x");
  EXPECT_EQ(unescaped("\\xg"), "xg");
  EXPECT_EQ(unescaped("\\x4"), "\x04");
}

}  // namespace
}  // namespace thtrain
