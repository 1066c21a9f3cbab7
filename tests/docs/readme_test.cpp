// README.md: its built-in labs reach its figures. (tests/docs/page_commands.py runs its commands.)
#include <gtest/gtest.h>

#include <filesystem>
#include <regex>

#include "compiler/base/file.h"
#include "tests/support/cli_support.h"

namespace thtrain {
namespace {

namespace fs = std::filesystem;

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
