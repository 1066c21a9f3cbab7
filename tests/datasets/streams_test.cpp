// Every format that is read from files: what stays in them has the values, bit for bit, of what comes into memory.
#include <algorithm>
#include <cstdlib>
#include <functional>
#include <random>

#include "datasets/data_config.h"
#include "datasets/load.h"
#include "datasets/npz.h"
#include "datasets/sources/cifar10.h"
#include "datasets/sources/csv.h"
#include "datasets/sources/idx.h"
#include "datasets/sources/libsvm.h"
#include "datasets/sources/npy.h"
#include "datasets/sources/png_folders.h"
#include "datasets/warnings.h"
#include "tests/support/datasets_support.h"
#include "tests/support/dtypes.h"
#include "tests/support/png_support.h"

namespace thtrain {
namespace {

template <class Config>
DatasetOptions options_of(const TemporaryFolder& folder, Config config) {
  DatasetOptions out{.name = std::string(Config::kName), .config_folder = folder.path()};
  config.fill(out);
  for (const DataFile& file : config.files()) out.files[file.part] = {*file.path};
  return out;
}

/// Loads with and without the limit, and compares all of it.
void expect_same_streamed(DatasetOptions options, uint64_t limit, bool is_packed = false) {
  Dataset whole = load_dataset(options, k32);
  ASSERT_FALSE(whole.streamed);
  options.memory_limit = limit;
  Dataset data = load_dataset(options, k32);
  ASSERT_TRUE(data.streamed);
  ASSERT_TRUE(data.train.x_array().source);
  EXPECT_EQ(data.train.x_array().source->is_sequential(), is_packed);
  EXPECT_EQ(data.class_names, whole.class_names);
  EXPECT_EQ(data.classes(), whole.classes());
  std::mt19937 random(1);
  for (auto [a, b] : {std::pair(&data.train, &whole.train), {&data.valid, &whole.valid}, {&data.test, &whole.test}}) {
    ASSERT_EQ(a->size(), b->size());
    if (a->size() == 0) continue;
    for (DType dtype : {k32, k64}) {
      Batch one = a->all(dtype), other = b->all(dtype);
      EXPECT_TRUE(same_bits(one.x, other.x) && same_bits(one.y, other.y));
      std::vector<int64_t> examples;
      for (int i = 0; i < 9; ++i) examples.push_back(static_cast<int64_t>(random() % a->size()));
      one = a->read(examples, dtype);
      other = b->read(examples, dtype);
      EXPECT_TRUE(same_bits(one.x, other.x) && same_bits(one.y, other.y));
      if (a->has_weights()) {
        EXPECT_TRUE(same_bits(one.weights, other.weights));
      }
    }
  }
}

TEST(Streams, NpzStoredAndDeflated) {
  TemporaryFolder folder;
  for (const char* name : {"stored.npz", "deflated.npz"}) {
    std::filesystem::copy_file(source_path(std::string("tests/golden/npy/") + name), folder.path(name));
    write_npy(folder.path("y.npy"), Tensor::vector<int64_t>({0, 1}));
    NpyConfig config;
    config.train = std::string(name) + "[hidden/W]";
    config.train_labels = "y.npy";
    expect_same_streamed(options_of(folder, config), 50, name == std::string("deflated.npz"));
  }
}

TEST(Streams, Cifar10PlainAndGzipped) {
  TemporaryFolder folder;
  std::mt19937 random(2);
  auto records = [&](int count) {
    std::string out;
    for (int i = 0; i < count; ++i) {
      out += static_cast<char>(i % 10);
      for (int k = 0; k < 3072; ++k) out += static_cast<char>(random());
    }
    return out;
  };
  folder.write("a.bin", records(12));
  folder.write("b.bin", records(9));
  folder.write("c.bin", records(5));
  ASSERT_EQ(std::system(("gzip -k " + folder.path("b.bin")).c_str()), 0);
  Cifar10Config config;
  config.train = {"a.bin", "b.bin"};
  config.test = {"c.bin"};
  config.n_valid = 4;
  expect_same_streamed(options_of(folder, config), 2000);
  expect_same_streamed(options_of(folder, config), 200000);  // the first file fits
  config.train[1] = "b.bin.gz";
  expect_same_streamed(options_of(folder, config), 2000, true);
  // Drawn rows of a packed file stay in its order, so that it is unpacked once for each pass.
  config.split = SplitBy::kShuffled;
  DatasetOptions options = options_of(folder, config);
  Dataset whole = load_dataset(options, k32);
  options.memory_limit = 2000;
  Dataset data = load_dataset(options, k32);
  for (auto [a, b] : {std::pair(&data.train, &whole.train), {&data.valid, &whole.valid}}) {
    std::vector<int64_t> rows, expected;
    for (int64_t i = 0; i < b->size(); ++i) {
      rows.push_back(a->file_row(i));
      expected.push_back(b->file_row(i));
    }
    EXPECT_NE(rows, expected);
    std::sort(expected.begin(), expected.end());
    EXPECT_EQ(rows, expected);
  }
}

TEST(Streams, CsvWithQuotesBlankLinesAndWeights) {
  TemporaryFolder folder;
  auto table = [](int rows, const char* end) {
    std::string out =
        "\xef\xbb\xbf"
        "a, b ,w,\"kind\",c";
    out += end;
    for (int i = 0; i < rows; ++i) {
      out += str(i % 3 == 0 ? "  " : "", i * 0.1, ", \"", i, "e-3\" ,", i % 4, i % 2 ? ",up," : ",\"do,wn\",",
                 1e30 / (i + 1));
      out += end;
      if (i % 5 == 0) out += end;
    }
    return out;
  };
  folder.write("t.csv", table(50, "\r\n"));
  folder.write("test.csv", table(20, "\r") + "7,8,1,up,3");
  CsvConfig config;
  config.train = "t.csv";
  config.test = "test.csv";
  config.label_column = "kind";
  config.weight_column = "w";
  config.n_valid = 7;
  DatasetOptions options = options_of(folder, config);
  EXPECT_EQ(load_dataset(options, k64).test.size(), 21);
  expect_same_streamed(options, 100);
  options.split = SplitBy::kStratified;
  expect_same_streamed(options, 1500);  // the test file fits
  folder.write("space.txt", "1 2\t3  0\n 4 +5 6 1\n\n7 8 9 0");
  CsvConfig spaces;
  spaces.train = "space.txt";
  spaces.delimiter = CsvOptions::Delimiter::kSpace;
  expect_same_streamed(options_of(folder, spaces), 20);
}

TEST(Streams, LibsvmWithCommentsAndLabels) {
  TemporaryFolder folder;
  folder.write("a.txt", "-1 1:0.5 7:-2e3 # one\n\n# none\n+1\t2:1  3:4\n-1\n1 1:1 2:2 3:3 4:4 5:5 6:6 7:7\n");
  folder.write("b.txt", "1 7:1\r\n-1 1:2\r\n");
  LibsvmConfig config;
  config.train = {"a.txt", "b.txt"};
  config.n_valid = 1;
  for (uint64_t limit : {10, 100, 300}) expect_same_streamed(options_of(folder, config), limit);
  folder.write("l.txt", "0,2 1:3\n1:2 2:1\n1 2:9\n");
  LibsvmConfig labels;
  labels.train = {"l.txt"};
  labels.target = Targets::kLabels;
  expect_same_streamed(options_of(folder, labels), 30);
}

TEST(Streams, FoldersOfPng) {
  TemporaryFolder folder;
  for (const char* location : {"p/b/1", "p/b/2", "p/a/1", "q/a/9", "q/b/3"})
    folder.write(str(location, ".png"),
                 png_bytes(2, 2, {static_cast<uint8_t>(location[0]), 2, 3, static_cast<uint8_t>(location[4])}));
  PngFoldersConfig config;
  config.train = {"p"};
  config.test = {"q"};
  expect_same_streamed(options_of(folder, config), 10);
  // What the first picture does not say comes when the others are read.
  folder.write("p/b/2.png", png_bytes(1, 2, {1, 2}));
  DatasetOptions options = options_of(folder, config);
  options.memory_limit = 10;
  Dataset data = load_dataset(options, k32);
  EXPECT_EQ(error_text([&] { data.train.read(2, 1, k32); }),
            "error: " + folder.path("p/b/2.png") +
                ": the picture has another size than the first\n  expected: 2x2 pixels, as " +
                folder.path("p/a/1.png") + "\n  got:      2x1");
}

TEST(Streams, ATextFileThatChangesIsAnError) {
  TemporaryFolder folder;
  folder.write("t.csv", "1,2,0\n3,4,1\n5,6,1\n");
  CsvConfig config;
  config.train = "t.csv";
  DatasetOptions options = options_of(folder, config);
  options.memory_limit = 10;
  Dataset data = load_dataset(options, k32);
  folder.write("t.csv", "1,2,0\n3;4,1\n5,6,1\n");
  EXPECT_EQ(data.train.read(2, 1, k32).x.as_double(0), 5);
  EXPECT_EQ(error_text([&] { data.train.read(1, 1, k32); }),
            "error: " + folder.path("t.csv") +
                ": the file changed while it was read\n"
                "  hint:     start again: the run reads its lines where they were at the beginning");
}

TEST(Streams, APackedFileIsShuffledWithinAWindowAndSaysSo) {
  TemporaryFolder folder;
  std::string bytes("\0\0\x8\x2\0\0\0\x64\0\0\0\x6", 12);
  for (int i = 0; i < 600; ++i) bytes += static_cast<char>(i);
  folder.write("x.idx", bytes);
  ASSERT_EQ(std::system(("gzip " + folder.path("x.idx")).c_str()), 0);
  std::string labels("\0\0\x8\x1\0\0\0\x64", 8);
  for (int i = 0; i < 100; ++i) labels += static_cast<char>(i % 2);
  folder.write("y.idx", labels);
  IdxConfig config;
  config.train = "x.idx.gz";
  config.train_labels = "y.idx";
  DatasetOptions options = options_of(folder, config);
  EXPECT_EQ(load_dataset(options, k32).shuffle_window, 0);
  options.memory_limit = 400;
  Dataset data = load_dataset(options, k32);
  EXPECT_EQ(data.shuffle_window, 16) << "a quarter of the limit";
  EXPECT_EQ(data.text(),
            "data set idx: examples of [6], 2 classes, streamed, shuffled within 16 examples\n"
            "  train 100 examples from " +
                folder.path("x.idx.gz") + " and " + folder.path("y.idx"));
  EXPECT_EQ(data_warnings(data, true),
            (std::vector<std::string>{folder.path("x.idx.gz") +
                                      ": packed, so that 16 examples at a time are shuffled; data.shuffle_window "
                                      "takes another number, and a file that is not packed is shuffled as a whole"}));
  EXPECT_TRUE(data_warnings(data, false).empty());
  options.shuffle_window = 30;
  data = load_dataset(options, k32);
  EXPECT_EQ(data.shuffle_window, 30);
  EXPECT_TRUE(data_warnings(data, true).empty());
}

}  // namespace
}  // namespace thtrain
