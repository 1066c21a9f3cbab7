#include "datasets/csv_refusals.h"

#include "tests/support/datasets_support.h"
#include "tests/support/gzip.h"

namespace thtrain {
namespace {

// A first line that names columns by numbers would be an example, and the name of the label a class.
TEST(CsvRefusals, AFirstLineThatMayNameTheColumns) {
  TemporaryFolder folder;
  struct Row {
    std::string text, error;
  };
  const std::string numbered =
      "line 1: its numbers are 0, 1, 2 and so on, as pandas names columns\n"
      "  expected: data.header = true where they name the columns, or data.header = false where they are an example\n"
      "  got:      ";
  const std::string above =
      "the label is a text, and all others are numbers\n"
      "  expected: labels that are all numbers, or data.header = true where the line names the columns\n"
      "  got:      ";
  for (const auto& [text, error] : {
           Row{"0,1,2,kind\n5,6,7,0\n8,9,5,1\n", numbered + "0, 1, 2, kind"},
           Row{",0,1,2\n0,5,6,7\n1,8,9,5\n", numbered + ", 0, 1, 2"},
           Row{"0;1;2;3\n5;6;7;cat\n8;9;5;dog\n", numbered + "0, 1, 2, 3"},
           Row{"\n2019,2020,kind\n5,6,1\n8,9,0\n", "line 2: " + above + "\"kind\""},
       })
    EXPECT_EQ(error_text([&] { read_csv(folder.write("t.csv", text)); }),
              "error: " + folder.path("t.csv") + ": " + error);
  const std::string text = "0,1,2,kind\n5,6,7,0\n8,9,5,1\n";
  EXPECT_EQ(read_csv(folder.write("t.csv", text), {.header = true}).y.text(), "[0, 1]");
  EXPECT_EQ(read_csv(folder.write("t.csv", text), {.header = false}).y.text(), "[0, 1, 2]");
  EXPECT_EQ(read_csv(folder.write("t.csv", "0,1,3\n5,6,0\n")).x.dim(0), 2);
  EXPECT_EQ(read_csv(folder.write("t.csv", "0,1\n5,0\n")).x.dim(0), 2);
  EXPECT_EQ(read_csv(folder.write("t.csv", "5,6,cat\n7,8,1st\n")).x.dim(0), 2);
}

// A line without an end, packed.
TEST(CsvRefusals, APackedBombFillsNoMemory) {
  TemporaryFolder folder;
  EXPECT_EQ(error_text([&] { read_csv(folder.write("t.csv", gzipped(std::string(size_t{80} << 20, 'x')))); }),
            "error: " + folder.path("t.csv") +
                ": line 1 is longer than 64 MiB\n  expected: lines of text\n  hint:     is it a text file?");
}

}  // namespace
}  // namespace thtrain
