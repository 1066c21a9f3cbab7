// Bad command lines: tests/cli/bad_command_lines.txt holds arguments, exit code and the whole of standard error, and
// more of them are added there; @COMMANDS@ is the list of the commands. With THTRAIN_UPDATE_EXPECTED=1 the codes and
// texts are written instead of compared.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "cli/command.h"
#include "compiler/base/str.h"
#include "datasets/npy.h"
#include "datasets/npz.h"
#include "tests/support/cli_support.h"

namespace thtrain {
namespace {

const char* const kFile = "tests/cli/bad_command_lines.txt";

/// "$ train tiny.toml 'a b'", "= 2", and the lines up to the next "$" or "#".
struct Row {
  std::string comment = {}, line = {};
  int code = 0;
  std::string text = {};
};

std::vector<Row> rows_of(const std::string& path) {
  std::vector<Row> out;
  std::ifstream file(path);
  std::string comment;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("$")) {
      out.push_back({.comment = comment, .line = line.substr(std::min<size_t>(2, line.size()))});
      comment.clear();
    } else if (line.starts_with("= ") && !out.empty()) {
      out.back().code = std::stoi(line.substr(2));
    } else if (line.starts_with("#")) {
      comment += line + "\n";
    } else if (!line.empty() && !out.empty()) {
      out.back().text += line + "\n";
    }
  }
  return out;
}

