#include "datasets/dataset.h"

#include <cmath>
#include <limits>

#include "datasets/array_file.h"
#include "datasets/npy.h"
#include "tests/support/datasets_support.h"
#include "tests/support/dtypes.h"

namespace thtrain {
namespace {

/// x: uint8 [5, 2, 3] of 0, 1, 2, ...; y: 0, 1, 2, 0, 1.
Split small_split(double scale = 1) {
  std::vector<uint8_t> pixels(30);
  for (size_t i = 0; i < pixels.size(); ++i) pixels[i] = static_cast<uint8_t>(i * 8);
  Split split({.raw = Tensor::of(pixels, {5, 2, 3}), .origin = "x.npy"},
              {.raw = Tensor::vector<uint8_t>({0, 1, 2, 0, 1}), .origin = "y.npy"}, Targets::kClasses, scale);
  split.set_classes(3);
  return split;
}

Split float_split(const Tensor& x, const Tensor& y, Targets targets) {
  return Split({.raw = x, .origin = "x.npy"}, {.raw = y, .origin = "y.npy"}, targets, 1);
}

TEST(Split, ScalesPixelsExactly) {
  Split split = small_split(1.0 / 256);
  EXPECT_EQ(split.size(), 5);
  EXPECT_EQ(split.input_shape(), Shape({2, 3}));
  Batch batch = split.read(1, 2, k32);
  EXPECT_EQ(batch.x.type_text(), "float32[2, 2, 3]");
  for (int64_t i = 0; i < 12; ++i) EXPECT_EQ(batch.x.as_double(i), static_cast<double>(6 + i) / 32);
  EXPECT_TRUE(same_bits(batch.y, Tensor::vector<int64_t>({1, 2})));
  EXPECT_TRUE(same_bits(split.read(1, 2, k64).x.cast(k32), batch.x));
}

TEST(Split, ReadsAnyExamplesInAnyOrder) {
  Split split = small_split();
  std::vector<int64_t> order = {4, 0, 4};
  Batch batch = split.read(order, k64);
  EXPECT_EQ(batch.x.shape(), Shape({3, 2, 3}));
  EXPECT_EQ(batch.x.as_double(0), 192);
  EXPECT_EQ(batch.x.as_double(6), 0);
  EXPECT_EQ(batch.x.as_double(17), 232);
  EXPECT_TRUE(same_bits(batch.y, Tensor::vector<int64_t>({1, 0, 1})));
}

TEST(Split, ReadsIntoTensorsOfAnotherShape) {
  Batch into{Tensor::empty(k32, {2, 6}), Tensor::empty(DType::kInt64, {2})};
  small_split().read_into(into, 3);
  EXPECT_EQ(into.x.as_double(0), 144);
  EXPECT_EQ(into.y.as_int(1), 1);
  Batch wrong{Tensor::empty(k32, {2, 5}), Tensor::empty(DType::kInt64, {2})};
  EXPECT_THROW(small_split().read_into(wrong, 0), InternalError);
  EXPECT_THROW(small_split().read_into(into, 4), InternalError);
  EXPECT_THROW(small_split().read(std::vector<int64_t>{5}, k32), InternalError);
}

TEST(Split, PartsNestAndKeepTheirRows) {
  Split permuted = small_split().part({3, 1, 4, 0});
  EXPECT_TRUE(same_bits(permuted.all(k32).y, Tensor::vector<int64_t>({0, 1, 1, 0})));
  Split tail = permuted.part(2, 2);
  EXPECT_EQ(tail.size(), 2);
  EXPECT_EQ(tail.file_row(0), 4);
  EXPECT_EQ(tail.read(1, 1, k32).x.as_double(0), 0);
  Split again = small_split().part(1, 4).part({3, 0});
  EXPECT_EQ(again.file_row(0), 4);
  EXPECT_EQ(again.file_row(1), 1);
}

TEST(Split, AllSharesWhatNeedsNoConversion) {
  Tensor x = Tensor::matrix<float>({{1, 2}, {3, 4}, {5, 6}});
  Split split = float_split(x, Tensor::vector<int64_t>({0, 1, 0}), Targets::kClasses);
  EXPECT_EQ(split.all(k32).x.raw(), x.raw());
  EXPECT_EQ(split.part(1, 2).all(k32).x.as_double(0), 3);
  EXPECT_TRUE(same_bits(split.part(1, 2).all(k32).y, Tensor::vector<int64_t>({1, 0})));
  EXPECT_TRUE(same_bits(split.all(k64).x, x.cast(k64)));
}

TEST(Split, ReadsEveryRealDtypeByteOrderAndOrder) {
  Tensor labels = Tensor::vector<int64_t>({0, 1});
  for (const char* name : {"b1", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f4", "f8"}) {
    for (const char* suffix : {"_little.npy", "_big_fortran.npy"}) {
      SCOPED_TRACE(std::string(name) + suffix);
      std::string path = source_path(std::string("tests/golden/npy/") + name + suffix);
      ArrayFile file(path, ArrayFile::Format::kNpy, {});
      EXPECT_EQ(file.can_stay(), suffix[1] == 'l');
      for (const DataArray& array : {file.in_memory(), file.can_stay() ? file.in_file() : file.in_memory()}) {
        Split split(array, {.raw = labels, .origin = "y"}, Targets::kClasses, 1);
        EXPECT_TRUE(same_bits(split.all(k64).x, read_npy(path).cast(k64)));
        EXPECT_TRUE(same_bits(split.read(1, 1, k32).x, read_npy(path).cast(k32).rows(1, 1)));
        EXPECT_EQ(split.bytes(k64), 48u + 16u);
      }
    }
  }
}

TEST(Split, LabelsMayBeFloatsOrAColumn) {
  Tensor x = Tensor::matrix<float>({{1}, {2}});
  EXPECT_TRUE(same_bits(float_split(x, Tensor::vector<double>({1, 0}), Targets::kClasses).all(k32).y,
                        Tensor::vector<int64_t>({1, 0})));
  EXPECT_TRUE(same_bits(float_split(x, Tensor::matrix<uint8_t>({{1}, {0}}), Targets::kClasses).all(k32).y,
                        Tensor::vector<int64_t>({1, 0})));
}

TEST(Split, ValuesMayBeRows) {
  Tensor x = Tensor::vector<int32_t>({1, 2}), y = Tensor::matrix<int16_t>({{3, 4}, {5, 6}});
  Batch batch = float_split(x, y, Targets::kValues).all(k32);
  EXPECT_TRUE(same_bits(batch.x, Tensor::matrix<float>({{1}, {2}})));
  EXPECT_TRUE(same_bits(batch.y, Tensor::matrix<float>({{3, 4}, {5, 6}})));
}

TEST(Split, MayHaveNoTargets) {
  Batch batch = Split({.raw = Tensor::matrix<float>({{1, 2}}), .origin = "x"}, {}, Targets::kNone, 2).all(k32);
  EXPECT_TRUE(same_bits(batch.x, Tensor::matrix<float>({{2, 4}})));
  EXPECT_EQ(batch.y.type_text(), "int64[0]");
  EXPECT_EQ(Split().size(), 0);
}

TEST(CountClasses, IsOneMoreThanTheLargestLabel) {
  EXPECT_EQ(count_classes(small_split()), 3);
  EXPECT_EQ(count_classes(small_split().part(0, 2)), 2);
  EXPECT_EQ(count_classes(small_split().part(0, 0)), 0);
}

TEST(CheckAll, PassesGoodDataAndNothingElse) {
  EXPECT_NO_THROW(check_all(small_split(), k32));
  EXPECT_NO_THROW(check_all(Split(), k32));
  Tensor x = Tensor::matrix<float>({{1, 2}, {3, 4}});
  const Tensor y = Tensor::vector<int64_t>({0, 1});
  EXPECT_NO_THROW(check_all(float_split(x, y, Targets::kClasses), k32));
  x.data<float>()[3] = std::numeric_limits<float>::infinity();
  EXPECT_THROW(check_all(float_split(x, y, Targets::kClasses), k32), UserError);
}

// ---- errors, whole texts ----

TEST(SplitErrors, ArraysThatDoNotFit) {
  Tensor x = Tensor::matrix<float>({{1, 2}, {3, 4}}), y = Tensor::vector<int64_t>({0, 1});
  EXPECT_EQ(error_text([&] {
              float_split(x, Tensor::vector<int64_t>({0, 1, 2}), Targets::kClasses);
            }),
            "error: examples and labels differ in number\n"
            "  expected: 2 rows, as in x.npy\n"
            "  got:      3 rows in y.npy");
  EXPECT_EQ(error_text([&] { float_split(x, x, Targets::kClasses); }),
            "error: y.npy: the labels are not one number for each example\n"
            "  expected: an array [2]\n"
            "  got:      float32[2, 2]\n"
            "  hint:     rows of zeros with a one at the class become class numbers by labels.argmax(axis=1); several "
            "labels of an example are data.target = \"labels\", values to approximate are data.target = \"values\"");
  EXPECT_EQ(error_text([&] { float_split(x.cast(DType::kComplex64), y, Targets::kClasses); }),
            "error: x.npy: complex numbers cannot be trained on\n"
            "  expected: real numbers\n"
            "  got:      complex64[2, 2]\n"
            "  hint:     numpy.abs(array), or two columns: real and imaginary part");
  EXPECT_EQ(error_text([&] {
              float_split(Tensor::zeros(k32, {2, 0}), y, Targets::kClasses);
            }),
            "error: x.npy: the examples have no numbers to learn from\n"
            "  expected: at least one column\n"
            "  got:      float32[2, 0]");
  EXPECT_EQ(error_text([&] { float_split(x, Tensor(1.0), Targets::kValues); }),
            "error: y.npy: a single number, not a list of examples\n"
            "  expected: an array whose first axis counts the examples\n"
            "  got:      float64[]");
}

const std::string kCounting = "\n  hint:     rows and columns count from 0";

TEST(CheckErrors, NumbersThatAreNotFinite) {
  Tensor x = Tensor::zeros(k64, {4, 3}), cube = Tensor::zeros(k32, {4, 2, 3});
  Tensor labels = Tensor::zeros(DType::kInt64, {4});
  x.at<double>({2, 1}) = std::nan("");
  EXPECT_EQ(error_text([&] { check_all(float_split(x, labels, Targets::kClasses), k64); }),
            "error: x.npy: row 2, column 1: not a finite number\n"
            "  expected: numbers that are finite in float64\n"
            "  got:      nan" +
                kCounting);
  cube.at<float>({3, 1, 0}) = -std::numeric_limits<float>::infinity();
  EXPECT_EQ(error_text([&] { check_all(float_split(cube, labels, Targets::kClasses), k32); }),
            "error: x.npy: row 3, element [1, 0]: not a finite number\n"
            "  expected: numbers that are finite in float32\n"
            "  got:      -inf" +
                kCounting);
  x.at<double>({2, 1}) = 1e300;
  EXPECT_EQ(error_text([&] { check_all(float_split(x, labels, Targets::kClasses), k64); }), "no error");
  EXPECT_EQ(error_text([&] { check_all(float_split(x, labels, Targets::kClasses), k32); }),
            "error: x.npy: row 2, column 1: not a finite number\n"
            "  expected: numbers that are finite in float32\n"
            "  got:      1e+300" +
                kCounting);
  Tensor values = Tensor::vector<float>({0, 1, std::nanf(""), 2});
  EXPECT_EQ(error_text([&] {
              check_all(float_split(Tensor::zeros(k32, {4, 3}), values, Targets::kValues), k32);
            }),
            "error: y.npy: row 2: not a finite number\n"
            "  expected: numbers that are finite in float32\n"
            "  got:      nan" +
                kCounting);
}

TEST(CheckErrors, NumbersThatAreNotFiniteWhenScaled) {
  Split split({.raw = Tensor::matrix<float>({{1, 1e38f}}), .origin = "x.npy"}, {}, Targets::kNone, 10);
  EXPECT_EQ(error_text([&] { check_all(split, k32); }),
            "error: x.npy: row 0, column 1: not a finite number\n"
            "  expected: numbers that are finite in float32\n"
            "  got:      1e+38, multiplied by data.scale" +
                kCounting);
}

TEST(CheckErrors, LabelsOutOfRange) {
  Split split = small_split();
  split.set_classes(2);
  EXPECT_EQ(error_text([&] { check_all(split, k32); }),
            "error: y.npy: row 2: the label is out of range\n"
            "  expected: 0 to 1, the classes of the training examples\n"
            "  got:      2" +
                kCounting);
  Tensor x = Tensor::zeros(k32, {2, 1});
  EXPECT_EQ(error_text([&] {
              count_classes(float_split(x, Tensor::vector<int8_t>({0, -1}), Targets::kClasses));
            }),
            "error: y.npy: row 1: the label is out of range\n"
            "  expected: 0 or more\n"
            "  got:      -1" +
                kCounting + "; classes are numbered 0, 1, 2, ...");
  EXPECT_EQ(error_text([&] {
              float_split(x, Tensor::vector<double>({0, 2.5}), Targets::kClasses).all(k32);
            }),
            "error: y.npy: row 1: the label is not an integer\n"
            "  expected: the number of a class\n"
            "  got:      2.5\n"
            "  hint:     data.target = \"values\" takes numbers to approximate;\n"
            "            rows and columns count from 0");
  EXPECT_EQ(error_text([&] {
              float_split(x, Tensor::vector<float>({std::nanf(""), 0}), Targets::kClasses).all(k32);
            }),
            "error: y.npy: row 0: the label is not an integer\n"
            "  expected: the number of a class\n"
            "  got:      nan" +
                kCounting);
}

TEST(CheckErrors, LabelsThatAskForMoreClassesThanExamples) {
  Tensor x = Tensor::zeros(k32, {3, 1});
  for (int64_t label : {int64_t{3}, int64_t{1} << 31, int64_t{1} << 62})
    EXPECT_EQ(error_text([&] {
                count_classes(float_split(x, Tensor::vector<int64_t>({0, 1, label}), Targets::kClasses));
              }),
              str("error: y.npy: row 2: the label is too large\n"
                  "  expected: classes numbered from 0 on, and no more of them than examples (3)\n"
                  "  got:      ",
                  label,
                  "\n"
                  "  hint:     rows and columns count from 0;\n"
                  "            numpy.unique(labels, return_inverse=True)[1] numbers classes from 0 on"));
  EXPECT_EQ(count_classes(float_split(x, Tensor::vector<int64_t>({0, 1, 2}), Targets::kClasses)), 3);
}

TEST(CheckErrors, ATextFileNamesItsLinesAndColumns) {
  auto text = std::make_shared<const TextRows>(TextRows{{2, 5}, {"width", "height"}, true});
  auto unnamed = std::make_shared<const TextRows>(TextRows{{2, 5}, {"2", "3"}, false});
  Tensor x = Tensor::matrix<double>({{1, 2}, {3, 1e300}}), y = Tensor::vector<double>({0, 0.5});
  auto errors = [&](const std::shared_ptr<const TextRows>& rows, Targets targets) {
    return error_text([&] {
      check_all(
          Split({.raw = x, .origin = "t.csv", .text = rows}, {.raw = y, .origin = "t.csv", .text = rows}, targets, 1),
          k32);
    });
  };
  EXPECT_EQ(errors(text, Targets::kNone),
            "error: t.csv: line 5, column \"height\": not a finite number\n"
            "  expected: numbers that are finite in float32\n"
            "  got:      1e+300");
  EXPECT_EQ(errors(unnamed, Targets::kNone),
            "error: t.csv: line 5, column 3: not a finite number\n"
            "  expected: numbers that are finite in float32\n"
            "  got:      1e+300");
  EXPECT_EQ(errors(text, Targets::kClasses),
            "error: t.csv: line 5: the label is not an integer\n"
            "  expected: the number of a class\n"
            "  got:      0.5\n"
            "  hint:     data.target = \"values\" takes numbers to approximate");
}

TEST(CheckErrors, ABatchNamesItsRowsInTheFile) {
  Tensor x = Tensor::zeros(k32, {100, 2});
  x.at<float>({57, 1}) = std::nanf("");
  ConfigPosition where{.file = "lab.toml", .line = 2, .column = 1, .length = 7, .source_line = "train_x = \"x.npy\""};
  Split split = Split({.raw = x, .origin = "x.npy", .where = where},
                      {.raw = Tensor::zeros(DType::kInt64, {100}), .origin = "y.npy"}, Targets::kClasses, 1)
                    .part(7, 93);
  const std::string expected =
      "error: x.npy: row 57, column 1: not a finite number\n"
      "  expected: numbers that are finite in float32\n"
      "  got:      nan\n"
      "  config:   lab.toml:2:1\n"
      "      2 | train_x = \"x.npy\"\n"
      "        | ^^^^^^^" +
      kCounting;
  EXPECT_EQ(error_text([&] { check_batch(split, split.read(45, 10, k32), 45); }), expected);
  std::vector<int64_t> examples = {3, 50, 1};
  EXPECT_EQ(error_text([&] { check_batch(split, split.read(examples, k32), examples); }), expected);
  EXPECT_EQ(error_text([&] { check_batch(split, split.read(60, 10, k32), 60); }), "no error");
}

}  // namespace
}  // namespace thtrain
