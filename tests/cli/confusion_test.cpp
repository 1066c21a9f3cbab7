// The confusion matrix at the end of a run, and the one that `thtrain eval` prints.
#include "tests/support/cli_support.h"

namespace thtrain {
namespace {

TEST(CliConfusion, StandsAtTheEndOfARunThatAsksForIt) {
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

}  // namespace
}  // namespace thtrain
