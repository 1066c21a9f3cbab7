// Bad input: exit code 2, the whole text on standard error, nothing on standard output, and nothing written.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdint>
#include <cstdlib>
#include <limits>

#include "tests/support/cli_support.h"

namespace thtrain {
namespace {

const char* const kNpyExperiment =
    "[data]\n"
    "source = \"npy\"\n"
    "train = \"x.npy\"\n"
    "train_labels = \"y.npy\"\n"
    "\n"
    "[[model.layers]]\n"
    "type = \"softmax\"\n"
    "\n"
    "[trainer]\n"
    "batch_size = 2\n";

std::string bytes_of(std::vector<float> values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)};
}
std::string bytes_of(std::vector<int64_t> values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(int64_t)};
}
std::string header(const std::string& dtype, const std::string& shape) {
  return "{'descr': '" + dtype + "', 'fortran_order': False, 'shape': " + shape + ", }";
}
const std::string kX = npy_bytes(header("<f4", "(4, 3)"), bytes_of(std::vector<float>(12, 0.5f)));
const std::string kY = npy_bytes(header("<i8", "(4,)"), bytes_of(std::vector<int64_t>{0, 1, 0, 1}));

class CliErrors : public testing::Test {
 protected:
  // Runs it, and expects exactly this on standard error; the workshop's own path reads "HERE".
  // The text begins with a line end, so that it is alone on its lines in the source.
  void expect(const std::vector<std::string>& arguments, const std::string& text, int code = 2) {
    std::vector<std::string> before = workshop.list();
    Ended ended = workshop.run(arguments);
    EXPECT_EQ(ended.code, code);
    EXPECT_EQ(ended.out, "");
    for (size_t at; (at = ended.err.find(workshop.path())) != std::string::npos;)
      ended.err.replace(at, workshop.path().size(), "HERE");
    EXPECT_EQ("\n" + ended.err, text);
    EXPECT_EQ(workshop.list(), before);
  }
  // Of `train` on arrays of these files.
  void expect_of_arrays(const std::string& x, const std::string& y, const std::string& text) {
    workshop.write("e.toml", kNpyExperiment);
    workshop.write("x.npy", x);
    workshop.write("y.npy", y);
    expect({"train", "e.toml"}, text);
  }
  Workshop workshop;
};

TEST_F(CliErrors, UnknownKey) {
  workshop.write("e.toml", tiny_experiment() + "learning_rat = 1\n");
  expect({"train", "e.toml"}, R"(
error: unknown key trainer.learning_rat
  config:   e.toml:23:1
     23 | learning_rat = 1
        | ^^^^^^^^^^^^
  hint:     did you mean learning_rate?
)");
}

TEST_F(CliErrors, WrongTypeAndRangeTogether) {
  workshop.write("e.toml", tiny_experiment() + "patience = \"long\"\n");
  expect({"train", "e.toml", "trainer.learning_rate=-1"}, R"(
error: trainer.patience has the wrong type
  expected: an integer, at least 0 (minibatches)
  got:      a string, "long"
  config:   e.toml:23:12
     23 | patience = "long"
        |            ^^^^^^
  hint:     patience: minibatches to train before an early stop is possible; 0: no early stop
error: trainer.learning_rate is out of range
  expected: a number above 0
  got:      -1
  config:   command line:1:23
      1 | trainer.learning_rate=-1
        |                       ^^
  hint:     learning_rate: factor of the gradient in each step
)");
}

TEST_F(CliErrors, MissingExperiment) {
  workshop.write("tiny.toml", tiny_experiment());
  expect({"train", "tinny.toml"}, R"(
error: cannot read the experiment tinny.toml
  expected: a TOML file
  got:      no such file
  hint:     did you mean tiny.toml?
)");
}

