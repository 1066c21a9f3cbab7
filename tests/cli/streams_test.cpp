// What surrounds the program: streams that are closed or broken, a folder that is gone, the environment.
#include <gtest/gtest.h>
#include <unistd.h>

#include "compiler/base/str.h"
#include "tests/support/cli_support.h"

namespace thtrain {
namespace {

class CliStreams : public testing::Test {
 protected:
  CliStreams() { workshop.write("tiny.toml", tiny_experiment()); }
  Workshop workshop;
};

TEST_F(CliStreams, ABrokenPipeEndsQuietly) {
  Ended ended = workshop.shell("($THTRAIN info --ops; echo $? >code) | head -1");
  EXPECT_EQ(ended.err, "");
  EXPECT_EQ(std::count(ended.out.begin(), ended.out.end(), '\n'), 1);
  // The same where the signal is ignored, as by some programs that start others.
  ended = workshop.shell(
      "trap '' PIPE; (until [ -e closed ]; do :; done; $THTRAIN info --ops; echo $? >code) | (exec <&-; touch closed)");
  EXPECT_EQ(ended.err, "");
  EXPECT_EQ(workshop.read("code"), "141\n");
}

// The run stops as after Ctrl-C, and loses nothing.
TEST_F(CliStreams, ARunWhoseReaderHasGoneEndsWithACheckpoint) {
  Ended ended = workshop.shell(
      "($THTRAIN train tiny.toml --run-dir run trainer.epochs=5000 trainer.checkpoint_seconds=0; echo $? >code) | head "
      "-1");
  EXPECT_EQ(ended.err, "");
  EXPECT_EQ(workshop.read("code"), "141\n");
  const std::string metrics = workshop.read("run/metrics.jsonl");
  const auto epochs = std::count(metrics.begin(), metrics.end(), '\n');
  EXPECT_GE(epochs, 1);
  EXPECT_LT(epochs, 5000);
  EXPECT_TRUE(workshop.exists("run/checkpoint.npz"));
}

// The first file that was opened replaced standard output, and got its lines.
TEST_F(CliStreams, ClosedStreamsAreNotTakenByFiles) {
  Ended ended = workshop.shell("$THTRAIN train tiny.toml --run-dir run trainer.epochs=2 <&- >&- 2>&-");
  EXPECT_EQ(ended.code, 0);
  EXPECT_EQ(ended.out + ended.err, "");
  Ended resumed = workshop.run({"resume", "run"});
  EXPECT_EQ(resumed.code, 0) << resumed.err;
  const std::string metrics = workshop.read("run/metrics.jsonl");
  EXPECT_EQ(metrics.find("{\"epoch\": 1,"), 0u) << metrics;
  EXPECT_EQ(std::count(metrics.begin(), metrics.end(), '\n'), 2) << metrics;
  EXPECT_EQ(workshop.shell("$THTRAIN info >&-").code, 0);
}

TEST_F(CliStreams, AFullDeviceIsNamed) {
  Ended ended = workshop.shell("$THTRAIN info >/dev/full");
  EXPECT_EQ(ended.code, 2);
  EXPECT_EQ(ended.err,
            "error: standard output cannot be written\n"
            "  expected: a file or device with room\n"
            "  got:      no space left on device\n"
            "  hint:     make room, or send the output elsewhere\n");
}

TEST_F(CliStreams, AWorkingFolderThatIsGone) {
  for (const char* command :
       {"train ../tiny.toml", "train tiny.toml", "check tiny.toml", "eval run", "resume run", "data tiny.toml"}) {
    SCOPED_TRACE(command);
    Ended ended = workshop.shell("mkdir gone && cd gone && rmdir ../gone && exec $THTRAIN " + std::string(command));
    EXPECT_EQ(ended.code, 2);
    EXPECT_TRUE(ended.err.ends_with(
        "error: the working folder is gone\n  hint:     go to a folder that exists, and try again\n"))
        << ended.err;
  }
  Ended ended = workshop.shell("mkdir gone && cd gone && rmdir ../gone && exec $THTRAIN info");
  EXPECT_EQ(ended.code, 0) << ended.err;
}

// Root reads everything: the program runs as somebody else where the tests run as root.
TEST_F(CliStreams, PermissionDeniedIsNamedAsSuch) {
  const std::string other = ::geteuid() == 0 ? "setpriv --reuid=65534 --regid=65534 --clear-groups " : "";
  if (workshop.shell("chmod 755 . && " + other + "$THTRAIN --version").code != 0)
    GTEST_SKIP() << "the program cannot be run as another user here";
  workshop.write("locked.toml", tiny_experiment());
  workshop.write("locked.npz", "x");
  workshop.write("closed/tiny.toml", tiny_experiment());
  ASSERT_EQ(workshop.shell("chmod 000 locked.toml locked.npz closed && chmod 644 tiny.toml").code, 0);
  const std::map<std::string, std::string> wanted = {
      {"check locked.toml", "error: cannot read the experiment locked.toml\n  expected: a TOML file\n"},
      {"check closed/tiny.toml", "error: cannot read the experiment closed/tiny.toml\n  expected: a TOML file\n"},
      {"eval closed/run", "error: cannot read the experiment closed/run\n  expected: a TOML file\n"},
      {"eval tiny.toml --weights locked.npz",
       "error: locked.npz: the file may not be read\n  expected: read permission for this user\n"},
      {"eval tiny.toml --weights closed/w.npz",
       "error: closed/w.npz: the file may not be read\n"
       "  expected: permission for this user to enter the folder closed\n"},
      {"predict tiny.toml --weights w.npz --input locked.npz --output p.npy",
       "error: locked.npz: the file may not be read\n  expected: read permission for this user\n"},
      {"explain tiny.toml --html closed/page.html",
       "error: closed/page.html: the file cannot be written\n  expected: write permission for the folder closed\n"},
      {"bench paper --figures closed",
       "error: closed/fig5.png: the file cannot be written\n  expected: write permission for the folder closed\n"}};
  for (const auto& [command, text] : wanted) {
    std::string hint;
    if (text.find("read permission") != std::string::npos)
      hint =
          str("  hint:     ", other.empty() ? "run: chmod u+r locked.npz" : "the file belongs to another user", '\n');
    Ended ended = workshop.shell("HOME=/nonexistent " + other + "$THTRAIN " + command);
    EXPECT_EQ(ended.code, 2) << command;
    EXPECT_EQ(ended.err, text + "  got:      permission denied\n" + hint) << command;
  }
  workshop.shell("chmod 755 closed");
}

TEST_F(CliStreams, AnEnvironmentThatSaysNothingIsNamedOnce) {
  Ended ended = workshop.shell("OMP_NUM_THREADS=abc $THTRAIN check tiny.toml");
  EXPECT_EQ(ended.code, 0);
  EXPECT_EQ(ended.err.find("warning: OMP_NUM_THREADS is not a number of threads; all "), 0u) << ended.err;
  EXPECT_NE(ended.err.find("cores are used\n"
                           "  expected: an integer above 0, or several with commas between them\n"
                           "  got:      abc\n"),
            std::string::npos)
      << ended.err;
  EXPECT_EQ(ended.err.find("OMP_NUM_THREADS", 20), std::string::npos) << ended.err;
  for (const char* bad : {"0", "-1", "2,x"})
    EXPECT_NE(workshop.shell("OMP_NUM_THREADS=" + std::string(bad) + " $THTRAIN info").err, "") << bad;
  for (const char* good : {"", "1", "2,2", "' 3, 1'"}) {
    ended = workshop.shell("OMP_NUM_THREADS=" + std::string(good) + " $THTRAIN info");
    EXPECT_EQ(ended.err, "") << good;
    EXPECT_EQ(ended.code, 0) << good;
  }
  EXPECT_EQ(workshop.shell("OMP_NUM_THREADS=99999 $THTRAIN check tiny.toml").err,
            "warning: OMP_NUM_THREADS is larger than thtrain's most; 256 threads are used\n"
            "  expected: at most 256\n  got:      99999\n");
  EXPECT_EQ(workshop.shell("THTRAIN_VECTOR_BYTES=abc $THTRAIN info").err,
            "error: THTRAIN_VECTOR_BYTES is not a width of vectors\n  expected: 16, 32 or 64\n  got:      abc\n");
}

// A bar belongs on a terminal that can draw it; colours are never used.
TEST_F(CliStreams, NothingIsDrawnWhereNobodySeesIt) {
  Ended ended = workshop.shell("TERM=dumb $THTRAIN train tiny.toml trainer.epochs=1 --run-dir a 2>&1");
  EXPECT_EQ(ended.code, 0);
  EXPECT_EQ(ended.out.find_first_of("\x1b\r"), std::string::npos) << ended.out;
}

// Names of files and what is in them may hold what a terminal obeys: it is shown, and not sent.
TEST_F(CliStreams, NoControlCharacterOfAFileReachesTheTerminal) {
  workshop.write("\x1b[31m.toml", tiny_experiment());
  Ended ended = workshop.run({"check", "\x1b[31m.toml"});
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_EQ(ended.out.find("\\x1b[31m.toml: built, compiled, and one step done\n"), 0u) << ended.out;
  EXPECT_EQ(ended.out.find('\x1b'), std::string::npos);

  workshop.write("d.csv", "a\u009b2J,b\n1,0\n2,1\n");
  workshop.write("c.toml",
                 "[data]\nsource = \"csv\"\ntrain = \"d.csv\"\nlabel_column = \"c\"\n[[model.layers]]\n"
                 "type = \"softmax\"\n");
  ended = workshop.run({"check", "c.toml"});
  EXPECT_EQ(ended.code, 2);
  EXPECT_NE(ended.err.find("a\\u009b2J"), std::string::npos) << ended.err;
  EXPECT_EQ(ended.err.find("\u009b"), std::string::npos);

  // Far enough behind the beginning, by which a table is told from other files.
  std::string rows = "a,b\n";
  for (int i = 0; i < 1000; ++i) rows += "1,0\n";
  workshop.write("cells.csv", rows + "\x1b]0;title\x07,1\n");
  ended = workshop.run({"check", "c.toml", "data.train=cells.csv", "data.label_column=b"});
  EXPECT_EQ(ended.code, 2);
  EXPECT_NE(ended.err.find("\\x1b]0;title"), std::string::npos) << ended.err;
  EXPECT_EQ(ended.err.find_first_of("\x1b\x07"), std::string::npos);
}

TEST_F(CliStreams, ManyMistakesAreCounted) {
  std::string text = tiny_experiment();
  for (int i = 0; i < 20000; ++i) text += "unknown_key_" + std::to_string(i) + " = 1\n";
  workshop.write("many.toml", text);
  Ended ended = workshop.run({"check", "many.toml"});
  EXPECT_EQ(ended.code, 2);
  EXPECT_LT(ended.err.size(), 20000u);
  EXPECT_TRUE(ended.err.ends_with("\nerror: 19980 more mistakes are not shown\n")) << ended.err;
}

TEST_F(CliStreams, ALineOfMegabytesIsClipped) {
  std::string text = tiny_experiment() + "list = [";
  for (int i = 0; i < 300000; ++i) text += "1,";
  workshop.write("wide.toml", text + "1]\n");
  Ended ended = workshop.run({"check", "wide.toml"});
  EXPECT_EQ(ended.code, 2);
  EXPECT_LT(ended.err.size(), 1000u);
  EXPECT_NE(ended.err.find("     23 | list = [1,1,1,1,1,1,"), std::string::npos) << ended.err;
}

}  // namespace
}  // namespace thtrain
