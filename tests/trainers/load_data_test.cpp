#include "trainers/load_data.h"

#include <cmath>
#include <set>

#include "compiler/base/random_state.h"
#include "datasets/npy.h"
#include "datasets/sources/csv.h"
#include "datasets/sources/digits.h"
#include "datasets/sources/npy.h"
#include "tests/support/training_support.h"
#include "trainers/checkpoint.h"

namespace thtrain {
namespace {

const ConfigPosition kPosition{
    .file = "a.toml", .line = 4, .column = 9, .length = 7, .source_line = "train = \"x.npy\""};

// 12 examples of 3 numbers, of classes 0, 1, 2, 0, ...
void write_arrays(const TemporaryFolder& folder) {
  Tensor x = Tensor::empty(DType::kFloat32, {12, 3}), y = Tensor::empty(DType::kInt32, {12});
  for (int i = 0; i < 36; ++i) x.data<float>()[i] = static_cast<float>(i % 7);
  for (int i = 0; i < 12; ++i) y.data<int32_t>()[i] = i % 3;
  write_npy(folder.path("x.npy"), x);
  write_npy(folder.path("y.npy"), y);
}

Experiment npy_experiment() {
  Experiment out = small_experiment();
  NpyConfig files;
  files.train = "x.npy";
  files.train_labels = "y.npy";
  files.n_valid = 2;
  files.scale = 0.5;
  files.given["train"] = kPosition;
  out.data = files;
  out.trainer.batch_size = 2;
  return out;
}

TEST(LoadData, ArraysAreFoundFromTheConfigurationsFolder) {
  TemporaryFolder folder;
  write_arrays(folder);
  Dataset data = load_data(npy_experiment(), folder.path());
  EXPECT_EQ(std::tuple(data.train.size(), data.valid.size(), data.test.size(), data.classes()),
            std::tuple(10, 2, 0, 3));
  EXPECT_EQ(data.train.all(DType::kFloat32).x.as_double(5), 2.5);
  EXPECT_FALSE(data.streamed);
}

TEST(LoadData, AMissingFileIsNamedAtItsPosition) {
  TemporaryFolder folder;
  EnvironmentVariable data("THTRAIN_DATA", nullptr), cache("XDG_CACHE_HOME", "/nowhere");
  std::string text = error_text([&] { load_data(npy_experiment(), folder.path()); });
  EXPECT_EQ(text, str("error: \"x.npy\" was not found\n"
                      "  expected: a file of that name in one of\n"
                      "            ",
                      folder.path(),
                      "\n"
                      "            /nowhere/thtrain/data\n"
                      "  config:   a.toml:4:9\n"
                      "      4 | train = \"x.npy\"\n"
                      "        |         ^^^^^^^\n"
                      "  hint:     give its absolute path, or set THTRAIN_DATA to the folder that holds it"));
}

TEST(LoadData, TypedPathsStartInTheWorkingFolder) {
  TemporaryFolder folder;
  write_arrays(folder);
  Experiment e = npy_experiment();
  auto& files = e.data.get<NpyConfig>();
  files.given["train"].file = std::string(kCommandLine);
  EXPECT_THROW(load_data(e, folder.path()), UserError);
  files.train = folder.path("x.npy");
  EXPECT_EQ(load_data(e, folder.path()).train.size(), 10);
}

TEST(LoadData, CsvAndDigits) {
  TemporaryFolder folder;
  folder.write("t.csv", "kind,a,b\nred,1,2\nblue,3,4\nred,5,6\n");
  Experiment e = small_experiment();
  CsvConfig csv;
  csv.train = "t.csv";
  csv.label_column = "kind";
  csv.n_valid = 1;
  e.data = csv;
  Dataset data = load_data(e, folder.path());
  EXPECT_EQ(std::tuple(data.train.size(), data.valid.size(), data.classes()), std::tuple(2, 1, 2));
  DigitsConfig digits;
  digits.n_train = 30;
  digits.n_valid = 0;
  e.data = digits;
  data = load_data(e, "");
  EXPECT_EQ(std::tuple(data.train.size(), data.valid.size(), data.test.size()), std::tuple(30, 0, 2000));
}

// Data that is streamed is checked batch by batch: the run folder and its last checkpoint stay.
TEST(LoadData, ABadValueInAStreamEndsTheRun) {
  TemporaryFolder folder;
  write_arrays(folder);
  Experiment e = npy_experiment();
  auto& files = e.data.get<NpyConfig>();
  files.n_valid = 0;
  e.trainer.shuffle = false;
  e.trainer.checkpoint_epochs = 1;
  e.trainer.epochs = 100;  // more than are read ahead
  e.compiler.mode = CompilerConfig::Mode::kReference;
  Tensor x = read_npy(folder.path("x.npy")).copy(), y = read_npy(folder.path("y.npy"));
  Dataset data;
  data.train = split_of(x, y, 3);
  data.streamed = true;
  RunFolder run = RunFolder::create(folder.path("run"), e, {.config_folder = folder.path()});
  TrainHooks hooks{.on_epoch = [&](const EpochReport&) { x.at<float>({7, 1}) = std::nanf(""); }};
  const std::string error = error_text([&] { train(e, data, run, hooks); });
  const int64_t step = read_checkpoint(run.checkpoint()).state.step;
  EXPECT_EQ(error, str("error: x.npy: row 7, column 1: not a finite number\n"
                       "  expected: numbers that are finite in float32\n"
                       "  got:      nan\n"
                       "  hint:     rows and columns count from 0;\n"
                       "            the checkpoint of step ",
                       step, " is kept: `thtrain resume ", run.path(), "` goes on from it"));
  EXPECT_GE(step, 6);
  EXPECT_LE(step, 6 + 65 + 5) << "64 minibatches are read ahead, one is in use, and one of an epoch's 6 has row 7";
}

// With a mapping this was SIGBUS.
TEST(LoadData, AFileCutShortWhileTrainingEndsTheRun) {
  TemporaryFolder folder;
  write_arrays(folder);
  Experiment e = npy_experiment();
  auto& files = e.data.get<NpyConfig>();
  files.n_valid = 0;
  files.memory_limit = 1e-8;  // some bytes
  e.trainer.shuffle = false;
  e.trainer.checkpoint_epochs = 1;
  e.trainer.epochs = 100;  // more than are read ahead
  e.compiler.mode = CompilerConfig::Mode::kReference;
  Dataset data = load_data(e, folder.path());
  ASSERT_TRUE(data.streamed);
  RunFolder run = RunFolder::create(folder.path("run"), e, {.config_folder = folder.path()});
  TrainHooks hooks{
      .on_epoch = [&](const EpochReport&) { std::filesystem::resize_file(folder.path("x.npy"), 128 + 4 * 12 + 1); }};
  const std::string error = error_text([&] { train(e, data, run, hooks); });
  EXPECT_EQ(error, str("error: ", folder.path("x.npy"), ": the file was changed while the run read it\n",
                       "  expected: 272 bytes, as when it was opened\n  got:      177 bytes\n",
                       "  config:   a.toml:4:9\n      4 | train = \"x.npy\"\n        |         ^^^^^^^\n",
                       "  hint:     put it back as it was, with its time (`cp -p` keeps it);\n",
                       "            the checkpoint of step ", read_checkpoint(run.checkpoint()).state.step,
                       " is kept: `thtrain resume ", folder.path("run"), "` goes on from it"));
}

TEST(LoadData, TheHeaderAndTheDelimiterAreTheExperiments) {
  TemporaryFolder folder;
  folder.write("t.csv", "1;2;0\n3;4;1\n5;6;0\n");
  Experiment e = small_experiment();
  CsvConfig csv;
  csv.train = "t.csv";
  e.data = csv;
  EXPECT_EQ(load_data(e, folder.path()).train.size(), 3);
  csv.header = true;
  e.data = csv;
  EXPECT_EQ(load_data(e, folder.path()).train.size(), 2);
  csv.delimiter = CsvOptions::Delimiter::kComma;
  e.data = csv;
  EXPECT_THROW(load_data(e, folder.path()), UserError);
}

// The number that is too large is shown, and the column that is not there; not the section, and not the file.
TEST(LoadData, MistakesAreAtTheirKey) {
  TemporaryFolder folder;
  write_arrays(folder);
  Experiment e = npy_experiment();
  auto& files = e.data.get<NpyConfig>();
  const ConfigPosition position{.file = "a.toml", .line = 9, .column = 11, .length = 2, .source_line = "n_valid = 12"};
  files.n_valid = 12;
  files.given["n_valid"] = position;
  EXPECT_EQ(error_text([&] { load_data(e, folder.path()); }),
            "error: so many validation examples are not there\n"
            "  expected: at most 11 of the 12 examples in " +
                folder.path("x.npy") +
                "\n"
                "  got:      12\n"
                "  config:   a.toml:9:11\n"
                "      9 | n_valid = 12\n"
                "        |           ^^\n"
                "  hint:     at least one example must be left to train on");
  folder.write("t.csv", "a,b,kind\n1,2,0\n3,4,1\n");
  CsvConfig csv;
  csv.train = "t.csv";
  csv.label_column = "knd";
  csv.given["label_column"] = {
      .file = "a.toml", .line = 3, .column = 16, .length = 5, .source_line = "label_column = \"knd\""};
  csv.given["train"] = kPosition;
  e.data = csv;
  EXPECT_EQ(error_text([&] { load_data(e, folder.path()); }), "error: " + folder.path("t.csv") +
                                                                  ": there is no column \"knd\" for the labels\n"
                                                                  "  expected: first or last, or one of a, b, kind\n"
                                                                  "  config:   a.toml:3:16\n"
                                                                  "      3 | label_column = \"knd\"\n"
                                                                  "        |                ^^^^^");
}

TEST(LoadData, SplitsAreDrawnAsTheExperimentSays) {
  TemporaryFolder folder;
  write_arrays(folder);
  Experiment e = npy_experiment();
  auto& files = e.data.get<NpyConfig>();
  files.n_valid = 3;
  auto rows = [&] {
    Dataset data = load_data(e, folder.path());
    return std::vector<int64_t>{data.valid.file_row(0), data.valid.file_row(1), data.valid.file_row(2)};
  };
  EXPECT_EQ(rows(), (std::vector<int64_t>{9, 10, 11}));
  files.split = SplitBy::kShuffled;
  std::vector<int64_t> order = RandomState(0).permutation(12);
  EXPECT_EQ(rows(), (std::vector<int64_t>{order[9], order[10], order[11]}));
  files.split_seed = 8;
  order = RandomState(8).permutation(12);
  EXPECT_EQ(rows(), (std::vector<int64_t>{order[9], order[10], order[11]}));
  files.split = SplitBy::kStratified;
  std::set<int64_t> classes;
  for (int64_t row : rows()) classes.insert(row % 3);
  EXPECT_EQ(classes.size(), 3u);
}

}  // namespace
}  // namespace thtrain
