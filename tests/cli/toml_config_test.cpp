#include "cli/toml_config.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <random>

#include "cli/overrides.h"
#include "trainers/experiment.h"

namespace thtrain {
namespace {

using NodeKind = ConfigNode::Kind;

ConfigNode parse(const std::string& text) {
  Findings findings;
  ConfigNode root = parse_toml(text, "f.toml", findings);
  findings.raise();
  return root;
}

std::string position(const ConfigPosition& p) {
  return str(p.line, ":", p.column, "+", p.length, " ", p.source_line);
}

TEST(TomlConfig, EveryValueKnowsItsPosition) {
  ConfigNode root = parse(
      "# \xc3\xa9\nseed = 1234\n\"\xc3\xa9\" = 0x10 # c\r\n[z]\n s = \"\xc3\xa9\" \n"
      "[[a.b]]\n x = [1,\n2]\n[[a.b]]\nq = {c = true, d = 2024-01-02}\n");
  ASSERT_EQ(root.children.size(), 4u);
  EXPECT_EQ(root.children[0].key, "seed");  // in the order of the file, not of the names
  EXPECT_EQ(root.children[1].key, "\xc3\xa9");
  EXPECT_EQ(root.children[2].key, "z");
  EXPECT_EQ(root.children[3].key, "a");
  EXPECT_EQ(position(root.children[0].position), "2:8+4 seed = 1234");
  EXPECT_EQ(position(root.children[0].key_position), "2:1+4 seed = 1234");
  EXPECT_EQ(root.children[1].integer, 16);
  EXPECT_EQ(position(root.children[1].position), "3:7+4 \"\xc3\xa9\" = 0x10 # c");
  EXPECT_EQ(position(root.children[1].key_position), "3:1+3 \"\xc3\xa9\" = 0x10 # c");
  EXPECT_EQ(position(root.children[2].position), "4:1+3 [z]");
  EXPECT_EQ(position(root.children[2].key_position), "4:2+1 [z]");
  EXPECT_EQ(position(root.find("z")->find("s")->position), "5:6+3  s = \"\xc3\xa9\" ");
  const ConfigNode* list = root.find("a")->find("b");
  ASSERT_TRUE(list && list->is_array() && list->children.size() == 2);
  EXPECT_EQ(position(list->children[0].position), "6:1+7 [[a.b]]");
  EXPECT_EQ(position(list->children[1].position), "9:1+7 [[a.b]]");
  EXPECT_EQ(position(list->children[0].find("x")->position), "7:6+3  x = [1,");  // to the end of its first line
  EXPECT_EQ(position(list->children[0].find("x")->children[1].position), "8:1+1 2]");
  EXPECT_EQ(list->children[1].find("q")->find("d")->text, "2024-01-02");
}

TEST(TomlConfig, AByteOrderMarkAndWindowsLinesAreNothing) {
  ConfigNode root = parse("\xEF\xBB\xBFseed = 1\r\nname = 'x'\r\n");
  EXPECT_EQ(position(root.children[0].position), "1:8+1 seed = 1");
  EXPECT_EQ(root.children[1].text, "x");
}

TEST(TomlConfig, ReadsOnBehindALineOfItsOwn) {
  Findings findings;
  ConfigNode root = parse_toml("a = 1 1\nb = 2\n[c]\nd = nope\ne = 5\n", "f.toml", findings);
  EXPECT_EQ(findings.size(), 2u);
  EXPECT_TRUE(root.incomplete);
  EXPECT_EQ(root.find("b")->integer, 2);
  EXPECT_EQ(root.find("c")->find("e")->integer, 5);
  Findings more;
  EXPECT_TRUE(parse_toml("a = [1,\nb = 2\nc = 1 1\n", "f.toml", more).incomplete);
  EXPECT_EQ(more.size(), 1u);
}

TEST(TomlConfig, AFileThatIsNotThere) {
  namespace fs = std::filesystem;
  fs::path folder = fs::temp_directory_path() / str("thtrain_toml_", std::random_device()());
  fs::create_directories(folder);
  std::ofstream(folder / "mlp_digits.toml") << "seed = 1\n";
  auto message = [](const fs::path& path) -> std::string {
    Findings findings;
    try {
      read_toml_file(path.string(), findings);
    } catch (const UserError& error) {
      return error.what();
    }
    return "no error";
  };
  EXPECT_EQ(message(folder / "mlp_digits.toml"), "no error");
  EXPECT_EQ(
      message(folder / "mlp_digit.toml"),
      str("error: cannot read the experiment ", (folder / "mlp_digit.toml").string(), "\n  expected: a TOML file\n",
          "  got:      no such file\n  hint:     did you mean ", (folder / "mlp_digits.toml").string(), "?"));
  EXPECT_EQ(message(folder), str("error: cannot read the experiment ", folder.string(),
                                 "\n  expected: a TOML file\n  got:      a folder"));
  EXPECT_EQ(
      message("no/such/folder/x.toml"),
      "error: cannot read the experiment no/such/folder/x.toml\n  expected: a TOML file\n  got:      no such file");
  fs::remove_all(folder);
}

// ---- overrides ----

ConfigNode overridden(const std::string& text, const std::vector<std::string>& overrides) {
  ConfigNode root = parse(text);
  Findings findings;
  apply_overrides(root, overrides, findings);
  findings.raise();
  return root;
}

TEST(Overrides, ValuesAreTomlOrElseWords) {
  struct Row {
    std::string value;
    NodeKind kind;
    std::string toml;
  };
  for (const Row& row : std::vector<Row>{{"3", NodeKind::kInt, "3"},
                                         {"-1_000", NodeKind::kInt, "-1000"},
                                         {"0x10", NodeKind::kInt, "16"},
                                         {"1e3", NodeKind::kFloat, "1000.0"},
                                         {".5", NodeKind::kFloat, "0.5"},
                                         {"-.5", NodeKind::kFloat, "-0.5"},
                                         {"2.", NodeKind::kFloat, "2.0"},
                                         {"true", NodeKind::kBool, "true"},
                                         {"True", NodeKind::kString, "\"True\""},
                                         {"native", NodeKind::kString, "\"native\""},
                                         {"a/b c#d.npz", NodeKind::kString, "\"a/b c#d.npz\""},
                                         {"\"3\"", NodeKind::kString, "\"3\""},
                                         {"'a=b'", NodeKind::kString, "\"a=b\""},
                                         {"a=b", NodeKind::kString, "\"a=b\""},
                                         {"1.2.3", NodeKind::kString, "\"1.2.3\""},
                                         {"x\ny = 3", NodeKind::kString, "\"x\\ny = 3\""},
                                         {"1\nw = 3", NodeKind::kString, "\"1\\nw = 3\""},
                                         {"[1, 2.5]", NodeKind::kArray, "[1, 2.5]"},
                                         {"{a = 1, b.c = 'x'}", NodeKind::kTable, "{a = 1, b = {c = \"x\"}}"},
                                         {"2024-01-02", NodeKind::kDate, "2024-01-02"}}) {
    SCOPED_TRACE(row.value);
    ConfigNode root = overridden("", {"k=" + row.value});
    EXPECT_EQ(root.find("k")->kind, row.kind);
    EXPECT_EQ(toml_value(*root.find("k")), row.toml);
  }
}

TEST(Overrides, GoOverTheFileInOrder) {
  ConfigNode root = overridden("seed = 1\n[a]\nb = 1\n[[c.d]]\ne = 1\n[[c.d]]\ne = 2\n",
                               {"a.b=2", "c.d.1.e=7", "a.new.x=3", " a.b = 5 ", "c.d.0={f = 1}", "fresh.key='v'"});
  EXPECT_EQ(toml_text(root),
            "seed = 1\n\n[a]\nb = 5\n\n[a.new]\nx = 3\n\n[c]\n\n[[c.d]]\nf = 1\n\n[[c.d]]\ne = 7\n"
            "\n[fresh]\nkey = \"v\"\n");
  const ConfigNode* b = root.find("a")->find("b");
  EXPECT_EQ(b->position.file, "command line");
  EXPECT_EQ(position(b->position), "4:8+1  a.b = 5 ");
  EXPECT_EQ(position(b->key_position), "4:4+1  a.b = 5 ");
  EXPECT_EQ(root.find("seed")->position.file, "f.toml");
}

TEST(Overrides, AMistakeLeavesTheValueOfTheFile) {
  ConfigNode root = parse("a = 1\nb = [1]\n");
  Findings findings;
  apply_overrides(root, {"a=[1", "a.b=3", "b.1=3", "b.x=3", "a b=3", "b=[2] 3"}, findings);
  EXPECT_EQ(findings.size(), 6u);
  EXPECT_EQ(toml_text(root), "a = 1\nb = [1]\n");
}

TEST(Overrides, AnElementMayBeMissingBecauseItsLineWasUnreadable) {
  Findings findings;
  ConfigNode root = parse_toml("[[a]]\nx = 1\n[[a]\nx = 2\n", "f.toml", findings);
  ASSERT_EQ(findings.size(), 1u);
  apply_overrides(root, {"a.1.x=3"}, findings);
  EXPECT_EQ(findings.size(), 1u);
}

// ---- what is printed reads back ----

ConfigNode random_node(std::mt19937_64& random, int depth) {
  auto below = [&](uint64_t n) { return random() % n; };
  std::string letters = "ab \"\\\n\t'#=[]{}.\x01\xc3\xa9";
  auto word = [&] {
    std::string out;
    for (uint64_t i = below(6); i > 0; --i) {
      size_t at = below(letters.size() - 1);
      out += at == letters.size() - 2 ? "\xc3\xa9" : std::string(1, letters[at]);
    }
    return out;
  };
  switch (below(depth > 0 ? 6 : 4)) {
    case 0:
      return ConfigNode::of(below(2) == 1);
    case 1:
      return ConfigNode::of(static_cast<int64_t>(random()));
    case 2: {
      double value;
      uint64_t bits = random();
      std::memcpy(&value, &bits, sizeof value);
      return ConfigNode::of(std::isfinite(value) ? value : std::ldexp(1.0, -1074));
    }
    case 3:
      return ConfigNode::of(word());
    case 4: {
      ConfigNode out{.kind = NodeKind::kArray};
      for (uint64_t i = below(4); i > 0; --i) out.children.push_back(random_node(random, depth - 1));
      return out;
    }
    default: {
      ConfigNode out;
      for (uint64_t i = below(4); i > 0; --i) {
        ConfigNode child = random_node(random, depth - 1);
        child.key = word();
        if (!out.find(child.key)) out.children.push_back(std::move(child));
      }
      return out;
    }
  }
}

bool same(const ConfigNode& a, const ConfigNode& b) {
  if (a.kind != b.kind || a.boolean != b.boolean || a.integer != b.integer || a.text != b.text) return false;
  if (std::memcmp(&a.number, &b.number, sizeof a.number) != 0 || a.children.size() != b.children.size()) return false;
  for (size_t i = 0; i < a.children.size(); ++i) {
    const ConfigNode* other = a.is_table() ? b.find(a.children[i].key) : &b.children[i];
    if (!other || !same(a.children[i], *other)) return false;
  }
  return true;
}

TEST(TomlConfig, WhatIsPrintedReadsBackAsTheSameBits) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 1000; ++i) {
    ConfigNode node = random_node(random, 4);
    if (!node.is_table()) continue;
    ASSERT_TRUE(same(node, parse(toml_text(node)))) << toml_text(node);
  }
}

