// Tables as people have them, from training to prediction: missing values, texts, packed files.
#include <gtest/gtest.h>

#include "datasets/npz.h"
#include "tests/support/cli_support.h"
#include "tests/support/datasets_support.h"
#include "tests/support/gzip.h"

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
  // How a refusal of model.weights, the first key of the command line, ends.
  static std::string first_weights_end() {
    return "  config:   command line:1:15\n"
           "      1 | model.weights=run/best.npz\n"
           "        |               ^^^^^^^^^^^^\n"
           "  hint:     columns, categories, columns with missing values and the order of classes are those of the "
           "weights' run\n";
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
    EXPECT_EQ(workshop.read("p.csv"), "id,class\n0,cat\n1,cat\n2,dog\n");
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
            "  expected: a value in each cell of the columns to learn from\n"
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
            "  expected: a value in each cell of the columns to learn from\n"
            "  got:      1 in column \"height\"; it is on line 2\n"
            "  hint:     the model was trained without data.impute, which would fill them: leave the lines out\n");
  EXPECT_EQ(refusal({"predict", "plain", "--input", "x.csv", "--output", "p.csv", "data.impute=mean"}),
            refusal({"predict", "plain", "--input", "x.csv", "--output", "p.csv"}));
}

TEST_F(CliMissingValues, OfFirstWeightsAreInTheSameColumns) {
  workshop.write("other.csv", "width,height,kind\n-2,1,cat\n-1,NA,cat\n2,1,dog\n1,2,dog\n");
  EXPECT_EQ(refusal({"train", "e.toml", "--run-dir", "next", "model.weights=run/best.npz", "data.train=other.csv",
                     "data.test=other.csv"}),
            "error: HERE/run/best.npz: the weights are of a table with other inputs\n"
            "  expected: missing values in width, height\n"
            "  got:      missing values in height in HERE/other.csv\n" +
                first_weights_end());
}

// Labels in several columns have the names of the header; classes that are numbers have those of data.class_names.
TEST_F(CliTables, LabelsHaveNamesFromTrainingToPrediction) {
  workshop.write("train.csv", "width,wide,high,height\n-2,0,1,1\n-1,0,0,-1\n2,1,0,-1\n1,1,1,1\n");
  const std::string rest =
      "[trainer]\nlearning_rate = 0.5\nbatch_size = 4\nepochs = 40\ncheckpoint_seconds = 0\n"
      "[compiler]\nmode = \"reference\"\n[output]\nplots = false\n";
  workshop.write("e.toml",
                 "[data]\nsource = \"csv\"\ntrain = \"train.csv\"\ntarget = \"labels\"\n"
                 "label_columns = [\"wide\", \"high\"]\n"
                 "[[model.layers]]\ntype = \"dense\"\nunits = 2\n[loss]\ntype = \"binary_crossentropy\"\n" +
                     rest);
  output({"train", "e.toml", "--run-dir", "run", "--quiet", "--json"});
  for (const std::vector<std::string>& examples :
       {std::vector<std::string>{"--part", "train"}, std::vector<std::string>{"--input", "train.csv"}}) {
    output({"predict", "run", examples[0], examples[1], "--output", "p.csv"});
    EXPECT_EQ(workshop.read("p.csv"),
              "id,target[wide],target[high],wide,high\n0,0,1,0,1\n1,0,0,0,0\n2,1,0,1,0\n3,1,1,1,1\n");
  }
  workshop.write("x.csv", "width,wide,high,height\n-2,2,1,1\n");
  EXPECT_EQ(output({"predict", "run", "--input", "x.csv", "--output", "p.csv"}),
            "labels of 1 example written to p.csv\n"
            "no targets: x.csv: line 2, column \"wide\": not a label that an example has or has not\n"
            "weights run/best.npz\n");
  workshop.write("e.toml",
                 "[data]\nsource = \"csv\"\ntrain = \"train.csv\"\nlabel_column = \"wide\"\n"
                 "class_names = [\"narrow\", \"broad\"]\n"
                 "[[model.layers]]\ntype = \"dense\"\nunits = 1\n[loss]\ntype = \"binary_crossentropy\"\n" +
                     rest);
  output({"train", "e.toml", "--run-dir", "named", "--quiet", "--json"});
  const std::string text = output({"predict", "named", "--input", "train.csv", "--output", "p.csv"});
  EXPECT_EQ(text, "classes of 4 examples written to p.csv\n  narrow 2, broad 2\nweights named/best.npz\n");
  EXPECT_EQ(workshop.read("p.csv"),
            "id,target,class\n0,narrow,narrow\n1,narrow,narrow\n2,broad,broad\n3,broad,broad\n");
  // The single number is the probability of the second class.
  output({"predict", "named", "--input", "train.csv", "--output", "p.csv", "--probabilities"});
  const std::string probable = workshop.read("p.csv");
  EXPECT_TRUE(probable.starts_with("id,target,class,broad\n0,narrow,narrow,0.0")) << probable;
}

