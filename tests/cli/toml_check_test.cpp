// What is said of texts that are no TOML, with what was expected and where.
#include "cli/toml_check.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <random>

#include "cli/overrides.h"
#include "cli/toml_config.h"

namespace thtrain {
namespace {

std::string mistakes(const std::string& text) {
  Findings findings;
  parse_toml(text, "f.toml", findings);
  std::string out = "\n";
  for (const Message& message : findings.sorted()) out += message.text() + "\n";
  return out;
}

// ---- keys that are given twice ----

TEST(TomlCheck, AValueBeforeTablesOfItsNameIsOneMistake) {
  EXPECT_EQ(
      mistakes("model = 26\nseed = 3\n[[model.layers]]\ntype = \"dense\"\n[[model.layers]]\ntype = \"softmax\"\n"),
      R"(
error: key model is given twice
  expected: each key once
  config:   f.toml:3:3
      3 | [[model.layers]]
        |   ^^^^^
  hint:     it is first given in line 1, as 26
)");
  EXPECT_EQ(mistakes("[model]\nlayers = [{type = \"softmax\"}]\n[[model.layers]]"), R"(
error: key model.layers is given twice
  expected: each key once
  config:   f.toml:3:9
      3 | [[model.layers]]
        |         ^^^^^^
  hint:     it is first given in line 2, as an array of 1
)");
  EXPECT_EQ(mistakes("[[model.layers]]\ntype = \"dense\"\n[model.layers]\n"), R"(
error: key model.layers is given twice
  expected: each key once
  config:   f.toml:3:8
      3 | [model.layers]
        |        ^^^^^^
  hint:     it is first given in line 1, as an array of 1
)");
}

TEST(TomlCheck, TheFirstPositionIsThatOfTheSameTable) {
  EXPECT_EQ(mistakes("[a]\nx = 1\n[b]\nx = 5\nx = 6\n[c]\nx = 1\n"), R"(
error: key x is given twice
  expected: each key once
  config:   f.toml:5:1
      5 | x = 6
        | ^
  hint:     it is first given in line 4
)");
  EXPECT_EQ(mistakes("[[a]]\nb = 1\n[[a]]\nb = 1\n\"b\" = 3\n"), R"(
error: key b is given twice
  expected: each key once
  config:   f.toml:5:2
      5 | "b" = 3
        |  ^
  hint:     it is first given in line 4
)");
  EXPECT_EQ(mistakes("[a]\nb.c = 1\n[a.b]\nd = 1\n"), R"(
error: key a.b is given twice
  expected: each key once
  config:   f.toml:3:4
      3 | [a.b]
        |    ^
  hint:     it is first given in line 2
)");
  EXPECT_EQ(mistakes("a.b = 1\na.b.c = 2\n"), R"(
error: key a.b is given twice
  expected: each key once
  config:   f.toml:2:3
      2 | a.b.c = 2
        |   ^
  hint:     it is first given in line 1, as 1
)");
}

TEST(TomlCheck, WithinALineTheColumnSaysIt) {
  EXPECT_EQ(mistakes("x = {a = 1, b = {a = 2}, a = 3}\n"), R"(
error: key a is given twice
  expected: each key once
  config:   f.toml:1:26
      1 | x = {a = 1, b = {a = 2}, a = 3}
        |                          ^
  hint:     it is first given in line 1, column 6
)");
  EXPECT_EQ(mistakes("[z]\nx.y = [1, {a = 1, c.d = {e = 1, e = 2}}]\n"), R"(
error: key e is given twice
  expected: each key once
  config:   f.toml:2:33
      2 | x.y = [1, {a = 1, c.d = {e = 1, e = 2}}]
        |                                 ^
  hint:     it is first given in line 2, column 26
)");
}

// ---- syntax ----

TEST(TomlCheck, NumbersAreShownWhole) {
  EXPECT_EQ(mistakes("seed = 99999999999999999999\nx = 1e400\ny = -010\n"), R"(
error: not valid TOML: the integer does not fit 64 bits
  expected: an integer from -9223372036854775808 to 9223372036854775807
  got:      99999999999999999999
  config:   f.toml:1:8
      1 | seed = 99999999999999999999
        |        ^^^^^^^^^^^^^^^^^^^^
error: not valid TOML: the number is too large
  expected: a number that float64 holds, up to 1.8e308
  got:      1e400
  config:   f.toml:2:5
      2 | x = 1e400
        |     ^^^^^
error: not valid TOML: leading zeroes are prohibited
  expected: a number without zeros before it
  got:      -010
  config:   f.toml:3:5
      3 | y = -010
        |     ^^^^
  hint:     write -10
)");
  Findings findings;
  ConfigNode root;
  apply_overrides(root, {"seed=99999999999999999999"}, findings);
  EXPECT_EQ(findings.sorted().at(0).text(), R"(error: the integer does not fit 64 bits
  expected: an integer from -9223372036854775808 to 9223372036854775807
  got:      99999999999999999999
  config:   command line:1:6
      1 | seed=99999999999999999999
        |      ^^^^^^^^^^^^^^^^^^^^)");
}

TEST(TomlCheck, EachSaysWhatIsExpected) {
  for (const char* text : {"x = \"abc\n",
                           "x = 'abc\n",
                           "x = True\n",
                           "x\n",
                           "x 1\n",
                           "= 1\n",
                           "x =\n",
                           "x = 1 2\n",
                           "[\n",
                           "[]\n",
                           "[ [a]]\n",
                           "[[a]\n",
                           "[a] b\n",
                           "x = [1,\n",
                           "x = {a = 1,}\n",
                           "x = {a 1}\n",
                           "x = \"\\q\"\n",
                           "x = 1__0\n",
                           "x = 0x\n",
                           "x = 1.\n",
                           "x = 1e\n",
                           "x = 2024-13-01\n",
                           "x = 12:99:00\n",
                           "x = \"a\x01\"\n",
                           "\xff = 1\n",
                           "x = \"\"\"a\n",
                           "a = {b = 1}\n[a.c]\nd = 1\n",
                           "a = {}\na.b = 1\n",
                           "x = \"\\ud800\"\n",
                           "x = inf1\n",
                           "x = +\n",
                           "\"a\nb\" = 1\n",
                           "x = [1 2]\n",
                           "x = .5\n",
                           "x.1..2 = 3\n",
                           "x = nan0\n",
                           "x = \"a\" \"b\"\n"}) {
    Findings findings;
    parse_toml(text, "f.toml", findings);
    ASSERT_FALSE(findings.empty()) << text;
    for (const Message& message : findings.sorted()) {
      EXPECT_FALSE(message.expected.empty()) << message.text();
      EXPECT_TRUE(message.what.starts_with("not valid TOML") || message.what.starts_with("key ")) << message.text();
      EXPECT_GE(message.config.line, 1) << text;
    }
  }
}

// After the parts of the specification of TOML 1.0; Python's tomllib takes and refuses the same.
TEST(TomlCheck, WhatIsTomlHasNoMistakes) {
  for (const char* text : {
           "",
           "# a comment \xe2\x82\xac\n",
           "a-b_1 = 1\n1234 = 2\n\"a.b\" = 3\n'quoted \"value\"' = 4\n\"\" = 5\n",
           "a . b = 1\na.c = 2\n3.14 = 'pi'\n",
           "a = \"\\b\\t\\n\\f\\r\\\"\\\\\\u00e9\\U0001F600\"\n",
           "a = \"\"\"\none\n\"two\" \"\"three\"\" \\\n   four\"\"\"\nb = 1\n",
           "a = \"\"\"\"quoted\"\"\"\"\"\nb = ''''raw'''''\n",
           "a = 'C:\\raw'\nb = '''\nraw\\\n'''\n",
           "a = +99\nb = -0\nc = 1_000\nd = 0xDEAD_beef\ne = 0o755\nf = 0b1101\ng = +0\n",
           "a = 1.0\nb = 5e+22\nc = -2E-2\nd = 6.626e-34\ne = 224_617.445_991\nf = inf\ng = -nan\nh = 0e0\n",
           "a = 100e-5\nb = 350E-324\nc = 1000e-5\n",
           "a = 1979-05-27T07:32:00Z\nb = 1979-05-27T00:32:00.999-07:00\nc = 1979-05-27 07:32:00\nd = 2024-02-29\n",
           "a = 07:32:00.5\n",
           "a = [ 1, 2 ]\nb = [ # one\n  1,\n\n  [\"x\", {y = 1}], # two\n]\nc = []\n",
           "[a]\n[ b . \"c d\" ]\nx = 1\n[a.b.c]\n[a.b]\n",
           "a = { x = 1, y.z = 2 }\nb = {}\n",
           "[[p]]\nx = 1\n[p.q]\ny = 1\n[[p.r]]\n[[p]]\n[p.q]\n[[p.r]]\n[[p.r]]\n",
           "a = 1\r\n[b]\r\nc = 2",
           "\t a\t=\t1\t# c",
       })
    EXPECT_EQ(mistakes(text), "\n") << text;
}

TEST(TomlCheck, WhatIsNoTomlHasOne) {
  for (const char* text : {
           "a = 1 b = 2\n",
           "a = \n",
           "= 1\n",
           "a b = 1\n",
           "a = 1\na = 2\n",
           "a = 1\na.b = 2\n",
           "[a.b.x]\n[a]\nb.c.d = 1\n[a.b]\n",
           "a = \"\\x41\"\n",
           "a = \"\\u12\"\n",
           "a = \"\\ud800\"\n",
           "a = \"\\U00110000\"\n",
           "a = \"one\ntwo\"\n",
           "a = 'it's'\n",
           "a = \"\"\"x\"\n",
           "a = \"\"\"\\ x\"\"\"\n",
           "a = '''b''''''\n",
           "\"\"\"a\"\"\" = 1\n",
           "a = 01\n",
           "a = 1__0\n",
           "a = _1\n",
           "a = 1_\n",
           "a = +0x1\n",
           "a = 0X1\n",
           "a = 0b2\n",
           "a = 0o8\n",
           "a = .5\n",
           "a = 5.\n",
           "a = 1.e1\n",
           "a = 1e\n",
           "a = 1e1.0\n",
           "a = Inf\n",
           "a = 2023-02-29\n",
           "a = 1979-5-27\n",
           "a = 24:00:00\n",
           "a = 1979-05-27T07:32\n",
           "a = 07:32:00Z\n",
           "a = 1979-05-27T07:32:00+25:00\n",
           "a = [1 2]\n",
           "a = [,]\n",
           "a = [1,,2]\n",
           "a = [1\n",
           "a = {x = 1,}\n",
           "a = {x = 1\n}\n",
           "a = {x}\n",
           "a = {x = 1 y = 2}\n",
           "a = {x = 1}\na.y = 2\n",
           "a = {x = 1}\n[a.y]\n",
           "[]\n",
           "[a.]\n",
           "[a]]\n",
           "[ [a]]\n",
           "[a] b = 1\n",
           "[a]\n[a]\n",
           "a = 1\n[a]\n",
           "[a]\n[[a]]\n",
           "a = []\n[[a]]\n",
           "[[a]]\n[a]\n",
           "[a]\nb.c = 1\n[a.b]\n",
           "\xc3\xa9 = 1\n",
           "a = \xc3\xa9\n",
           "a = \"\xff\"\n",
           "# \xed\xa0\x80\n",
           "a = \"\x7f\"\n",
           "a\r = 1\n",
       })
    EXPECT_NE(mistakes(text), "\n") << text;
}

TEST(TomlCheck, LinesOfArraysAreNoHeaders) {
  EXPECT_EQ(mistakes("x = [\n[1, {a = 1, a = 2}],\n]\n"), R"(
error: key a is given twice
  expected: each key once
  config:   f.toml:2:13
      2 | [1, {a = 1, a = 2}],
        |             ^
  hint:     it is first given in line 2, column 6
)");
}

// Pieces of TOML in any order: whatever is wrong with them is told, with a position within the text.
TEST(TomlCheck, OfRandomTextsHavePositions) {
  constexpr const char* kPieces[] = {"a",
                                     "b",
                                     "a.b",
                                     "\"a\"",
                                     "[",
                                     "]",
                                     "[[",
                                     "]]",
                                     "{",
                                     "}",
                                     " = ",
                                     "1",
                                     "99999999999999999999",
                                     "'x'",
                                     ", ",
                                     "\n",
                                     "\n[a]\n",
                                     "\n[[a.b]]\n",
                                     "\na = 1\n",
                                     "\na.b = {a = 1}\n",
                                     "# c\n",
                                     "\"",
                                     "'''",
                                     "true",
                                     "."};
  std::mt19937 random(7);
  for (int i = 0; i < 4000; ++i) {
    std::string text;
    for (size_t n = 1 + random() % 14; n > 0; --n) text += kPieces[random() % std::size(kPieces)];
    Findings findings;
    parse_toml(text, "f.toml", findings);
    for (const Message& message : findings.sorted()) {
      EXPECT_FALSE(message.expected.empty()) << text << "\n" << message.text();
      EXPECT_GE(message.config.line, 1) << text;
      EXPECT_LE(message.config.line, 2 + std::count(text.begin(), text.end(), '\n')) << text;
      EXPECT_GE(message.config.column, 1) << text;
    }
  }
}

}  // namespace
}  // namespace thtrain