TEST_F(CliErrors, MissingData) {
  workshop.write("e.toml", kNpyExperiment);
  Ended ended = workshop.run({"train", "e.toml"});
  EXPECT_EQ(ended.code, 2);
  EXPECT_NE(ended.err.find("e.toml:3:9\n      3 | train = \"x.npy\"\n        |         ^^^^^^^\n"), std::string::npos)
      << ended.err;
  EXPECT_EQ(workshop.list(), std::vector<std::string>{"e.toml"});
}

TEST_F(CliErrors, TruncatedArray) {
  expect_of_arrays(kX.substr(0, kX.size() - 5), kY, R"(
error: HERE/x.npy: the .npy file is truncated, or its header is wrong
  expected: 128 bytes of header and 48 of float32[4, 3]
  got:      171 bytes
  config:   e.toml:3:9
      3 | train = "x.npy"
        |         ^^^^^^^
  hint:     copy or write the file again
)");
}

TEST_F(CliErrors, WrongMagic) {
  expect_of_arrays("PK\3\4" + kX.substr(4), kY, R"(
error: HERE/x.npy: not a .npy file
  expected: an array as numpy.save writes it
  got:      a zip archive, such as an .npz file
  config:   e.toml:3:9
      3 | train = "x.npy"
        |         ^^^^^^^
  hint:     an array in an .npz file is named so: file.npz[name]
)");
}

TEST_F(CliErrors, AbsurdShape) {
  expect_of_arrays(npy_bytes(header("<f4", "(4, 9223372036854775807)"), "1234"), kY, R"(
error: HERE/x.npy: the shape in the .npy header is impossible
  expected: lengths that are not negative and give less than 2^63 bytes
  got:      float32[4, 9223372036854775807]
  config:   e.toml:3:9
      3 | train = "x.npy"
        |         ^^^^^^^
)");
}

TEST_F(CliErrors, UnsupportedDtype) {
  expect_of_arrays(npy_bytes(header("|O", "(4, 3)"), std::string(96, '\0')), kY, R"(
error: HERE/x.npy: the dtype of the .npy file is not supported
  expected: bool, int8, int16, int32, int64, uint8, uint16, uint32, uint64, float32, float64, complex64, complex128
  got:      '|O' (Python objects)
  config:   e.toml:3:9
      3 | train = "x.npy"
        |         ^^^^^^^
  hint:     numbers are needed; numpy.unique(texts, return_inverse=True)[1] makes class numbers of texts
)");
}

TEST_F(CliErrors, LabelOutOfRange) {
  std::string y = npy_bytes(header("<i8", "(4,)"), bytes_of(std::vector<int64_t>{0, 1, -3, 1}));
  expect_of_arrays(kX, y, R"(
error: HERE/y.npy: row 2: the label is out of range
  expected: 0 or more
  got:      -3
  config:   e.toml:4:16
      4 | train_labels = "y.npy"
        |                ^^^^^^^
  hint:     rows and columns count from 0; classes are numbered 0, 1, 2, ...
)");
}

TEST_F(CliErrors, NotANumberInData) {
  std::vector<float> values(12, 0.5f);
  values[7] = std::numeric_limits<float>::quiet_NaN();
  expect_of_arrays(npy_bytes(header("<f4", "(4, 3)"), bytes_of(values)), kY, R"(
error: HERE/x.npy: row 2, column 1: not a finite number
  expected: numbers that are finite in float32
  got:      nan
  config:   e.toml:3:9
      3 | train = "x.npy"
        |         ^^^^^^^
  hint:     rows and columns count from 0
)");
}

// Names of weights are names in .npz files, which cannot be of any length: check says so too.
TEST_F(CliErrors, ALayersNameThatIsTooLong) {
  workshop.write("tiny.toml", tiny_experiment());
  const std::string key = "model.layers.0.name=", name(1001, 'n');
  for (const char* command : {"train", "check"}) {
    Ended ended = workshop.run({command, "tiny.toml", key + name});
    EXPECT_EQ(ended.code, 2);
    EXPECT_EQ(ended.err.substr(0, ended.err.find("  config:")),
              "error: model.layers.0.name is too long\n  expected: at most 1000 characters\n"
              "  got:      1001 characters\n");
  }
  EXPECT_EQ(workshop.run({"check", "tiny.toml", key + name.substr(1), "compiler.mode=reference"}).code, 0);
}

