// Elements of matrices as examples: of files, and of the generator of ratings.
#include "datasets/sources/coordinates.h"

#include <cmath>

#include "datasets/load.h"
#include "datasets/sources/ratings.h"
#include "datasets/sparse_npz.h"
#include "tests/support/datasets_support.h"
#include "tests/support/dtypes.h"

namespace thtrain::coordinates_test {
namespace {

Dataset load(const DataConfig& config) {
  DatasetOptions options{.name = "ratings"};
  config.fill(options);
  return load_dataset(options, k64);
}

Dataset load_files(CoordinatesConfig config, const TemporaryFolder& folder) {
  DatasetOptions options{.name = "coordinates", .config_folder = folder.path()};
  config.fill(options);
  for (const DataFile& file : config.files()) options.files[file.part] = {*file.path};
  return load_dataset(options, k64);
}

const char* const kMatrix = "%%MatrixMarket matrix coordinate real general\n2 3 4\n2 1 5\n1 3 1.5\n1 1 -2\n2 2 0\n";

TEST(CoordinatesSource, AnElementIsItsRowItsColumnAndItsValue) {
  TemporaryFolder folder;
  CoordinatesConfig config;
  config.train = {folder.write("a.mtx", kMatrix)};
  const Dataset data = load_files(config, folder);
  ASSERT_TRUE(data.train.is_sparse());
  EXPECT_FALSE(data.streamed);
  const Batch all = data.train.read(0, 4, k64);
  EXPECT_TRUE(same_bits(all.x, Tensor::matrix({{1.0, 0.0, 1.0, 0.0, 0.0},
                                               {1.0, 0.0, 0.0, 0.0, 1.0},
                                               {0.0, 1.0, 1.0, 0.0, 0.0},
                                               {0.0, 1.0, 0.0, 1.0, 0.0}})));
  EXPECT_TRUE(same_bits(all.y, Tensor::vector<double>({-2, 1.5, 5, 0})));
  // The same of SciPy's file, column by column.
  const Tensor dense = Tensor::matrix({{-2.0, 0.0, 1.5}, {5.0, 0.0, 0.0}});
  write_sparse_npz(folder.path("a.npz"), SparseTensor::from_dense(dense, SparseFormat::kCsc));
  config.train = {folder.path("a.npz")};
  const Batch columns = load_files(config, folder).train.read(0, 3, k64);
  EXPECT_TRUE(same_bits(columns.y, Tensor::vector<double>({-2, 5, 1.5})));
  EXPECT_TRUE(same_bits(columns.x.rows(1, 1), Tensor::matrix({{0.0, 1.0, 1.0, 0.0, 0.0}})));
}

TEST(CoordinatesSource, ItsKeysMatter) {
  TemporaryFolder folder;
  folder.write("a.mtx", kMatrix);
  folder.write("b.mtx", "%%MatrixMarket matrix coordinate pattern general\n2 3 1\n2 3\n");
  CoordinatesConfig config;
  config.train = {"a.mtx"};
  const auto all = [&](const CoordinatesConfig& c) {
    const Dataset data = load_files(c, folder);
    std::string out = data.text();
    for (const Split* split : {&data.train, &data.valid, &data.test}) {
      if (split->size() == 0) continue;
      const Batch batch = split->read(0, split->size(), k64);
      out += batch.x.text(1000) + batch.y.text(1000);
    }
    return out;
  };
  const std::string plain = all(config);
  const auto differs = [&](auto change) {
    CoordinatesConfig other = config;
    change(other);
    EXPECT_NE(all(other), plain);
  };
  differs([](auto& c) { c.train = {"b.mtx"}; });
  differs([](auto& c) { c.train = {"a.mtx", "b.mtx"}; });
  differs([](auto& c) { c.valid = {"b.mtx"}; });
  differs([](auto& c) { c.test = {"b.mtx"}; });
  differs([](auto& c) { c.n_valid = 1; });
  differs([](auto& c) { c.scale = 2; });
  differs([](auto& c) { c.standardize_targets = true; });
  differs([](auto& c) { c.standardize = Standardization::By::kScales; });
}

TEST(CoordinatesSource, RefusesWhatGivesNoValues) {
  TemporaryFolder folder;
  const std::string begin = "error: " + folder.path("a.mtx") + ": ";
  const auto error = [&](const std::string& text) {
    folder.write("a.mtx", text);
    return error_text([&] { read_elements(folder.path("a.mtx")); });
  };
  EXPECT_EQ(error("%%MatrixMarket matrix coordinate complex general\n1 1 1\n1 1 1 2\n"),
            begin + "the elements of the matrix are complex\n  expected: real numbers\n  got:      complex128");
  EXPECT_EQ(error("%%MatrixMarket matrix coordinate real general\n1 1 0\n"),
            begin + "the matrix has no elements\n  expected: at least one, which is an example");
  EXPECT_EQ(error("%%MatrixMarket matrix coordinate real general\n2 2147483646 1\n1 1 1\n"),
            begin +
                "the matrix has too many rows and columns\n  expected: at most 2147483647 together\n  got:      2 and "
                "2147483646");
}

TEST(Ratings, AreBiasesAProductAndNoise) {
  const RatingsShape shape{.users = 50, .items = 40, .factors = 3, .noise = 0};
  const MatrixElements some = generate_ratings(4000, shape, 1, 0), others = generate_ratings(10, shape, 1, 1);
  double sum = 0, squares = 0;
  for (int64_t i = 0; i < 4000; ++i) {
    SparseNumbers row;
    some.x->append(i, row);
    ASSERT_EQ(row.columns.size(), 2u);
    EXPECT_TRUE(row.columns[0] < 50 && row.columns[1] >= 50 && row.columns[1] < 90);
    EXPECT_EQ(row.values, (std::vector<double>{1, 1}));
    sum += some.y.as_double(i);
    squares += some.y.as_double(i) * some.y.as_double(i);
  }
  const double mean = sum / 4000, deviation = std::sqrt(squares / 4000 - mean * mean);
  EXPECT_NEAR(mean, 3, 0.3);
  EXPECT_NEAR(deviation, std::sqrt(1.5), 0.3);
  // Without noise an element has one value wherever it is drawn.
  for (int64_t k = 0; k < 10; ++k) {
    SparseNumbers other;
    others.x->append(k, other);
    for (int64_t i = 0; i < 4000; ++i) {
      SparseNumbers row;
      some.x->append(i, row);
      if (row.columns == other.columns) {
        EXPECT_EQ(some.y.as_double(i), others.y.as_double(k));
      }
    }
  }
}

TEST(Ratings, ItsKeysMatter) {
  RatingsConfig config;
  config.n_train = 30;
  config.users = 10;
  config.items = 8;
  const auto all = [](const RatingsConfig& c) {
    const Dataset data = load(c);
    const Batch batch = data.train.read(0, data.train.size(), k64);
    return data.text() + batch.x.text(1000) + batch.y.text(1000);
  };
  const std::string plain = all(config);
  const auto differs = [&](auto change) {
    RatingsConfig other = config;
    change(other);
    EXPECT_NE(all(other), plain);
  };
  differs([](auto& c) { c.n_train = 31; });
  differs([](auto& c) { c.n_valid = 3; });
  differs([](auto& c) { c.n_test = 3; });
  differs([](auto& c) { c.seed = 2; });
  differs([](auto& c) { c.users = 11; });
  differs([](auto& c) { c.items = 9; });
  differs([](auto& c) { c.factors = 3; });
  differs([](auto& c) { c.noise = 0; });
  differs([](auto& c) { c.standardize = Standardization::By::kScales; });
  differs([](auto& c) { c.standardize_targets = true; });
}

}  // namespace
}  // namespace thtrain::coordinates_test
