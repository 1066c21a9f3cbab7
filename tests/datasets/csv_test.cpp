#include "datasets/csv.h"

#include "tests/support/datasets_support.h"

namespace thtrain {
namespace {

using Names = std::vector<std::string>;

CsvTable read(const TemporaryFolder& folder, const std::string& text, const CsvOptions& options = {}) {
  return read_csv(folder.write("t.csv", text), options);
}

TEST(ReadCsv, FindsTheHeader) {
  TemporaryFolder folder;
  CsvTable table = read(folder, "a,b,target\n1,2.5,0\n-3,4e2,1\n");
  EXPECT_TRUE(same_bits(table.x, Tensor::matrix<double>({{1, 2.5}, {-3, 400}})));
  EXPECT_TRUE(same_bits(table.y, Tensor::vector<double>({0, 1})));
  EXPECT_EQ(table.columns, Names({"a", "b"}));
  EXPECT_TRUE(table.classes.empty());
}

TEST(ReadCsv, ALineWithANumberIsNoHeader) {
  TemporaryFolder folder;
  CsvTable table = read(folder, "1,2,0\n3,4,1");
  EXPECT_EQ(table.x.type_text(), "float64[2, 2]");
  EXPECT_EQ(table.columns, Names({"1", "2"}));
}

TEST(ReadCsv, TheHeaderCanBeStated) {
  TemporaryFolder folder;
  EXPECT_EQ(read(folder, "1,2,3\n4,5,6\n", {.header = CsvOptions::Header::kYes}).columns, Names({"1", "2"}));
  EXPECT_EQ(read(folder, "1,2,3\n4,5,6\n", {.header = CsvOptions::Header::kYes}).x.dim(0), 1);
  EXPECT_EQ(read(folder, "1,2,3\n4,5,6\n", {.header = CsvOptions::Header::kNo}).x.dim(0), 2);
}

TEST(ReadCsv, TextLabelsAreNumberedInOrderOfAppearance) {
  TemporaryFolder folder;
  CsvTable table = read(folder, "5.1,3.5,setosa\n6.0,3.0,virginica\n5.0,3.1,setosa\n");
  EXPECT_EQ(table.classes, Names({"setosa", "virginica"}));
  EXPECT_TRUE(same_bits(table.y, Tensor::vector<int64_t>({0, 1, 0})));
  CsvTable test = read(folder, "5.1,3.5,virginica\n", {.classes = table.classes});
  EXPECT_TRUE(same_bits(test.y, Tensor::vector<int64_t>({1})));
}

TEST(ReadCsv, TheLabelMayStandAnywhereOrNowhere) {
  TemporaryFolder folder;
  const std::string text = "a,b,c\n1,2,3\n";
  EXPECT_EQ(read(folder, text, {.label = "first"}).y.as_double(), 1);
  EXPECT_EQ(read(folder, text, {.label = "last"}).y.as_double(), 3);
  CsvTable named = read(folder, text, {.label = "b"});
  EXPECT_EQ(named.y.as_double(), 2);
  EXPECT_TRUE(same_bits(named.x, Tensor::matrix<double>({{1, 3}})));
  EXPECT_EQ(named.columns, Names({"a", "c"}));
  CsvTable none = read(folder, text, {.label = "none"});
  EXPECT_EQ(none.x.type_text(), "float64[1, 3]");
  EXPECT_EQ(none.y.type_text(), "int64[0]");
}

TEST(ReadCsv, ReadsQuotesSpacesEmptyLinesAndCrlf) {
  TemporaryFolder folder;
  CsvTable table = read(folder, "\xef\xbb\xbf\"first, \"\"x\"\"\" , b ,l\r\n\r\n 1 ,\"+2\", \"0\" \r\n\n3,4,1\r\n");
  EXPECT_EQ(table.columns, Names({"first, \"x\"", "b"}));
  EXPECT_TRUE(same_bits(table.x, Tensor::matrix<double>({{1, 2}, {3, 4}})));
  EXPECT_TRUE(same_bits(table.y, Tensor::vector<double>({0, 1})));
}

TEST(ReadCsv, ReadsRealTables) {
  const char* data = std::getenv("THTRAIN_DATA");
  if (!data) GTEST_SKIP() << "THTRAIN_DATA is not set";
  EXPECT_EQ(read_csv(str(data, "/tabular/iris.csv")).x.type_text(), "float64[150, 4]");
  CsvTable diabetes = read_csv(str(data, "/tabular/diabetes.csv"), {.label = "target"});
  EXPECT_EQ(diabetes.x.type_text(), "float64[442, 10]");
  EXPECT_EQ(diabetes.y.as_double(), 151);
  EXPECT_EQ(read_csv(str(data, "/digits/optdigits.tra")).x.type_text(), "float64[3823, 64]");
  EXPECT_EQ(read_csv(str(data, "/digits/sklearn_digits_1797.csv")).x.type_text(), "float64[1797, 64]");
}

TEST(CsvErrors, EachNamesLineAndColumn) {
  TemporaryFolder folder;
  struct Row {
    std::string text, error;
    CsvOptions options = {};
  };
  const Row rows[] = {
      {"a,b,l\n1,2,0\n3,x4,1\n",
       "line 3, column 2 (\"b\"): not a number\n  expected: a finite number\n  got:      \"x4\""},
      {"1,2,0\n3,,1\n", "line 2, column 2: not a number\n  expected: a finite number\n  got:      an empty cell"},
      {"1,nan,0\n", "line 1, column 2: not a number\n  expected: a finite number\n  got:      \"nan\""},
      {"1,1e999,0\n", "line 1, column 2: not a number\n  expected: a finite number\n  got:      \"1e999\""},
      {"1,2,0\n3,4,b\n", "line 2, column 3: not a number\n  expected: a finite number\n  got:      \"b\""},
      {"a,b,l\n\n1,2\n",
       "line 3, column 3: another number of cells than before\n  expected: 3 cells, as on line 1\n  got:      2 cells"},
      {"1,2,0\n1,2,0,\n",
       "line 2, column 4: another number of cells than before\n  expected: 3 cells, as on line 1\n  got:      4 cells"},
      {"1,\"2,0\n", "line 1, character 3: the quote is not closed"},
      {"1,2,\n", "line 1, column 3: the label is missing"},
      {"1,2,cat\n1,2,\n", "line 2, column 3: the label is missing"},
      {"1,2,cow\n",
       "line 1, column 3: the label is not one of the classes\n  expected: one of cat, dog\n  got:      \"cow\"",
       {.classes = {"cat", "dog"}}},
      {"a,b\n1,2\n", "there is no column \"c\" for the labels\n  expected: one of a, b", {.label = "c"}},
      {"1,2\n",
       "there is no column \"c\" for the labels\n  expected: first, last or none\n  got:      a file without a header "
       "line",
       {.label = "c"}},
      {"", "the CSV file has no rows"},
      {"a,b\n", "the CSV file has no rows"},
  };
  for (const Row& row : rows) {
    std::string path = folder.path("t.csv");
    EXPECT_EQ(error_text([&] { read(folder, row.text, row.options); }), "error: " + path + ": " + row.error);
  }
  EXPECT_EQ(error_text([&] { read_csv(folder.path("none.csv")); }),
            "error: " + folder.path("none.csv") + ": no such file");
}

}  // namespace
}  // namespace thtrain
