#include "compiler/base/escape.h"

#include <gtest/gtest.h>

#include "compiler/base/error.h"

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
      {"\t\r\x1b[31m", "\\t\\r\\x1b[31m"},
      {std::string("\0", 1), "\\x00"},
      {"\x7f", "\\x7f"},
      {"\u00df \u03b1 \u5b57 \U0001f600", "\u00df \u03b1 \u5b57 \U0001f600"},
      {"\u202e", "\\u202e"},  // right to left
      {"\u0085", "\\u0085"},  // next line
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

TEST(Escape, ControlCharactersBecomeEscapes) {
  EXPECT_EQ(printable("caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80"), "caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80");
  EXPECT_EQ(printable("\x1b[31mred\x07\x7f\r"), "\\x1b[31mred\\x07\\x7f\\r");
  EXPECT_EQ(printable("a\nb\tc"), "a\\nb\\tc");
  EXPECT_EQ(printable("a\nb\tc", "\n\t"), "a\nb\tc");
  EXPECT_EQ(printable(std::string("a\0b", 3)), "a\\x00b");
  EXPECT_EQ(printable("\xc2\x9b"
                      "31m"),
            "\\u009b31m");  // CSI in eight bits
  EXPECT_EQ(printable("a\xe2\x80\xae"
                      "b"),
            "a\\u202eb");  // from right to left
  EXPECT_EQ(printable("\x9b \xc3 \xff \xed\xa0\x80"), "\\x9b \\xc3 \\xff \\xed\\xa0\\x80");
  EXPECT_EQ(printable_characters("a\xc3\xa9\n\xff"), (std::vector<std::string>{"a", "\xc3\xa9", "\\n", "\\xff"}));
}

TEST(Escape, MessagesShowWhatATerminalWouldObey) {
  Message message{.what = "no \x1b[2J file",
                  .got = "one\ntwo\x07",
                  .config = {.file = "a\x1b.toml", .line = 3, .column = 5, .length = 2, .source_line = "x\x1b=\ty"},
                  .hint = "\xff"};
  EXPECT_EQ(message.text(),
            "error: no \\x1b[2J file\n"
            "  got:      one\n"
            "            two\\x07\n"
            "  config:   a\\x1b.toml:3:5\n"
            "      3 | x\\x1b=\ty\n"
            "        |       \t^\n"
            "  hint:     \\xff");
}

TEST(Escape, ALongLineIsShownAroundItsCarets) {
  std::string before(500, 'a'), after(500, 'b');
  Message message{
      .what = "w",
      .config = {.file = "f", .line = 1, .column = 501, .length = 4, .source_line = before + "WORD" + after}};
  EXPECT_EQ(message.text(), "error: w\n  config:   f:1:501\n      1 | ..." + std::string(40, 'a') + "WORD" +
                                std::string(66, 'b') + "...\n        | " + std::string(43, ' ') + "^^^^");
  message.config.column = 1, message.config.length = 900;
  EXPECT_EQ(message.text(), "error: w\n  config:   f:1:1\n      1 | " + std::string(110, 'a') + "...\n        | " +
                                std::string(110, '^'));
  message.config.source_line.clear();
  message.what = std::string(5000, 'x');
  EXPECT_EQ(message.text(),
            "error: " + std::string(1800, 'x') + " ... " + std::string(200, 'x') + "\n  config:   f:1:1");
}

TEST(Escape, AnErrorShowsTwentyMessages) {
  std::vector<Message> messages(20, Message{.what = "w"});
  std::string text;
  for (int i = 0; i < 20; ++i) text += str(i ? "\n" : "", "error: w");
  EXPECT_EQ(UserError(messages).what(), text);
  messages.push_back({.what = "w"});
  EXPECT_EQ(UserError(messages).what(), text + "\nerror: 1 more mistake is not shown");
  messages.resize(20000, {.what = "w"});
  EXPECT_EQ(UserError(messages).what(), text + "\nerror: 19980 more mistakes are not shown");
  EXPECT_EQ(UserError(messages).messages().size(), 20000u);
}

}  // namespace
}  // namespace thtrain
