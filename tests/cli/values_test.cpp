// What is said of targets that are no classes, and of losses that are negative or very large.
#include <gtest/gtest.h>

#include "cli/text.h"
#include "tests/support/cli_support.h"

namespace thtrain {
namespace {

TEST(LossText, HasAnExponentWhereDigitsWouldBeMany) {
  EXPECT_EQ(loss_text(0.4123456, 6), "0.412346");
  EXPECT_EQ(loss_text(-9999999, 6), "-9999999.000000");
  EXPECT_EQ(loss_text(1e7, 6), "1.000000e+07");
  EXPECT_EQ(loss_text(-1.5e300, 4), "-1.5000e+300");
}

// 40 rows of two numbers; `targets` are what follows each.
std::string rows(const std::string& header, const std::string& targets) {
  std::string out = header + "\n";
  for (int i = 0; i < 40; ++i) out += std::to_string(i % 5) + "," + std::to_string(i % 3) + "," + targets + "\n";
  return out;
}

std::string experiment(const std::string& target, const std::string& columns, const std::string& units,
                       const std::string& loss) {
  return "[data]\nsource = \"csv\"\ntrain = \"x.csv\"\nvalid = \"x.csv\"\ntest = \"x.csv\"\ntarget = \"" + target +
         "\"\n" + columns + "\n[[model.layers]]\ntype = \"dense\"\nunits = " + units + "\n\n[loss]\ntype = \"" + loss +
         "\"\n\n[trainer]\nbatch_size = 1\nepochs = 40\nlearning_rate = 0.0007\n";
}

// The mean of exp(z) - y z comes closer to its minimum, 20 - 20 log 20 = -39.9, with each epoch.
TEST(Values, ANegativeLossThatFallsIsNoneThatGrows) {
  Workshop workshop;
  workshop.write("x.csv", rows("a,b,y", "20"));
  workshop.write("values.toml", experiment("values", "label_column = \"y\"", "1", "poisson"));
  const Ended ended = workshop.run({"train", "values.toml", "--run-dir", "run"});
  EXPECT_EQ(ended.code, 0);
  EXPECT_EQ(ended.err, "");
  EXPECT_NE(ended.out.find("train loss -39.9"), std::string::npos) << ended.out;
  const Ended again = workshop.run({"resume", "run", "trainer.epochs=41"});
  EXPECT_EQ(again.code, 0) << again.err;
}

TEST(Values, AreCountedInsteadOfClasses) {
  Workshop workshop;
  workshop.write("x.csv", rows("a,b,p,q,r", "1,0,1"));
  const std::string columns = "label_columns = [\"p\", \"q\", \"r\"]";
  workshop.write("values.toml", experiment("values", columns, "3", "squared_error"));
  workshop.write("labels.toml", experiment("labels", columns, "3", "binary_crossentropy"));
  for (const char* kind : {"values", "labels"}) {
    const std::string file = std::string(kind) + ".toml";
    Ended ended = workshop.run({"check", file});
    EXPECT_EQ(ended.code, 0) << ended.err;
    EXPECT_NE(ended.out.find("\n  targets      3 " + std::string(kind) + "\n"), std::string::npos) << ended.out;
    EXPECT_EQ(ended.out.find("classes"), std::string::npos) << ended.out;
    ended = workshop.run({"data", file});
    EXPECT_TRUE(ended.out.starts_with("csv: 3 " + std::string(kind) + ", in memory\n")) << ended.out << ended.err;
  }
}

}  // namespace
}  // namespace thtrain
