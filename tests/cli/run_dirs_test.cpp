// Where `--run-dir` may lead: links, the working folder, mount points.
#include <filesystem>

#include "tests/support/cli_support.h"

namespace thtrain {
namespace {

namespace fs = std::filesystem;

class CliRunDirs : public testing::Test {
 protected:
  CliRunDirs() {
    workshop.write("tiny.toml", tiny_experiment() + "[compiler]\nmode = \"reference\"\n[output]\nplots = false\n");
  }
  Workshop workshop;
};

TEST_F(CliRunDirs, ALinkAndTheWorkingFolder) {
  fs::create_directories(workshop.path("real"));
  fs::create_directory_symlink("real", workshop.path("link"));
  // A run that does not reach its first step leaves the link and the empty folder.
  EXPECT_EQ(workshop.run({"train", "tiny.toml", "--run-dir", "link", "model.weights=tiny.toml"}).code, 2);
  EXPECT_TRUE(fs::is_symlink(workshop.path("link")));
  EXPECT_TRUE(fs::is_empty(workshop.path("real")));
  Ended ended = workshop.run({"train", "tiny.toml", "--run-dir", "link", "--quiet", "trainer.epochs=1"});
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_TRUE(ended.out.ends_with("\nrun folder link\n")) << ended.out;
  EXPECT_TRUE(workshop.exists("real/best.npz"));
  EXPECT_EQ(workshop.run({"resume", "link", "trainer.epochs=2", "--quiet"}).code, 0);
  EXPECT_EQ(workshop.run({"train", "tiny.toml", "--run-dir", "link"}).err,
            "error: link: there is a run in this folder already, or something else\n"
            "  expected: a folder that does not exist yet, or an empty one\n"
            "  hint:     `thtrain resume link` goes on with a run; --run-dir names another folder\n");

  fs::create_directories(workshop.path("here"));
  ended = workshop.shell(
      "cd here && \"$THTRAIN\" train ../tiny.toml --run-dir . --quiet trainer.epochs=1 && "
      "\"$THTRAIN\" resume . trainer.epochs=2 --quiet && ls");
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_TRUE(ended.out.ends_with("\nrun folder .\nbest.npz\ncheckpoint.npz\nconfig.toml\nmetrics.jsonl\nrun.json\n"))
      << ended.out;
  EXPECT_EQ(without_seconds(workshop.read("here/metrics.jsonl")), without_seconds(workshop.read("real/metrics.jsonl")));
}

TEST_F(CliRunDirs, ASweepInALink) {
  fs::create_directories(workshop.path("real"));
  fs::create_directory_symlink("real", workshop.path("link"));
  const std::vector<std::string> command = {"sweep",   "tiny.toml", "--run-dir",       "link",
                                            "--quiet", "seed=1,2",  "trainer.epochs=1"};
  // What a process left that was killed while it filled the folder.
  workshop.write("real/sweep.json.tmp-17-0", "");
  fs::create_directories(workshop.path("real/logs"));
  EXPECT_EQ(workshop.run(command).code, 0);
  EXPECT_TRUE(workshop.exists("real/seed=2/best.npz"));
  EXPECT_TRUE(fs::is_symlink(workshop.path("link")));
  fs::remove_all(workshop.path("real/seed=2"));
  fs::remove_all(workshop.path("real/logs"));  // made again
  EXPECT_EQ(workshop.run(command).code, 0);
  EXPECT_TRUE(workshop.exists("real/logs/seed=2.log"));
}

// In a mount namespace of its own; skipped where the system allows none.
TEST_F(CliRunDirs, AMountPoint) {
  fs::create_directories(workshop.path("mounted"));
  if (workshop.shell("unshare -rm mount -t tmpfs none mounted").code != 0)
    GTEST_SKIP() << "no file system can be mounted here";
  const Ended ended = workshop.shell(
      "unshare -rm sh -c 'mount -t tmpfs none mounted && \"$THTRAIN\" train tiny.toml --run-dir mounted --quiet "
      "trainer.epochs=1 && ls mounted'");
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_TRUE(
      ended.out.ends_with("\nrun folder mounted\nbest.npz\ncheckpoint.npz\nconfig.toml\nmetrics.jsonl\nrun.json\n"))
      << ended.out;
}

}  // namespace
}  // namespace thtrain
