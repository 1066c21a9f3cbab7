// What the program says and does when a run goes on, is stopped, or cannot write.
#include <gtest/gtest.h>
#include <signal.h>

#include <fstream>

#include "datasets/npz.h"
#include "tests/support/cli_support.h"

namespace thtrain {
namespace {

class CliResume : public testing::Test {
 protected:
  CliResume() { workshop.write("tiny.toml", tiny_experiment()); }

  // A run that goes on until it is told to stop; after its first epoch.
  pid_t start_long_run(const std::string& folder) {
    pid_t process = workshop.start({"train", "tiny.toml", "--run-dir", folder, "--quiet", "trainer.epochs=10000000"});
    EXPECT_TRUE(wait_until([&] { return workshop.read(folder + "/metrics.jsonl").size() > 100; }))
        << workshop.read("log");
    return process;
  }
  int64_t step_of(const std::string& folder) {
    return read_npz(workshop.path(folder + "/checkpoint.npz")).at("run.position").as_int(2);
  }
  // Its standard error, with the workshop's path as HERE, after a line end.
  std::string error_of(const Ended& ended, int code = 2) {
    EXPECT_EQ(ended.code, code);
    return "\n" + replaced(ended.err, workshop.path(), "HERE");
  }
  Workshop workshop;
};

TEST_F(CliResume, TakesAnEditOnlyWhenToldTo) {
  ASSERT_EQ(workshop.run({"train", "tiny.toml", "--run-dir", "a"}).code, 0);
  std::string config = workshop.read("a/config.toml");
  workshop.write("a/config.toml",
                 replaced(replaced(config, "learning_rate = 0.1", "learning_rate = 0.2"), "epochs = 3", "epochs = 4"));
  EXPECT_EQ(error_of(workshop.run({"resume", "a"})), R"(
error: a/config.toml: the experiment was edited since the last checkpoint
  expected: what the run was trained with so far
  got:      trainer.epochs: 3 then, 4 now
            trainer.learning_rate: 0.1 then, 0.2 now
  hint:     --accept-edits goes on with what it says now
)");
  Ended ended = workshop.run({"resume", "a", "--accept-edits"});
  EXPECT_EQ(error_of(ended, 0), R"(
edited since the checkpoint: trainer.epochs: 3 then, 4 now; trainer.learning_rate: 0.1 then, 0.2 now
)");
  EXPECT_TRUE(ended.out.starts_with("goes on after step 30: epoch 4, minibatch 1 of 10\n200 training, ")) << ended.out;
  EXPECT_EQ(read_json(workshop.read("a/run.json"), "run.json")["changes.1"],
            "step 30: trainer.learning_rate: 0.1 then, 0.2 now");
  ended = workshop.run({"resume", "a"});
  EXPECT_EQ(error_of(ended, 0), "\n");
  EXPECT_TRUE(ended.out.starts_with("the run is over: 40 steps done\n")) << ended.out;
}

// At the same size, by a program that keeps the file's time: its bytes tell. By one that does not: its time.
// Another model makes other choices, too; it is the edit that is to be named.
TEST_F(CliResume, AnEditOfTheLayersIsNamedAtOnce) {
  ASSERT_EQ(workshop.run({"train", "tiny.toml", "--run-dir", "run", "--quiet"}).code, 0);
  workshop.write("run/config.toml", replaced(workshop.read("run/config.toml"), "units = 20", "units = 30"));
  for (const std::vector<std::string>& more : {std::vector<std::string>{}, {"--allow-different-bits"}}) {
    std::vector<std::string> words = {"resume", "run", "--accept-edits"};
    words.insert(words.end(), more.begin(), more.end());
    std::string text = error_of(workshop.run(words));
    EXPECT_TRUE(text.starts_with("\nerror: run/checkpoint.npz: ")) << text;
    EXPECT_EQ(text.find("choices: "), std::string::npos) << text;
    EXPECT_TRUE(
        text.ends_with("the experiment was edited since the checkpoint: model.layers.0.units: 20 then, 30 now;\n"
                       "            weights of another model cannot go on: undo the edit, or train another run\n"))
        << text;
  }
}

TEST_F(CliResume, NoticesAnotherStreamedFile) {
  std::string x(40 * 3 * sizeof(float), '\0'), y;
  for (int i = 0; i < 40; ++i) y += static_cast<char>(i % 2);
  workshop.write("x.npy", npy_bytes("{'descr': '<f4', 'fortran_order': False, 'shape': (40, 3), }", x));
  workshop.write("y.npy", npy_bytes("{'descr': '|u1', 'fortran_order': False, 'shape': (40,), }", y));
  workshop.write("stream.toml",
                 "[data]\nsource = \"npy\"\ntrain = \"x.npy\"\ntrain_labels = \"y.npy\"\nn_valid = 0\n"
                 "memory_limit = 1e-9\n\n[[model.layers]]\ntype = \"softmax\"\n\n"
                 "[trainer]\nbatch_size = 10\nepochs = 2\n");
  ASSERT_EQ(workshop.run({"train", "stream.toml", "--run-dir", "run"}).code, 0);
  ASSERT_EQ(workshop.run({"resume", "run"}).code, 0);
  ASSERT_EQ(workshop
                .shell("cp -p x.npy x.old && printf '\\001' | dd of=x.npy bs=1 seek=150 conv=notrunc 2>/dev/null && "
                       "touch -r x.old x.npy")
                .code,
            0);
  for (const char* change : {"true", "cp x.old x.npy && touch -d 2001-01-01 x.npy"}) {
    ASSERT_EQ(workshop.shell(change).code, 0);
    std::string text = error_of(workshop.run({"resume", "run"}));
    EXPECT_TRUE(
        text.starts_with("\nerror: run: the run would go on with other bits than it would have had\n"
                         "  expected: what the run began with\n"
                         "  got:      training data: 40 examples of 608 bytes, modified "))
        << text;
    EXPECT_TRUE(text.ends_with(" now\n  hint:     --allow-different-bits goes on all the same\n")) << text;
  }
  ASSERT_EQ(workshop.shell("cp -p x.old x.npy").code, 0);
  EXPECT_EQ(workshop.run({"resume", "run"}).code, 0);
}

TEST_F(CliResume, TwoProcessesDoNotWriteToOneFolder) {
  pid_t process = start_long_run("run");
  EXPECT_EQ(error_of(workshop.run({"resume", "run"})),
            "\nerror: run: another process writes to this run folder\n"
            "  expected: one process for each run folder\n"
            "  got:      process " +
                std::to_string(process) +
                "\n"
                "  hint:     wait until it is done, or stop it first\n");
  EXPECT_EQ(workshop.run({"eval", "run"}).code, 0);  // reading is for everybody
  ::kill(process, SIGKILL);
  EXPECT_EQ(Workshop::wait(process), 128 + SIGKILL);
  // What a killed process leaves.
  workshop.write("run/checkpoint.npz.tmp-1-0", "half");
  workshop.write(".thtrain-new-" + std::to_string(process) + "-0/config.toml", "");
  process = workshop.start({"resume", "run"});
  EXPECT_TRUE(wait_until([&] { return workshop.read("log").find("\nepoch ") != std::string::npos; }));
  ::kill(process, SIGINT);
  EXPECT_EQ(Workshop::wait(process), 130);
  for (const std::string& name : workshop.list()) {
    EXPECT_EQ(name.find(".tmp-"), std::string::npos) << name;
    EXPECT_EQ(name.find(".thtrain-new-"), std::string::npos) << name;
  }
}

// The terminal was closed.
TEST_F(CliResume, AHangupEndsWithACheckpoint) {
  pid_t process = start_long_run("run");
  ::kill(process, SIGHUP);
  EXPECT_EQ(Workshop::wait(process), 129);
  EXPECT_TRUE(workshop.read("log").starts_with(
      "stopping after this minibatch, with a checkpoint; a second signal stops at once\ninterrupted in epoch "))
      << workshop.read("log");
  EXPECT_GT(step_of("run"), 0);
}

TEST_F(CliResume, WhatNohupIgnoresStaysIgnored) {
  Ended ended = workshop.shell(
      "trap '' HUP\n"
      "$THTRAIN train tiny.toml --run-dir run --quiet trainer.epochs=10000000 & process=$!\n"
      "while [ ! -s run/metrics.jsonl ]; do sleep 0.01; done\n"
      "kill -HUP $process; kill -TERM $process; wait $process");
  EXPECT_EQ(error_of(ended, 143),
            "\nstopping after this minibatch, with a checkpoint; a second signal stops at once\n");
}

// The reader of its lines is gone: the run ends as after Ctrl-C.
TEST_F(CliResume, OutputThatCannotBeWrittenEndsWithACheckpoint) {
  Ended ended = workshop.shell(
      "mkfifo pipe; : <pipe & exec 3>pipe; wait\n"
      "$THTRAIN train tiny.toml --run-dir run trainer.epochs=10000000 >&3");
  EXPECT_EQ(ended.code, 141);
  EXPECT_EQ(ended.err, "");
  EXPECT_EQ(step_of("run"), 1);
  ended = workshop.shell("$THTRAIN resume run >/dev/full");
  EXPECT_EQ(error_of(ended), R"(
error: standard output cannot be written
  got:      no space left on device
  hint:     the checkpoint of step 2 is kept: `thtrain resume run` goes on from it
)");
}

// SIGXFSZ: no file may grow beyond 60 blocks of 512 bytes; best.npz is the first that would.
TEST_F(CliResume, TheLimitOnFileSizesIsAnErrorOfTheWrite) {
  workshop.write("small.toml", replaced(tiny_experiment(), "units = 20", "units = 1") + "checkpoint_epochs = 1\n");
  ASSERT_EQ(workshop.run({"train", "small.toml", "--run-dir", "whole"}).code, 0);
  auto size = [&](const std::string& name) { return workshop.read(name).size(); };
  ASSERT_GT(size("whole/checkpoint.npz"), size("whole/best.npz"));
  // Blocks below the checkpoint of the first epoch, which has a shorter history than the last one, and above the first
  // checkpoint, which has no best weights.
  Ended ended = workshop.shell("ulimit -f " + std::to_string(size("whole/checkpoint.npz") / 512 - 1) +
                               "; $THTRAIN train small.toml --run-dir run --quiet");
  EXPECT_EQ(error_of(ended), R"(
error: run/checkpoint.npz: the file cannot be written
  expected: a file below the limit on sizes (`ulimit -f`)
  got:      a file at the limit
  hint:     raise the limit and try again; an earlier file of this name is unchanged;
            the checkpoint of step 0 is kept: `thtrain resume run` goes on from it
)");
  EXPECT_EQ(workshop.run({"resume", "run"}).code, 0);
  EXPECT_TRUE(workshop.read("run/best.npz") == workshop.read("whole/best.npz"));
}

TEST_F(CliResume, PathsThatTheSystemRefusesAreTheUsersMistake) {
  std::string name(300, 'n'), path(5000, 'p');
  EXPECT_EQ(error_of(workshop.run({"train", "tiny.toml", "--run-dir", name})),
            "\nerror: " + name +
                ": the folder cannot be made\n"
                "  got:      a name that is too long\n"
                "  hint:     choose another folder with --run-dir, or another root for new ones with output.root\n");
  EXPECT_EQ(error_of(workshop.run({"train", "tiny.toml", "output.root=" + name})),
            "\nerror: " + name +
                "/tiny-1: the folder cannot be made\n"
                "  got:      a name that is too long\n"
                "  hint:     choose another folder with --run-dir, or another root for new ones with output.root\n");
  // A long message is clipped in its middle.
  EXPECT_TRUE(error_of(workshop.run({"resume", path}))
                  .ends_with("p: the run folder cannot be read\n"
                             "  expected: a folder that `thtrain train` made\n"
                             "  got:      a name that is too long\n"));
  EXPECT_EQ(workshop.list(), std::vector<std::string>{"tiny.toml"});
  // A name of the greatest length is none too long.
  std::string longest(255, 'n');
  EXPECT_EQ(error_of(workshop.run({"train", "tiny.toml", "--run-dir", longest, "--quiet"}), 0), "\n");
}

TEST_F(CliResume, ADeletedWorkingFolder) {
  EXPECT_EQ(error_of(workshop.shell("mkdir gone; cd gone; rmdir ../gone; exec $THTRAIN train ../tiny.toml")), R"(
error: the working folder is gone
  hint:     go to a folder that exists, and try again
)");
  EXPECT_EQ(
      error_of(workshop.shell("here=$PWD; mkdir gone; cd gone; rmdir ../gone; exec $THTRAIN train $here/tiny.toml")),
      R"(
error: runs/tiny-1: the folder cannot be made
  got:      no such file or folder
  hint:     choose another folder with --run-dir, or another root for new ones with output.root
error: the working folder is gone
  hint:     go to a folder that exists, and try again
)");
}

TEST_F(CliResume, AnExperimentMayComeFromAPipe) {
  EXPECT_EQ(error_of(workshop.shell("cat tiny.toml | $THTRAIN train /dev/stdin --run-dir run"), 0), "\n");
  EXPECT_EQ(error_of(workshop.run({"resume", "run"}), 0), "\n");
}

TEST_F(CliResume, APathThatIsNotUtf8IsRefusedAtTheStart) {
  std::string text = R"(
error: HERE/caf\xe9: the files of a run folder cannot hold this path
  expected: UTF-8 in the names of the experiment's folder and its data files
  hint:     rename the folder or the file, or make a link to it that has another name
)";
  ASSERT_EQ(workshop.shell("mkdir caf\xe9 && cp tiny.toml caf\xe9/ && ln -s caf\xe9 link").code, 0);
  EXPECT_EQ(error_of(workshop.run({"train", "caf\xe9/tiny.toml", "--run-dir", "run"})), text);
  EXPECT_FALSE(workshop.exists("run"));
  // The run folder's own name is in none of its files.
  EXPECT_EQ(workshop.run({"train", "link/tiny.toml", "--run-dir", "r\xfcn"}).code, 0);
  EXPECT_EQ(workshop.run({"resume", "r\xfcn"}).code, 0);
}

TEST_F(CliResume, MoreUnitsThanAnyMemoryHolds) {
  Ended ended = workshop.run({"train", "tiny.toml", "model.layers.0.units=9223372036854775807"});
  std::string text = error_of(ended), memory = "expected: at most ";
  size_t at = text.find(memory) + memory.size(), end = text.find(" GiB", at);
  EXPECT_EQ(text.substr(0, at) + "N" + text.substr(end), R"(
error: model.layers.0.units is too large: its weights do not fit into this machine
  expected: at most N GiB (all of its memory)
  got:      9223372036854775807 units with 784 inputs: 26938034880512 GiB of float32
  config:   command line:1:22
      1 | model.layers.0.units=9223372036854775807
        |                      ^^^^^^^^^^^^^^^^^^^
)");
  EXPECT_EQ(workshop.list(), std::vector<std::string>{"tiny.toml"});
}

TEST_F(CliResume, APenaltyThatIsInfinite) {
  EXPECT_EQ(error_of(workshop.run({"train", "tiny.toml", "loss.l1=1e39"})), R"(
error: loss.l1 is too large
  expected: a number that is finite in float32
  got:      1e+39
  config:   command line:1:9
      1 | loss.l1=1e39
        |         ^^^^
)");
  EXPECT_EQ(workshop.list(), std::vector<std::string>{"tiny.toml"});
}

TEST_F(CliResume, AFinishedRunIsExtended) {
  ASSERT_EQ(workshop.run({"train", "tiny.toml", "--run-dir", "whole", "trainer.epochs=3"}).code, 0);
  ASSERT_EQ(workshop.run({"train", "tiny.toml", "--run-dir", "run", "trainer.epochs=1"}).code, 0);
  Ended ended = workshop.run({"resume", "run", "trainer.epochs=3"});
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_EQ(ended.err, "edited since the checkpoint: trainer.epochs: 1 then, 3 now\n");
  EXPECT_NE(workshop.read("run/config.toml").find("\nepochs = 3\n"), std::string::npos);
  EXPECT_EQ(workshop.read("run/best.npz"), workshop.read("whole/best.npz"));
  EXPECT_EQ(without_seconds(workshop.read("run/metrics.jsonl")), without_seconds(workshop.read("whole/metrics.jsonl")));
  ended = workshop.run({"resume", "run"});  // as the folder says now
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_EQ(ended.err, "");
}

// Its config.toml has all keys of the first one.
TEST_F(CliResume, AnotherOptimizerTakesTheKeysOfTheReplacedOneAway) {
  ASSERT_EQ(workshop.run({"train", "tiny.toml", "--run-dir", "run", "--quiet", "trainer.momentum=0.9"}).code, 0);
  EXPECT_EQ(error_of(workshop.run({"check", "run", "trainer.optimizer=adam"}), 0), "\n");
  EXPECT_EQ(error_of(workshop.run({"train", "run/config.toml", "--run-dir", "next", "--quiet",
                                   "model.weights=run/best.npz", "trainer.optimizer=adam"}),
                     0),
            "\n");
  const std::string config = workshop.read("next/config.toml");
  EXPECT_NE(config.find("\noptimizer = \"adam\"\n"), std::string::npos) << config;
  EXPECT_NE(config.find("\nlearning_rate = 0.001\n"), std::string::npos) << config;
  EXPECT_EQ(config.find("\nmomentum = "), std::string::npos) << config;
  // What is typed is not the replaced one's.
  EXPECT_EQ(error_of(workshop.run({"check", "run", "trainer.optimizer=adam", "trainer.nesterov=true"})), R"(
error: unknown key trainer.nesterov
  config:   command line:2:9
      2 | trainer.nesterov=true
        |         ^^^^^^^^
  hint:     nesterov is a key of optimizer = "sgd"
)");
}

TEST_F(CliResume, ARunThatStoppedEarlyIsExtended) {
  ASSERT_EQ(workshop
                .run({"train", "tiny.toml", "--run-dir", "es", "--quiet", "trainer.patience=15",
                      "trainer.improvement_threshold=0"})
                .code,
            0);
  const std::string config = workshop.read("es/config.toml");
  EXPECT_EQ(error_of(workshop.run({"resume", "es", "trainer.epochs=60"})), R"(
error: es: the run is over, and what was edited leaves it so
  expected: trainer.patience at least 16 (minibatches), or 0: the run stopped early
  got:      trainer.epochs: 3 then, 60 now
)");
  EXPECT_EQ(workshop.read("es/config.toml"), config);
  Ended ended = workshop.run({"resume", "es", "trainer.patience=0"});
  EXPECT_EQ(error_of(ended, 0), "\nedited since the checkpoint: trainer.patience: 15 then, 0 now\n");
  EXPECT_TRUE(ended.out.starts_with("goes on after step 16: epoch 2, minibatch 7 of 10\n")) << ended.out;
  const std::string extended = workshop.read("es/config.toml");
  EXPECT_NE(extended.find("\npatience = 0\n"), std::string::npos);
  EXPECT_EQ(error_of(workshop.run({"resume", "es", "trainer.epochs=2"})), R"(
error: es: the run has done more epochs than it is to have
  expected: trainer.epochs at least 3
  got:      trainer.epochs: 3 then, 2 now
)");
  EXPECT_EQ(workshop.read("es/config.toml"), extended);
}

}  // namespace
}  // namespace thtrain