// The class is that of the colour; decimals after commas, gzipped, with a name in each line.
const char* const kColours =
    "name;colour;size;kind\n"
    "Tom;black;1,5;cat\nMia;black;2;cat\nPip;white;1,25;dog\nRex;\"white\";2,5;dog\n"
    "Leo;\"dark\nred\";2;fox\nFee;\"dark\nred\";1;fox\n";

class CliTexts : public CliTables {
 protected:
  CliTexts() {
    workshop.write("train.csv.gz", gzipped(kColours));
    workshop.write("e.toml",
                   "[data]\nsource = \"csv\"\ntrain = \"train.csv.gz\"\ntest = \"train.csv.gz\"\ndecimal = \",\"\n"
                   "skip_columns = [\"name\"]\n"
                   "[[model.layers]]\ntype = \"softmax\"\n"
                   "[trainer]\nlearning_rate = 0.5\nbatch_size = 3\nepochs = 60\ncheckpoint_seconds = 0\n"
                   "[compiler]\nmode = \"reference\"\n[output]\nplots = false\n");
  }
  void train(const std::vector<std::string>& more = {}) const {
    std::vector<std::string> words = {"train", "e.toml", "--run-dir", "run", "--quiet", "--json"};
    words.insert(words.end(), more.begin(), more.end());
    output(words);
  }
};

TEST_F(CliTexts, AreCategoriesFromTrainingToPrediction) {
  train();
  const auto best = read_npz(workshop.path("run/best.npz"));
  EXPECT_EQ(best.at("softmax/W").shape(), (Shape{4, 3}));
  const Tensor& kept = best.at("data/one_hot");
  EXPECT_EQ(std::string(static_cast<const char*>(kept.raw()), kept.bytes()),
            std::string("black\0dark\nred\0white\0\0", 22));
  EXPECT_NE(output({"eval", "run"}).find("error 0"), std::string::npos);
  EXPECT_NE(output({"show", "run"}).find("weights_softmax"), std::string::npos);
  // Other files have the same categories, with and without the columns that the model does not take.
  for (const char* table :
       {"colour;size\nwhite;1,5\n\"dark\nred\";2\n", "name;colour;size\n7;white;1,5\n;\"dark\nred\";2\n",
        "name;colour;size;kind\n;white;1,5;?\n;\"dark\nred\";2;\n"}) {
    SCOPED_TRACE(table);
    workshop.write("x.csv", table);
    workshop.write("x.csv.gz", gzipped(table));
    for (const char* file : {"x.csv", "x.csv.gz"}) {
      output({"predict", "run", "--input", file, "--output", "p.csv"});
      EXPECT_EQ(workshop.read("p.csv"), "id,class\n0,dog\n1,fox\n");
    }
  }
  workshop.write("x.csv", "colour;size\nwhite;1,5\ngreen;2\n");
  EXPECT_EQ(refusal({"predict", "run", "--input", "x.csv", "--output", "q.csv"}),
            "error: x.csv: line 3, column 1 (\"colour\"): the text is not one of the training file's categories\n"
            "  expected: one of black, dark\\nred, white\n"
            "  got:      \"green\"\n");
}

TEST_F(CliTexts, AreListedByData) {
  workshop.write("t.csv", "colour,age,kind\nred,1,0\n\"dark\nblue\",,1\n?,4,1\n");
  const std::vector<std::string> table = {"data",
                                          "e.toml",
                                          "data.train=t.csv",
                                          "data.test=t.csv",
                                          "data.decimal=.",
                                          "data.skip_columns=[]",
                                          "data.impute=mean"};
  const std::string text = output(table);
  EXPECT_NE(text.find("\ncolumns\n"
                      "  colour  2 categories: dark\\nblue, red; with missing values\n"
                      "  age     missing values are 2.5\n"),
            std::string::npos)
      << text;
  std::vector<std::string> codes = table;
  codes.push_back("data.categories=codes");
  const std::string text_of_codes = output(codes);
  EXPECT_NE(text_of_codes.find("  colour  2 categories: dark\\nblue, red; missing values have the code 2\n"),
            std::string::npos)
      << text_of_codes;
  std::vector<std::string> json = table;
  json.push_back("--json");
  const auto values = one_json_line(output(json));
  EXPECT_EQ(values.at("categories.colour.0"), "dark\nblue");
  EXPECT_EQ(values.at("categories.colour.1"), "red");
}

