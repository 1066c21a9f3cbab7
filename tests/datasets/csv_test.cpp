#include "datasets/csv.h"

#include <limits>

#include "tests/support/datasets_support.h"
#include "tests/support/gzip.h"

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
  EXPECT_EQ(read(folder, "1,2,3\n4,5,6\n", {.header = true}).columns, Names({"1", "2"}));
  EXPECT_EQ(read(folder, "1,2,3\n4,5,6\n", {.header = true}).x.dim(0), 1);
  EXPECT_EQ(read(folder, "1,2,3\n4,5,6\n", {.header = false}).x.dim(0), 2);
}

TEST(ReadCsv, TextLabelsAreNumberedInOrderOfAppearance) {
  TemporaryFolder folder;
  CsvTable table = read(folder, "5.1,3.5,setosa\n6.0,3.0,virginica\n5.0,3.1,setosa\n");
  EXPECT_EQ(table.classes, Names({"setosa", "virginica"}));
  EXPECT_TRUE(same_bits(table.y, Tensor::vector<int64_t>({0, 1, 0})));
  CsvTable test = read(folder, "5.1,3.5,virginica\n", {.classes = table.classes});
  EXPECT_TRUE(same_bits(test.y, Tensor::vector<int64_t>({1})));
}

TEST(ReadCsv, TheLabelMayBeAnywhereOrNowhere) {
  TemporaryFolder folder;
  const std::string text = "a,b,c\n1,2,3\n";
  EXPECT_EQ(read(folder, text, {.label = "first"}).y.as_double(), 1);
  EXPECT_EQ(read(folder, text, {.label = "last"}).y.as_double(), 3);
  CsvTable named = read(folder, text, {.label = "b"});
  EXPECT_EQ(named.y.as_double(), 2);
  EXPECT_TRUE(same_bits(named.x, Tensor::matrix<double>({{1, 3}})));
  EXPECT_EQ(named.columns, Names({"a", "c"}));
  CsvTable none = read(folder, text, {.has_label = false});
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

TEST(ReadCsv, FindsTheDelimiter) {
  TemporaryFolder folder;
  using Delimiter = CsvOptions::Delimiter;
  const Tensor x = Tensor::matrix<double>({{1, 2.5}, {-3, 4}}), y = Tensor::vector<double>({0, 1});
  const std::pair<std::string, CsvOptions> rows[] = {
      {"1,2.5,0\n-3,4,1\n", {}},
      {"1;2.5;0\n-3;4;1\n", {}},
      {"1\t2.5\t0\n-3\t4\t1\n", {}},
      {" 1 ; 2.5 ; 0 \n-3;4;1\n", {}},
      {"1,\t2.5\t,0\n-3,4,1\n", {}},  // tabs next to commas are blanks
      {"\"a;b\",\"c\td\",l\n1,2.5,0\n-3,4,1\n", {}},
      {"1  2.5 0\n -3 4\t1 \n", {.delimiter = Delimiter::kSpace}},
      {"1;2.5;0\n-3;4;1\n", {.delimiter = Delimiter::kSemicolon}},
      {"1\t 2.5\t0\n-3\t4\t1\n", {.delimiter = Delimiter::kTab}},
      {"a;x,b;c\n1;2.5;0\n-3;4;1\n", {.delimiter = Delimiter::kSemicolon}},
  };
  for (const auto& [text, options] : rows) {
    SCOPED_TRACE(text);
    CsvTable table = read(folder, text, options);
    EXPECT_TRUE(same_bits(table.x, x));
    EXPECT_TRUE(same_bits(table.y, y));
  }
}

TEST(ReadCsv, LinesMayEndAnyWay) {
  TemporaryFolder folder;
  for (const char* end : {"\n", "\r\n", "\r"}) {
    std::string text =
        str("\xef\xbb\xbf"
            "a,b",
            end, end, "1,0", end, "2,1", end, "3,0");
    CsvTable table = read(folder, text);
    EXPECT_TRUE(same_bits(table.x, Tensor::matrix<double>({{1}, {2}, {3}})));
    EXPECT_EQ(table.columns, Names({"a"}));
    EXPECT_TRUE(table.named);
    EXPECT_EQ(table.lines, (std::vector<int64_t>{3, 4, 5}));
  }
}

// Files are read a MiB at a time: lines, and CRLFs, across that border.
TEST(ReadCsv, ReadsLinesAcrossPieces) {
  TemporaryFolder folder;
  for (size_t width : {size_t{13}, size_t{64}, size_t{4099}}) {
    std::string text;
    int64_t rows = 0;
    while (text.size() < (size_t{5} << 18)) {
      std::string line = str(rows, ',', rows % 3);
      text += std::string(width - line.size() - 2, ' ') + line + "\r\n";
      ++rows;
    }
    CsvTable table = read(folder, text);
    ASSERT_EQ(table.x.dim(0), rows);
    bool same = true;
    for (int64_t i = 0; i < rows; ++i)
      same =
          same && table.x.as_double(i) == static_cast<double>(i) && table.y.as_double(i) == static_cast<double>(i % 3);
    EXPECT_TRUE(same) << width;
  }
}

TEST(ReadCsv, ANumberTooSmallIsZero) {
  TemporaryFolder folder;
  EXPECT_EQ(read(folder, "1e-999,0\n").x.as_double(), 0);
}

TEST(ReadCsv, ALabelCanBePassedOver) {
  TemporaryFolder folder;
  CsvTable table = read(folder, "a,l,b\n1,cat,2\n3,,4\n", {.skip_label = true, .label = "l"});
  EXPECT_TRUE(same_bits(table.x, Tensor::matrix<double>({{1, 2}, {3, 4}})));
  EXPECT_EQ(table.y.type_text(), "int64[0]");
  EXPECT_EQ(table.columns, Names({"a", "b"}));
}

TEST(ReadCsvColumns, LooksAtTheFirstLineOnly) {
  TemporaryFolder folder;
  CsvColumns columns = read_csv_columns(folder.write("c.csv", "\n a ; \"b\" ;c\nx;y\n"), {});
  EXPECT_EQ(columns.names, Names({"a", "b", "c"}));
  EXPECT_TRUE(columns.named);
  columns = read_csv_columns(folder.write("c.csv", "1,x\n"), {});
  EXPECT_EQ(columns.names, Names({"1", "2"}));
  EXPECT_FALSE(columns.named);
}

const char* const kPeople =
    "age,city,job,l\n"
    "31,\"New\nYork\",?,0\n"
    "27,\"Paris, \"\"FR\"\"\",cook,1\n"
    "\n"
    "44,Bern,smith,1\n"
    "27,\"New\nYork\",cook,0\n";
const double kGone = std::numeric_limits<double>::quiet_NaN();

std::string with_ends(std::string text, const std::string& end) {
  for (size_t at = 0; (at = text.find('\n', at)) != std::string::npos; at += end.size()) text.replace(at, 1, end);
  return text;
}

// Those of pandas: Series.astype("category").cat.codes, but for what is missing.
TEST(ReadCsv, TextsHaveTheCodesOfTheSortedOnes) {
  TemporaryFolder folder;
  const Tensor x = Tensor::matrix<double>({{31, 1, kGone}, {27, 2, 0}, {44, 0, 1}, {27, 1, 0}});
  const CsvOptions options{.takes_text = true, .keep_missing = true};
  for (const std::string& text : {std::string(kPeople), with_ends(kPeople, "\r\n"), with_ends(kPeople, "\r"),
                                  "\xef\xbb\xbf" + std::string(kPeople), gzipped(kPeople)}) {
    const CsvTable table = read(folder, text, options);
    EXPECT_EQ(table.x.text(20), x.text(20));
    EXPECT_EQ(table.categories, (std::vector<Names>{{}, {"Bern", "New\nYork", "Paris, \"FR\""}, {"cook", "smith"}}));
    EXPECT_EQ(table.columns, Names({"age", "city", "job"}));
    EXPECT_EQ(table.lines, (std::vector<int64_t>{2, 4, 6, 7}));
    // Read while training, in any order.
    CsvOptions streamed = options;
    streamed.memory_limit = 1;
    streamed.may_stay = true;
    const CsvTable stays = read(folder, text, streamed);
    ASSERT_TRUE(stays.source);
    EXPECT_EQ(stays.categories, table.categories);
    Tensor rows = Tensor::empty(DType::kFloat64, {4, 3});
    for (int64_t i : {2, 0, 3, 1}) stays.source->read(i, 1, static_cast<std::byte*>(rows.rows(i, 1).raw()));
    EXPECT_EQ(rows.text(20), x.text(20));
  }
}

TEST(ReadCsv, NumbersMayBeCategoriesAndColumnsLeftOut) {
  TemporaryFolder folder;
  const std::string text = "day,zip,size,l\n2024-01-31,8001,1,0\n2024-02-01,0800,x,1\n2024-02-01,8001,1,1\n";
  const CsvTable table = read(folder, text, {.skip = {"day"}, .takes_text = true, .category_columns = {"zip", "size"}});
  EXPECT_TRUE(same_bits(table.x, Tensor::matrix<double>({{1, 0}, {0, 1}, {1, 0}})));
  EXPECT_EQ(table.categories, (std::vector<Names>{{"0800", "8001"}, {"1", "x"}}));
  EXPECT_EQ(table.other_columns, (std::vector<size_t>{0, 3}));
  const std::string without = "8001,a,0\n0800,b,1\n";
  EXPECT_TRUE(same_bits(read(folder, without, {.skip = {"2"}, .takes_text = true, .category_columns = {"1"}}).x,
                        Tensor::matrix<double>({{1}, {0}})));
}

TEST(ReadCsv, DecimalsMayComeAfterAComma) {
  TemporaryFolder folder;
  const Tensor x = Tensor::matrix<double>({{1.5, -0.25}, {1e3, 7}});
  for (const char* text : {"a;b;l\n1,5;-,25;0\n1e3;7;1\n", "1,5\t-0,25\t0\n+1000,0\t7\t1\n",
                           "\"1,5\",\"-0,25\",0\n1000,\"7,0\",1\n", "1,5;-0,25;\"0\"\n1000;7;1\n"}) {
    const CsvTable table = read(folder, text, {.decimal = ','});
    EXPECT_TRUE(same_bits(table.x, x)) << text << table.x.text();
    EXPECT_TRUE(same_bits(table.y, Tensor::vector<double>({0, 1}))) << text;
  }
}

// What the csv module of Python reads of the same bytes.
TEST(ReadCsv, QuotesAreThoseOfPythonsCsv) {
  TemporaryFolder folder;
  const CsvTable table =
      read(folder, "c,l\n\"a\"\"b\",0\n\"\"\"\",1\n\"x,\ny\"z,0\na\"b,1\n\"\n\n\",0\n", {.takes_text = true});
  EXPECT_EQ(table.categories, (std::vector<Names>{{"\n\n", "\"", "a\"b", "x,\nyz"}}));
  EXPECT_TRUE(same_bits(table.x, Tensor::matrix<double>({{2}, {1}, {3}, {2}, {0}})));
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
  const std::string finite = "\n  expected: a finite number\n  got:      ";
  const std::string cells = "\n  expected: a value in each cell of the columns to learn from\n  got:      ";
  const std::string impute =
      "\n  hint:     data.impute = \"mean\", \"median\" or \"zero\" fills them; or leave the lines out";
  const std::string open =
      ": the quote is not closed\n  expected: a closing quote, on this line or within 1 MiB\n"
      "  got:      \"\"2,0\"\n  hint:     a quote within quotes is written twice";
  const std::string no_label =
      ": the label is missing\n  expected: a label in each row\n  got:      an empty cell\n  hint:     leave the line "
      "out";
  const std::string delimiter =
      "\n  hint:     data.delimiter names what is between cells: comma, semicolon, tab or space";
  const std::string header = "\n  hint:     data.header = true takes the first line as the names of the columns";
  const Row rows[] = {
      {"a,b,l\n1,2,0\n3,x4,1\n", "line 3, column 2 (\"b\"): not a number" + finite + "\"x4\""},
      {"1,2,0\n3,,1\n", "a value is missing" + cells + "1 in column 2; it is on line 2" + impute},
      {"a,b,l\n1,?,0\n3,NA,1\n,nan,1\n",
       "4 values are missing" + cells + "1 in column \"a\", 3 in column \"b\"; the first is on line 2" + impute},
      {"1,-nan,0\n", "line 1, column 2: not a finite number" + finite + "\"-nan\""},
      {"1,1e999,0\n", "line 1, column 2: not a finite number" + finite + "\"1e999\""},
      {"1,x,0\n", "line 1, column 2: not a number" + finite + "\"x\"" + header +
                      ";\n            text may be in the labels' column only: data.label_column = \"NAME\""},
      {"1,2,0\n3,4,b\n",
       "line 2, column 3: not a number" + finite + "\"b\"\n  hint:     the first label, on line 1, is a number"},
      {"1,2,0\n3,4,nan\n", "line 2, column 3: not a finite number" + finite +
                               "\"nan\"\n  hint:     the first label, on "
                               "line 1, is a number"},
      {"1;2;0\n1,5;2;0\n",
       "line 2, column 1: not a number" + finite + "\"1,5\"\n  hint:     data.decimal = \",\" reads 1,5 as 1.5"},
      {"1,2,0\n\"1,000\",2,0\n",
       "line 2, column 1: not a number" + finite +
           "\"1,000\"\n  hint:     write 1000, or data.decimal = \",\" where the comma begins the decimals"},
      {"1,2,0\n\"-1,234,567.5\",2,0\n",
       "line 2, column 1: not a number" + finite + "\"-1,234,567.5\"\n  hint:     write -1234567.5"},
      {"1;2;0\n0,125;2;0\n",
       "line 2, column 1: not a number" + finite + "\"0,125\"\n  hint:     data.decimal = \",\" reads 0,125 as 0.125"},
      {"# my data\n1,2,0\n",
       "the table has one column, and that is the label's\n"
       "  expected: columns of numbers to learn from besides it\n  got:      line 1: # my data\n"
       "  hint:     leave the line out: tables have no comments"},
      {"1|2|0\n1|2|0\n",
       "the table has one column, and that is the label's\n"
       "  expected: columns of numbers to learn from besides it\n  got:      line 1: 1|2|0\n"
       "  hint:     cells cannot be separated by \"|\": replace it by a comma, semicolon or tab"},
      {"a,b,l\n\n1,2\n",
       "line 3: another number of cells than before\n  expected: 3 cells, as on line 1\n  got:      2 cells"},
      {"1,2,0\n1,2,0,\n",
       "line 2: another number of cells than before\n  expected: 3 cells, as on line 1\n  got:      4 cells"},
      {"1,2,0\n1;2;0\n",
       "line 2: another number of cells than before\n  expected: 3 cells, as on line 1\n  got:      1 cell" +
           delimiter},
      {"1,\"2,0\n", "line 1, character 3" + open},
      {"1\t\"2,0\n", "line 1, character 3" + open},
      {"1,2,\"a\nb\"\n2,\"2,0\n", "line 3, character 3" + open},
      {"1,2,0\n3,\"4,1\n5\",6,1,8\n",
       "line 2: another number of cells than before\n  expected: 3 cells, as on line 1\n"
       "  got:      5 cells, up to line 3\n"
       "  hint:     a quote joins these lines: is it closed where it should be?"},
      {std::string("a,b,l\n") + std::string(300, '\n') + std::string("1,\0,0\n", 6),
       "line 302, column 2: a byte 0\n  expected: text\n  got:      \"\\x00\"\n  hint:     is the file damaged?"},
      {"1,2,\n", "line 1, column 3" + no_label},
      {"1,2,cat\n1,2,\n", "line 2, column 3" + no_label},
      {"1,2,0\n1,2,\n", "line 2, column 3" + no_label},
      {"1,2,cow\n",
       "line 1, column 3: the label is not one of the training file's classes\n  expected: one of cat, dog\n"
       "  got:      \"cow\"",
       {.classes = {"cat", "dog"}}},
      {"a,b\n1,2\n",
       "there is no column \"c\" for the labels\n  expected: first or last, or one of a, b",
       {.label = "c"}},
      {"a,b\n1,2\n",
       "there is no column \"none\" for the labels\n  expected: first or last, or one of a, b",
       {.label = "none"}},
      {"c,b,c\n1,2,3\n", "there are 2 columns \"c\"\n  expected: first or last, or one of c, b, c", {.label = "c"}},
      {"1,2\n",
       "there is no column \"c\" for the labels\n  expected: first or last\n"
       "  got:      a table whose first line is no header\n"
       "  hint:     data.header = true takes the names of the columns from the first line",
       {.label = "c"}},
      {"", "the table has no rows\n  expected: a line for each example\n  got:      an empty file"},
      {"\n \n\r\n", "the table has no rows\n  expected: a line for each example\n  got:      an empty file"},
      {"a,b\n",
       "the table has no rows\n  expected: a line for each example\n  got:      a header and no lines after it"},
      {"5\n6\n",
       "the table has one column, and that is the label's\n"
       "  expected: columns of numbers to learn from besides it\n  got:      line 1: 5" +
           delimiter},
      {"1 2 0\n1 2 0\n",
       "the table has one column, and that is the label's\n"
       "  expected: columns of numbers to learn from besides it\n  got:      line 1: 1 2 0" +
           delimiter},
      {"1,5;2,5;0\n",
       "line 1: the delimiter is not clear\n"
       "  expected: data.delimiter = \"comma\" or data.delimiter = \"semicolon\"\n  got:      1,5;2,5;0"},
      {"1,5\t2,5\t0\n",
       "line 1: the delimiter is not clear\n"
       "  expected: data.delimiter = \"comma\" or data.delimiter = \"tab\"\n  got:      1,5\\t2,5\\t0"},
      {"1;2;0\n",
       "the table has one column, and that is the label's\n"
       "  expected: columns of numbers to learn from besides it\n  got:      line 1: 1;2;0" +
           delimiter,
       {.delimiter = CsvOptions::Delimiter::kComma}},
      {"\x93NUMPY\1",
       "not a table\n  expected: text: lines of numbers\n  got:      a .npy file\n"
       "  hint:     source = \"npy\" reads .npy and .npz files"},
      {"\xff\xfe"
       "1,2\n",
       "not a table\n  expected: text: lines of numbers\n  got:      text in UTF-16\n  hint:     save it in UTF-8"},
      {"\x1f\x8b\x08 packed",
       "the gzip data is damaged\n  got:      unknown header flags set\n"
       "  hint:     copy the file again"},
      {gzipped("1,2,0\n3,4,1\n").substr(0, 20), "the gzip data is truncated\n  hint:     copy the file again"},
      {gzipped(gzipped("1,2,0\n")),
       "not a table\n  expected: text: lines of numbers\n  got:      a gzipped file\n"
       "  hint:     it is packed twice: gunzip -c " +
           folder.path("t.csv") + " gives what is to be read"},
      {std::string("1,2,0\n1,\0,0\n", 12),
       "not a table\n  expected: text: lines of numbers\n  got:      bytes of no known format"},
      {"1,2,0\n1,2,0\n3,4,1\n",
       "the table does not fit in memory\n  expected: at most 32 B\n  got:      48 B: 3 lines of 2 numbers\n"
       "  hint:     data.memory_limit sets the limit",
       {.memory_limit = 32}},
  };
  for (const Row& row : rows) {
    std::string path = folder.path("t.csv");
    EXPECT_EQ(error_text([&] { read(folder, row.text, row.options); }), "error: " + path + ": " + row.error);
  }
  EXPECT_EQ(error_text([&] { read_csv(folder.path("none.csv")); }),
            "error: " + folder.path("none.csv") + ": no such file");
}

TEST(CsvErrors, OfTextsAndNumbers) {
  TemporaryFolder folder;
  struct Row {
    std::string text, error;
    CsvOptions options = {.takes_text = true};
  };
  const std::string named = "\n  hint:     data.category_columns = [\"b\"] takes each of its cells as a category";
  const std::string finite = "\n  expected: a finite number\n  got:      ";
  std::string names = "b,l\n";
  for (int i = 0; i < 1001; ++i) names += str("name", i, ",0\n");
  const Row rows[] = {
      {"a,b,l\n1,red,0\n2,7,1\n",
       "line 3, column 2 (\"b\"): a number in a column of texts\n  expected: a text, as on line 2\n  got:      \"7\"" +
           named},
      {"red,5,0\n7,6,1\n",
       "line 2, column 1: a number in a column of texts\n  expected: a text, as on line 1\n  got:      \"7\"\n"
       "  hint:     data.header = true takes the first line as the names of the columns;\n"
       "            data.category_columns = [\"1\"] takes each of its cells as a category"},
      {"a,b,l\n1,2,0\n3,x4,1\n", "line 3, column 2 (\"b\"): not a number" + finite + "\"x4\""},
      {"a,b,l\n1,inf,0\n", "line 2, column 2 (\"b\"): not a finite number" + finite + "\"inf\""},
      {"a,b,l\n1,31.1.2024,0\n",
       "line 2, column 2 (\"b\"): a date or a time\n  expected: a number, or a text that is a category\n"
       "  got:      \"31.1.2024\"\n"
       "  hint:     write it as a number, such as the days since the first one;\n"
       "            data.skip_columns = [\"b\"] leaves the column out;\n"
       "            data.category_columns = [\"b\"] takes each of them as a category"},
      {"a,b,l\n1,5%,0\n",
       "line 2, column 2 (\"b\"): not a number" + finite +
           "\"5%\"\n  hint:     write the number alone; data.category_columns = [\"b\"] takes each text as a category"},
      {"a;b;l\n1,5;2;0\n2.5;3;1\n",
       "line 3, column 1 (\"a\"): not a number" + finite +
           "\"2.5\"\n  hint:     data.decimal = \",\" reads decimals after a comma: 2.5 has a point",
       {.decimal = ',', .takes_text = true}},
      {"a;b;l\n1.100,5;2;0\n",
       "line 2, column 1 (\"a\"): not a number" + finite + "\"1.100,5\"\n  hint:     write 1100,5",
       {.decimal = ',', .takes_text = true}},
      {names,
       "line 1002, column 1 (\"b\"): the column has more than 1000 different texts\n"
       "  expected: at most 1000, since each is a category\n  got:      \"name1000\"\n"
       "  hint:     a column of names or numbers of examples says nothing of others: data.skip_columns = [\"b\"] "
       "leaves "
       "it out;\n            data.categories = \"codes\" takes up to 1000000, for a layer \"embedding\""},
      {"a,b,l\n1,green,0\n",
       "line 2, column 2 (\"b\"): the text is not one of the training file's categories\n"
       "  expected: one of blue, red\n  got:      \"green\"",
       {.takes_text = true, .categories = std::vector<Names>{{}, {"blue", "red"}}}},
      {"a,b,l\nx,red,0\n",
       "line 2, column 1 (\"a\"): not a number" + finite + "\"x\"",
       {.takes_text = true, .categories = std::vector<Names>{{}, {"blue", "red"}}}},
      {"a,b,l\n1,,0\n2,red,0\n",
       "a value is missing\n  expected: a value in each cell of the columns to learn from\n"
       "  got:      1 in column \"b\"; it is on line 2\n"
       "  hint:     data.impute = \"mean\", \"median\" or \"zero\" fills them; or leave the lines out"},
      {"a,a,l\n1,2,0\n", "there are 2 columns \"a\"\n  expected: one of a, a, l", {.skip = {"a"}, .takes_text = true}},
      {"a,b,l\n1,2,0\n",
       "column \"l\" is named twice\n"
       "  expected: each column once: for labels, for weights, as one of categories or to be skipped",
       {.takes_text = true, .category_columns = {"l"}}},
      {"a,b,l\n1,2,0\n",
       "column \"l\" is named twice\n"
       "  expected: each column once: for labels, for weights, as one of categories or to be skipped",
       {.skip = {"l"}, .takes_text = true}},
  };
  for (const Row& row : rows) {
    std::string path = folder.path("t.csv");
    EXPECT_EQ(error_text([&] { read(folder, row.text, row.options); }), "error: " + path + ": " + row.error);
  }
}

}  // namespace
}  // namespace thtrain
