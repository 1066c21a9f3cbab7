// `_base_`: a file over other files, and what is said of mistakes in both.
#include "cli/config_bases.h"

#include <sys/stat.h>

#include <ctime>
#include <filesystem>
#include <functional>

#include "cli/load_experiment.h"
#include "tests/support/cli_support.h"
#include "tests/support/datasets_support.h"
#include "trainers/config_edits.h"

namespace thtrain {
namespace {

namespace fs = std::filesystem;

const std::string kDigits = "[data]\nsource = \"digits\"\nn_train = 100\nn_valid = 20\nn_test = 20\n";
const std::string kTwoLayers = "[[model.layers]]\ntype = \"dense\"\nunits = 5\n[[model.layers]]\ntype = \"softmax\"\n";
const std::string kTrainer = "[trainer]\nbatch_size = 20\nepochs = 2\nlearning_rate = 0.5\nmomentum = 0.9\n";

class ConfigBases : public testing::Test {
 protected:
  ConfigBases() { write("base.toml", kDigits + kTwoLayers + kTrainer); }
  void write(const std::string& name, const std::string& text) {
    fs::create_directories(fs::path(temporary.path(name)).parent_path());
    temporary.write(name, text);
  }
  std::map<std::string, std::string> values(const std::string& name, const std::vector<std::string>& overrides = {}) {
    return config_values(resolved_toml(load_experiment(temporary.path(name), overrides).experiment));
  }
  std::string resolved(const std::string& name) {
    return resolved_toml(load_experiment(temporary.path(name), {}).experiment);
  }
  // Without the folder.
  std::string error(const std::string& name, const std::vector<std::string>& overrides = {}) {
    std::string out = error_text([&] { load_experiment(temporary.path(name), overrides); });
    const std::string folder = temporary.path() + "/";
    for (size_t at = 0; (at = out.find(folder, at)) != std::string::npos;) out.erase(at, folder.size());
    return out;
  }
  TemporaryFolder temporary;
};

// Seconds of this process.
double cpu_seconds(const std::function<void()>& what) {
  const std::clock_t began = std::clock();
  what();
  return static_cast<double>(std::clock() - began) / CLOCKS_PER_SEC;
}

TEST_F(ConfigBases, TheTimeOfAMergeGrowsAsTheNumberOfKeys) {
  auto seconds = [&](int keys) {
    std::string base = "[x]\n", over = "_base_ = \"many.toml\"\n[x]\n";
    for (int i = 0; i < keys; ++i) {
      base += str("key", i, " = ", i, "\n");
      over += str("key", i, " = ", i + 1, "\n");
    }
    write("many.toml", base);
    write("over.toml", over);
    Findings findings;
    ConfigNode read;
    const double out = cpu_seconds([&] { read = read_config(temporary.path("over.toml"), findings); });
    EXPECT_EQ(read.find("x")->children.size(), static_cast<size_t>(keys));
    EXPECT_EQ(read.find("x")->children.back().integer, keys);
    return out;
  };
  const double few = seconds(5000);
  EXPECT_LT(seconds(40000), 24 * few);  // 64 times as long where each key looks at each
}

TEST_F(ConfigBases, ThousandsOfPhasesAreReadInLinearTimeAndMemory) {
  auto seconds = [&](int phases) {
    std::string text = kDigits + kTwoLayers + "[trainer]\nbatch_size = 20\n";
    for (int i = 0; i < phases; ++i) text += str("[[phase]]\n[phase.trainer]\nepochs = ", i % 7 + 1, "\n");
    write("phases.toml", text);
    Experiment read;
    const double out = cpu_seconds([&] { read = load_experiment(temporary.path("phases.toml"), {}).experiment; });
    EXPECT_EQ(read.phases.size(), static_cast<size_t>(phases));
    EXPECT_EQ(read.phase.size(), static_cast<size_t>(phases));
    for (size_t i = 0; i < read.phases.size(); ++i) {
      EXPECT_LE(read.phases[i].phase.size(), 2u);
      EXPECT_EQ(read.phases[i].phase_number, i + 1);
    }
    return out;
  };
  const double few = seconds(250);
  EXPECT_LT(seconds(2000), 24 * few);
}

TEST_F(ConfigBases, TablesMergeAndArraysReplace) {
  write("child.toml", "_base_ = \"base.toml\"\nseed = 3\n[trainer]\nepochs = 9\n[loss]\nl2 = 0.5\n");
  auto base = values("base.toml"), child = values("child.toml");
  EXPECT_EQ(config_edits(resolved("base.toml"), resolved("child.toml")),
            (std::vector<std::string>{"loss.l2: 0.0 then, 0.5 now", "seed: 1234 then, 3 now",
                                      "trainer.epochs: 2 then, 9 now"}));
  EXPECT_EQ(resolved("child.toml").find("_base_"), std::string::npos);
  write("child.toml", "_base_ = \"base.toml\"\n[[model.layers]]\ntype = \"softmax\"\nname = \"only\"\n");
  child = values("child.toml");
  EXPECT_EQ(child["model.layers.0.name"], "\"only\"");
  EXPECT_FALSE(child.contains("model.layers.1.name"));
  EXPECT_EQ(child["trainer.momentum"], "0.9");
  // A file without anything of its own is its base; inline tables are tables.
  write("same.toml", "_base_ = \"base.toml\"\n");
  EXPECT_EQ(resolved("same.toml"), resolved("base.toml"));
  write("inline.toml", "_base_ = \"base.toml\"\ntrainer = {epochs = 5}\n");
  EXPECT_EQ(values("inline.toml")["trainer.epochs"], "5");
  EXPECT_EQ(values("inline.toml")["trainer.batch_size"], "20");
}

TEST_F(ConfigBases, ChainsListsAndFolders) {
  write("a/one.toml", "_base_ = \"../base.toml\"\nseed = 1\n[trainer]\nepochs = 3\n");
  write("a/two.toml", "seed = 2\n[trainer]\nbatch_size = 10\n");
  write("b/list.toml", "_base_ = [\"../a/one.toml\", \"../a/two.toml\"]\n[trainer]\nmomentum = 0.1\n");
  auto found = values("b/list.toml");
  EXPECT_EQ(found["seed"], "2");
  EXPECT_EQ(found["trainer.epochs"], "3");
  EXPECT_EQ(found["trainer.batch_size"], "10");
  EXPECT_EQ(found["trainer.momentum"], "0.1");
  EXPECT_EQ(found["trainer.learning_rate"], "0.5");
  // What is typed comes last.
  EXPECT_EQ(values("b/list.toml", {"seed=5", "trainer.epochs=7"})["trainer.epochs"], "7");
  EXPECT_EQ(values("b/list.toml", {"seed=5"})["seed"], "5");
  // The same base twice is no circle, nor is an absolute path one.
  write("twice.toml", str("_base_ = [\"base.toml\", \"a/one.toml\", \"", temporary.path("base.toml"), "\"]\n"));
  EXPECT_EQ(values("twice.toml")["trainer.epochs"], "2");
}

// As on the command line.
TEST_F(ConfigBases, KeysOfAReplacedKindGo) {
  write("child.toml", "_base_ = \"base.toml\"\n[trainer]\noptimizer = \"adam\"\n");
  auto found = values("child.toml");
  EXPECT_EQ(found["trainer.optimizer"], "\"adam\"");
  EXPECT_FALSE(found.contains("trainer.momentum"));
  EXPECT_EQ(found["trainer.learning_rate"], "0.001");
  EXPECT_EQ(found["trainer.epochs"], "2");
  write("child.toml", "_base_ = \"base.toml\"\n[trainer]\noptimizer = \"adam\"\nlearning_rate = 0.25\n");
  EXPECT_EQ(values("child.toml")["trainer.learning_rate"], "0.25");
}

// Keys of the file go, and none that was typed.
TEST_F(ConfigBases, KeysGoWhereAValueThatIsTypedReplacesTheKind) {
  auto found = values("base.toml", {"trainer.optimizer=adam"});
  EXPECT_EQ(found["trainer.optimizer"], "\"adam\"");
  EXPECT_FALSE(found.contains("trainer.momentum"));
  EXPECT_EQ(found["trainer.learning_rate"], "0.001");
  EXPECT_EQ(found["trainer.batch_size"], "20");
  EXPECT_EQ(values("base.toml", {"trainer.learning_rate=0.25", "trainer.optimizer=adam"})["trainer.learning_rate"],
            "0.25");
  EXPECT_EQ(values("base.toml", {"trainer.optimizer=sgd"})["trainer.momentum"], "0.9");
  EXPECT_EQ(error("base.toml", {"trainer.optimizer=adam", "trainer.momentum=0.5"}),
            R"(error: unknown key trainer.momentum
  config:   command line:2:9
      2 | trainer.momentum=0.5
        |         ^^^^^^^^
  hint:     momentum is a key of optimizer = "sgd" or "rmsprop")");
}

// A text is no file of piano rolls.
TEST_F(ConfigBases, TheFileOfAReplacedSourceGoes) {
  write("text.toml", "[data]\nsource = \"text\"\nfile = \"play.txt\"\nsteps = 10\n" + kTwoLayers + kTrainer);
  EXPECT_EQ(error("text.toml", {"data.source=piano_rolls"}), R"(error: data.file is missing
  expected: a string
  config:   text.toml:1:1
      1 | [data]
        | ^^^^^^
  hint:     file: the text file, with all three sets)");
}

// Relative paths of data start in the folder of the file that is named on the command line.
TEST_F(ConfigBases, PathsOfDataAreThoseOfTheNamedFile) {
  std::string table = "x,y\n";
  for (int i = 0; i < 40; ++i) table += str(i, ",", i % 2, "\n");
  write("child/rows.csv", table);
  write("csv.toml", "[data]\nsource = \"csv\"\ntrain = \"rows.csv\"\nlabel_column = \"y\"\n" + kTwoLayers +
                        "[trainer]\nbatch_size = 20\n");
  write("child/c.toml", "_base_ = \"../csv.toml\"\n");
  EXPECT_EQ(values("child/c.toml")["data.train"], str('"', temporary.path("child/rows.csv"), '"'));
  EXPECT_TRUE(error("csv.toml").find("rows.csv") != std::string::npos);
}

TEST_F(ConfigBases, MistakesPointIntoTheirFile) {
  write("bad.toml", kDigits + kTwoLayers + "[trainer]\nbatch_size = 20\nepochs = \"two\"\nmomentun = 0.5\n");
  write("child.toml", "# over it\n_base_ = \"bad.toml\"\n\n[trainer]\nlearning_rate = -1\n");
  EXPECT_EQ(error("child.toml"), R"(error: trainer.epochs has the wrong type
  expected: an integer, at least 1 (epochs)
  got:      a string, "two"
  config:   bad.toml:13:10
     13 | epochs = "two"
        |          ^^^^^
  hint:     epochs: largest number of passes over the training set
error: unknown key trainer.momentun
  config:   bad.toml:14:1
     14 | momentun = 0.5
        | ^^^^^^^^
  hint:     did you mean momentum?
error: trainer.learning_rate is out of range
  expected: a number above 0
  got:      -1
  config:   child.toml:5:17
      5 | learning_rate = -1
        |                 ^^
  hint:     learning_rate: factor of the gradient in each step)");
  // A child's value replaces the wrong one.
  write("child.toml", "_base_ = \"bad.toml\"\n[trainer]\nepochs = 2\nmomentun = 1\n");
  EXPECT_EQ(error("child.toml"), R"(error: unknown key trainer.momentun
  config:   child.toml:4:1
      4 | momentun = 1
        | ^^^^^^^^
  hint:     did you mean momentum?)");
  write("broken.toml", kDigits + "[trainer]\nepochs = = 3\n");
  write("child.toml", "_base_ = \"broken.toml\"\n" + kTwoLayers);
  EXPECT_EQ(error("child.toml"), R"(error: not valid TOML: could not determine value type
  expected: a string in quotes, a number, true, false, an array or an inline table
  config:   broken.toml:7:10
      7 | epochs = = 3
        |          ^)");
}

TEST_F(ConfigBases, BasesThatCannotBeRead) {
  write("missing.toml", "seed = 1\n_base_ = \"bose.toml\"\n[trainer]\nepochs = 3\n");
  EXPECT_EQ(error("missing.toml"), R"(error: cannot read the base bose.toml
  expected: a TOML file
  got:      no such file
  config:   missing.toml:2:10
      2 | _base_ = "bose.toml"
        |          ^^^^^^^^^^^
  hint:     did you mean base.toml?)");
  write("sub/x", "");
  write("folder.toml", "_base_ = \"sub\"\n");
  EXPECT_EQ(error("folder.toml"), R"(error: cannot read the base sub
  expected: a TOML file
  got:      a folder
  config:   folder.toml:1:10
      1 | _base_ = "sub"
        |          ^^^^^)");
  write("number.toml", "_base_ = 3\n");
  EXPECT_EQ(error("number.toml"), R"(error: _base_ names a file that this one goes over
  expected: the path of a TOML file, or an array of them
  got:      3
  config:   number.toml:1:10
      1 | _base_ = 3
        |          ^)");
  write("list.toml", "_base_ = [\"base.toml\", true]\n");
  EXPECT_EQ(error("list.toml"), R"(error: _base_ names a file that this one goes over
  expected: the path of a TOML file, or an array of them
  got:      true
  config:   list.toml:1:24
      1 | _base_ = ["base.toml", true]
        |                        ^^^^)");
  write("empty.toml", "_base_ = \"\"\n");
  EXPECT_EQ(error("empty.toml"), R"(error: _base_ names a file that this one goes over
  expected: the path of a TOML file, or an array of them
  got:      a string, ""
  config:   empty.toml:1:10
      1 | _base_ = ""
        |          ^^)");
  write("table.toml", "[_base_]\nfile = \"base.toml\"\n");
  EXPECT_EQ(error("table.toml"), R"(error: _base_ names a file that this one goes over
  expected: the path of a TOML file, or an array of them
  got:      a table
  config:   table.toml:1:1
      1 | [_base_]
        | ^^^^^^^^)");
  write("other.toml", "_base_ = \"rows.csv\"\n");
  write("rows.csv", "1,2\n3,4\n");
  EXPECT_EQ(error("other.toml"), R"(error: rows.csv: this is no experiment
  expected: a TOML file
  got:      text that begins with "1,2"
  config:   other.toml:1:10
      1 | _base_ = "rows.csv"
        |          ^^^^^^^^^^
  hint:     an experiment names such a file as data.train: configs/ has examples)");
}

TEST_F(ConfigBases, BasesWhoseEndMayNeverCome) {
  ASSERT_EQ(::mkfifo(temporary.path("pipe.toml").c_str(), 0600), 0);
  write("of_pipe.toml", "seed = 1\n_base_ = \"pipe.toml\"\n");
  EXPECT_EQ(error("of_pipe.toml"), R"(error: cannot read the base pipe.toml
  expected: a TOML file
  got:      a pipe
  config:   of_pipe.toml:2:10
      2 | _base_ = "pipe.toml"
        |          ^^^^^^^^^^^)");
  write("of_device.toml", "_base_ = \"/dev/zero\"\n");
  EXPECT_EQ(error("of_device.toml"), R"(error: cannot read the base /dev/zero
  expected: a TOML file
  got:      a device or socket
  config:   of_device.toml:1:10
      1 | _base_ = "/dev/zero"
        |          ^^^^^^^^^^^)");
}

// The system takes a path up to it: base.toml.
TEST_F(ConfigBases, ZerosInPaths) {
  write("child.toml", "_base_ = \"base.toml\\u0000.toml\"\n");
  EXPECT_EQ(error("child.toml"), R"(error: a string holds the character U+0000
  expected: text without it
  got:      a string, "base.toml\u0000.toml"
  config:   child.toml:1:10
      1 | _base_ = "base.toml\u0000.toml"
        |          ^^^^^^^^^^^^^^^^^^^^^^)");
  EXPECT_EQ(error("base.toml", {"output.root=\"here\\u0000there\""}), R"(error: a string holds the character U+0000
  expected: text without it
  got:      a string, "here\u0000there"
  config:   command line:1:13
      1 | output.root="here\u0000there"
        |             ^^^^^^^^^^^^^^^^^)");
}

TEST_F(ConfigBases, Circles) {
  write("self.toml", "_base_ = \"self.toml\"\n");
  EXPECT_EQ(error("self.toml"), R"(error: the bases go in a circle
  expected: a base that does not lead back to this file
  got:      self.toml -> self.toml
  config:   self.toml:1:10
      1 | _base_ = "self.toml"
        |          ^^^^^^^^^^^)");
  write("a.toml", "_base_ = \"b.toml\"\n");
  write("b.toml", "seed = 1\n_base_ = [\"base.toml\", \"c.toml\"]\n");
  write("c.toml", "_base_ = \"./a.toml\"\n");
  EXPECT_EQ(error("a.toml"), R"(error: the bases go in a circle
  expected: a base that does not lead back to this file
  got:      a.toml -> b.toml -> c.toml -> a.toml
  config:   c.toml:1:10
      1 | _base_ = "./a.toml"
        |          ^^^^^^^^^^)");
  // Many files, each of which names the one behind it twice.
  for (int i = 0; i < 40; ++i)
    write(str("deep", i, ".toml"), str("_base_ = [\"deep", i + 1, ".toml\", \"deep", i + 1, ".toml\"]\n"));
  write("deep40.toml", "");
  EXPECT_NE(error("deep0.toml").find("there are too many bases"), std::string::npos);
}

TEST_F(ConfigBases, AreNotTyped) {
  EXPECT_EQ(error("base.toml", {"_base_=other.toml"}), R"(error: _base_ belongs in experiment files only
  config:   command line:1:1
      1 | _base_=other.toml
        | ^^^^^^
  hint:     name one file on the command line, which names the others by _base_)");
  write("child.toml", kDigits + kTwoLayers + "[trainer]\nbatch_size = 20\n_base_ = \"base.toml\"\n");
  EXPECT_TRUE(error("child.toml").starts_with("error: unknown key trainer._base_\n  config:   child.toml:13:1\n"));
}

// A run keeps what it was made from: an edit of the base is none of the run.
TEST(CliConfigBases, ARunHasItsOwnConfiguration) {
  Workshop workshop;
  workshop.write("base.toml", tiny_experiment());
  workshop.write("child.toml", "_base_ = \"base.toml\"\n[trainer]\nepochs = 1\n");
  Ended trained = workshop.run({"train", "child.toml", "--run-dir", "run", "compiler.mode=reference"});
  EXPECT_EQ(trained.code, 0) << trained.err;
  EXPECT_EQ(workshop.read("run/config.toml").find("_base_"), std::string::npos);
  workshop.write("base.toml", tiny_experiment() + "# edited\n");
  workshop.write("child.toml", "_base_ = \"base.toml\"\nseed = 99\n[trainer]\nepochs = 1\n");
  EXPECT_EQ(workshop.run({"resume", "run"}).code, 0);
  Ended other = workshop.run({"train", "child.toml", "--resume", "--run-dir", "run", "compiler.mode=reference"});
  EXPECT_EQ(other.code, 2);
  EXPECT_NE(other.err.find("seed: 7 then, 99 now"), std::string::npos) << other.err;
}

}  // namespace
}  // namespace thtrain
