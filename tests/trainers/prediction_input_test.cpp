#include "trainers/prediction_input.h"

#include "datasets/sources/csv.h"
#include "tests/support/training_support.h"
#include "trainers/load_data.h"

namespace thtrain {
namespace {

class PredictionInput : public testing::Test {
 protected:
  // A table of two numbers, with two columns of values and one of weights.
  PredictionInput() {
    folder.write("t.csv", "p,a,w,q,b\n0.5,1,2,0,3\n-1.5,4,0.5,1,6\n");
    CsvConfig csv;
    csv.train = "t.csv";
    csv.target = Targets::kValues;
    csv.label_columns = {"q", "p"};
    csv.weight_column = "w";
    experiment.data = csv;
    write_table_facts(folder.path("table.json"), table_facts(load_data(experiment, folder.path())));
    facts = read_table_facts(folder.path("table.json"));
  }
  Tensor read(const std::string& text) {
    folder.write("x.csv", text);
    return read_prediction_input(folder.path("x.csv"), "", experiment, facts).examples.x_array().raw;
  }

  TemporaryFolder folder;
  Experiment experiment = small_experiment();
  TableFacts facts;
};

TEST_F(PredictionInput, LeavesOutTheColumnsOfValuesAndWeights) {
  EXPECT_EQ(facts.others, (std::vector<size_t>{0, 2, 3}));
  Tensor expected = Tensor::of(std::vector<double>{1, 3, 4, 6}, {2, 2});
  EXPECT_TRUE(same_bits(read("a,b\n1,3\n4,6\n"), expected));
  EXPECT_TRUE(same_bits(read("p,a,w,q,b\n0.5,1,2,0,3\n-1.5,4,0.5,1,6\n"), expected));
  EXPECT_TRUE(same_bits(read("p,a,w,q,b\n?,1,?,?,3\n?,4,?,?,6\n"), expected));  // they are not looked at
  EXPECT_TRUE(same_bits(read("0.5,1,2,0,3\n-1.5,4,0.5,1,6\n"), expected));      // by their positions
}

// Of a table whose new lines lack some of the columns that are not looked at, or have them elsewhere.
TEST_F(PredictionInput, TakesTheTargetsThatAreThere) {
  folder.write("t.csv", "name,a,b,y\n1,3,4,5\n2,6,7,8\n");
  CsvConfig csv;
  csv.train = "t.csv";
  csv.target = Targets::kValues;
  csv.skip_columns = {"name"};
  experiment.data = csv;
  facts = table_facts(load_data(experiment, folder.path()));
  struct Case {
    std::string table, targets, why;
  };
  for (const Case& c : std::vector<Case>{{"a,b\n3,4\n", "0", ""},
                                         {"name,a,b\n1,3,4\n", "0", ""},
                                         {"a,b,name\n3,4,1\n", "0", ""},
                                         {"a,b,y\n3,4,5\n", "[5]", ""},
                                         {"a,b,name,y\n3,4,1,5\n", "[5]", ""},
                                         {"1,3,4,5\n", "[5]", ""},
                                         {"y,name,a,b\n5,1,3,4\n", "0", ""},
                                         {"a,b,y\n3,4,?\n", "0", ": the label \"?\" is no number"}}) {
    folder.write("x.csv", c.table);
    const auto found = read_prediction_input(folder.path("x.csv"), "", experiment, facts);
    EXPECT_TRUE(same_bits(found.examples.x_array().raw, Tensor::of(std::vector<double>{3, 4}, {1, 2}))) << c.table;
    EXPECT_EQ(found.examples.y_array().raw.text(), c.targets) << c.table;
    EXPECT_EQ(found.no_targets, c.why.empty() ? "" : folder.path("x.csv") + c.why) << c.table;
  }
}

TEST_F(PredictionInput, RefusesOtherColumns) {
  auto text = [&](const std::string& table) { return error_text([&] { read(table); }); };
  EXPECT_EQ(text("p,a,w,q,c\n0.5,1,2,0,3\n"),
            "error: " + folder.path("x.csv") +
                ": the columns are not those that the model was trained on\n"
                "  expected: a, b, in this order, with or without the others of the training table\n"
                "  got:      p, a, w, q, c");
  EXPECT_EQ(text("1,2,3\n"), "error: " + folder.path("x.csv") +
                                 ": the columns are not those that the model was trained on\n"
                                 "  expected: 2 columns, or all 5 of the training table\n"
                                 "  got:      3 columns");
}

// Classes that are numbers, with and without names.
class PredictionTargets : public testing::Test {
 protected:
  PredictionTargets() {
    CsvConfig csv;
    csv.train = "t.csv";
    experiment.data = csv;
  }
  // The classes, or why there are none.
  std::string read(const std::string& labels) {
    std::string text = "a,kind\n";
    for (char label : labels) text += str("1,", label == '_' ? "" : label == 'h' ? "0.5" : std::string(1, label), '\n');
    folder.write("x.csv", text);
    const auto input = read_prediction_input(folder.path("x.csv"), "", experiment, facts);
    if (input.examples.targets() != Targets::kNone)
      return input.examples.read_targets(0, input.examples.size(), DType::kFloat32).text();
    return input.no_targets.substr(folder.path("x.csv: ").size());
  }

  TemporaryFolder folder;
  Experiment experiment = small_experiment();
  TableFacts facts{.columns = {"a"}, .named = true, .classes = {}, .label_at = 1, .others = {1}, .class_count = 3};
};

TEST_F(PredictionTargets, AreNumbersWhereTheModelHasNumbers) {
  for (const bool named : {false, true}) {
    SCOPED_TRACE(named);
    if (named) facts.classes = experiment.data->class_names = {"red", "green", "blue"};
    EXPECT_EQ(read("201"), "[2, 0, 1]");
    EXPECT_EQ(read("2x1"), "line 3, column 2 (\"kind\"): not a number");
    EXPECT_EQ(read("??"), "the label \"?\" is no number");
    EXPECT_EQ(read("01_"), "line 4, column 2 (\"kind\"): the label is missing");
    EXPECT_EQ(read("013"), "line 4: the label is out of range");
    EXPECT_EQ(read("0h1"), "line 3: the label is not an integer");
  }
}

TEST_F(PredictionTargets, AreTextsWhereTheTableNamesTheClasses) {
  facts.classes = {"c", "a", "b"};
  EXPECT_EQ(read("abc"), "[1, 2, 0]");
  EXPECT_EQ(read("ab1"), "line 4, column 2 (\"kind\"): the label is not one of the training file's classes");
}

TEST(ClassCount, IsThatOfTheColumnsOfTheLastMatrix) {
  const Experiment experiment = small_experiment();
  const std::string name = experiment.model.layers.back()->name + "/W";
  EXPECT_EQ(class_count_of(experiment, {{name, Tensor::matrix<float>({{1, 2, 3}})}}), 3);
  EXPECT_EQ(class_count_of(experiment, {{name, Tensor::matrix<float>({{1}})}}), 2);
  EXPECT_EQ(class_count_of(experiment, {}), 0);
}

}  // namespace
}  // namespace thtrain
