// Rows of sparse matrices in files, with labels in arrays.
#include "datasets/sources/sparse.h"

#include "datasets/load.h"
#include "datasets/npy.h"
#include "datasets/sparse_npz.h"
#include "tests/support/datasets_support.h"
#include "tests/support/dtypes.h"

namespace thtrain::sparse_source_test {
namespace {

class SparseSource : public testing::Test {
 protected:
  SparseSource() {
    for (const auto& [name, format] : {std::pair("csr.npz", SparseFormat::kCsr), {"csc.npz", SparseFormat::kCsc}})
      write_sparse_npz(folder.path(name), SparseTensor::from_dense(x, format));
    folder.write("a.mtx", "%%MatrixMarket matrix coordinate real general\n3 4 4\n3 4 4\n1 1 1.5\n3 2 3\n1 3 -2\n");
    write_npy(folder.path("y.npy"), Tensor::vector<int64_t>({1, 0, 2}));
    write_npy(folder.path("w.npy"), Tensor::vector<double>({1, 2, 3}));
    config.train = "csr.npz";
    config.train_labels = "y.npy";
  }
  Dataset load(SparseConfig c) const {
    DatasetOptions options{.name = "sparse", .config_folder = folder.path()};
    c.fill(options);
    for (const DataFile& file : c.files()) options.files[file.part] = {*file.path};
    return load_dataset(options, k64);
  }
  TemporaryFolder folder;
  const Tensor x = Tensor::matrix({{1.5, 0.0, -2.0, 0.0}, {0.0, 0.0, 0.0, 0.0}, {0.0, 3.0, 0.0, 4.0}});
  SparseConfig config;
};

TEST_F(SparseSource, GivesTheRowsOfEveryFormat) {
  for (const char* file : {"csr.npz", "csc.npz", "a.mtx"}) {
    SCOPED_TRACE(file);
    config.train = file;
    const Dataset data = load(config);
    ASSERT_TRUE(data.train.is_sparse());
    const Batch all = data.train.read(0, 3, k64);
    EXPECT_TRUE(same_bits(all.x, x));
    EXPECT_TRUE(same_bits(all.y, Tensor::vector<int64_t>({1, 0, 2})));
    EXPECT_TRUE(same_bits(data.train.read_sparse(std::vector<int64_t>{2}, k64).sparse.columns,
                          Tensor::vector<int32_t>({1, 3})));
  }
}

TEST_F(SparseSource, ItsKeysMatter) {
  write_npy(folder.path("z.npy"), Tensor::vector<int64_t>({0, 1, 2}));
  const auto all = [&](const SparseConfig& c) {
    const Dataset data = load(c);
    std::string out = data.text();
    for (const Split* split : {&data.train, &data.valid, &data.test}) {
      if (split->size() == 0) continue;
      const Batch batch = split->read(0, split->size(), k64);
      for (const Tensor& part : {batch.x, batch.y, batch.weights}) out += part.text(1000);
    }
    for (const std::string& name : data.class_names) out += name;
    return out;
  };
  const std::string plain = all(config);
  const auto differs = [&](auto change) {
    SparseConfig other = config;
    change(other);
    EXPECT_NE(all(other), plain);
  };
  differs([](auto& c) { c.train_labels = "z.npy"; });
  differs([](auto& c) { c.train_weights = "w.npy"; });
  differs([](auto& c) { c.valid = "a.mtx", c.valid_labels = "y.npy"; });
  differs([](auto& c) { c.test = "a.mtx", c.test_labels = "y.npy", c.test_weights = "w.npy"; });
  differs([](auto& c) { c.n_valid = 1; });
  differs([](auto& c) { c.target = Targets::kValues; });
  differs([](auto& c) { c.scale = 2; });
  differs([](auto& c) { c.standardize = Standardization::By::kScales; });
  differs([](auto& c) { c.class_names = {"a", "b", "c"}; });
}

TEST_F(SparseSource, RefusesOtherNumbersOfLabels) {
  write_npy(folder.path("z.npy"), Tensor::vector<int64_t>({0, 1}));
  config.train_labels = "z.npy";
  EXPECT_EQ(error_text([&] { load(config); }),
            "error: examples and labels differ in number\n  expected: 3 rows, as in " + folder.path("csr.npz") +
                "\n  got:      2 rows in " + folder.path("z.npy"));
}

}  // namespace
}  // namespace thtrain::sparse_source_test
