// Data files as bad as they come: `thtrain train` ends with exit code 2 and the whole of one message, and writes
// nothing.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <unistd.h>

#include <cmath>
#include <cstdint>
#include <limits>

#include "datasets/npy.h"
#include "datasets/npz.h"
#include "tests/support/cli_support.h"

namespace thtrain {
namespace {

const char* const kModel =
    "[[model.layers]]\ntype = \"softmax\"\n[trainer]\nbatch_size = 2\nepochs = 1\n"
    "[compiler]\nmode = \"reference\"\n[output]\nplots = false\n";
const char* const kCaretX = "  config:   e.toml:3:9\n      3 | train = \"x\"\n        |         ^^^\n";
const char* const kCaretY = "  config:   e.toml:4:16\n      4 | train_labels = \"y\"\n        |                ^^^\n";

class CliDataFiles : public testing::Test {
 protected:
  CliDataFiles() {
    set("x", Tensor::matrix<float>({{1, 2}, {3, 4}, {5, 6}, {7, 8}}));
    set("y", Tensor::vector<int64_t>({0, 1, 0, 1}));
  }
  void set(const std::string& name, const Tensor& array) const { write_npy(workshop.path(name), array); }
  std::string run(const std::string& source, const std::string& more = "") {
    std::string labels = source == "csv" ? "" : "train_labels = \"y\"\n";
    workshop.write("e.toml", "[data]\nsource = \"" + source + "\"\ntrain = \"x\"\n" + labels + more + kModel);
    std::vector<std::string> before = workshop.list();
    Ended ended = workshop.run({"train", "e.toml"});
    EXPECT_EQ(ended.code, 2) << ended.out;
    EXPECT_EQ(ended.out, "");
    EXPECT_EQ(workshop.list(), before);
    for (size_t at; (at = ended.err.find(workshop.path())) != std::string::npos;)
      ended.err.replace(at, workshop.path().size(), "HERE");
    return ended.err;
  }
  Workshop workshop;
};

TEST_F(CliDataFiles, ThatAreNoFiles) {
  const std::string regular = ": not a regular file\n  expected: a file\n  got:      ";
  for (const char* source : {"npy", "idx", "csv"}) {
    SCOPED_TRACE(source);
    ::unlink(workshop.path("x").c_str());
    EXPECT_EQ(::mkfifo(workshop.path("x").c_str(), 0600), 0);
    EXPECT_EQ(run(source), "error: HERE/x" + regular + "a device, pipe or socket\n" + kCaretX);
    ::unlink(workshop.path("x").c_str());
    EXPECT_EQ(::symlink("/dev/zero", workshop.path("x").c_str()), 0);
    EXPECT_EQ(run(source), "error: HERE/x" + regular + "a device, pipe or socket\n" + kCaretX);
    ::unlink(workshop.path("x").c_str());
    EXPECT_EQ(::mkdir(workshop.path("x").c_str(), 0700), 0);
    EXPECT_EQ(run(source), "error: HERE/x" + regular + "a folder\n" + kCaretX);
    ::rmdir(workshop.path("x").c_str());
    EXPECT_EQ(::symlink("x", workshop.path("x").c_str()), 0);
    EXPECT_NE(run(source).find("HERE (too many levels of symbolic links)\n"), std::string::npos);
    ::unlink(workshop.path("x").c_str());
    workshop.write("x", "");
    EXPECT_NE(run(source).find("  got:      an empty file\n"), std::string::npos);
  }
}

TEST_F(CliDataFiles, LabelsThatAreNoClasses) {
  auto too_large = [](const std::string& got) {
    return "error: HERE/y: row 2: the label is too large\n"
           "  expected: classes numbered from 0 on, and no more of them than examples (4)\n  got:      " +
           got + "\n" + kCaretY +
           "  hint:     rows and columns count from 0;\n"
           "            numpy.unique(labels, return_inverse=True)[1] numbers classes from 0 on\n";
  };
  const std::string counting = "  hint:     rows and columns count from 0\n";
  set("y", Tensor::vector<int64_t>({0, 1, int64_t{1} << 62, 0}));  // was SIGSEGV
  EXPECT_EQ(run("npy"), too_large("4611686018427387904"));
  set("y", Tensor::vector<int64_t>({0, 1, int64_t{1} << 31, 0}));  // ran out of memory
  EXPECT_EQ(run("npy"), too_large("2147483648"));
  EXPECT_EQ(run("npy", "n_valid = 2\nsplit = \"stratified\"\n"), too_large("2147483648"));
  set("y", Tensor::vector<uint64_t>({0, 1, 4, 0}));
  EXPECT_EQ(run("npy"), too_large("4"));
  set("y", Tensor::vector<int64_t>({0, 1, -1, 0}));
  EXPECT_EQ(run("npy"), "error: HERE/y: row 2: the label is out of range\n  expected: 0 or more\n  got:      -1\n" +
                            std::string(kCaretY) +
                            "  hint:     rows and columns count from 0; classes are numbered 0, 1, 2, ...\n");
  set("y", Tensor::vector<uint64_t>({0, 1, std::numeric_limits<uint64_t>::max(), 0}));
  const std::string beyond =
      "error: HERE/y: row 2: the label is too large\n  expected: the number of a class\n  got:      ";
  EXPECT_EQ(run("npy"), beyond + "18446744073709551615\n" + kCaretY + counting);
  set("y", Tensor::vector<double>({0, 1, 1e30, 0}));
  EXPECT_EQ(run("npy"), beyond + "1e+30\n" + kCaretY + counting);
  for (auto [value, text] : {std::pair(0.5, "0.5"), {std::nan(""), "nan"}}) {
    set("y", Tensor::vector<double>({0, 1, value, 0}));
    EXPECT_EQ(run("npy"),
              str("error: HERE/y: row 2: the label is not an integer\n  expected: the number of a class\n  got:      ",
                  text, "\n", kCaretY,
                  value == 0.5 ? "  hint:     data.target = \"values\" takes numbers to approximate;\n"
                                 "            rows and columns count from 0\n"
                               : counting));
  }
  workshop.write("x", "1,2,0\n1,2,1\n\n1,2,1.5\n");
  EXPECT_EQ(run("csv"),
            str("error: HERE/x: line 4, column 3: the label is not an integer\n  expected: the number of a class\n"
                "  got:      1.5\n",
                kCaretX,
                "  hint:     data.label_column names another column; data.target = \"values\" takes numbers to "
                "approximate\n"));
}

TEST_F(CliDataFiles, ShapesThatCannotBeTrainedOn) {
  set("x", Tensor::zeros(DType::kFloat32, {4, 0}));
  EXPECT_EQ(run("npy"), std::string("error: HERE/x: the examples have no numbers to learn from\n"
                                    "  expected: at least one column\n  got:      float32[4, 0]\n") +
                            kCaretX);
  workshop.write("x", std::string("\0\0\x8\2\0\0\0\4\0\0\0\0", 12));
  workshop.write("y", std::string("\0\0\x8\1\0\0\0\4\0\1\0\1", 12));
  EXPECT_EQ(run("idx"), std::string("error: HERE/x: the examples have no numbers to learn from\n"
                                    "  expected: at least one column\n  got:      uint8[4, 0]\n") +
                            kCaretX);
  set("x", Tensor::zeros(DType::kFloat32, {0, 2}));
  set("y", Tensor::vector<int64_t>({0, 1, 0, 1}));
  EXPECT_EQ(run("npy"), std::string("error: HERE/x: there are no examples, but labels\n"
                                    "  expected: 4 rows, as in HERE/y\n  got:      float32[0, 2]\n") +
                            kCaretX);
  workshop.write("x", "0\n1\n0\n1\n");
  EXPECT_EQ(run("csv"),
            std::string("error: HERE/x: the table has one column, and that is the label's\n"
                        "  expected: columns of numbers to learn from besides it\n  got:      line 1: 0\n") +
                kCaretX + "  hint:     data.delimiter names what is between cells: comma, semicolon, tab or space\n");
  set("x", Tensor(1.0));
  set("y", Tensor::vector<int64_t>({0, 1, 0, 1}));
  EXPECT_EQ(run("npy"), std::string("error: HERE/x: a single number, not a list of examples\n"
                                    "  expected: an array whose first axis counts the examples\n"
                                    "  got:      float64[]\n") +
                            kCaretX);
  set("x", Tensor::zeros(DType::kComplex64, {4, 2}));
  EXPECT_EQ(run("npy"), std::string("error: HERE/x: complex numbers cannot be trained on\n  expected: real numbers\n"
                                    "  got:      complex64[4, 2]\n") +
                            kCaretX + "  hint:     numpy.abs(array), or two columns: real and imaginary part\n");
  set("x", Tensor::zeros(DType::kFloat32, {4, 2, 3}));
  set("y", Tensor::zeros(DType::kFloat32, {4, 10}));
  EXPECT_EQ(
      run("npy"),
      std::string("error: HERE/y: the labels are not one number for each example\n"
                  "  expected: an array [4]\n  got:      float32[4, 10]\n") +
          kCaretY +
          "  hint:     rows of zeros with a one at the class become class numbers by labels.argmax(axis=1); several "
          "labels of an example are data.target = \"labels\", values to approximate are data.target = \"values\"\n");
}

// Names in Latin-1 would be written as they are, and "B\xe4r" and "B\xf6r" shown as one.
TEST_F(CliDataFiles, TextThatIsNotUtf8) {
  const std::string expected =
      "  expected: UTF-8\n  got:      \"B\\xe4r\"\n" + std::string(kCaretX) + "  hint:     save the file in UTF-8\n";
  workshop.write("x", "a,b,kind\n1,2,B\xc3\xa4r\n1,2,B\xe4r\n1,2,B\xf6r\n");
  EXPECT_EQ(run("csv"), "error: HERE/x: line 3, column 3: not text in UTF-8\n" + expected);
  workshop.write("x", "a,B\xe4r,kind\n1,2,0\n");
  EXPECT_EQ(run("csv"), "error: HERE/x: line 1, column 2: not text in UTF-8\n" + expected);
}

TEST_F(CliDataFiles, TextWhereNumbersAreWanted) {
  auto text = [](const std::string& where, const std::string& hint) {
    return "error: HERE/x: " + where + ": not a number\n  expected: a finite number\n  got:      \"hund\"\n" +
           std::string(kCaretX) + "  hint:     " + hint + "\n";
  };
  workshop.write("x", "kind,a,b\nhund,1,2\nkatze,2,1\n");
  EXPECT_EQ(run("csv"), text("line 2, column 1 (\"kind\")",
                             "text may be in the labels' column only: data.label_column = \"first\""));
  workshop.write("x", "a,kind,b\n1,hund,2\n2,katze,1\n");
  EXPECT_EQ(run("csv"), text("line 2, column 2 (\"kind\")",
                             "text may be in the labels' column only: data.label_column = \"kind\""));
  workshop.write("x", "a,b,kind\n1,2,0\nNA,1,1\n");
  EXPECT_EQ(run("csv"), std::string("error: HERE/x: line 3, column 1 (\"a\"): not a number\n"
                                    "  expected: a finite number\n  got:      \"NA\"\n") +
                            kCaretX + "  hint:     fill it, or leave the line out\n");
}

TEST_F(CliDataFiles, NumbersAsTheyAreInTheFile) {
  workshop.write("x", "1,2,0\n1,1e39,1\n");
  EXPECT_EQ(run("csv"), std::string("error: HERE/x: line 2, column 2: not a finite number\n"
                                    "  expected: numbers that are finite in float32\n  got:      1e+39\n") +
                            kCaretX);
  workshop.write("x", "1,2,-1\n1,2,1\n");
  EXPECT_EQ(run("csv"), std::string("error: HERE/x: line 1: the label is out of range\n  expected: 0 or more\n"
                                    "  got:      -1\n") +
                            kCaretX + "  hint:     classes are numbered 0, 1, 2, ...\n");
}

TEST_F(CliDataFiles, ValuesInPlaceOfLabels) {
  workshop.write("x", "1,2,0\n1,1,346\n");
  EXPECT_EQ(run("csv"), std::string("error: HERE/x: line 2: the label is too large\n"
                                    "  expected: classes numbered from 0 on, and no more of them than examples (2)\n"
                                    "  got:      346\n") +
                            kCaretX +
                            "  hint:     is it a value, not a class? data.label_column names another column; "
                            "data.target = \"values\" takes numbers to approximate\n");
}

// A header of years, say: its label is the only one that is no class.
TEST_F(CliDataFiles, AHeaderOfNumbers) {
  workshop.write("x", "2019,2020,2021\n1,2,0\n2,1,1\n");
  EXPECT_EQ(run("csv"), std::string("error: HERE/x: line 1: the label is too large, and all others are classes\n"
                                    "  expected: classes numbered from 0 on, and no more of them than examples (3)\n"
                                    "  got:      2021\n") +
                            kCaretX +
                            "  hint:     does the first line name the columns? data.header = true takes it as their "
                            "names\n");
}

TEST_F(CliDataFiles, LinksToNothing) {
  ::unlink(workshop.path("x").c_str());
  ASSERT_EQ(::symlink("nowhere", workshop.path("x").c_str()), 0);
  EXPECT_NE(run("npy").find("HERE (a link to nothing)\n"), std::string::npos);
  workshop.write("e.toml", std::string("[data]\nsource = \"csv\"\ntrain = \"") + workshop.path("x") + "\"\n" + kModel);
  Ended ended = workshop.run({"train", "e.toml"});
  EXPECT_EQ(ended.err.find("error: " + workshop.path("x") +
                           ": the file cannot be reached\n"
                           "  expected: a file that this user may read, or a link to one\n"
                           "  got:      a link to nothing\n"),
            0u)
      << ended.err;
}

TEST_F(CliDataFiles, HomeFolders) {
  workshop.write("e.toml", std::string("[data]\nsource = \"csv\"\ntrain = \"~/x.csv\"\n") + kModel);
  Ended ended = workshop.run({"train", "e.toml"});
  EXPECT_EQ(ended.code, 2);
  EXPECT_NE(ended.err.find("  hint:     ~ is no folder here, only in a shell: write the whole path\n"),
            std::string::npos)
      << ended.err;
}

// Sparse files of more bytes than any machine has memory.
TEST_F(CliDataFiles, LargerThanTheMemory) {
  std::string header = npy_bytes("{'descr': '<f4', 'fortran_order': True, 'shape': (4, 100000000000), }", "");
  workshop.write("x", header);
  ASSERT_EQ(::truncate(workshop.path("x").c_str(), static_cast<off_t>(header.size()) + 1'600'000'000'000), 0);
  std::string text = run("npy");
  EXPECT_EQ(text.find("error: HERE/x: the data does not fit in memory\n  expected: at most "), 0u) << text;
  EXPECT_NE(text.find(", half of the memory that there is\n  got:      1.5 TiB as float32\n"), std::string::npos)
      << text;
}

TEST_F(CliDataFiles, DigitsThatCannotFit) {
  workshop.write("e.toml", std::string("[data]\nsource = \"digits\"\nn_train = 100000000000\n") + kModel);
  Ended ended = workshop.run({"train", "e.toml"});
  EXPECT_EQ(ended.code, 2);
  EXPECT_EQ(ended.err.find("error: so many digits do not fit in memory\n  expected: at most "), 0u) << ended.err;
  EXPECT_NE(ended.err.find("  got:      357 TiB for 100000000000 training digits and the others\n"
                           "  config:   e.toml:3:11\n"
                           "      3 | n_train = 100000000000\n"
                           "        |           ^^^^^^^^^^^^\n"),
            std::string::npos)
      << ended.err;
}

// What can be trained on, but hardly learned from, is said and done.
TEST_F(CliDataFiles, DoubtsAreWarnings) {
  set("y", Tensor::vector<int64_t>({1, 2, 1, 2}));
  workshop.write("e.toml", std::string("[data]\nsource = \"npy\"\ntrain = \"x\"\ntrain_labels = \"y\"\n") + kModel);
  const std::string warning =
      "warning: " + workshop.path("y") +
      ": the labels begin at 1: class 0 has no examples, but the model learns it too; subtract 1 "
      "from each label\n";
  for (const char* command : {"train", "check", "data"}) {
    Ended ended = workshop.run({command, "e.toml"});
    EXPECT_EQ(ended.code, 0);
    EXPECT_EQ(ended.err, warning) << command;
  }
}

}  // namespace
}  // namespace thtrain
