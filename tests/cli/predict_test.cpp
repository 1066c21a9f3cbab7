// `thtrain predict`: what it reads and writes, and what it refuses.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

#include "compiler/base/str.h"
#include "datasets/npy.h"
#include "datasets/npz.h"
#include "tests/support/cli_support.h"

namespace thtrain {
namespace {

// Two classes, told apart by the sign of the first number.
const char* const kTable =
    "width,height,kind\n"
    "-2,1,cat\n-1,2,cat\n-3,1,cat\n-2,2,cat\n2,1,big dog\n1,2,big dog\n3,1,big dog\n2,2,big dog\n";

class CliPredict : public testing::Test {
 protected:
  CliPredict() {
    workshop.write("train.csv", kTable);
    workshop.write("e.toml",
                   "[data]\nsource = \"csv\"\ntrain = \"train.csv\"\n"
                   "[[model.layers]]\ntype = \"softmax\"\n"
                   "[trainer]\nlearning_rate = 0.5\nbatch_size = 4\nepochs = 20\n"
                   "[compiler]\nmode = \"reference\"\n[output]\nplots = false\n");
    Ended ended = workshop.run({"train", "e.toml", "--run-dir", "run", "--quiet", "--json"});
    EXPECT_EQ(ended.code, 0) << ended.err;
    EXPECT_EQ(ended.err, "");
  }
  // Standard error and the exit code of a prediction that is refused; the workshop's own path reads "HERE".
  void expect_error(const std::vector<std::string>& arguments, const std::string& text) {
    std::vector<std::string> before = workshop.list(), words = {"predict"};
    words.insert(words.end(), arguments.begin(), arguments.end());
    Ended ended = workshop.run(words);
    EXPECT_EQ(ended.code, 2);
    EXPECT_EQ(ended.out, "");
    EXPECT_EQ("\n" + without_resolved_lines(replaced(ended.err, workshop.path(), "HERE"), workshop), text);
    EXPECT_EQ(workshop.list(), before);
  }
  std::string output(const std::string& input, const std::string& name,
                     const std::vector<std::string>& more = {}) const {
    std::vector<std::string> words = {"predict", "run", "--input", input, "--output", name};
    words.insert(words.end(), more.begin(), more.end());
    Ended ended = workshop.run(words);
    EXPECT_EQ(ended.code, 0) << ended.err;
    EXPECT_EQ(ended.err, "");
    return ended.out;
  }
  std::vector<std::pair<std::string, Tensor>> read_npz_vector(const std::string& name) const {
    std::map<std::string, Tensor> arrays = read_npz(workshop.path(name));
    return {{"softmax/W", arrays.at("softmax/W")}, {"softmax/b", arrays.at("softmax/b")}};
  }
  Workshop workshop;
};

TEST_F(CliPredict, ReadsTablesAndNamesTheClasses) {
  struct Table {
    const char *text, *labels;  // labels: why they are no targets
  };
  for (const Table& table : {
           Table{"width,height\n-3,1\n3,1\n-2,1\n", ""},  // without labels
           Table{"-3,1\n3,1\n-2,1\n", ""},                // without a header
           // Labels that are none are passed over, wherever they are.
           Table{
               "width,height,kind\n-3,1,cat\n3,1,bird\n-2,1,\n",
               "no targets: x.csv: line 3, column 3 (\"kind\"): the label is not one of the training file's classes\n"},
           Table{
               "kind;width;height\n?;-3;1\n?;3;1\n?;-2;1\n",
               "no targets: x.csv: line 2, column 1 (\"kind\"): the label is not one of the training file's classes\n"},
       }) {
    SCOPED_TRACE(table.text);
    workshop.write("x.csv", table.text);
    EXPECT_EQ(output("x.csv", "p.csv"), str("classes of 3 examples written to p.csv\n  cat 2, big dog 1\n",
                                            table.labels, "weights run/best.npz\n"));
    EXPECT_EQ(workshop.read("p.csv"), "id,class\n0,cat\n1,\"big dog\"\n2,cat\n");
  }
  workshop.write("x.csv", "-3,1,cat\n3,1,cat\n-2,1,cat\n");
  output("x.csv", "p.csv");
  EXPECT_EQ(workshop.read("p.csv"), "id,target,class\n0,cat,cat\n1,cat,\"big dog\"\n2,cat,cat\n");
  output("x.csv", "p.npy");
  EXPECT_EQ(read_npy(workshop.path("p.npy")).text(), "[0, 1, 0]");
  EXPECT_EQ(output("x.csv", "p.csv", {"--probabilities"}),
            "classes and probabilities of 3 examples written to p.csv\n  cat 2, big dog 1\nweights run/best.npz\n");
  std::string text = workshop.read("p.csv");
  EXPECT_EQ(text.find("id,target,class,cat,\"big dog\"\n0,cat,cat,0.9"), 0u) << text;
}

// The label's column is known by its location where no header names it.
TEST_F(CliPredict, ReadsATableWithoutHeaderWhereTheLabelHasAName) {
  workshop.write("named.csv",
                 "width,kind,height\n-2,cat,1\n-1,cat,2\n-3,cat,1\n-2,cat,2\n2,big dog,1\n1,big dog,2\n"
                 "3,big dog,1\n2,big dog,2\n");
  ASSERT_EQ(
      workshop
          .run({"train", "e.toml", "--run-dir", "named", "--quiet", "data.train=named.csv", "data.label_column=kind"})
          .code,
      0);
  for (const char* table : {"-3,cat,1\n3,?,1\n-2,,1\n", "-3,1\n3,1\n-2,1\n", "width,height\n-3,1\n3,1\n-2,1\n"}) {
    SCOPED_TRACE(table);
    workshop.write("x.csv", table);
    Ended ended = workshop.run({"predict", "named", "--input", "x.csv", "--output", "p.csv"});
    EXPECT_EQ(ended.code, 0) << ended.err;
    EXPECT_EQ(workshop.read("p.csv"), "id,class\n0,cat\n1,\"big dog\"\n2,cat\n");
  }
  // A run of an earlier version does not say it.
  workshop.write("named/table.json",
                 "{\"columns\": [\"width\", \"height\"], \"named\": true, \"classes\": [\"cat\", \"big dog\"]}");
  workshop.write("x.csv", "-3,cat,1\n");
  expect_error({"named", "--input", "x.csv", "--output", "p.csv"}, R"(
error: x.csv: the columns are not those that the model was trained on
  expected: 2 columns, with or without the label's
  got:      3 columns
  hint:     the run does not say which column was the label's: leave it out
)");
}

TEST_F(CliPredict, KnowsTheClassesWithoutTheTrainingData) {
  workshop.write("train.csv", "");
  workshop.write("x.csv", "width,height\n3,1\n");
  EXPECT_EQ(output("x.csv", "p.csv"), "classes of 1 example written to p.csv\n  big dog 1\nweights run/best.npz\n");
}

TEST_F(CliPredict, ReadsEveryFormat) {
  Tensor x = Tensor::matrix<double>({{-3, 1}, {3, 1}, {-2, 1}});
  write_npy(workshop.path("x.npy"), x);
  write_npz(workshop.path("d.npz"), {{"a/x", x}});
  std::string idx("\0\0\x0e\2\0\0\0\3\0\0\0\2", 12);
  for (int64_t i = 0; i < 6; ++i) {
    double value = x.as_double(i);
    const char* bytes = reinterpret_cast<const char*>(&value);
    for (int byte = 7; byte >= 0; --byte) idx += bytes[byte];
  }
  workshop.write("x.idx", idx);
  for (const char* input : {"x.npy", "d.npz[a/x]", "x.idx"}) {
    EXPECT_EQ(output(input, "p.csv"),
              "classes of 3 examples written to p.csv\n  cat 2, big dog 1\nweights run/best.npz\n")
        << input;
    EXPECT_EQ(workshop.read("p.csv"), "id,class\n0,cat\n1,\"big dog\"\n2,cat\n");
  }
}

TEST_F(CliPredict, DoesNotOverwriteWhatItReads) {
  workshop.write("x.csv", "width,height\n3,1\n");
  expect_error({"run", "--input", "x.csv", "--output", "./x.csv"}, R"(
error: ./x.csv: the output would overwrite the input
  expected: --output with another name
)");
  EXPECT_EQ(workshop.read("x.csv"), "width,height\n3,1\n");
  write_npz(workshop.path("d.npz"), {{"x", Tensor::matrix<double>({{-3, 1}})}});
  expect_error({"run", "--input", "d.npz[x]", "--output", "d.npz"}, R"(
error: d.npz: the output would overwrite the input
  expected: --output with another name
)");
  expect_error({"run", "--input", "d.npz[x]", "--output", "run/checkpoint.npz", "--weights", "run/checkpoint.npz"}, R"(
error: run/checkpoint.npz: the output would overwrite the weights
  expected: --output with another name
)");
  expect_error({"run", "--input", "x.csv", "--output", "p.txt"}, R"(
error: predict cannot write this kind of file
  expected: --output with a name that ends in .npy, .npz (classes and probabilities) or .csv
  got:      p.txt
)");
}

// Nor what the experiment reads, nor what the run wrote; explain neither.
TEST_F(CliPredict, NoCommandOverwritesAnExperimentOrItsData) {
  write_npy(workshop.path("x.npy"), Tensor::matrix<double>({{-3, 1}}));
  auto refused = [&](const std::vector<std::string>& arguments, const std::string& what, const std::string& option) {
    const std::string name = arguments.back(), before = workshop.read(name);
    Ended ended = workshop.run(arguments);
    EXPECT_EQ(ended.code, 2);
    EXPECT_EQ(ended.err, str("error: ", name, ": the output would overwrite ", what, "\n  expected: ", option,
                             " with another name\n"));
    EXPECT_EQ(workshop.read(name), before);
  };
  const std::string data = "the data of the experiment";
  refused({"predict", "run", "--input", "x.npy", "--output", "train.csv"}, data, "--output");
  refused({"predict", "run", "--weights", "run/checkpoint.npz", "--input", "x.npy", "--output", "train.csv"}, data,
          "--output");
  refused({"explain", "e.toml", "--html", "e.toml"}, "the experiment", "--html");
  refused({"explain", "e.toml", "--html", "train.csv"}, data, "--html");
  refused({"explain", "run", "--html", "run/config.toml"}, "the experiment", "--html");
  refused({"explain", "run", "--html", "run/checkpoint.npz"}, "a file of the run", "--html");
  write_npz(workshop.path("w.npz"), read_npz_vector("run/checkpoint.npz"));
  refused({"explain", "e.toml", "model.weights=w.npz", "--html", "w.npz"}, "the weights", "--html");
}

TEST_F(CliPredict, SaysWhatIsWrongWithWeights) {
  workshop.write("x.csv", "width,height\n3,1\n");
  write_npz(workshop.path("all.npz"), {{"x", Tensor::matrix<double>({{-3, 1}})}});
  write_npy(workshop.path("x.npy"), Tensor::matrix<double>({{-3, 1}}));
  const std::vector<std::string> predict = {"run", "--input", "x.csv", "--output", "p.csv", "--weights"};
  auto with = [&](const std::string& weights) {
    std::vector<std::string> out = predict;
    out.push_back(weights);
    return out;
  };
  expect_error(with("all.npz"), R"(
error: all.npz: there is no softmax/W
  expected: softmax/W, softmax/b
  got:      x
  config:   run/config.toml:LINE:1
     LINE | [[model.layers]]
        | ^^^^^^^^^^^^^^^^
error: all.npz: there is no softmax/b
  expected: softmax/W, softmax/b
  got:      x
  config:   run/config.toml:LINE:1
     LINE | [[model.layers]]
        | ^^^^^^^^^^^^^^^^
)");
  expect_error(with("x.npy"), R"(
error: x.npy: these are no weights
  expected: an .npz file that training wrote: best.npz in the folder of a run
  got:      a .npy file
)");
  std::filesystem::remove(workshop.path("run/best.npz"));
  expect_error(with("run"), R"(
error: run: these are no weights
  expected: an .npz file that training wrote: best.npz in the folder of a run
  got:      a folder
)");
  workshop.write("run/best.npz", workshop.read("run/checkpoint.npz"));
  Ended ended = workshop.run({"check", "e.toml", "model.weights=run"});
  EXPECT_EQ(ended.err, str("error: ", workshop.path("run"), R"(: these are no weights
  expected: an .npz file that training wrote: best.npz in the folder of a run
  got:      a folder
  config:   command line:1:15
      1 | model.weights=run
        |               ^^^
  hint:     did you mean )",
                           workshop.path("run/best.npz"), "?\n"));
}

TEST_F(CliPredict, AsksForTheNameOfAnArray) {
  write_npz(workshop.path("all.npz"), {{"x", Tensor::matrix<double>({{-3, 1}})}, {"y", Tensor::vector<int64_t>({1})}});
  expect_error({"run", "--input", "all.npz", "--output", "p.csv"}, R"(
error: all.npz: an .npz file is given where one array is needed
  expected: all.npz[NAME] with the name of an array: x, y
)");
}

TEST_F(CliPredict, RefusesAnInfinity) {
  write_npy(workshop.path("x.npy"), Tensor::matrix<float>({{1, 2}, {HUGE_VALF, 1}}));
  expect_error({"run", "--input", "x.npy", "--output", "p.npy"}, R"(
error: x.npy: row 1, column 0: not a finite number
  expected: numbers that are finite in float32
  got:      inf
  hint:     rows and columns count from 0
)");
}

TEST_F(CliPredict, SaysWhereItCannotWrite) {
  workshop.write("x.csv", "width,height\n3,1\n");
  expect_error({"run", "--input", "x.csv", "--output", "/proc/p.csv"}, R"(
error: /proc/p.csv: the file cannot be written
  expected: a folder that takes new files
  got:      the folder /proc takes none
)");
}

// eval on tables that are not as the training table.
TEST_F(CliPredict, EvalComparesTheColumns) {
  auto eval = [&](const std::vector<std::string>& more) {
    std::vector<std::string> words = {"eval", "run"};
    words.insert(words.end(), more.begin(), more.end());
    Ended ended = workshop.run(words);
    for (size_t at; (at = ended.err.find(workshop.path())) != std::string::npos;)
      ended.err.replace(at, workshop.path().size(), "HERE");
    return ended;
  };
  workshop.write("short.csv", "width,height\n-3,1\n");
  EXPECT_EQ(eval({"data.test=short.csv"}).err, R"(error: HERE/short.csv: the columns are not those of the training file
  expected: 3 columns, the label's among them
  got:      2 columns
  config:   command line:1:11
      1 | data.test=short.csv
        |           ^^^^^^^^^
)");
  workshop.write("plain.csv", "-3,1,cat\n3,1,cat\n");
  Ended plain = eval({"data.test=plain.csv", "trainer.full_batches_only=false"});
  EXPECT_EQ(plain.code, 0) << plain.err;
  EXPECT_EQ(plain.out.find("test error 50.0"), 0u) << plain.out;
  EXPECT_EQ(eval({"data.test=plain.csv"}).err,
            "error: there are fewer test examples than a minibatch has\n  expected: at least 4\n  got:      2\n"
            "  hint:     trainer.full_batches_only=false takes them too\n");
  EXPECT_EQ(eval({}).err,
            "error: there are no test examples to evaluate on\n"
            "  hint:     --part train measures the training error; data.test=FILE names a table of test examples\n");
}

TEST_F(CliPredict, BlamesTheInputForItsShape) {
  write_npy(workshop.path("wide.npy"), Tensor::zeros(DType::kFloat32, {5, 3}));
  expect_error({"run", "--input", "wide.npy", "--output", "p.npy"}, R"(
error: wide.npy: the examples have another size than the model takes
  expected: 2 numbers for each example, as softmax/W float32[2, 2] in run/best.npz has rows
  got:      float32[5, 3]: 3 for each
)");
  write_npy(workshop.path("one.npy"), Tensor::zeros(DType::kFloat32, {2}));
  expect_error({"run", "--input", "one.npy", "--output", "p.npy"}, R"(
error: one.npy: the examples have another size than the model takes
  expected: 2 numbers for each example, as softmax/W float32[2, 2] in run/best.npz has rows
  got:      float32[2]: 1 for each
  hint:     one example alone is an array [1, 2]
)");
  workshop.write("x.csv", "width,depth\n3,1\n");
  expect_error({"run", "--input", "x.csv", "--output", "p.npy"}, R"(
error: x.csv: the columns are not those that the model was trained on
  expected: width, height, in this order, with or without the label's
  got:      width, depth
)");
  workshop.write("x.csv", "1,2,3,4\n");
  expect_error({"run", "--input", "x.csv", "--output", "p.npy"}, R"(
error: x.csv: the columns are not those that the model was trained on
  expected: 2 columns, with or without the label's
  got:      4 columns
)");
  expect_error({"run", "--input", "none.npy", "--output", "p.npy"}, R"(
error: none.npy: no such file
)");
}

// Nothing is written where one probability would be no number.
TEST_F(CliPredict, RefusesProbabilitiesThatAreNotFinite) {
  Tensor x = Tensor::matrix<float>({{1, 2}, {3e38f, 3e38f}, {1, std::nanf("")}});
  write_npy(workshop.path("x.npy"), x.rows(0, 2));
  expect_error({"run", "--input", "x.npy", "--output", "p.npy"}, R"(
error: x.npy: row 1: the probabilities are not finite
  expected: numbers such as the model was trained on
  got:      numbers up to 3e+38 (scaled)
  hint:     predict multiplies them by data.scale, as training does
)");
  workshop.write("x.csv", "width,height\n1,2\n\n3e38,3e38\n");
  expect_error({"run", "--input", "x.csv", "--output", "p.npy"}, R"(
error: x.csv: line 4: the probabilities are not finite
  expected: numbers such as the model was trained on
  got:      numbers up to 3e+38 (scaled)
  hint:     predict multiplies them by data.scale, as training does
)");
  write_npy(workshop.path("x.npy"), x);
  expect_error({"run", "--input", "x.npy", "--output", "p.npy"}, R"(
error: x.npy: row 2, column 1: not a finite number
  expected: numbers that are finite in float32
  got:      nan
  hint:     rows and columns count from 0
)");
  auto weights = read_npz(workshop.path("run/checkpoint.npz"));
  Tensor w = weights.at("softmax/W").copy();
  w.data<float>()[1] = std::nanf("");
  write_npz(workshop.path("w.npz"), {{"softmax/W", w}, {"softmax/b", weights.at("softmax/b")}});
  expect_error({"run", "--input", "x.csv", "--output", "p.npy", "--weights", "w.npz"}, R"(
error: w.npz: the weights are not finite
  expected: finite numbers
  got:      softmax/W with nan
)");
}

}  // namespace
}  // namespace thtrain