// Without categories in the model, a text is no number.
TEST_F(CliTexts, OfAModelOfNumbersAreRefused) {
  workshop.write("numbers.csv", "size;age;kind\n1;2,5;cat\n2;3;dog\n3;1;cat\n");
  train({"data.train=numbers.csv", "data.test=numbers.csv", "data.skip_columns=[]"});
  workshop.write("x.csv", "size;age\n1;red\n");
  EXPECT_EQ(refusal({"predict", "run", "--input", "x.csv", "--output", "q.csv"}),
            "error: x.csv: line 2, column 2 (\"age\"): not a number\n"
            "  expected: a finite number\n"
            "  got:      \"red\"\n");
}

// The training file may be another one by now: rows in another order, and more of them.
TEST_F(CliTexts, HaveTheCodesOfTheModelWhateverTheFileHolds) {
  train();
  workshop.write("other.csv", "name;colour;size;kind\nA;white;2;dog\nB;black;1;cat\nC;white;1;fox\n");
  workshop.write("more.csv", "name;colour;size;kind\nA;amber;2;cat\nB;black;1;dog\nC;white;1;fox\n");
  EXPECT_NE(output({"eval", "run", "data.train=other.csv", "data.test=other.csv"}).find("loss"), std::string::npos);
  EXPECT_EQ(refusal({"eval", "run", "data.train=more.csv", "data.test=more.csv"}),
            "error: HERE/more.csv: line 2, column \"colour\": the text is not one of the categories of the model\n"
            "  expected: one of black, dark\\nred, white\n"
            "  got:      \"amber\"\n"
            "  config:   command line:2:11\n"
            "      2 | data.test=more.csv\n"
            "        |           ^^^^^^^^\n");
  workshop.write("numbers.csv", "name;colour;size;kind\nA;1;2;cat\nB;2;1;dog\nC;3;1;fox\n");
  EXPECT_EQ(refusal({"eval", "run", "data.train=numbers.csv", "data.test=numbers.csv"}),
            "error: run/best.npz: column \"colour\" had texts where the model was trained\n"
            "  expected: a column of categories\n"
            "  got:      numbers in HERE/numbers.csv\n");
}

TEST_F(CliTexts, OfFirstWeightsAreTheSame) {
  train();
  auto words = [&](const std::string& table, const std::string& weights) {
    workshop.write("other.csv", table);
    return std::vector<std::string>{"train",
                                    "e.toml",
                                    "--run-dir",
                                    "next",
                                    "--quiet",
                                    "model.weights=" + weights,
                                    "data.train=other.csv",
                                    "data.test=other.csv"};
  };
  auto refused = [&](const std::string& table) { return refusal(words(table, "run/best.npz")); };
  auto twice = [](const std::string& head, const std::string& rows) { return str(head, '\n', rows, rows); };
  const std::string head = "error: HERE/run/best.npz: the weights are of a table with other inputs\n";
  EXPECT_EQ(refused(twice("name;colour;size;kind", "A;black;2;cat\nB;green;1;dog\nC;white;1;fox\n")),
            head +
                "  expected: 3 categories in column \"colour\", code 1 for \"dark\\nred\"\n"
                "  got:      3 categories in column \"colour\", code 1 for \"green\" in HERE/other.csv\n" +
                first_weights_end());
  EXPECT_EQ(refused(twice("name;colour;size;kind", "A;1;2;cat\nB;2;1;dog\nC;3;1;fox\n")),
            head +
                "  expected: 3 categories in column \"colour\", code 0 for \"black\"\n"
                "  got:      numbers in column \"colour\" in HERE/other.csv\n" +
                first_weights_end());
  std::string renamed = kColours;
  renamed.replace(renamed.find("colour"), 6, "hue");
  EXPECT_EQ(refused(renamed), head +
                                  "  expected: the columns colour, size\n"
                                  "  got:      the columns hue, size in HERE/other.csv\n" +
                                  first_weights_end());
  EXPECT_EQ(refused(twice("name;colour;size;weight;kind", "A;white;2;3;cat\nB;black;1;4;dog\n")),
            head +
                "  expected: the columns colour, size\n"
                "  got:      the columns colour, size, weight in HERE/other.csv\n" +
                first_weights_end());
  const std::string table = kColours, first = "Leo;\"dark\nred\";2;fox\n";
  EXPECT_EQ(refused("name;colour;size;kind\n" + first + table.substr(table.find('\n') + 1)),
            head +
                "  expected: the classes in the order cat, dog, fox\n"
                "  got:      fox, cat, dog in HERE/other.csv\n" +
                first_weights_end());
  // A file of weights alone says nothing of names of columns.
  workshop.write("w.npz", workshop.read("run/best.npz"));
  EXPECT_EQ(workshop.run(words(renamed, "w.npz")).code, 0);
}

