// Symbols of the examples that a layer has no unit for are found before a run begins.
#include <gtest/gtest.h>

#include "compiler/base/str.h"
#include "datasets/npy.h"
#include "tests/support/cli_support.h"

namespace thtrain {
namespace {

// 12 sequences of 4 symbols 0, 1, 2, the steps' own targets; step 2 of row 3 is another one.
void write_symbols(const Workshop& workshop, float other) {
  Tensor x = Tensor::empty(DType::kFloat32, {12, 4}), y = Tensor::empty(DType::kInt64, {12, 4});
  for (int64_t i = 0; i < x.size(); ++i) {
    x.data<float>()[i] = static_cast<float>(i % 3);
    y.data<int64_t>()[i] = i % 3;
  }
  x.data<float>()[3 * 4 + 2] = other;
  write_npy(workshop.path("s.npy"), x);
  write_npy(workshop.path("y.npy"), y);
}

std::string symbols_experiment(const std::string& data, const std::string& layer) {
  return "[data]\nsource = \"npy\"\ntrain = \"s.npy\"\ntrain_labels = \"y.npy\"\nsequences = true\n" + data +
         "[[model.layers]]\n" + layer +
         "[[model.layers]]\ntype = \"softmax\"\n"
         "[trainer]\nlearning_rate = 0.1\nbatch_size = 4\nepochs = 1\n"
         "[compiler]\nmode = \"reference\"\n[output]\nplots = false\n";
}

const char* kEmbedding = "type = \"embedding\"\nunits = 2\n";

std::string error_of(const std::string& command, const std::string& data, const std::string& layer, float other) {
  Workshop workshop;
  write_symbols(workshop, other);
  workshop.write("e.toml", symbols_experiment(data, layer));
  std::vector<std::string> arguments = {command, "e.toml"};
  if (command == "train") arguments.insert(arguments.end(), {"--run-dir", "run", "--quiet"});
  const Ended ended = workshop.run(arguments);
  EXPECT_EQ(ended.code, 2) << ended.err;
  return without_folder(ended.err.substr(std::min(ended.err.find("error: "), ended.err.size())), workshop);
}

const std::string kLayer =
    "  config:   e.toml:6:1\n"
    "      6 | [[model.layers]]\n"
    "        | ^^^^^^^^^^^^^^^^\n";

TEST(CliSymbols, OutOfRangeAreFoundBeforeTheRun) {
  for (const char* command : {"train", "check"})
    EXPECT_EQ(error_of(command, "", str(kEmbedding, "count = 5\n"), 9),
              "error: s.npy: row 3, step 2: symbol 9, and layer embedding1 has 5 symbols\n"
              "  expected: integers from 0 to 4\n"
              "  got:      9\n" +
                  kLayer + "  hint:     model.layers.0.count is the number of symbols\n");
  EXPECT_EQ(error_of("train", "", "type = \"one_hot\"\n", 3),
            "error: s.npy: row 3, step 2: symbol 3, and layer one_hot1 has 3 symbols\n"
            "  expected: integers from 0 to 2\n"
            "  got:      3\n" +
                kLayer +
                "  hint:     model.layers.0.count is not given, and is the number of classes of the targets, 3\n");
  EXPECT_EQ(error_of("train", "", str(kEmbedding, "count = 5\n"), 0.5),
            "error: s.npy: row 3, step 2: not a symbol, which layer embedding1 takes\n"
            "  expected: integers from 0 to 4\n"
            "  got:      0.5\n" +
                kLayer + "  hint:     model.layers.0.count is the number of symbols\n");
}

TEST(CliSymbols, OfStreamsComeWithTheirMinibatch) {
  const std::string error = error_of("train", "memory_limit = 1e-7\n", str(kEmbedding, "count = 5\n"), 9);
  EXPECT_NE(error.find("s.npy: row 3, step 2: symbol 9, and layer embedding1 has 5 symbols\n"
                       "  expected: integers from 0 to 4\n"
                       "  got:      9\n"),
            std::string::npos)
      << error;
}

TEST(CliSymbols, ScaledOrStandardizedAreNone) {
  EXPECT_EQ(error_of("train", "scale = 0.5\n", str(kEmbedding, "count = 5\n"), 1),
            "error: layer embedding1 takes symbols, which data.scale changes\n"
            "  expected: data.scale = 1\n"
            "  got:      data.scale = 0.5\n"
            "  config:   e.toml:6:9\n"
            "      6 | scale = 0.5\n"
            "        |         ^^^\n");
  EXPECT_EQ(error_of("train", "standardize = \"all\"\n", str(kEmbedding, "count = 5\n"), 1),
            "error: layer embedding1 takes symbols, which data.standardize changes\n"
            "  expected: data.standardize = \"none\"\n"
            "  config:   e.toml:6:15\n"
            "      6 | standardize = \"all\"\n"
            "        |               ^^^^^\n");
}

}  // namespace
}  // namespace thtrain
