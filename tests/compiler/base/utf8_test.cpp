#include "compiler/base/utf8.h"

#include <gtest/gtest.h>

namespace thtrain {
namespace {

std::string utf8_of(char32_t code) {
  std::string out;
  append_utf8(out, code);
  return out;
}

TEST(Utf8, TheFirstAndTheLastOfEachLength) {
  const std::pair<char32_t, std::string> rows[] = {{0, std::string(1, '\0')},
                                                   {0x7f, "\x7f"},
                                                   {0x80, "\xc2\x80"},
                                                   {0x7ff, "\xdf\xbf"},
                                                   {0x800, "\xe0\xa0\x80"},
                                                   {0xfff, "\xe0\xbf\xbf"},
                                                   {0x1000, "\xe1\x80\x80"},
                                                   {0xd7ff, "\xed\x9f\xbf"},
                                                   {0xe000, "\xee\x80\x80"},
                                                   {0xffff, "\xef\xbf\xbf"},
                                                   {0x10000, "\xf0\x90\x80\x80"},
                                                   {0x3ffff, "\xf0\xbf\xbf\xbf"},
                                                   {0x40000, "\xf1\x80\x80\x80"},
                                                   {0x10ffff, "\xf4\x8f\xbf\xbf"}};
  for (const auto& [code, bytes] : rows) {
    EXPECT_EQ(utf8_of(code), bytes) << std::hex << static_cast<uint32_t>(code);
    const CodePoint point = code_point_at("x" + bytes + "y", 1);
    EXPECT_TRUE(point.valid);
    EXPECT_EQ(point.code, code);
    EXPECT_EQ(point.bytes, bytes.size());
    EXPECT_EQ(first_not_utf8(bytes), std::string_view::npos);
  }
}

TEST(Utf8, EveryCodePointReadsBack) {
  std::u32string all;
  std::string text;
  for (char32_t code = 0; code <= 0x10ffff; ++code) {
    if (!is_code_point(code)) continue;
    all.push_back(code);
    append_utf8(text, code);
  }
  EXPECT_EQ(all.size(), 0x110000u - 0x800u);
  EXPECT_TRUE(code_points(text) == all);
  EXPECT_EQ(first_not_utf8(text), std::string_view::npos);
  EXPECT_EQ(character_count(text), 0x110000 - 0x800);
}

TEST(Utf8, WhatIsNoneIsRefused) {
  const char* const bad[] = {
      "\x80",              // continues nothing
      "\xbf",              //
      "\xe4r",             // Latin-1
      "\xc3",              // cut short
      "\xe2\x82",          //
      "\xf0\x9f\x98",      //
      "\xe2\x82z",         // cut short by another character
      "\xf0\x9f\x98z",     //
      "\xc0\x80",          // longer than it has to be
      "\xc1\xbf",          //
      "\xe0\x80\x80",      //
      "\xe0\x9f\xbf",      //
      "\xf0\x80\x80\x80",  //
      "\xf0\x8f\xbf\xbf",  //
      "\xed\xa0\x80",      // the first surrogate
      "\xed\xbf\xbf",      // the last one
      "\xf4\x90\x80\x80",  // behind the last code point
      "\xf5\x80\x80\x80",  //
      "\xfe",              // bytes that are in no UTF-8
      "\xff",
  };
  for (const char* bytes : bad) {
    const std::string text = std::string("ab") + bytes;
    EXPECT_EQ(first_not_utf8(text), 2u) << bytes;
    const CodePoint point = code_point_at(text, 2);
    EXPECT_FALSE(point.valid) << bytes;
    EXPECT_EQ(point.bytes, 1u) << bytes;
    EXPECT_EQ(code_points(text)[2], kReplacementCharacter) << bytes;
  }
}

TEST(Utf8, EachByteThatIsNoneIsReplaced) {
  EXPECT_EQ(code_points("a\xc3\xa4\xe2\x81\xb5\xf0\x9d\x94\xb8"), U"a\u00e4\u2075\U0001d538");
  EXPECT_EQ(code_points("\xc3"), U"\ufffd");
  EXPECT_EQ(code_points("\xc0\x80z"), U"\ufffd\ufffdz");
  EXPECT_EQ(code_points("\xed\xa0\x80"), U"\ufffd\ufffd\ufffd");
  EXPECT_EQ(code_points("\xff\xf5\x80"), U"\ufffd\ufffd\ufffd");
  for (char32_t none : {0xd800, 0xdbff, 0xdc00, 0xdfff, 0x110000, 0x7fffffff})
    EXPECT_EQ(utf8_of(none), "\xef\xbf\xbd") << std::hex << static_cast<uint32_t>(none);
}

TEST(Utf8, CharactersAreCountedAndNotCut) {
  const std::string text = "a\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80z";
  EXPECT_EQ(character_count(text), 5);
  const size_t begins[] = {0, 1, 3, 6, 10, 11, 11};
  for (int i = 0; i < 7; ++i) EXPECT_EQ(byte_of_character(text, i), begins[i]) << i;
  const size_t whole[] = {0, 1, 1, 3, 3, 3, 6, 6, 6, 6, 10, 11, 11};
  for (size_t most = 0; most < 13; ++most) EXPECT_EQ(whole_characters(text, most), whole[most]) << most;
}

}  // namespace
}  // namespace thtrain
