// Sequences in data sets: what follows their ends is not looked at, and what is wrong with them is said.
#include "datasets/sequences.h"

#include <cmath>

#include "datasets/data_config.h"
#include "datasets/load.h"
#include "datasets/npy.h"
#include "datasets/sources/npy.h"
#include "tests/support/datasets_support.h"
#include "tests/support/dtypes.h"

namespace thtrain {
namespace {

DataArray array(const Tensor& raw, const char* origin) {
  return {.raw = raw, .origin = origin};
}

// 3 sequences of at most 4 steps of 2 numbers, with NaN behind their ends.
Tensor padded_x(const std::vector<int64_t>& lengths = {2, 4, 1}) {
  Tensor x = Tensor::empty(k32, {3, 4, 2});
  for (int64_t i = 0; i < 24; ++i)
    x.data<float>()[i] = i / 2 % 4 < lengths[static_cast<size_t>(i / 8)] ? static_cast<float>(i) : std::nanf("");
  return x;
}
Sequences lengths_of(const std::vector<int64_t>& lengths) {
  return {array(Tensor::of(lengths, {std::ssize(lengths)}), "l.npy")};
}
// Classes 0 to 2 by step, and -7 behind the ends.
Tensor padded_y() {
  return Tensor::of(std::vector<int64_t>{1, 2, -7, -7, 0, 1, 2, 0, 2, -7, -7, -7}, {3, 4});
}

TEST(Sequences, ZerosFollowTheirEnds) {
  Split split(array(padded_x(), "x.npy"), array(padded_y(), "y.npy"), Targets::kClasses, 1, lengths_of({2, 4, 1}));
  EXPECT_EQ(split.step_shape(), Shape{2});
  EXPECT_EQ(split.step_target_shape(), Shape{});
  EXPECT_TRUE(split.has_step_targets() && split.is_sequence() && split.has_lengths());
  EXPECT_EQ(std::tuple(split.steps(), split.step_count(), split.target_count(), count_classes(split)),
            std::tuple(4, 7, 7, 3));
  split.set_classes(3);
  check_all(split, k32);
  const Batch batch = split.read(std::vector<int64_t>{2, 0}, k32);
  EXPECT_EQ(batch.x.text(20), "[[[16, 17], [0, 0], [0, 0], [0, 0]], [[0, 1], [2, 3], [0, 0], [0, 0]]]");
  EXPECT_EQ(batch.y.text(20), "[[2, 0, 0, 0], [1, 2, 0, 0]]");
  EXPECT_EQ(batch.lengths.text(), "[1, 2]");
  EXPECT_EQ(split.part({1, 2}).length(1), 1);
  EXPECT_EQ(split.part(1, 2).step_count(), 5);
}

TEST(Sequences, LabelsAndValuesByStepAreClearedToo) {
  Tensor labels = Tensor::zeros(DType::kUInt8, {3, 4, 2});
  for (int64_t i = 0; i < 24; ++i) labels.data<uint8_t>()[i] = i / 2 % 4 >= 1 ? 9 : 1;
  Split bits(array(padded_x({1, 1, 1}), "x.npy"), array(labels, "y.npy"), Targets::kLabels, 1, lengths_of({1, 1, 1}));
  EXPECT_EQ(bits.read(0, 1, k32).y.text(20), "[[[1, 1], [0, 0], [0, 0], [0, 0]]]");
  Split values(array(padded_x(), "x.npy"), array(padded_x(), "y.npy"), Targets::kValues, 1, lengths_of({2, 4, 1}));
  check_all(values, k32);
  EXPECT_EQ(values.read(0, 1, k32).y.text(20), "[[[0, 1], [2, 3], [0, 0], [0, 0]]]");
}

TEST(Sequences, TheShapeOfYTellsWhatATargetBelongsTo) {
  const Tensor x = Tensor::zeros(k32, {3, 4, 2});
  auto kind = [&](const Shape& shape, Targets targets) {
    Split split(array(x, "x.npy"), array(Tensor::zeros(DType::kInt64, shape), "y.npy"), targets, 1, Sequences{});
    return str(split.has_step_targets() ? "step " : "sequence ", shape_text(split.step_target_shape()));
  };
  EXPECT_EQ(kind({3}, Targets::kClasses), "sequence []");
  EXPECT_EQ(kind({3, 4}, Targets::kClasses), "step []");
  EXPECT_EQ(kind({3}, Targets::kValues), "sequence []");
  EXPECT_EQ(kind({3, 4}, Targets::kValues), "sequence [4]");
  EXPECT_EQ(kind({3, 4, 1}, Targets::kValues), "step [1]");
  EXPECT_EQ(kind({3, 4, 5}, Targets::kLabels), "step [5]");
  Split of_one_step(array(Tensor::zeros(k32, {3, 1, 2}), "x.npy"), array(Tensor::zeros(DType::kInt64, {3, 1}), "y.npy"),
                    Targets::kClasses, 1, Sequences{});
  EXPECT_TRUE(of_one_step.has_step_targets());
  Split vector(array(Tensor::zeros(k32, {3, 4}), "x.npy"), {}, Targets::kNone, 1, Sequences{});
  EXPECT_EQ(vector.input_shape(), (Shape{4, 1}));  // one number at each step
}

TEST(Sequences, WhatMayBePaddingIsToldOfLengths) {
  DataArray x = array(padded_x(), "x.npy");
  x.where = {.file = "a.toml", .line = 2, .column = 9, .length = 7, .source_line = "train = \"x.npy\""};
  const Split split(x, {}, Targets::kNone, 1, Sequences{});
  EXPECT_EQ(error_text([&] { check_all(split, k32); }),
            "error: x.npy: row 0, element [2, 0]: not a finite number\n"
            "  expected: numbers that are finite in float32\n"
            "  got:      nan\n"
            "  config:   a.toml:2:9\n"
            "      2 | train = \"x.npy\"\n"
            "        |         ^^^^^^^\n"
            "  hint:     rows and columns count from 0;\n"
            "            a file of lengths, such as data.train_lengths, says where each sequence ends; what "
            "follows it may be anything");
}

TEST(Sequences, MessagesForWrongLengths) {
  auto text = [](const Tensor& lengths) {
    return error_text([&] {
      Split(array(padded_x(), "x.npy"), array(padded_y(), "y.npy"), Targets::kClasses, 1, {array(lengths, "l.npy")});
    });
  };
  EXPECT_EQ(text(Tensor::of(std::vector<int64_t>{2, 0, 1}, {3})),
            "error: l.npy: row 1: the length of the sequence is out of range\n"
            "  expected: from 1 to 4, the steps in x.npy\n"
            "  got:      0\n"
            "  hint:     rows and columns count from 0");
  EXPECT_EQ(text(Tensor::of(std::vector<int64_t>{2, 4, 5}, {3})),
            "error: l.npy: row 2: the length of the sequence is out of range\n"
            "  expected: from 1 to 4, the steps in x.npy\n"
            "  got:      5\n"
            "  hint:     rows and columns count from 0");
  EXPECT_EQ(text(Tensor::of(std::vector<double>{2.5, 4, 1}, {3})),
            "error: l.npy: row 0: the length of the sequence is not an integer\n"
            "  expected: from 1 to 4, the steps in x.npy\n"
            "  got:      2.5\n"
            "  hint:     rows and columns count from 0");
  EXPECT_EQ(text(Tensor::of(std::vector<int64_t>{2, 4}, {2})),
            "error: sequences and lengths differ in number\n"
            "  expected: 3 rows, as in x.npy\n"
            "  got:      2 rows in l.npy");
  EXPECT_EQ(text(Tensor::zeros(DType::kInt64, {3, 2})),
            "error: l.npy: the lengths are not one number for each sequence\n"
            "  expected: an array [3]\n"
            "  got:      int64[3, 2]");
}

TEST(Sequences, MessagesForWrongArrays) {
  auto text = [](const Shape& x, const Shape& y, Targets targets) {
    return error_text([&] {
      Split(array(Tensor::zeros(k32, x), "x.npy"), array(Tensor::zeros(DType::kInt64, y), "y.npy"), targets, 1,
            Sequences{});
    });
  };
  EXPECT_EQ(text({3}, {3}, Targets::kClasses),
            "error: x.npy: the examples are no sequences\n"
            "  expected: an array of sequences, steps and numbers of a step\n"
            "  got:      float32[3]");
  EXPECT_EQ(text({3, 4, 2}, {3, 5}, Targets::kClasses),
            "error: sequences and their targets differ in the number of steps\n"
            "  expected: 4 steps, as in x.npy float32[3, 4, 2]\n"
            "  got:      5 steps in y.npy int64[3, 5]\n"
            "  hint:     classes are [sequences], or [sequences, steps]");
  EXPECT_EQ(text({3, 4, 2}, {3, 5, 1}, Targets::kValues),
            "error: sequences and their targets differ in the number of steps\n"
            "  expected: 4 steps, as in x.npy float32[3, 4, 2]\n"
            "  got:      5 steps in y.npy int64[3, 5, 1]\n"
            "  hint:     targets are [sequences, numbers], or [sequences, steps, numbers]");
  EXPECT_EQ(text({3, 4, 2}, {3, 4, 7}, Targets::kClasses),
            "error: y.npy: the labels are not one number for each sequence, or one for each step\n"
            "  expected: an array [3] or [3, 4]\n"
            "  got:      int64[3, 4, 7]\n"
            "  hint:     rows of zeros with a one at the class become class numbers by labels.argmax(axis=1); several "
            "labels of an example are data.target = \"labels\", values to approximate are data.target = \"values\"");
}

TEST(Sequences, MessagesNameTheStep) {
  Tensor y = padded_y();
  y.data<int64_t>()[5] = -1;
  Split split(array(padded_x(), "x.npy"), array(y, "y.npy"), Targets::kClasses, 1, lengths_of({2, 4, 1}));
  EXPECT_EQ(error_text([&] { count_classes(split); }),
            "error: y.npy: row 1, step 1: the label is out of range\n"
            "  expected: 0 or more\n"
            "  got:      -1\n"
            "  hint:     rows and columns count from 0; classes are numbered 0, 1, 2, ...");
  y.data<int64_t>()[5] = 7;
  EXPECT_EQ(error_text([&] { count_classes(split); }),
            "error: y.npy: row 1, step 1: the label is too large\n"
            "  expected: classes numbered from 0 on, and no more of them than steps (7)\n"
            "  got:      7\n"
            "  hint:     rows and columns count from 0;\n"
            "            numpy.unique(labels, return_inverse=True)[1] numbers classes from 0 on");
}

// Means and deviations of the numbers of a step, over the steps that there are.
TEST(Sequences, AreStandardizedByStep) {
  Split split(array(padded_x(), "x.npy"), array(padded_x(), "y.npy"), Targets::kValues, 1, lengths_of({2, 4, 1}));
  const Standardization found = learn_standardization(split, Standardization::By::kFeatures, true, DType::kFloat64);
  // numpy: v = [0, 2, 8, 10, 12, 14, 16]; v.mean(), v.std(); the second number is larger by 1.
  const double mean = 62.0 / 7, deviation = std::sqrt(764.0 / 7 - mean * mean);
  for (const Standard& standard : {found.inputs, found.targets}) {
    ASSERT_EQ(standard.mean.size(), 2u);
    EXPECT_NEAR(standard.mean[0], mean, 1e-14);
    EXPECT_NEAR(standard.mean[1], mean + 1, 1e-14);
    EXPECT_NEAR(standard.scale[1], deviation, 1e-14);
  }
  split.set_standardization(std::make_shared<const Standardization>(found));
  const Batch batch = split.read(0, 1, DType::kFloat64);
  EXPECT_NEAR(batch.x.as_double(2), (2 - mean) / deviation, 1e-14);
  EXPECT_EQ(batch.x.as_double(4), 0);  // behind the end
  EXPECT_EQ(batch.y.as_double(4), 0);
}

class SequenceFiles : public testing::Test {
 protected:
  SequenceFiles() {
    write_npy(folder_.path("x.npy"), padded_x());
    write_npy(folder_.path("y.npy"), padded_y());
    write_npy(folder_.path("l.npy"), Tensor::of(std::vector<int32_t>{2, 4, 1}, {3}));
    write_npy(folder_.path("vx.npy"), Tensor::zeros(k32, {2, 6, 2}));
    write_npy(folder_.path("vy.npy"), Tensor::zeros(DType::kInt64, {2, 6}));
    for (auto [part, name] : {std::pair("train_x", "x.npy"),
                              {"train_y", "y.npy"},
                              {"train_l", "l.npy"},
                              {"valid_x", "vx.npy"},
                              {"valid_y", "vy.npy"}})
      options_.files[part] = {folder_.path(name)};
  }
  TemporaryFolder folder_;
  DatasetOptions options_{.read = npy_reader(true), .name = "npy"};
};

// The validation sequences have other steps, and no lengths.
TEST_F(SequenceFiles, OfNumPy) {
  const Dataset data = load_dataset(options_, k32);
  EXPECT_EQ(data.text(), str("data set npy: sequences of 1 to 4 steps of [2], 3 classes by step\n  train 3 sequences "
                             "from ",
                             folder_.path("x.npy"), " and ", folder_.path("y.npy"), "\n  valid 2 sequences from ",
                             folder_.path("vx.npy"), " and ", folder_.path("vy.npy")));
}

// Through the keys of an experiment file.
TEST_F(SequenceFiles, ItsKeysMatter) {
  write_npy(folder_.path("vl.npy"), Tensor::of(std::vector<int64_t>{3, 6}, {2}));
  write_npy(folder_.path("classes.npy"), Tensor::zeros(DType::kInt64, {3}));
  NpyConfig config;
  config.train = folder_.path("x.npy");
  config.train_labels = folder_.path("y.npy");
  config.valid = config.test = folder_.path("vx.npy");
  config.valid_labels = config.test_labels = folder_.path("vy.npy");
  config.sequences = true;
  config.train_lengths = folder_.path("l.npy");
  auto all = [](NpyConfig c) {
    DatasetOptions options{.read = npy_reader(), .name = "npy"};
    c.fill(options);
    for (const DataFile& file : c.files()) options.files[file.part] = {*file.path};
    try {
      const Dataset data = load_dataset(options, k32);
      return str(data.text(), ' ', data.train.step_count(), ' ', data.valid.step_count(), ' ', data.test.step_count());
    } catch (const UserError& error) {
      return std::string(error.what());
    }
  };
  const std::string plain = all(config);
  EXPECT_TRUE(plain.ends_with(" 7 12 12")) << plain;
  auto differs = [&](auto change) {
    NpyConfig other = config;
    change(other);
    EXPECT_NE(all(other), plain);
  };
  differs([&](auto& c) { c.valid_lengths = folder_.path("vl.npy"); });
  differs([&](auto& c) { c.test_lengths = folder_.path("vl.npy"); });
  differs([](auto& c) { c.train_lengths.reset(); });  // NaN behind the ends
  differs([&](auto& c) {
    c.sequences = false;
    c.train_lengths.reset();
    c.train_labels = folder_.path("classes.npy");
  });
}

TEST_F(SequenceFiles, ThatAreStreamed) {
  const Batch in_memory = load_dataset(options_, k32).train.all(k32);
  options_.memory_limit = 400;
  const Dataset data = load_dataset(options_, k32);
  EXPECT_TRUE(data.streamed);
  const Batch streamed = data.train.read(0, 3, k32);
  EXPECT_TRUE(same_bits(streamed.x, in_memory.x) && same_bits(streamed.y, in_memory.y));
  EXPECT_EQ(streamed.lengths.text(), "[2, 4, 1]");
}

TEST_F(SequenceFiles, MessagesForSetsThatDiffer) {
  write_npy(folder_.path("vy.npy"), Tensor::zeros(DType::kInt64, {2}));
  EXPECT_EQ(error_text([&] { load_dataset(options_, k32); }),
            str("error: ", folder_.path("vy.npy"),
                ": the targets are not of the kind of the training targets\n"
                "  expected: one for each step: int64[3, 4] in ",
                folder_.path("y.npy"), "\n  got:      one for each sequence: int64[2]"));
  write_npy(folder_.path("vy.npy"), Tensor::zeros(DType::kInt64, {2, 6}));
  write_npy(folder_.path("vx.npy"), Tensor::zeros(k32, {2, 6, 3}));
  EXPECT_EQ(error_text([&] { load_dataset(options_, k32); }),
            str("error: ", folder_.path("vx.npy"),
                ": the examples differ in shape from the training examples\n"
                "  expected: [2] for each step, as in ",
                folder_.path("x.npy"), "\n  got:      [3]"));
}

}  // namespace
}  // namespace thtrain
