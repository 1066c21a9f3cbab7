#include "datasets/sources/cifar10.h"

#include "datasets/load.h"
#include "tests/support/data_position.h"
#include "tests/support/datasets_support.h"
#include "tests/support/dtypes.h"

namespace thtrain {
namespace {

// A record of one class whose planes are `first`, `first` + 1 and `first` + 2.
std::string record(int label, int first) {
  std::string out(1, static_cast<char>(label));
  for (int plane = 0; plane < 3; ++plane) out += std::string(1024, static_cast<char>(first + plane));
  return out;
}

DatasetOptions options_in(const TemporaryFolder& folder, const std::vector<std::string>& train) {
  Cifar10Config config;
  config.train = train;
  config.n_valid = 1;
  DatasetOptions out{.name = "cifar10", .config_folder = folder.path()};
  config.fill(out);
  for (const DataFile& file : config.files()) out.files[file.part] = {*file.path, data_at(3)};
  return out;
}

TEST(Cifar10, RecordsOfSeveralFiles) {
  TemporaryFolder folder;
  folder.write("a.bin", record(3, 10) + record(9, 20));
  folder.write("b.bin", record(0, 30));
  Dataset data = load_dataset(options_in(folder, {"a.bin", "b.bin"}), k32);
  EXPECT_EQ(std::tuple(data.train.size(), data.valid.size(), data.classes()), std::tuple(2, 1, 10));
  EXPECT_EQ(data.input_shape(), Shape({3, 32, 32}));
  EXPECT_EQ(data.class_names[9], "truck");
  Batch train = data.train.all(k32), valid = data.valid.all(k32);
  EXPECT_EQ(train.y.as_int(1), 9);
  EXPECT_EQ(train.x.as_double(0), 10 / 256.);
  EXPECT_EQ(train.x.as_double(3072 + 2 * 1024), 22 / 256.);
  EXPECT_EQ(valid.x.as_double(1024), 31 / 256.);
  EXPECT_EQ(valid.y.as_int(0), 0);
}

// The classes of the first ten test images, and how many there are of each, as NumPy reads them.
TEST(Cifar10, TheDataItself) {
  const char* data = std::getenv("THTRAIN_DATA");
  const std::string path = str(data ? data : "", "/cifar10-3k/test_1000.bin.gz");
  if (!data || !std::filesystem::exists(path)) GTEST_SKIP() << "THTRAIN_DATA names no folder with cifar10-3k";
  Cifar10 test = read_cifar10(path);
  EXPECT_EQ(test.images.type_text(), "uint8[1000, 3, 32, 32]");
  const std::vector<int> first = {3, 8, 8, 0, 6, 6, 1, 6, 3, 1};
  for (int i = 0; i < 10; ++i) EXPECT_EQ(test.labels.as_int(i), first[static_cast<size_t>(i)]);
  EXPECT_EQ(std::tuple(test.images.as_int(0), test.images.as_int(1), test.images.as_int(2)), std::tuple(158, 159, 165));
  std::vector<int> counts(10);
  for (int i = 0; i < 1000; ++i) ++counts[static_cast<size_t>(test.labels.as_int(i))];
  EXPECT_EQ(counts, (std::vector<int>{103, 89, 100, 103, 90, 86, 112, 102, 106, 109}));
}

TEST(Cifar10, BadFiles) {
  TemporaryFolder folder;
  const std::string path = folder.path("a.bin"), caret = "\n  config:   lab.toml:3:1\n      3 | data\n        | ^^^^";
  auto text = [&](const std::string& bytes) {
    folder.write("a.bin", bytes);
    return error_text([&] { load_dataset(options_in(folder, {"a.bin"}), k32); });
  };
  EXPECT_EQ(text(record(3, 10) + record(1, 2).substr(0, 100)),
            "error: " + path +
                ": not CIFAR-10's records, or the file is truncated\n"
                "  expected: a multiple of 3073 bytes: a byte for the class, then 3 x 32 x 32 for the pixels\n"
                "  got:      3173 bytes" +
                caret);
  EXPECT_EQ(text(record(3, 10) + record(10, 2)), "error: " + path +
                                                     ": record 1: the class is out of range\n"
                                                     "  expected: 0 to 9\n"
                                                     "  got:      10" +
                                                     caret + "\n  hint:     records count from 0");
  EXPECT_EQ(text(""), "error: " + path +
                          ": there are no records\n  expected: 3073 bytes for each\n  got:      an empty file" + caret);
}

}  // namespace
}  // namespace thtrain
