// Sets whose files follow one another, by a reader of .npy files whose rows are example and target.
#include "datasets/sources/joined.h"

#include "datasets/npy.h"
#include "tests/support/data_position.h"
#include "tests/support/datasets_support.h"
#include "tests/support/dtypes.h"

namespace thtrain {
namespace {

class Joined : public testing::Test {
 protected:
  // Of n rows [i, 2 i, i % 2], from `start` on.
  void write(const std::string& name, int64_t start, int64_t n, DType dtype = k32) {
    Tensor x = Tensor::empty(k32, {n, 2}), y = Tensor::empty(DType::kInt64, {n});
    for (int64_t i = 0; i < n; ++i) {
      x.data<float>()[2 * i] = static_cast<float>(start + i);
      x.data<float>()[2 * i + 1] = static_cast<float>(2 * (start + i));
      y.data<int64_t>()[i] = (start + i) % 2;
    }
    write_npy(folder.path(name), x.cast(dtype));
    write_npy(folder.path(name + ".y"), y);
  }
  SourceData read(uint64_t memory_limit = 0) {
    options.memory_limit = memory_limit;
    return read_sets(options, k32, [&](const std::string& path, uint64_t room) {
      rooms.push_back(room);
      return JoinedPart{read_npy(path), read_npy(path + ".y")};
    });
  }
  void name(const std::string& part, const std::string& file) {
    options.files[part] = {file, data_at(static_cast<int>(options.files.size()) + 2)};
  }

  TemporaryFolder folder;
  DatasetOptions options{.config_folder = folder.path()};
  std::vector<uint64_t> rooms;
};

TEST_F(Joined, RowsOfAllFilesInTheirOrder) {
  write("a", 0, 3);
  write("b", 3, 2);
  write("c", 9, 1);
  name("train.0", "a");
  name("train.1", "b");
  name("test.0", "c");
  const SourceData data = read();
  EXPECT_FALSE(data.valid.has_value());
  const Batch train = data.train.all(k32), test = data.test.value().all(k32);
  EXPECT_TRUE(same_bits(train.x, Tensor::matrix<float>({{0, 0}, {1, 2}, {2, 4}, {3, 6}, {4, 8}})));
  EXPECT_TRUE(same_bits(train.y, Tensor::vector<int64_t>({0, 1, 0, 1, 0})));
  EXPECT_TRUE(same_bits(test.x, Tensor::matrix<float>({{9, 18}})));
}

// A file has what those before it left: their bytes, and those of the examples made of them.
TEST_F(Joined, TheRoomShrinks) {
  write("a", 0, 3);
  write("b", 3, 2);
  name("train.0", "a");
  name("train.1", "b");
  read(100);
  EXPECT_EQ(rooms, (std::vector<uint64_t>{100, 100 - 3 * 2 * (4 + 4)}));
}

TEST_F(Joined, FilesOfOtherExamplesAreRefused) {
  write("a", 0, 3);
  write("b", 3, 2, k64);
  name("train.0", "a");
  name("train.1", "b");
  EXPECT_EQ(error_text([&] { read(); }), "error: " + folder.path("b") +
                                             ": the examples differ from those of the first file\n"
                                             "  expected: float32[2], as in " +
                                             folder.path("a") + "\n  got:      float64[2]" + data_caret(3));
}

}  // namespace
}  // namespace thtrain
