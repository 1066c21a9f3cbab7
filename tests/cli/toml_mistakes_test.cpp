// What is said of texts that are no TOML, with what was expected and where.
#include "cli/toml_mistakes.h"

#include <gtest/gtest.h>

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

TEST(TomlMistakes, AValueBeforeTablesOfItsNameIsOneMistake) {
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

TEST(TomlMistakes, TheFirstPlaceIsThatOfTheSameTable) {
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

TEST(TomlMistakes, WithinALineTheColumnSaysIt) {
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

TEST(TomlMistakes, NumbersAreShownWhole) {
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

TEST(TomlMistakes, EachSaysWhatIsExpected) {
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

}  // namespace
}  // namespace thtrain
