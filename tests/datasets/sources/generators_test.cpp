#include "compiler/base/random_state.h"
#include "datasets/digits_generator.h"
#include "datasets/load.h"
#include "datasets/sources/friedman.h"
#include "datasets/sources/two_digits.h"
#include "tests/support/datasets_support.h"
#include "tests/support/dtypes.h"

namespace thtrain {
namespace {

template <class Config>
Dataset generated(const Config& config) {
  DatasetOptions options{.name = std::string(Config::kName)};
  config.fill(options);
  return load_dataset(options, k64);
}

// scikit-learn 1.9.1: make_friedman1(3, noise=1.0, random_state=s), s = 2365658986 and 303761048, the first two numbers
// of numpy.random.RandomState(3).randint(0, 2**32, size=3, dtype=numpy.uint32).
TEST(Friedman, TheNumbersOfScikitLearn) {
  const double expected[2][3] = {{11.029873090126674, 23.167310305253146, 10.100106352844797},
                                 {13.493767023401155, 12.437013286389782, 13.424052737474637}};
  const double first[2] = {0.09065423362854419, 0.8097172181205327}, last[2] = {0.9597256600197087, 0.857263608345916};
  for (int part = 0; part < 2; ++part) {
    Friedman made = generate_friedman(3, 1, 3, part);
    EXPECT_EQ(made.x.as_double(0), first[part]);
    EXPECT_EQ(made.x.as_double(29), last[part]);
    for (int i = 0; i < 3; ++i) EXPECT_NEAR(made.y.as_double(i), expected[part][i], 1e-13);
  }
}

TEST(Friedman, AreValuesToApproximate) {
  FriedmanConfig config;
  config.n_train = 20;
  config.n_valid = 6;
  config.n_test = 0;
  config.seed = 3;
  Dataset data = generated(config);
  EXPECT_EQ(std::tuple(data.targets(), data.outputs(), data.train.size(), data.valid.size(), data.test.size()),
            std::tuple(Targets::kValues, 1, 20, 6, 0));
  EXPECT_TRUE(same_bits(data.valid.all(k64).y, generate_friedman(6, 1, 3, 1).y));
  EXPECT_EQ(data.text(),
            "data set friedman: examples of [10], targets of []\n"
            "  train 20 examples from the generator \"friedman\", seed 3\n"
            "  valid 6 examples from the generator \"friedman\", seed 3");
}

TEST(Friedman, ItsKeysMatter) {
  FriedmanConfig config;
  config.n_train = 20;
  auto all = [](const FriedmanConfig& c) {
    Dataset data = generated(c);
    std::string out = data.text();
    for (const Tensor& t : {data.train.all(k64).x, data.train.all(k64).y}) out += t.text(200);
    return out;
  };
  const std::string plain = all(config);
  auto differs = [&](auto change) {
    FriedmanConfig other = config;
    change(other);
    EXPECT_NE(all(other), plain);
  };
  differs([](auto& c) { c.n_train = 21; });
  differs([](auto& c) { c.n_valid = 3; });
  differs([](auto& c) { c.n_test = 3; });
  differs([](auto& c) { c.seed = 2; });
  differs([](auto& c) { c.noise = 0; });
  differs([](auto& c) { c.standardize = Standardization::By::kAll; });
  differs([](auto& c) { c.standardize_targets = true; });
  config.class_names = {"y"};
  EXPECT_EQ(error_text([&] { generated(config); }),
            "error: data.class_names does not fit the data\n"
            "  expected: classes or labels to name\n"
            "  got:      data.target = \"values\"\n"
            "  hint:     values have no names: leave data.class_names out");
}

TEST(TwoDigits, TwoPicturesSideBySide) {
  TwoDigits made = generate_two_digits(5, 7, 1);
  Digits digits = generate_digits(10, 7, 1);
  EXPECT_EQ(made.images.type_text(), "uint8[5, 28, 56]");
  for (int64_t i = 0; i < 5; ++i) {
    int64_t left = digits.labels.as_int(2 * i), right = digits.labels.as_int(2 * i + 1);
    for (int64_t label = 0; label < 10; ++label)
      EXPECT_EQ(made.labels.as_int(10 * i + label), label == left || label == right);
    for (int64_t row = 0; row < 28; ++row)
      for (int64_t column = 0; column < 56; ++column)
        ASSERT_EQ(made.images.as_int((i * 28 + row) * 56 + column),
                  digits.images.as_int(((2 * i + column / 28) * 28 + row) * 28 + column % 28));
  }
}

TEST(TwoDigits, ItsKeysMatter) {
  TwoDigitsConfig config;
  config.n_train = 6;
  config.n_valid = config.n_test = 2;
  auto all = [](const TwoDigitsConfig& c) {
    Dataset data = generated(c);
    EXPECT_EQ(std::tuple(data.targets(), data.outputs()), std::tuple(Targets::kLabels, 10));
    return data.text() + data.train.all(k64).x.text(10000) + str(data.class_names.size());
  };
  const std::string plain = all(config);
  auto differs = [&](auto change) {
    TwoDigitsConfig other = config;
    change(other);
    EXPECT_NE(all(other), plain);
  };
  differs([](auto& c) { c.n_train = 7; });
  differs([](auto& c) { c.n_valid = 3; });
  differs([](auto& c) { c.n_test = 3; });
  differs([](auto& c) { c.seed = 2; });
  differs([](auto& c) { c.scale = 1; });
  differs([](auto& c) { c.standardize = Standardization::By::kAll; });
  differs([](auto& c) { c.class_names = {"0", "1", "2", "3", "4", "5", "6", "7", "8", "9"}; });
}

TEST(Generators, ThatDoNotFitInMemory) {
  DatasetOptions options{.name = "friedman"};
  FriedmanConfig config;
  config.n_train = 1000;
  config.n_valid = config.n_test = 0;
  config.fill(options);
  options.memory_limit = 1000;
  EXPECT_EQ(error_text([&] { load_dataset(options, k32); }),
            "error: the generator \"friedman\", seed 1: the data does not fit in memory\n"
            "  expected: at most 1000 B\n"
            "  got:      129 KiB as float32\n"
            "  hint:     examples in files are read while training");
}

}  // namespace
}  // namespace thtrain
