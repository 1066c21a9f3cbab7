// Tables as people have them, from training to prediction: missing values.
#include <gtest/gtest.h>

#include "datasets/npz.h"
#include "tests/support/cli_support.h"
#include "tests/support/datasets_support.h"

namespace thtrain {
namespace {

class CliTables : public testing::Test {
 protected:
  // Standard output of a command that succeeds and says nothing on standard error.
  std::string output(const std::vector<std::string>& words) const {
    const Ended ended = workshop.run(words);
    EXPECT_EQ(ended.code, 0) << ended.err;
    EXPECT_EQ(ended.err, "");
    return ended.out;
  }
  // Standard error of a command that is refused; the workshop's own path reads "HERE".
  std::string refusal(const std::vector<std::string>& words) const {
    const Ended ended = workshop.run(words);
    EXPECT_EQ(ended.code, 2);
    EXPECT_EQ(ended.out, "");
    return replaced(ended.err, workshop.path(), "HERE");
  }
  Workshop workshop;
};

// The class is that of the sign of "width"; where it is missing, of "height".
const char* const kMissing =
    "width,height,kind\n"
    "-2,1,cat\n-1,NA,cat\n-3,1,cat\n,1,cat\n2,1,dog\n1,2,dog\n3,,dog\n2,2,dog\n";

class CliMissingValues : public CliTables {
 protected:
  CliMissingValues() {
    workshop.write("train.csv", kMissing);
    workshop.write("e.toml",
                   "[data]\nsource = \"csv\"\ntrain = \"train.csv\"\nimpute = \"mean\"\ntest = \"train.csv\"\n"
                   "[[model.layers]]\ntype = \"softmax\"\n"
                   "[trainer]\nlearning_rate = 0.5\nbatch_size = 4\nepochs = 20\ncheckpoint_seconds = 0\n"
                   "[compiler]\nmode = \"reference\"\n[output]\nplots = false\n");
    output({"train", "e.toml", "--run-dir", "run", "--quiet", "--json"});
  }
};

TEST_F(CliMissingValues, AreFilledFromTrainingToPrediction) {
  std::map<std::string, Tensor> best = read_npz(workshop.path("run/best.npz"));
  EXPECT_EQ(best.at("softmax/W").shape(), (Shape{4, 2}));
  EXPECT_EQ(best.at("data/fill").as_double(1), static_cast<double>(8.0f / 6));
  EXPECT_EQ(best.at("data/indicator").text(), "[1, 1]");
  EXPECT_NE(output({"eval", "run"}).find("error 0"), std::string::npos);
  // A missing value is the mean and its indicator, whatever else the file holds.
  for (const char* table : {"width,height\n-3,1\n?,1\n2,NaN\n", "-3,1\n,1\n2,\n", "width,height\n-3,1\n,1\n2,\n"}) {
    SCOPED_TRACE(table);
    workshop.write("x.csv", table);
    output({"predict", "run", "--input", "x.csv", "--output", "p.csv"});
    EXPECT_EQ(workshop.read("p.csv"), "class\ncat\ncat\ndog\n");
  }
  EXPECT_NE(output({"show", "run"}).find("weights_softmax"), std::string::npos);
}

// What the weights say is missing counts, not what the data says by now.
TEST_F(CliMissingValues, OfAnotherTrainingFileHaveTheIndicatorsOfTheModel) {
  const std::string complete =
      "width,height,kind\n-2,1,cat\n-1,1,cat\n-3,1,cat\n-2,1,cat\n2,1,dog\n1,2,dog\n3,1,dog\n2,2,dog\n";
  workshop.write("complete.csv", complete);
  const std::vector<std::string> other = {"data.train=complete.csv", "data.test=complete.csv"};
  for (const char* command : {"eval", "show"}) {
    std::vector<std::string> words = {command, "run"};
    words.insert(words.end(), other.begin(), other.end());
    output(words);
  }
}

TEST_F(CliMissingValues, AResumedRunHasTheSameBits) {
  output({"train", "e.toml", "--run-dir", "half", "--quiet", "trainer.epochs=7"});
  ASSERT_EQ(workshop.run({"resume", "half", "--quiet", "trainer.epochs=20"}).code, 0);
  const auto a = read_npz(workshop.path("run/checkpoint.npz")), b = read_npz(workshop.path("half/checkpoint.npz"));
  for (const char* name : {"softmax/W", "softmax/b", "data/fill", "data/indicator"})
    EXPECT_TRUE(same_bits(a.at(name), b.at(name))) << name;
}

TEST_F(CliMissingValues, AreCountedWhereNothingFillsThem) {
  EXPECT_EQ(refusal({"train", "e.toml", "data.impute=none"}),
            "error: HERE/train.csv: 3 values are missing\n"
            "  expected: a number in each cell of the columns to learn from\n"
            "  got:      1 in column \"width\", 2 in column \"height\"; the first is on line 3\n"
            "  config:   e.toml:3:9\n"
            "      3 | train = \"train.csv\"\n"
            "        |         ^^^^^^^^^^^\n"
            "  hint:     data.impute = \"mean\", \"median\" or \"zero\" fills them; or leave the lines out\n");
}

TEST_F(CliMissingValues, OfAModelWithoutThemAreRefused) {
  workshop.write("complete.csv", "width,height,kind\n-2,1,cat\n-1,1,cat\n2,1,dog\n1,2,dog\n");
  output({"train", "e.toml", "--run-dir", "plain", "--quiet", "data.impute=none", "data.train=complete.csv",
          "data.test=complete.csv"});
  EXPECT_EQ(refusal({"eval", "plain", "data.impute=mean", "data.test=train.csv"}),
            "error: plain/best.npz: the model was trained without data.impute\n"
            "  expected: data.impute = \"none\"\n"
            "  got:      missing values to fill in HERE/train.csv\n");
  workshop.write("x.csv", "width,height\n-3,\n");
  EXPECT_EQ(refusal({"predict", "plain", "--input", "x.csv", "--output", "p.csv"}),
            "error: x.csv: a value is missing\n"
            "  expected: a number in each cell of the columns to learn from\n"
            "  got:      1 in column \"height\"; it is on line 2\n"
            "  hint:     data.impute = \"mean\", \"median\" or \"zero\" fills them; or leave the lines out\n");
}

}  // namespace
}  // namespace thtrain