void replace_all(std::string& text, const std::string& from, const std::string& to) {
  for (size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
    text.replace(at, from.size(), to);
}

const std::string kLong(300, 'x');
std::string deep(const std::string& part) {
  std::string out;
  for (int i = 0; i < 20000; ++i) out += part;
  return out;
}

// What a line cannot hold: @LONG@, a name of 300 characters; @DEEP:x@, 20,000 times x; @ESC@.
std::string expanded(std::string word) {
  replace_all(word, "@LONG@", kLong);
  replace_all(word, "@ESC@", "\x1b");
  if (size_t at = word.find("@DEEP:"); at != std::string::npos) {
    size_t end = word.find('@', at + 1);
    word.replace(at, end + 1 - at, deep(word.substr(at + 6, end - at - 6)));
  }
  return word;
}

// All but `help`.
std::vector<std::string> commands() {
  std::vector<std::string> out;
  for (const CommandSpec& command : command_specs()) out.push_back(command.name);
  return out;
}

// Words between spaces; single quotes hold one together.
std::vector<std::string> words_of(const std::string& line) {
  std::vector<std::string> out;
  bool quoted = false, any = false;
  std::string word;
  for (char c : line + ' ') {
    if (c == '\'') {
      quoted = !quoted, any = true;
    } else if (c == ' ' && !quoted) {
      if (any) out.push_back(expanded(word));
      word.clear(), any = false;
    } else {
      word += c, any = true;
    }
  }
  return out;
}

class CliCommandLines : public testing::Test {
 protected:
  // tiny.toml and run/, trained from it; folder/ with a file; some files that are none of what they seem.
  CliCommandLines() {
    workshop.write("tiny.toml", tiny_experiment());
    workshop.write("folder/file", "");
    workshop.write("text.npy", "1 2 3\n");
    workshop.write("text.npz", "1 2 3\n");
    workshop.write("empty.toml", "");
    workshop.write("nul.toml", std::string("seed = 1\0\n", 10));
    workshop.write("control.toml", "seed = 1\n# \x07\n\"\x1b[2J\" = 1\n");
    workshop.write("deep_array.toml", "seed = " + deep("[") + "\n");
    workshop.write("deep_table.toml", "a = 1\nb = " + deep("{a=") + "\n");
    workshop.write("deep_key.toml", deep("a.") + "a = 1\n");
    workshop.write("deep_header.toml", "[" + deep("a.") + "a]\n");
    workshop.write("table.csv", "a,b,kind\n1,2,cat\n");
    workshop.write("optimizer.toml", tiny_experiment() + "[optimizer]\nname = \"adam\"\n");
    std::string mistakes;
    for (int i = 0; i < 25; ++i) mistakes += str("k", i, " = \n");
    workshop.write("many_mistakes.toml", mistakes);
    write_npz(workshop.path("arrays.npz"), {{"x", Tensor::zeros(DType::kUInt8, {2})}});
    write_npy(workshop.path("x.npy"), Tensor::zeros(DType::kUInt8, {2, 28, 28}));
    Ended trained = workshop.run({"train", "tiny.toml", "--run-dir", "run", "trainer.epochs=1"});
    EXPECT_EQ(trained.code, 0) << trained.err;
  }
  Workshop workshop;
};

TEST_F(CliCommandLines, EachHasItsMessageAndItsCode) {
  std::vector<Row> rows = rows_of(kFile);
  EXPECT_GE(rows.size(), 100u);
  std::string written;
  const std::vector<std::string> before = workshop.list();
  for (Row& row : rows) {
    SCOPED_TRACE("thtrain " + row.line);
    Ended ended = workshop.run(words_of(row.line));
    replace_all(ended.err, workshop.path(), "HERE");
    replace_all(ended.err, kLong, "@LONG@");
    replace_all(ended.err, THTRAIN_SOURCE_DIR, "SOURCE");
    replace_all(ended.err, join(commands(), ", ") + ", help", "@COMMANDS@");
    EXPECT_EQ(workshop.list(), before);
    if (std::getenv("THTRAIN_UPDATE_EXPECTED")) {
      row.code = ended.code;
      row.text = ended.err;
    }
    EXPECT_EQ(ended.code, row.code);
    EXPECT_EQ(ended.err, row.text);
    EXPECT_EQ(ended.out, "");
    EXPECT_EQ(ended.err.find_first_of("\x1b\x07"), std::string::npos);
    written += str(row.comment, "$ ", row.line, "\n= ", row.code, "\n", row.text, "\n");
  }
  if (std::getenv("THTRAIN_UPDATE_EXPECTED")) std::ofstream(kFile) << written;
}

// What prints to standard output is no mistake: a look at its words is enough.
TEST_F(CliCommandLines, HelpIsFoundWhereItIsLookedFor) {
  const std::string general = workshop.run({"--help"}).out;
  for (const char* part : {"Commands:\n", "\nExamples:\n  thtrain train lab.toml ", "\nEnvironment variables:\n",
                           "  OMP_NUM_THREADS ", "\nExit codes:\n  0    done\n"})
    EXPECT_NE(general.find(part), std::string::npos) << part << general;
  EXPECT_EQ(workshop.run({"help"}).out, general);
  EXPECT_EQ(workshop.run({"-h"}).out, general);
  for (const std::string& command : commands()) {
    const Ended help = workshop.run({"help", command});
    EXPECT_EQ(help.code, 0);
    EXPECT_NE(help.out.find(str("\nExamples:\n  thtrain ", command, ' ')), std::string::npos) << help.out;
    EXPECT_EQ(workshop.run({command, "--help"}).out, help.out);
    EXPECT_EQ(workshop.run({command, "nonsense", "-h"}).out, help.out);
    EXPECT_NE(general.find(str("\n  ", command, ' ')), std::string::npos) << command;
  }
  const Ended nothing = workshop.run({});
  EXPECT_EQ(nothing.code, 2);
  EXPECT_EQ(nothing.out, general);
}

// docs/cli.md has every command, option, environment variable and exit code that the help has.
TEST_F(CliCommandLines, ThePageNamesWhatTheHelpNames) {
  std::stringstream page;
  page << std::ifstream("docs/cli.md").rdbuf();
  auto expect_named = [&](const std::string& word) {
    EXPECT_NE(page.str().find(word), std::string::npos) << "docs/cli.md does not name " << word;
  };
  std::string section, command;
  std::istringstream general(workshop.run({"--help"}).out);
  for (std::string line; std::getline(general, line);) {
    std::istringstream words(line);
    std::string first;
    words >> first;
    if (line.ends_with(":"))
      section = line;
    else if (line.starts_with("  ") && section == "Environment variables:")
      expect_named(first);
    else if (line.starts_with("  ") && section == "Exit codes:")
      EXPECT_NE(page.str().find("\n| " + first + " "), std::string::npos) << "exit code " << first;
    else if (line.starts_with("  ") && section == "Commands:") {
      EXPECT_NE(page.str().find("\nthtrain " + first), std::string::npos) << "command " << first;
      std::istringstream help(workshop.run({"help", first == "help" ? "train" : first}).out);
      for (std::string option; help >> option;)
        if (option.starts_with("--") && !option.starts_with("--help")) expect_named(option.substr(0, option.find('=')));
    }
  }
}

}  // namespace
}  // namespace thtrain
