// Commands on sparse examples: LIBSVM files and elements of matrices.
#include <gtest/gtest.h>

#include "compiler/base/str.h"
#include "tests/support/cli_support.h"

namespace thtrain::sparse_test {
namespace {

const char* const kTraining =
    "[trainer]\nlearning_rate = 0.1\nbatch_size = 2\nepochs = 40\n"
    "[compiler]\nmode = \"reference\"\n[output]\nplots = false\n";

std::string elements(const std::string& sizes, const std::string& lines) {
  return str("%%MatrixMarket matrix coordinate real general\n", sizes, '\n', lines);
}

TEST(CliSparse, PredictsElementsOfAMatrix) {
  const Workshop workshop;
  // A matrix of rank 1, of which [1, 1] is not given.
  workshop.write("m.mtx", elements("3 3 8", "1 2 2\n1 3 4\n2 1 2\n2 2 4\n2 3 8\n3 1 1\n3 2 2\n3 3 4\n"));
  workshop.write("asked.mtx", elements("3 3 2", "1 1 0\n3 3 4\n"));
  workshop.write("e.toml", str("[data]\nsource = \"coordinates\"\ntrain = [\"m.mtx\"]\n"
                               "[[model.layers]]\ntype = \"factorization\"\nfactors = 1\n"
                               "[loss]\ntype = \"squared_error\"\n",
                               kTraining));
  const Ended trained = workshop.run({"train", "e.toml", "--run-dir", "run", "--quiet", "--json"});
  ASSERT_EQ(trained.code, 0) << trained.err;
  const Ended predicted = workshop.run({"predict", "run", "--input", "asked.mtx", "--output", "p.csv"});
  EXPECT_EQ(predicted.code, 0) << predicted.err;
  const std::string table = workshop.read("p.csv");
  const size_t second = table.find("\n1,");
  ASSERT_NE(second, std::string::npos) << table;
  EXPECT_EQ(table.substr(0, table.find('\n')), "id,target,value");
  EXPECT_NEAR(std::stod(table.substr(table.rfind(',', second) + 1)), 1, 0.3) << table;
  EXPECT_NEAR(std::stod(table.substr(table.rfind(',') + 1)), 4, 0.3) << table;
  const Ended other = [&] {
    workshop.write("asked.mtx", elements("2 3 1", "1 1 0\n"));
    return workshop.run({"predict", "run", "--input", "asked.mtx", "--output", "q.csv"});
  }();
  EXPECT_EQ(other.code, 2);
  EXPECT_EQ(other.err,
            "error: asked.mtx: the examples have another size than the model takes\n"
            "  expected: 6 numbers for each example, as factorization1/W float32[6, 1] in run/best.npz has rows\n"
            "  got:      float64[1, 5]: 5 for each\n");
}

TEST(CliSparse, TheLargestWeightsOfManyInputsAreATable) {
  const Workshop workshop;
  workshop.write("t.txt", "0 1:1 2000:1\n1 2:1 2000:1\n0 1:1\n1 2:1\n");
  workshop.write("e.toml", str("[data]\nsource = \"libsvm\"\ntrain = [\"t.txt\"]\nsparse = true\n"
                               "[[model.layers]]\ntype = \"softmax\"\ninit = \"zeros\"\n",
                               kTraining));
  const Ended trained = workshop.run({"train", "e.toml", "--run-dir", "run", "--quiet", "--json"});
  ASSERT_EQ(trained.code, 0) << trained.err;
  const Ended shown = workshop.run({"show", "run"});
  EXPECT_EQ(shown.code, 0) << shown.err;
  EXPECT_NE(shown.out.find("the largest weights of softmax, of 2000 inputs\n"), std::string::npos) << shown.out;
  EXPECT_NE(shown.out.find("\n     0  x0 "), std::string::npos) << shown.out;
  EXPECT_NE(shown.out.find("\n     1  x1 "), std::string::npos) << shown.out;
}

TEST(CliSparse, CentringIsRefused) {
  const Workshop workshop;
  workshop.write("e.toml",
                 "[data]\nsource = \"libsvm\"\ntrain = [\"t.txt\"]\nsparse = true\nstandardize = \"features\"\n"
                 "[[model.layers]]\ntype = \"softmax\"\n[trainer]\nlearning_rate = 0.1\nepochs = 1\n");
  const Ended checked = workshop.run({"check", "e.toml"});
  EXPECT_EQ(checked.code, 2);
  EXPECT_EQ(checked.err,
            "error: data.standardize would take means off sparse examples, and nearly none stayed 0\n"
            "  expected: \"scales\" or \"none\"\n"
            "  got:      \"features\"\n"
            "  config:   e.toml:5:15\n"
            "      5 | standardize = \"features\"\n"
            "        |               ^^^^^^^^^^\n"
            "  hint:     \"scales\" divides by the deviations alone\n");
}

}  // namespace
}  // namespace thtrain::sparse_test
