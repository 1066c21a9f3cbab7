// Sets whose arrays are in files of their own. (What stays in its files: tests/datasets/array_file_test.cpp.)
#include "datasets/sources/array_sets.h"

#include "datasets/npy.h"
#include "tests/support/data_position.h"
#include "tests/support/datasets_support.h"
#include "tests/support/dtypes.h"

namespace thtrain {
namespace {

class ArraySetsTest : public testing::Test {
 protected:
  ArraySetsTest() {
    write_npy(folder.path("x.npy"), Tensor::of(std::vector<uint8_t>{0, 64, 128, 32}, {2, 2}));
    write_npy(folder.path("y.npy"), Tensor::vector<int64_t>({1, 0}));
    write_npy(folder.path("w.npy"), Tensor::vector<double>({0.5, 2}));
    write_npy(folder.path("l.npy"), Tensor::vector<int64_t>({1, 2}));
  }
  DatasetOptions options(const std::map<std::string, std::string>& files) const {
    DatasetOptions out{.name = "npy", .where = data_at(1), .config_folder = folder.path()};
    for (const auto& [part, file] : files) out.files[part] = {file, data_at(2)};
    return out;
  }
  TemporaryFolder folder;
};

TEST_F(ArraySetsTest, OpenWhatIsNamed) {
  const DatasetOptions some = options(
      {{"train_x", "x.npy"}, {"train_y", "y.npy"}, {"train_w", "w.npy"}, {"test_x", "x.npy"}, {"test_y", "y.npy"}});
  const ArraySets sets = open_array_sets(some, ArrayFile::Format::kNpy);
  EXPECT_TRUE(sets.train.y && sets.train.weights && !sets.train.lengths);
  EXPECT_TRUE(sets.test.has_value());
  EXPECT_FALSE(sets.valid.has_value());
  const SourceData data = read_array_sets(some, k32, sets);
  EXPECT_FALSE(data.streamed.value());
  EXPECT_TRUE(same_bits(data.train.all(k32).x, Tensor::matrix<float>({{0, 64}, {128, 32}})));
  EXPECT_TRUE(same_bits(data.train.all(k64).weights, Tensor::vector<double>({0.5, 2})));
}

TEST_F(ArraySetsTest, BytesMayHaveAScaleOfTheirOwn) {
  DatasetOptions some = options({{"train_x", "x.npy"}, {"train_y", "y.npy"}});
  ArraySets sets = open_array_sets(some, ArrayFile::Format::kNpy);
  sets.byte_scale = kPixelScale;
  EXPECT_TRUE(
      same_bits(read_array_sets(some, k32, sets).train.all(k32).x, Tensor::matrix<float>({{0, 0.25}, {0.5, 0.125}})));
  some.scale = 2;  // what the options say goes before it
  EXPECT_TRUE(
      same_bits(read_array_sets(some, k32, sets).train.all(k32).x, Tensor::matrix<float>({{0, 128}, {256, 64}})));
}

TEST_F(ArraySetsTest, LengthsMakeSequences) {
  const DatasetOptions some = options({{"train_x", "x.npy"}, {"train_y", "y.npy"}, {"train_l", "l.npy"}});
  const SourceData data = read_array_sets(some, k32, open_array_sets(some, ArrayFile::Format::kNpy));
  EXPECT_TRUE(data.train.is_sequence());
  ArraySets without = open_array_sets(options({{"train_x", "x.npy"}, {"train_y", "y.npy"}}), ArrayFile::Format::kNpy);
  EXPECT_FALSE(read_array_sets(some, k32, without).train.is_sequence());
  without.sequences = true;
  EXPECT_TRUE(read_array_sets(some, k32, without).train.is_sequence());
}

TEST_F(ArraySetsTest, PartsThatGoTogetherAreAskedFor) {
  auto text = [&](const std::map<std::string, std::string>& files) {
    return error_text([&] { open_array_sets(options(files), ArrayFile::Format::kNpy); });
  };
  auto lacks = [](const std::string& part) {
    return "error: the data set \"npy\" needs the file " + part + "\n  expected: " + part + " = \"path\"" +
           data_caret(1);
  };
  EXPECT_EQ(text({}), lacks("train_x"));
  EXPECT_EQ(text({{"train_x", "x.npy"}}), lacks("train_y"));
  EXPECT_EQ(text({{"train_x", "x.npy"}, {"train_y", "y.npy"}, {"valid_w", "w.npy"}}), lacks("valid_x"));
}

}  // namespace
}  // namespace thtrain