TEST_F(CliErrors, ThreadsAreAsManyAsAreUsed) {
  workshop.write("tiny.toml", tiny_experiment());
  expect({"check", "tiny.toml", "compiler.threads=257"}, R"(
error: compiler.threads is out of range
  expected: an integer from 0 to 256 (threads)
  got:      257
  config:   command line:1:18
      1 | compiler.threads=257
        |                  ^^^
  hint:     threads: threads of a compiled function; 0: those of OMP_NUM_THREADS, or all cores where that is not set
)");
}

TEST_F(CliErrors, RowsOfDifferentNumber) {
  expect_of_arrays(kX, npy_bytes(header("<i8", "(3,)"), bytes_of(std::vector<int64_t>{0, 1, 0})), R"(
error: examples and labels differ in number
  expected: 4 rows, as in HERE/x.npy
  got:      3 rows in HERE/y.npy
  config:   e.toml:4:16
      4 | train_labels = "y.npy"
        |                ^^^^^^^
)");
}

TEST_F(CliErrors, LayersThatDoNotFit) {
  std::string text = tiny_experiment();
  workshop.write("e.toml", text.replace(text.find("[[model.layers]]"), 0,
                                        "[[model.layers]]\ntype = \"activation\"\nactivation = \"tanh\"\n\n"));
  expect({"train", "e.toml", "--run-dir", "new/run"}, R"(
error: layer hidden (dense) does not fit the layer before it
  expected: one row of numbers for each example
  got:      examples of shape [28, 28]
  config:   e.toml:13:1
     13 | [[model.layers]]
        | ^^^^^^^^^^^^^^^^
  hint:     a flatten layer before it makes rows
)");
}

TEST_F(CliErrors, MinibatchLargerThanTheData) {
  workshop.write("e.toml", tiny_experiment());
  expect({"train", "e.toml", "trainer.batch_size=100"}, R"(
error: trainer.batch_size is larger than the validation set
  expected: at most 40 (examples)
  got:      100
  config:   command line:1:20
      1 | trainer.batch_size=100
        |                    ^^^
  hint:     trainer.batch_size = 40 or less fits; trainer.full_batches_only = false allows this one
error: trainer.batch_size is larger than the test set
  expected: at most 40 (examples)
  got:      100
  config:   command line:1:20
      1 | trainer.batch_size=100
        |                    ^^^
  hint:     trainer.batch_size = 40 or less fits; trainer.full_batches_only = false allows this one
)");
}

TEST_F(CliErrors, TheRunFolderIsTaken) {
  workshop.write("e.toml", tiny_experiment());
  workshop.write("run/config.toml", "mine");
  expect({"train", "e.toml", "--run-dir", "run"}, R"(
error: run: there is a run in this folder already, or something else
  expected: a folder that does not exist yet, or an empty one
  hint:     `thtrain resume run` goes on with a run; --run-dir names another folder
)");
  EXPECT_EQ(workshop.read("run/config.toml"), "mine");
}

TEST_F(CliErrors, NoRunToResume) {
  workshop.write("e.toml", tiny_experiment());
  expect({"resume", "run"}, R"(
error: run: there is no such run folder
  expected: a folder that `thtrain train` made
)");
  expect({"train", "e.toml", "--resume"}, R"(
error: --resume needs the folder of the run to go on with
  expected: --run-dir DIR
  hint:     `thtrain resume DIR` is the same
)");
}

