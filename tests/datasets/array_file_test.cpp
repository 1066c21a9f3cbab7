// Arrays that stay in their files, the formats that allow it, and what happens where the memory is too small.
#include "datasets/array_file.h"

#include <cstdlib>
#include <limits>
#include <tuple>

#include "datasets/load.h"
#include "datasets/memory.h"
#include "datasets/npz.h"
#include "datasets/sources/digits.h"
#include "datasets/sources/idx.h"
#include "datasets/sources/npy.h"
#include "tests/support/data_position.h"
#include "tests/support/datasets_support.h"
#include "tests/support/dtypes.h"

namespace thtrain {
namespace {

/// uint8 [rows, columns] of 0, 1, 2, ..., as IDX.
std::string idx_text(uint32_t rows, uint32_t columns) {
  std::string out("\0\0\x8", 3);
  out += static_cast<char>(columns > 0 ? 2 : 1);
  auto length = [&](uint32_t value) {
    for (int shift = 24; shift >= 0; shift -= 8) out += static_cast<char>(value >> shift & 255);
  };
  length(rows);
  if (columns > 0) length(columns);
  for (uint32_t i = 0; i < rows * std::max(columns, 1u); ++i) out += static_cast<char>(columns > 0 ? i : i % 2);
  return out;
}

/// 100 rows of 6 numbers under many forms; the labels are 0, 1, 0, ...
struct Files {
  TemporaryFolder folder;
  Tensor x = Tensor::empty(DType::kFloat64, {100, 6}), y = Tensor::empty(DType::kInt64, {100});
  Files() {
    for (int64_t i = 0; i < 600; ++i) x.data<double>()[i] = static_cast<double>(i % 256);
    for (int64_t i = 0; i < 100; ++i) y.data<int64_t>()[i] = i % 2;
    write_npy(folder.path("x.npy"), x);
    write_npy(folder.path("f4.npy"), x.cast(k32));
    write_npy(folder.path("u1.npy"), x.cast(DType::kUInt8));
    write_npy(folder.path("y.npy"), y);
    write_npz(folder.path("d.npz"), {{"x", x}, {"labels/y", y}});
    folder.write("x.idx", idx_text(100, 6));
    folder.write("y.idx", idx_text(100, 0));
  }
  DatasetOptions options(const std::string& name, const std::string& x_file, const std::string& y_file) const {
    DatasetOptions out{.read = name == "idx" ? idx_reader() : npy_reader(),
                       .name = name,
                       .where = data_at(1),
                       .config_folder = folder.path(),
                       .scale = 1};
    out.files = {{"train_x", {x_file, data_at(2)}}, {"train_y", {y_file, data_at(3)}}};
    return out;
  }
};

TEST(ArrayFile, NamesAnArrayOfAnNpzFile) {
  Files files;
  Dataset data = load_dataset(files.options("npy", "d.npz[x]", "d.npz[labels/y]"), k32);
  EXPECT_TRUE(same_bits(data.train.all(k32).x, files.x.cast(k32)));
  EXPECT_TRUE(same_bits(data.train.all(k32).y, files.y));
  EXPECT_EQ(data.text(), "data set npy: examples of [6], 2 classes\n  train 100 examples from " +
                             files.folder.path("d.npz[x]") + " and " + files.folder.path("d.npz[labels/y]"));
  auto error = [&](const std::string& x) {
    return error_text([&] { load_dataset(files.options("npy", x, "y.npy"), k32); });
  };
  EXPECT_EQ(error("d.npz[z]"), "error: " + files.folder.path("d.npz") +
                                   ": there is no array named \"z\"\n  expected: one of x, labels/y" + data_caret(2));
  EXPECT_EQ(error("d.npz"),
            "error: " + files.folder.path("d.npz") + ": an .npz file is given where one array is needed\n  expected: " +
                files.folder.path("d.npz") + "[NAME] with the name of an array: x, labels/y" + data_caret(2));
}

TEST(ArrayFile, RowsInAFileAreThoseInMemory) {
  Files files;
  ASSERT_EQ(std::system(("gzip -k " + files.folder.path("x.idx")).c_str()), 0);
  for (auto [name, x, y] : {std::tuple("npy", "x.npy", "y.npy"),
                            {"npy", "f4.npy", "y.npy"},
                            {"npy", "u1.npy", "y.npy"},
                            {"idx", "x.idx", "y.idx"},
                            {"idx", "x.idx.gz", "y.idx"},
                            {"npy", "d.npz[x]", "d.npz[labels/y]"}}) {
    SCOPED_TRACE(x);
    DatasetOptions options = files.options(name, x, y);
    Dataset in_memory = load_dataset(options, k32);
    EXPECT_FALSE(in_memory.streamed);
    options.memory_limit = 900;
    Dataset streamed = load_dataset(options, k32);
    EXPECT_TRUE(streamed.streamed);
    EXPECT_TRUE(streamed.train.x_array().source);
    for (DType dtype : {k32, DType::kFloat64}) {
      EXPECT_TRUE(same_bits(streamed.train.all(dtype).x, files.x.cast(dtype)));
      std::vector<int64_t> examples = {99, 3, 4, 5, 0, 0};
      EXPECT_TRUE(same_bits(streamed.train.read(examples, dtype).x, in_memory.train.read(examples, dtype).x));
      EXPECT_TRUE(same_bits(streamed.train.read(examples, dtype).y, in_memory.train.read(examples, dtype).y));
    }
  }
}

// A mapping would end the process by SIGBUS.
TEST(ArrayFile, AFileCutShortIsAnErrorWithItsName) {
  Files files;
  DatasetOptions options = files.options("npy", "f4.npy", "y.npy");
  options.memory_limit = 2000;
  Dataset data = load_dataset(options, k32);
  ASSERT_TRUE(data.streamed);
  std::filesystem::resize_file(files.folder.path("f4.npy"), 128 + 50 * 24);
  EXPECT_TRUE(same_bits(data.train.read(0, 50, k32).x, files.x.cast(k32).rows(0, 50)));
  EXPECT_EQ(error_text([&] { data.train.read(40, 20, k32); }),
            "error: " + files.folder.path("f4.npy") +
                ": the file was cut short while it was read\n"
                "  expected: at least 1568 bytes\n"
                "  got:      1328 bytes\n"
                "  hint:     another program has changed it: write it again, whole");
}

TEST(MemoryLimit, WhatCannotBeStreamedIsRefused) {
  Files files;
  const std::string base = files.folder.path();
  std::filesystem::copy_file(source_path("tests/golden/npy/cube_fortran.npy"), base + "/fortran.npy");
  DatasetOptions options = files.options("npy", "fortran.npy", "y.npy");
  options.memory_limit = 20;
  EXPECT_EQ(error_text([&] { load_dataset(options, k32); }),
            "error: " + base +
                "/fortran.npy: the data does not fit in memory\n  expected: at most 20 B, as data.memory_limit says\n"
                "  got:      1.8 KiB as float32" +
                data_caret(2) +
                "\n  hint:     an array in C order is read while training: numpy.save(path, "
                "numpy.ascontiguousarray(array))");
}

TEST(RequireMemory, RefusesWhatIsMoreThanThereIs) {
  uint64_t most = usable_memory();
  EXPECT_GT(most, uint64_t{1} << 20);
  EXPECT_EQ(error_text([&] { require_memory("x.npy", "float32[1, 2]", most); }), "no error");
  std::string all = bytes_text(static_cast<double>(most));
  EXPECT_EQ(error_text([&] { require_memory("x.npy", "float32[1, 2]", most + 1); }),
            "error: x.npy: float32[1, 2] does not fit in memory\n  expected: at most " + all +
                ", the memory that there is\n  got:      " + all);
}

// 1e11 digits are refused before anything is made; the number that asks for them is shown.
TEST(MemoryLimit, DigitsThatCannotFitAreRefused) {
  DatasetOptions options{.read = digits_reader(),
                         .name = "digits",
                         .where = data_at(1),
                         .train = 100'000'000'000,
                         .train_where = data_at(4),
                         .valid_where = data_at(5)};
  std::string text = error_text([&] { load_dataset(options, k32); });
  EXPECT_EQ(text.find("error: so many digits do not fit in memory\n  expected: at most "), 0u) << text;
  EXPECT_NE(text.find("\n  got:      357 TiB for 100000000000 training digits and the others" + data_caret(4)),
            std::string::npos)
      << text;
  options.train = 10;
  options.valid = std::numeric_limits<int64_t>::max();
  text = error_text([&] { load_dataset(options, k32); });
  EXPECT_NE(text.find(" for 9223372036854775807 validation digits and the others" + data_caret(5)), std::string::npos)
      << text;
}

TEST(LoadErrors, AnEmptyArrayHasNoExamples) {
  Files files;
  write_npy(files.folder.path("none.npy"), Tensor::zeros(k32, {0, 3}));
  write_npy(files.folder.path("no_y.npy"), Tensor::zeros(DType::kInt64, {0}));
  EXPECT_EQ(error_text([&] { load_dataset(files.options("npy", "none.npy", "no_y.npy"), k32); }),
            "error: " + files.folder.path("none.npy") +
                ": there are no examples to train on\n  expected: at least one\n  got:      float32[0, 3]" +
                data_caret(2));
}

// A class that only the rows kept for validation have is a class all the same.
TEST(LoadDataset, CountsTheClassesOfTheWholeTrainingFile) {
  Files files;
  files.y.data<int64_t>()[99] = 2;
  write_npy(files.folder.path("y.npy"), files.y);
  DatasetOptions options = files.options("npy", "x.npy", "y.npy");
  options.valid = 10;
  EXPECT_EQ(load_dataset(options, k32).classes(), 3);
}

TEST(LoadDataset, DrawsStratifiedValidationExamples) {
  Files files;
  for (int64_t i = 0; i < 100; ++i) files.y.data<int64_t>()[i] = i / 50;
  write_npy(files.folder.path("y.npy"), files.y);
  DatasetOptions options = files.options("npy", "x.npy", "y.npy");
  options.valid = 20;
  options.split = SplitBy::kStratified;
  Dataset data = load_dataset(options, k32);
  Batch valid = data.valid.all(k32);
  int64_t ones = 0;
  for (int64_t i = 0; i < 20; ++i) ones += valid.y.as_int(i);
  EXPECT_EQ(ones, 10);
  EXPECT_EQ(valid.x.as_double(0), static_cast<double>(data.valid.file_row(0) * 6 % 256));
  EXPECT_EQ(data.train.size(), 80);
}

}  // namespace
}  // namespace thtrain