// Any damage to a file gives findings or an experiment, never anything else.
TEST(TomlConfig, DamagedFilesNeverDoWorseThanFindings) {
  std::ifstream stream("configs/labs/mlp_mnist.toml", std::ios::binary);
  std::string whole{std::istreambuf_iterator<char>(stream), {}};
  ASSERT_FALSE(whole.empty());
  std::mt19937_64 random(2);
  const std::string signs = "\"'[]{}=,.#\n\r\t\\ 0-e\xc3\xff";
  for (int i = 0; i < 400; ++i) {
    std::string text = whole;
    for (uint64_t edits = 1 + random() % 3; edits > 0; --edits) {
      size_t at = random() % text.size();
      if (random() % 3 == 0)
        text.erase(at, 1 + random() % 20);
      else if (random() % 2)
        text[at] = signs[random() % signs.size()];
      else
        text.insert(at, 1, signs[random() % signs.size()]);
    }
    Findings findings;
    ConfigNode root = parse_toml(text, "f.toml", findings);
    apply_overrides(root, {"model.layers.0.units=" + text.substr(random() % text.size(), 10)}, findings);
    Experiment experiment = read_experiment(root, findings);
    EXPECT_FALSE(findings.empty() && resolved_toml(experiment).empty());
    for (const Message& message : findings.sorted()) EXPECT_FALSE(message.text().empty());
  }
}