TEST_F(CliErrors, WeightsOfNoRun) {
  workshop.write("e.toml", tiny_experiment());
  expect({"eval", "e.toml"}, R"(
error: no weights are given for the experiment e.toml
  expected: --weights FILE.npz, or the folder of a run in place of the experiment file
)");
}

TEST_F(CliErrors, AFileForAPageThatCannotBe) {
  workshop.write("e.toml", tiny_experiment());
  workshop.write("folder/file", "");
  expect({"explain", "e.toml", "--html", "missing/page.html"}, R"(
error: missing/page.html: the file cannot be written
  expected: a folder missing
  got:      no such folder
  hint:     run: mkdir -p missing
)");
  expect({"explain", "e.toml", "--html", "folder"}, R"(
error: folder: the file cannot be written
  expected: a new name, or that of a file
  got:      a folder
)");
  expect({"explain", "e.toml", "--html", "/dev/null"}, R"(
error: /dev/null: the file cannot be written
  expected: a new name, or that of a file
  got:      a device, pipe or socket
)");
}

TEST_F(CliErrors, AFaultOfThtrainSaysSo) {
  workshop.write("e.toml", tiny_experiment());
  workshop.write("g++",
                 "#!/bin/sh\n[ \"$1\" = --version ] && echo 'g++ (that refuses ours) 1.0' && exit 0\n"
                 "case $* in *small_program*) exec g++ \"$@\";; esac\nexit 1\n");
  ASSERT_EQ(::chmod(workshop.path("g++").c_str(), 0700), 0);
  std::vector<std::string> before = workshop.list();
  ::setenv("THTRAIN_CXX", workshop.path("g++").c_str(), 1);
  Ended ended = workshop.run({"train", "e.toml"});
  ::unsetenv("THTRAIN_CXX");
  EXPECT_EQ(ended.code, 1) << ended.err;
  EXPECT_NE(ended.err.find("please report it\n"), std::string::npos) << ended.err;
  EXPECT_EQ(workshop.list(), before);
}

// One that compiles nothing is no fault of thtrain.
TEST_F(CliErrors, ACompilerThatIsNotCompleteIsTheUsersToMend) {
  workshop.write("e.toml", tiny_experiment());
  workshop.write("g++",
                 "#!/bin/sh\n[ \"$1\" = --version ] && echo 'g++ (without parts) 1.0' && exit 0\n"
                 "echo \"g++: fatal error: cannot execute 'as'\"\nexit 1\n");
  ASSERT_EQ(::chmod(workshop.path("g++").c_str(), 0700), 0);
  ::setenv("THTRAIN_CXX", workshop.path("g++").c_str(), 1);
  Ended ended = workshop.run({"train", "e.toml", "--run-dir", "run"});
  ::unsetenv("THTRAIN_CXX");
  EXPECT_EQ(ended.code, 2);
  EXPECT_EQ(ended.err.substr(0, ended.err.find("  node:")),
            "error: the compiler " + workshop.path("g++") +
                " is not complete\n  expected: one that compiles a small program with the same flags\n"
                "  got:      g++: fatal error: cannot execute 'as'\n");
  EXPECT_EQ(ended.err.find("report"), std::string::npos) << ended.err;
  EXPECT_FALSE(workshop.exists("run"));
}

TEST_F(CliErrors, AScaleOfTheDataIsNamedWhereTheLossIsNotFinite) {
  workshop.write("e.toml",
                 "[data]\nsource = \"digits\"\nn_train = 200\nn_valid = 0\nn_test = 0\n"
                 "[[model.layers]]\ntype = \"softmax\"\n[compiler]\nmode = \"reference\"\n");
  Ended ended = workshop.run({"train", "e.toml", "data.scale=1e30", "--run-dir", "run", "--json", "--quiet"});
  EXPECT_EQ(ended.code, 3) << ended.err;
  EXPECT_TRUE(
      ended.err.ends_with("\n            the examples have values up to 2.55e+32 (scaled): data.scale brings them "
                          "near 1\n"))
      << ended.err;
}