TEST_F(CliTexts, OfClassesTakeOneLineEach) {
  workshop.write("t.csv", "a;kind\n-1;\"c\nd\"\n-2;\"c\nd\"\n1;e\n2;e\n");
  const std::vector<std::string> keys = {"data.train=t.csv", "data.test=t.csv", "data.skip_columns=[]"};
  std::vector<std::string> data = {"data", "e.toml"};
  data.insert(data.end(), keys.begin(), keys.end());
  EXPECT_NE(output(data).find("label  train  test\n    0      2     2  (c\\nd)\n    1      2     2  (e)\n"),
            std::string::npos)
      << output(data);
  train(keys);
  EXPECT_EQ(output({"predict", "run", "--part", "train", "--output", "p.npy"}),
            "classes of 4 examples written to p.npy\n  c\\nd 2, e 2\nweights run/best.npz\n");
}

TEST_F(CliTexts, OfOtherWeightsAreRefused) {
  train();
  workshop.write("x.csv", "colour;size\nblack;1\n");
  std::map<std::string, Tensor> arrays = read_npz(workshop.path("run/best.npz"));
  auto refused = [&](const char* name, const Tensor& array) {
    std::map<std::string, Tensor> other = arrays;
    other[name] = array;
    write_npz(workshop.path("w.npz"), {other.begin(), other.end()});
    return refusal({"predict", "run", "--input", "x.csv", "--output", "p.csv", "--weights", "w.npz"});
  };
  EXPECT_EQ(refused("data/one_hot", Tensor::of(std::vector<uint8_t>{'a', 0, 0, 0, 0}, {5})),
            "error: w.npz: the weights are not of the table of this experiment\n"
            "  expected: categories of 2 columns: colour, size\n"
            "  got:      those of 3\n");
  EXPECT_EQ(refused("softmax/W", Tensor::zeros(DType::kFloat32, {12})),
            "error: w.npz: softmax/W does not fit the model\n"
            "  expected: an array of two axes, inputs and classes\n"
            "  got:      float32[12]\n");
}

TEST_F(CliTexts, GoIntoAnEmbeddingAsCodes) {
  workshop.write("e.toml",
                 "[data]\nsource = \"csv\"\ntrain = \"train.csv.gz\"\ntest = \"train.csv.gz\"\ndecimal = \",\"\n"
                 "skip_columns = [\"name\"]\ncategories = \"codes\"\n"
                 "[[model.layers]]\ntype = \"columns\"\nname = \"colour\"\ncount = 1\ninputs = [\"x\"]\n"
                 "[[model.layers]]\ntype = \"embedding\"\nname = \"vector\"\ncount = 3\nunits = 2\n"
                 "[[model.layers]]\ntype = \"columns\"\nname = \"size\"\nfirst = 1\ncount = 1\ninputs = [\"x\"]\n"
                 "[[model.layers]]\ntype = \"concat\"\ninputs = [\"vector\", \"size\"]\n"
                 "[[model.layers]]\ntype = \"softmax\"\n"
                 "[trainer]\nlearning_rate = 0.5\nbatch_size = 3\nepochs = 150\ncheckpoint_seconds = 0\n"
                 "[compiler]\nmode = \"reference\"\n[output]\nplots = false\n");
  train();
  EXPECT_EQ(read_npz(workshop.path("run/best.npz")).at("vector/W").shape(), (Shape{3, 2}));
  EXPECT_NE(output({"eval", "run"}).find("error 0"), std::string::npos);
  workshop.write("x.csv", "colour;size\nblack;1,5\nwhite;2\n");
  output({"predict", "run", "--input", "x.csv", "--output", "p.csv"});
  EXPECT_EQ(workshop.read("p.csv"), "id,class\n0,cat\n1,dog\n");
}

TEST_F(CliTexts, AResumedRunHasTheSameBits) {
  train();
  output({"train", "e.toml", "--run-dir", "half", "--quiet", "trainer.epochs=7"});
  ASSERT_EQ(workshop.run({"resume", "half", "--quiet", "trainer.epochs=60"}).code, 0);
  const auto a = read_npz(workshop.path("run/checkpoint.npz")), b = read_npz(workshop.path("half/checkpoint.npz"));
  for (const char* name : {"softmax/W", "softmax/b", "data/one_hot"})
    EXPECT_TRUE(same_bits(a.at(name), b.at(name))) << name;
}

}  // namespace
}  // namespace thtrain