// Parsers and what they build call themselves for each level: 20,000 of them ended the process.
TEST(TomlConfig, WhatNestsTooDeepIsNamedAndPlaced) {
  auto repeated = [](const std::string& part, int times) {
    std::string out;
    for (int i = 0; i < times; ++i) out += part;
    return out;
  };
  auto expect_too_deep = [](const std::string& text, const std::string& where) {
    Findings findings;
    ConfigNode root = parse_toml(text, "f.toml", findings);
    ASSERT_EQ(findings.size(), 1u) << text.substr(0, 50);
    const Message message = findings.sorted().front();
    EXPECT_EQ(message.what, "tables and arrays are nested too deep");
    EXPECT_EQ(message.expected, "at most 100 levels");
    EXPECT_EQ(str(message.config.line, ":", message.config.column), where) << text.substr(0, 50);
    EXPECT_TRUE(root.incomplete);
  };
  for (int times : {101, 20000, 1000000}) {
    expect_too_deep("a = 1\nb = " + repeated("[", times), "2:105");
    expect_too_deep("b = " + repeated("{a=", times), "1:305");
    expect_too_deep("\n\n" + repeated("a.", times) + "a = 1", "3:202");
    expect_too_deep("[" + repeated("a.", times) + "a]", "1:201");
    expect_too_deep("[[" + repeated("'x.y'.", times) + "a]]", "1:596");
    expect_too_deep("b = " + repeated("[\n", times), "101:1");
    expect_too_deep("b = " + repeated("{a.a.a=", times), "1:238");
  }
  // As deep as it may be; and what only looks deep.
  for (const std::string& text : {"a = " + repeated("[", 100) + repeated("]", 100), repeated("a.", 100) + "a = 1",
                                  "a = '" + repeated("[", 200) + "'", "a = \"\\\"" + repeated("{", 200) + "\"",
                                  "# " + repeated("[", 200), "a = \"\"\"\n" + repeated("[\n", 200) + "\"\"\"",
                                  "a = '''" + repeated("[", 200) + "'''", "a = [" + repeated("1.5, ", 200) + "1.5]",
                                  "a = [" + repeated("[1], ", 200) + "]", repeated("[[a]]\nb.c = 1\n", 200)}) {
    Findings findings;
    parse_toml(text, "f.toml", findings);
    EXPECT_TRUE(findings.empty()) << findings.sorted().front().text();
  }
  for (const std::string& text : {"seed=" + repeated("[", 20000), "seed=" + repeated("{a=", 20000),
                                  repeated("a.", 20000) + "a=1", repeated("a.", 20000) + "a=" + repeated("[", 20000)}) {
    Findings findings;
    ConfigNode root;
    apply_overrides(root, {text}, findings);
    ASSERT_GE(findings.size(), 1u);
    EXPECT_EQ(findings.sorted().front().what, "tables and arrays are nested too deep");
    EXPECT_LT(findings.sorted().front().text().size(), 500u);
  }
}

// Each value has the line that it is in: a line of a million values was kept a million times.
TEST(TomlConfig, ALongLineIsKeptOnceOnly) {
  std::string text = "a = [";
  for (int i = 0; i < 20000; ++i) text += "1, ";
  ConfigNode root = parse(text + "1979-05-27]\n");
  size_t kept = 0;
  for (const ConfigNode& element : root.children[0].children) kept += element.position.source_line.size();
  EXPECT_LT(kept, size_t{32} << 20);
  EXPECT_EQ(root.children[0].children.back().text, "1979-05-27");
  EXPECT_EQ(root.children[0].children.back().position.column, 60006);
  EXPECT_EQ(root.children[0].position.source_line.substr(0, 8), "a = [1, ");
}

}  // namespace
}  // namespace thtrain