// What is not an object, or not ours, is no run.json.
TEST_F(CliErrors, ARunJsonThatNoRunWrote) {
  workshop.write("e.toml", tiny_experiment());
  ASSERT_EQ(
      workshop.run({"train", "e.toml", "--run-dir", "run", "--quiet", "compiler.mode=reference", "trainer.epochs=1"})
          .code,
      0);
  workshop.write("run/run.json", "x");
  expect({"resume", "run"}, R"(
error: run/run.json: no valid JSON: a value is none
  expected: JSON, as it was written
  got:      byte 0
)");
  for (const char* text : {"1", "[]", "{}"}) {
    workshop.write("run/run.json", text);
    expect({"resume", "run"}, R"(
error: run/run.json: this is not what a run writes: it has no config_file
  expected: the object that `thtrain train` wrote
  hint:     put run.json back from a copy; `thtrain train run/config.toml` begins another run
)");
  }
}

// Names are shown as escapes, not obeyed.
TEST_F(CliErrors, LineEndsInNamesAreEscapes) {
  workshop.write("e.toml", tiny_experiment());
  Ended ended = workshop.run(
      {"train", "e.toml", "--run-dir", "odd\nname", "--quiet", "compiler.mode=reference", "trainer.epochs=1"});
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_NE(ended.out.find("\nrun folder odd\\nname\n"), std::string::npos) << ended.out;
  EXPECT_EQ(ended.out.find("odd\n"), std::string::npos) << ended.out;
  for (const std::string& text :
       {workshop.run({"train", "e.toml", "--run-dir", "odd\nname"}).err,
        workshop.run({"check", "e.toml", "trainer.a\nb=1"}).err, workshop.run({"check", "no\nfile.toml"}).err,
        workshop.run({"check", "e.toml", "model.layers.0.name=\"a\\nb\""}).err}) {
    EXPECT_NE(text.find("\\n"), std::string::npos) << text;
    for (const char* raw : {"odd\n", "a\nb", "no\nfile"}) EXPECT_EQ(text.find(raw), std::string::npos) << text;
  }
}

TEST_F(CliErrors, WhatTheNanGuardFindsIsNotFinite) {
  workshop.write("e.toml", tiny_experiment());
  const Ended ended = workshop.run({"train", "e.toml", "trainer.learning_rate=1e30", "compiler.mode=nan_guard",
                                    "--run-dir", "run", "--json", "--quiet"});
  EXPECT_EQ(ended.code, 3);
  EXPECT_EQ(ended.out, "");
  EXPECT_EQ(ended.err.find("error: epoch 1, minibatch 1 of 10, step 1: train: the first "), 0u) << ended.err;
  EXPECT_NE(ended.err.find("try trainer.learning_rate = "), std::string::npos) << ended.err;
  EXPECT_EQ(ended.err.find("thtrain resume"), std::string::npos) << ended.err;
  EXPECT_NE(workshop.run({"runs", "run"}).out.find("not finite"), std::string::npos);
}

TEST_F(CliErrors, LossThatIsNotFinite) {
  workshop.write("e.toml", tiny_experiment());
  Ended ended =
      workshop.run({"train", "e.toml", "trainer.learning_rate=1e30", "--run-dir", "run", "--json", "--quiet"});
  EXPECT_EQ(ended.code, 3);
  EXPECT_EQ(ended.out, "");
  EXPECT_EQ(ended.err.find("error: a weight is not finite: epoch 1, minibatch 2 of 10, step 2\n"), 0u) << ended.err;
  EXPECT_NE(ended.err.find("run/checkpoint.npz (step 0) is from before it and all finite"), std::string::npos);
  EXPECT_EQ(workshop.run({"eval", "run", "--weights", "run/checkpoint.npz"}).code, 0);
}

}  // namespace
}  // namespace thtrain
