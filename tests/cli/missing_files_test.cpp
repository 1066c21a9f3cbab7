// Files that are not there, and links that lead nowhere: the whole text of the error.
#include <gtest/gtest.h>

#include <filesystem>

#include "tests/support/cli_support.h"

namespace thtrain {
namespace {

class CliMissingFiles : public testing::Test {
 protected:
  // The text begins with a line end, so that it is alone on its lines in the source.
  void expect(const std::vector<std::string>& arguments, const std::string& text) {
    const Ended ended = workshop.run(arguments);
    EXPECT_EQ(ended.code, 2);
    EXPECT_EQ(ended.out, "");
    EXPECT_EQ("\n" + ended.err, text);
  }
  Workshop workshop;
};

TEST_F(CliMissingFiles, WeightsThatAreNotThereAndLinksToNothing) {
  workshop.write("e.toml", tiny_experiment());
  workshop.write("beste.npz", "");
  expect({"eval", "e.toml", "--weights", "best.npz"}, R"(
error: best.npz: no such file
  expected: an .npz file that training wrote: best.npz in the folder of a run
  hint:     did you mean beste.npz?
)");
  std::filesystem::create_symlink("gone.npz", workshop.path("link.npz"));
  std::filesystem::create_symlink("gone.toml", workshop.path("link.toml"));
  std::filesystem::create_symlink("gone", workshop.path("link"));
  std::filesystem::create_symlink("round.npz", workshop.path("round.npz"));
  expect({"eval", "e.toml", "--weights", "link.npz"}, R"(
error: link.npz: no such file
  expected: a file, or a link that leads to one
  got:      a link to gone.npz, which is not there
)");
  expect({"eval", "e.toml", "--weights", "round.npz"}, R"(
error: round.npz: the file cannot be read
  expected: a file, or a link that leads to one
  got:      too many levels of symbolic links
)");
  expect({"check", "link.toml"}, R"(
error: cannot read the experiment link.toml
  expected: a TOML file
  got:      a link to gone.toml, which is not there
)");
  expect({"check", "link"}, R"(
error: cannot read link
  expected: a TOML file, or the folder of a run
  got:      a link to gone, which is not there
)");
}

}  // namespace
}  // namespace thtrain
