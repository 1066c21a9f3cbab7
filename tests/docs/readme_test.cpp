// README.md: its experiment of one's own arrays runs as it is printed, and its built-in labs reach its figures.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <regex>

#include "datasets/digits_generator.h"
#include "datasets/file.h"
#include "datasets/npy.h"
#include "tests/support/cli_support.h"

namespace thtrain {
namespace {

namespace fs = std::filesystem;

// The block of README.md that begins with this line; without its last line end.
std::string block_of_readme(const std::string& first) {
  const std::string page = read_file("README.md");
  const size_t begin = page.find("\n" + first) + 1;
  EXPECT_NE(begin, 0u) << first;
  return page.substr(begin, page.find("\n```", begin) - begin);
}

TEST(Readme, TheExperimentOfOnesOwnArraysRuns) {
  Workshop workshop;
  workshop.write("mine.toml", block_of_readme("# mine.toml, next to the files\n"));
  const Digits digits = generate_digits(600, 1, 0), others = generate_digits(20, 1, 1);
  write_npy(workshop.path("x.npy"), digits.images.cast(DType::kFloat32).reshape({600, 28 * 28}));
  write_npy(workshop.path("y.npy"), digits.labels.cast(DType::kInt64));
  write_npy(workshop.path("new.npy"), others.images.cast(DType::kFloat32).reshape({20, 28 * 28}));
  std::istringstream commands(block_of_readme("./thtrain check mine.toml"));
  size_t run = 0;
  for (std::string command; std::getline(commands, command); ++run) {
    SCOPED_TRACE(command);
    ASSERT_TRUE(command.starts_with("./thtrain "));
    const Ended ended = workshop.shell("\"$THTRAIN\" " + command.substr(10));
    EXPECT_EQ(ended.code, 0) << ended.err;
    EXPECT_EQ(ended.err.find("error"), std::string::npos) << ended.err;
    EXPECT_FALSE(ended.out.empty());
  }
  EXPECT_EQ(run, 3u);
  std::istringstream predicted(workshop.read("predicted.csv"));
  std::string line;
  int rows = 0, right = 0;
  while (std::getline(predicted, line)) {
    if (!line.empty() && std::isdigit(static_cast<unsigned char>(line[0])) && rows < 20)
      right += std::stoi(line) == others.labels.as_int(rows++);
  }
  EXPECT_EQ(rows, 20);
  EXPECT_GE(right, 10);  // 2 is chance
}

// Of the rows of the table whose digits are built in: a figure, or the least and the greatest one of several vector
// widths and numbers of threads, which round in other ways. A fifth may differ beyond them.
TEST(Readme, BuiltInLabsReachItsFigures) {
  const std::string page = read_file("README.md");
  const std::regex row("\\| `(\\w+_digits)`, built-in digits \\| ([0-9.]+)(?: to ([0-9.]+))? %");
  int rows = 0;
  for (std::sregex_iterator i(page.begin(), page.end(), row), end; i != end; ++i, ++rows) {
    const std::string lab = (*i)[1];
    const double least = std::stod((*i)[2]), greatest = (*i)[3].matched ? std::stod((*i)[3]) : least;
    Workshop workshop;
    const Ended ended = workshop.run({"train", fs::absolute("configs/labs/" + lab + ".toml").string(), "--run-dir",
                                      "run", "--quiet", "--json", "output.plots=false"});
    ASSERT_EQ(ended.code, 0) << ended.err;
    const double error = std::stod(one_json_line(ended.out).at("test_error"));
    EXPECT_GE(error, least - least / 5) << lab;
    EXPECT_LE(error, greatest + greatest / 5) << lab;
  }
  EXPECT_EQ(rows, 2);
}

}  // namespace
}  // namespace thtrain
