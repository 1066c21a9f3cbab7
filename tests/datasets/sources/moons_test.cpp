// The generator moons compared with scikit-learn's numbers.
#include "datasets/sources/moons.h"

#include "datasets/load.h"
#include "tests/support/datasets_support.h"
#include "tests/support/dtypes.h"

namespace thtrain {
namespace {

// scikit-learn 1.9.1: make_moons(5, shuffle=False, noise=0.1, random_state=s), s = 327741615 and 976413892, the first
// two numbers of numpy.random.RandomState(7).randint(0, 2**32, size=2, dtype=numpy.uint32); the classes in turn.
TEST(Moons, TheNumbersOfScikitLearn) {
  const double expected[2][10] = {
      {1.0003045132978474, -0.06876257702668255, 0.0442811709185619, 0.5009645779257078, -1.176176009538802,
       -0.103802559393499, 1.0378354775849274, -0.37659677987483925, 2.0558887310862173, 0.4632861463271535},
      {0.8685342193093137, -0.19343606749476513, -0.08055209535272961, 0.41010634514033545, -1.1144485703598057,
       0.016946305215880596, 1.0680511323614028, -0.554167269386423, 1.9582893870883047, 0.3600994167233747}};
  const int64_t classes[] = {0, 1, 0, 1, 1};
  for (int part = 0; part < 2; ++part) {
    Moons made = generate_moons(5, 0.1, 7, part);
    for (int i = 0; i < 10; ++i) EXPECT_NEAR(made.x.as_double(i), expected[part][i], 1e-15) << part << " " << i;
    for (int i = 0; i < 5; ++i) EXPECT_EQ(made.y.as_int(i), classes[i]);
  }
}

TEST(Moons, ItsKeysMatter) {
  MoonsConfig config;
  config.n_train = 20;
  auto all = [](const MoonsConfig& c) {
    DatasetOptions options{.name = "moons"};
    c.fill(options);
    Dataset data = load_dataset(options, k64);
    EXPECT_EQ(data.classes(), 2);
    std::string out = data.text();
    for (const std::string& name : data.class_names) out += name;
    for (const Tensor& t : {data.train.all(k64).x, data.train.all(k64).y}) out += t.text(200);
    return out;
  };
  const std::string plain = all(config);
  auto differs = [&](auto change) {
    MoonsConfig other = config;
    change(other);
    EXPECT_NE(all(other), plain);
  };
  differs([](auto& c) { c.n_train = 21; });
  differs([](auto& c) { c.n_valid = 3; });
  differs([](auto& c) { c.n_test = 3; });
  differs([](auto& c) { c.seed = 2; });
  differs([](auto& c) { c.noise = 0; });
  differs([](auto& c) { c.standardize = Standardization::By::kAll; });
  differs([](auto& c) { c.class_names = {"above", "below"}; });
}

}  // namespace
}  // namespace thtrain
