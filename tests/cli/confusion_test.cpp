// The confusion matrix at the end of a run, and the one that `thtrain eval` prints.
#include "cli/text.h"
#include "tests/support/cli_support.h"

namespace thtrain {
namespace {

TEST(CliConfusion, IsPrintedAtTheEndOfARunThatAsksForIt) {
  Workshop workshop;
  workshop.write("digits.toml",
                 "[data]\nsource = \"digits\"\nn_train = 200\nn_valid = 60\nn_test = 40\n"
                 "[[model.layers]]\ntype = \"flatten\"\n[[model.layers]]\ntype = \"softmax\"\n"
                 "[trainer]\nepochs = 2\nbatch_size = 20\nmetrics = [\"error\", \"confusion_matrix\"]\n"
                 "[compiler]\nmode = \"reference\"\n[output]\nplots = false\n");
  const Ended trained = workshop.run({"train", "digits.toml", "--run-dir", "run"});
  ASSERT_EQ(trained.code, 0) << trained.err;
  const Ended found = workshop.run({"eval", "run"});
  const size_t begin = found.out.find("taken for\n");
  ASSERT_NE(begin, std::string::npos) << found.out;
  const std::string table = found.out.substr(begin);
  EXPECT_NE(trained.out.find("confusion matrix of the test examples, " + table), std::string::npos)
      << trained.out << table;
  // As JSON, and of the validation examples where there are no others.
  const Ended json = workshop.run({"train", "digits.toml", "data.n_test=0", "--run-dir", "other", "--json"});
  ASSERT_EQ(json.code, 0) << json.err;
  EXPECT_NE(json.out.find("\"confusion_part\": \"valid\", \"confusion\": [["), std::string::npos) << json.out;
  const Ended plain = workshop.run({"train", "digits.toml", "trainer.metrics=[\"error\"]", "--run-dir", "third"});
  EXPECT_EQ(plain.out.find("taken for"), std::string::npos) << plain.out;
}

TEST(CliConfusion, HasTheNamesOfClasses) {
  const Tensor matrix = Tensor::of(std::vector<int64_t>{1, 0, 12, 0, 345, 0, 2, 0, 3}, {3, 3});
  EXPECT_EQ(confusion_text(matrix, {}), R"(taken for
  class  0    1   2
      0  1    0  12
      1  0  345   0
      2  2    0   3
)");
  EXPECT_EQ(confusion_text(matrix, {"versicolor", "1st", "a name of more characters"}, true), R"(steps taken for
  class             versicolor  1st  a name ...acters
  versicolor                 1    0                12
  1st                        0  345                 0
  a name ...acters           2    0                 3
)");
  Workshop workshop;
  workshop.write("digits.toml",
                 "[data]\nsource = \"digits\"\nn_train = 200\nn_valid = 60\nn_test = 40\nclass_names = [\"zero\", "
                 "\"one\", \"two\", \"three\", \"four\", \"five\", \"six\", \"seven\", \"eight\", \"nine\"]\n"
                 "[[model.layers]]\ntype = \"flatten\"\n[[model.layers]]\ntype = \"softmax\"\n"
                 "[trainer]\nepochs = 1\nbatch_size = 20\nmetrics = [\"error\", \"confusion_matrix\"]\n"
                 "[compiler]\nmode = \"reference\"\n[output]\nplots = false\n");
  const Ended trained = workshop.run({"train", "digits.toml", "--run-dir", "run"});
  ASSERT_EQ(trained.code, 0) << trained.err;
  const std::string title = "\n  class  zero  one  two  three  four  five  six  seven  eight  nine\n  zero ";
  EXPECT_NE(trained.out.find(title), std::string::npos) << trained.out;
  const std::string shown = workshop.run({"eval", "run"}).out;
  EXPECT_NE(shown.find("taken for" + title), std::string::npos) << shown;
  const std::string json = workshop.run({"eval", "run", "--json"}).out;
  EXPECT_NE(json.find("\"classes\": [\"zero\", \"one\", "), std::string::npos) << json;
}

}  // namespace
}  // namespace thtrain
