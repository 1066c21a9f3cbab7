#include "datasets/sources/libsvm.h"

#include <cmath>
#include <numeric>

#include "datasets/load.h"
#include "datasets/memory.h"
#include "tests/support/datasets_support.h"
#include "tests/support/dtypes.h"
#include "tests/support/gzip.h"

namespace thtrain {
namespace {

LibsvmTable read(const TemporaryFolder& folder, const std::string& text, const LibsvmOptions& options = {}) {
  folder.write("a.txt", text);
  return read_libsvm(folder.path("a.txt"), options);
}

TEST(Libsvm, NumbersThatAreNotNamedAreZero) {
  TemporaryFolder folder;
  LibsvmTable table = read(folder, "2 1:0.5 3:-1e2  # a comment\r\n\n# nothing\n0\n1\t2:7 \n");
  EXPECT_TRUE(same_bits(table.x, Tensor::of(std::vector<double>{0.5, 0, -100, 0, 0, 0, 0, 7, 0}, {3, 3})));
  EXPECT_TRUE(same_bits(table.y, Tensor::of(std::vector<double>{2, 0, 1}, {3})));
  EXPECT_EQ(read(folder, "1 1:1\n", {.features = 4}).x.shape(), Shape({1, 4}));
}

TEST(Libsvm, SignsAreClasses) {
  TemporaryFolder folder;
  const Tensor classes = Tensor::of(std::vector<double>{0, 1, 1}, {3});
  EXPECT_TRUE(same_bits(read(folder, "-1 1:1\n+1 1:2\n1 1:3\n").y, classes));
  const Tensor values = Tensor::of(std::vector<double>{-1, 1, 1}, {3});
  EXPECT_TRUE(same_bits(read(folder, "-1 1:1\n+1 1:2\n1 1:3\n", {.targets = Targets::kValues}).y, values));
}

TEST(Libsvm, SeveralLabels) {
  TemporaryFolder folder;
  LibsvmTable table = read(folder, "0,2 1:1\n1:2\n1 2:3\n", {.targets = Targets::kLabels});
  EXPECT_TRUE(same_bits(table.y, Tensor::of(std::vector<uint8_t>{1, 0, 1, 0, 0, 0, 0, 1, 0}, {3, 3})));
  EXPECT_TRUE(same_bits(table.x, Tensor::of(std::vector<double>{1, 0, 2, 0, 0, 3}, {3, 2})));
}

TEST(Libsvm, AnIndexThatNoMemoryHolds) {
  TemporaryFolder folder;
  const std::string begin = "error: " + folder.path("a.txt") + ": line 2: ";
  const std::string hint =
      "\n  hint:     if the index is wrong, data.features says how many numbers an example has, and larger ones are "
      "refused";
  EXPECT_EQ(error_text([&] { read(folder, "0 1:2\n1 3:1 2147483648:5\n0 7:1\n"); }),
            begin + "the index is too large\n  expected: at most 2147483647\n  got:      \"2147483648:5\"" + hint);
  const auto most = static_cast<int64_t>(usable_memory() / 8 / sizeof(double)) + 1;
  if (most >= 2147483647) GTEST_SKIP() << "so much memory holds every example";
  auto text = [](uint64_t n) { return bytes_text(static_cast<double>(n)); };
  EXPECT_EQ(error_text([&] { read(folder, str("0 1:2\n1 3:1 ", most, ":5\n0 7:1\n"), {.memory_limit = 100}); }),
            begin + str("an example does not fit in memory\n  expected: at most ", text(usable_memory() / 8),
                        ", an eighth of the memory that there is\n  got:      ", text(static_cast<uint64_t>(most) * 8),
                        ", ", most, " numbers, by the largest index", hint,
                        ";\n            data.sparse = true keeps the numbers that are named only"));
}

TEST(Libsvm, TheTestFileHasTheNumbersOfTheTrainingFile) {
  TemporaryFolder folder;
  folder.write("a.txt", "0 1:1 4:2\n1 2:3\n");
  folder.write("b.txt", "1 1:5\n");
  LibsvmConfig config;
  config.train = {"a.txt"};
  config.test = {"b.txt"};
  auto load = [&] {
    DatasetOptions options{.name = "libsvm", .config_folder = folder.path()};
    config.fill(options);
    for (const DataFile& file : config.files()) options.files[file.part] = {*file.path};
    return load_dataset(options, k64);
  };
  Dataset data = load();
  EXPECT_EQ(std::tuple(data.classes(), data.train.size(), data.test.size()), std::tuple(2, 2, 1));
  EXPECT_TRUE(same_bits(data.test.all(k64).x, Tensor::of(std::vector<double>{5, 0, 0, 0}, {1, 4})));
  folder.write("b.txt", "1 5:5\n");
  EXPECT_EQ(error_text([&] { load(); }), "error: " + folder.path("b.txt") +
                                             ": line 1: the index is too large\n"
                                             "  expected: at most 4, the numbers of an example\n"
                                             "  got:      \"5:5\"\n"
                                             "  hint:     data.features says how many numbers an example has");
}

std::vector<int64_t> numbers_to(int64_t count) {
  std::vector<int64_t> out(static_cast<size_t>(count));
  std::iota(out.begin(), out.end(), int64_t{0});
  return out;
}

TEST(Libsvm, SparseExamplesAreTheDenseOnes) {
  TemporaryFolder folder;
  const std::string text = "0 1:0.5 3:-1e2\n1\n2 2:7 100000:4  # far away\n0 3:1\n";
  const Split dense = [&] {
    const LibsvmTable table = read(folder, text);
    return Split({.raw = table.x, .origin = "x"}, {.raw = table.y, .origin = "y"}, Targets::kClasses, 2);
  }();
  for (const uint64_t limit : {uint64_t{0}, uint64_t{1}}) {  // in memory, and read when asked for
    SCOPED_TRACE(limit);
    const LibsvmTable table = read(folder, text, {.memory_limit = limit, .sparse = true});
    EXPECT_EQ(table.held > 0, limit == 0);
    const Split split({.raw = table.x, .source = table.source, .origin = "x"}, {.raw = table.y, .origin = "y"},
                      Targets::kClasses, 2);
    ASSERT_TRUE(split.is_sparse());
    EXPECT_TRUE(same_bits(split.read(0, 4, k32).x, dense.read(0, 4, k32).x));
    const Batch batch = split.read_sparse(std::vector<int64_t>{2, 0, 1}, k32);
    EXPECT_TRUE(same_bits(batch.sparse.values, Tensor::vector<float>({14, 8, 1, -200})));
    EXPECT_TRUE(same_bits(batch.sparse.columns, Tensor::vector<int32_t>({0, 1, 2, 99999})));
    EXPECT_TRUE(same_bits(batch.sparse.places, Tensor::vector<int32_t>({1, 3, 0, 2})));
    EXPECT_TRUE(same_bits(batch.sparse.indptr, Tensor::vector<int32_t>({0, 2, 4, 4})));
    EXPECT_TRUE(same_bits(batch.y, Tensor::vector<int64_t>({2, 0, 1})));
  }
}

TEST(Libsvm, ScalesWithoutCentring) {
  TemporaryFolder folder;
  folder.write("a.txt", "0 1:1 4:2\n1 2:3\n1 1:5 2:3\n");
  const auto load = [&](bool sparse, std::optional<double> limit = {}) {
    LibsvmConfig config;
    config.train = {"a.txt"};
    config.sparse = sparse;
    config.memory_limit = limit;
    config.standardize = Standardization::By::kScales;
    DatasetOptions options{.name = "libsvm", .config_folder = folder.path()};
    config.fill(options);
    options.files["train.0"] = {"a.txt"};
    return load_dataset(options, k64);
  };
  const Dataset dense = load(false), sparse = load(true), streamed = load(true, 1e-9);
  EXPECT_EQ(std::tuple(sparse.streamed, streamed.streamed), std::tuple(false, true));
  EXPECT_EQ(sparse.standardization->inputs.mean, std::vector<double>(4, 0.0));
  for (const Dataset* data : {&sparse, &streamed}) {
    ASSERT_TRUE(data->train.is_sparse());
    for (size_t j = 0; j < 4; ++j)
      EXPECT_NEAR(data->standardization->inputs.scale[j], dense.standardization->inputs.scale[j], 1e-15);
    const Batch batch = data->train.read_sparse(numbers_to(3), k64);
    const Tensor x = data->train.read(0, 3, k64).x;
    EXPECT_NEAR(x.as_double(0), 1 / std::sqrt(14.0 / 3), 1e-15);
    EXPECT_EQ(batch.sparse.values.as_double(0), x.as_double(0));
    EXPECT_EQ(x.as_double(2), 0);
  }
}

TEST(Libsvm, APackedSparseFileThatDoesNotFit) {
  TemporaryFolder folder;
  folder.write("a.txt.gz", gzipped("0 1:1 4:2\n1 2:3\n"));
  const auto load = [&](double limit) {
    LibsvmConfig config;
    config.train = {folder.path("a.txt.gz")};
    config.sparse = true;
    config.memory_limit = limit;
    DatasetOptions options{.name = "libsvm"};
    config.fill(options);
    options.files["train.0"] = {config.train[0]};
    return load_dataset(options, k64);
  };
  EXPECT_EQ(load(1).train.size(), 2);
  EXPECT_EQ(error_text([&] { load(1e-9); }), "error: " + folder.path("a.txt.gz") +
                                                 ": a packed file of sparse examples does not fit in memory\n"
                                                 "  expected: at most 1 B, or a file that is not packed\n"
                                                 "  hint:     gunzip -k " +
                                                 folder.path("a.txt.gz"));
}

TEST(Libsvm, SeveralSparseFilesAreOne) {
  TemporaryFolder folder;
  LibsvmConfig config;
  config.train = {folder.write("a.txt", "0 1:1 4:2\n"), folder.write("b.txt", "1 2:3\n0 4:5\n")};
  config.sparse = true;
  DatasetOptions options{.name = "libsvm"};
  config.fill(options);
  for (const DataFile& file : config.files()) options.files[file.part] = {*file.path};
  const Dataset data = load_dataset(options, k64);
  EXPECT_TRUE(same_bits(data.train.read(0, 3, k64).x,
                        Tensor::matrix({{1.0, 0.0, 0.0, 2.0}, {0.0, 3.0, 0.0, 0.0}, {0.0, 0.0, 0.0, 5.0}})));
  EXPECT_TRUE(
      same_bits(data.train.read_sparse(std::vector<int64_t>{2, 1}, k64).sparse.values, Tensor::vector<double>({5, 3})));
}

TEST(Libsvm, ASparseNumberThatIsNotFinite) {
  TemporaryFolder folder;
  LibsvmConfig config;
  config.train = {folder.write("a.txt", "0 1:1\n1 2:1e39\n")};
  config.sparse = true;
  DatasetOptions options{.name = "libsvm"};
  config.fill(options);
  options.files["train.0"] = {config.train[0]};
  EXPECT_EQ(error_text([&] { load_dataset(options, k32); }),
            "error: " + folder.path("a.txt") +
                ": row 1, column 1: not a finite number\n"
                "  expected: numbers that are finite in float32\n  got:      1e+39\n"
                "  hint:     rows and columns count from 0");
}

TEST(Libsvm, BadFiles) {
  TemporaryFolder folder;
  const std::string file = "error: " + folder.path("a.txt");
  auto text = [&](const std::string& bytes, const LibsvmOptions& options = {}) {
    return error_text([&] { read(folder, bytes, options); });
  };
  EXPECT_EQ(text("1 1:1\none 1:2\n"),
            file + ": line 2: the label is not a finite number\n  expected: a finite number\n  got:      \"one\"");
  EXPECT_EQ(text("1 1:nan\n"),
            file + ": line 1: the value is not a finite number\n  expected: a finite number\n  got:      \"nan\"");
  EXPECT_EQ(text("1 1=2\n"), file +
                                 ": line 1: not a number of the example\n  expected: index:value, the index an integer "
                                 "from 1\n  got:      \"1=2\"");
  EXPECT_EQ(text("1 0:2\n"),
            file +
                ": line 1: the index is below 1\n  expected: indices from 1 on\n  got:      \"0:2\"\n"
                "  hint:     numbers are counted from 1: dump_svmlight_file of scikit-learn does so with "
                "zero_based=False");
  EXPECT_EQ(text("1 2:2 2:3\n"), file +
                                     ": line 1: the indices do not rise\n  expected: an index above 2, which "
                                     "precedes it\n  got:      \"2:3\"");
  EXPECT_EQ(text("# nothing\n"), file + ": there are no examples\n  expected: a line for each\n  got:      no lines");
  EXPECT_EQ(text("1\n0\n"), file + ": the examples have no numbers\n  expected: index:value behind the labels");
  EXPECT_EQ(text("\x93NUMPY\x01"), file +
                                       ": not a LIBSVM file\n  expected: text: lines of label index:value ...\n"
                                       "  got:      a .npy file");
  EXPECT_EQ(text("1,x 1:2\n", {.targets = Targets::kLabels}),
            file +
                ": line 1: not the numbers of labels\n  expected: numbers from 0 on with commas between them\n"
                "  got:      \"x\"");
  EXPECT_EQ(text("3 1:2\n", {.targets = Targets::kLabels, .labels = 3}),
            file +
                ": line 1: not the numbers of labels\n  expected: numbers from 0 to 2 with commas between them\n"
                "  got:      \"3\"");
  EXPECT_EQ(text("1:2\n", {.targets = Targets::kLabels}),
            file + ": no example has a label\n  expected: labels before the numbers: \"0,3 1:0.5\"");
}

}  // namespace
}  // namespace thtrain
