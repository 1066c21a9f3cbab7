// What `thtrain show` computes: filters, feature maps, occlusion, gradients, mistakes and decisions over a plane.
#include "trainers/show/show.h"

#include <cmath>

#include "datasets/npz.h"
#include "datasets/sources/moons.h"
#include "nn/layers/conv.h"
#include "nn/layers/pool.h"
#include "nn/objectives/binary_crossentropy.h"
#include "nn/objectives/squared_error.h"
#include "reports/sheet.h"
#include "tests/support/golden_lines.h"
#include "tests/support/training_support.h"
#include "trainers/build_model.h"
#include "trainers/data_state.h"
#include "trainers/load_data.h"
#include "trainers/show/boundary.h"
#include "trainers/show/feature_maps.h"
#include "trainers/show/filters.h"
#include "trainers/show/mistakes.h"

namespace thtrain {
namespace {

std::map<std::string, Tensor> show_golden() {
  std::map<std::string, Tensor> out;
  for (const GoldenLine& line : golden_lines("show.txt")) out[line.name] = line.result(DType::kFloat64);
  return out;
}

void expect_near(const Tensor& got, const Tensor& expected, const std::string& what) {
  ASSERT_EQ(got.shape(), expected.shape()) << what;
  for (int64_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got.as_double(i), expected.as_double(i), 1e-10) << what << i;
}

// conv, tanh, pool, softmax over images of 2 x 8 x 8, in float64.
Experiment convnet() {
  Experiment out = small_experiment();
  Conv::Options conv;
  conv.name = "conv";
  conv.units = 2;
  conv.window.size = {3};
  conv.activation = "tanh";
  Pool::Options pool;
  pool.name = "pool";
  Softmax::Options softmax;
  softmax.name = "softmax";
  out.model.layers = {conv, pool, softmax};
  out.compiler.floatX = DType::kFloat64;
  out.compiler.mode = CompilerConfig::Mode::kReference;
  return out;
}

// One example of class 1, as halves of the numbers that the model takes; standardized with mean 0.25 and deviation 0.5
// where `standardized` says so.
Dataset one_image(const Tensor& x, bool standardized) {
  Tensor raw = x.copy();
  for (int64_t i = 0; i < raw.size(); ++i) {
    double& value = raw.data<double>()[i];
    value = (standardized ? value * 0.5 + 0.25 : value) / 2;
  }
  Split split({.raw = raw, .origin = "x.npy"}, {.raw = Tensor::vector<int64_t>({1}), .origin = "y.npy"},
              Targets::kClasses, 2);
  split.set_classes(3);
  Dataset out;
  out.name = "test";
  out.train = out.valid = out.test = split;
  if (standardized) {
    Standardization standard;
    standard.inputs = {{0.25}, {0.5}};
    out.set_standardization(std::make_shared<const Standardization>(standard));
  }
  return out;
}

TEST(Show, FeatureMapsGradientsAndOcclusionAreThoseOfPyTorch) {
  const std::map<std::string, Tensor> expected = show_golden();
  TemporaryFolder folder;
  for (bool standardized : {false, true}) {
    const Experiment experiment = convnet();
    const Dataset data = one_image(expected.at("x"), standardized);
    NamedArrays arrays = {{"conv/W", expected.at("W")},
                          {"conv/b", expected.at("b")},
                          {"softmax/W", expected.at("V")},
                          {"softmax/b", expected.at("c")}};
    for (const auto& array : arrays_of(data.standardization, DType::kFloat64)) arrays.push_back(array);
    write_npz(folder.path("w.npz"), arrays);
    const TrainedModel model(experiment, data, folder.path("w.npz"));
    const Tensor x = model.read(Part::kTest, 0, 1).x;
    expect_near(x, expected.at("x"), "x");
    expect_near(model.from_units(model.in_units(x)), x, "there and back");
    const std::vector<FeatureMaps> maps = feature_maps(model, x);
    ASSERT_EQ(maps.size(), 2u);
    EXPECT_EQ(maps[0].layer, "conv");
    expect_near(maps[0].values, expected.at("maps"), "conv");
    EXPECT_EQ(maps[1].type, "pool");
    expect_near(maps[1].values, expected.at("pooled"), "pool");
    const Tensor gradient = score_gradient(model, x, 1);
    expect_near(gradient, expected.at("gradient"), "gradient");
    expect_near(gradient_by_pixel(gradient, *model.picture()), expected.at("gradient_by_pixel"), "by pixel");
    const Occlusion covered = occlusion(model, x, 1, {.size = 3, .stride = 2});
    EXPECT_NEAR(covered.whole, expected.at("probabilities").as_double(1), 1e-10);
    expect_near(covered.by_position, expected.at("by_position"), "by position");
    expect_near(covered.by_pixel, expected.at("by_pixel"), "by pixel");
  }
}

// A picture of four pixels, logits (-1, 2, 1, 3), and labels as given.
SaliencyTarget target_of_labels(const std::vector<uint8_t>& labels, const std::vector<std::string>& names) {
  TemporaryFolder folder;
  Experiment experiment = small_experiment();
  Dense::Options dense;
  dense.name = "labels";
  dense.units = 4;
  experiment.model.layers = {dense};
  experiment.loss.objective = BinaryCrossentropy::Options();
  experiment.compiler.mode = CompilerConfig::Mode::kReference;
  Tensor x = Tensor::zeros(DType::kFloat32, {1, 1, 2, 2}), y = Tensor::zeros(DType::kUInt8, {1, 4});
  for (int64_t i = 0; i < 4; ++i) y.data<uint8_t>()[i] = labels[static_cast<size_t>(i)];
  Dataset data;
  data.name = "test";
  data.train = data.valid = data.test =
      Split({.raw = x, .origin = "x.npy"}, {.raw = y, .origin = "y.npy"}, Targets::kLabels, 1);
  data.class_names = names;
  write_npz(folder.path("w.npz"),
            {{"labels/W", Tensor::zeros(DType::kFloat32, {4, 4})}, {"labels/b", Tensor::vector<float>({-1, 2, 1, 3})}});
  const TrainedModel model(experiment, data, folder.path("w.npz"));
  return saliency_target(model, Part::kTest, 0, model.read(Part::kTest, 0, 1).x);
}

TEST(Show, SaliencyAsksAboutALabelThatIsThere) {
  const SaliencyTarget first = target_of_labels({0, 0, 1, 1}, {"cat", "dog", "cow", "hen"});
  EXPECT_EQ(first.number, 2);
  EXPECT_EQ(first.name, "probability of cow");
  EXPECT_TRUE(first.is_probability);
  // An example without labels: the most probable one.
  EXPECT_EQ(target_of_labels({0, 0, 0, 0}, {"cat", "dog", "cow", "hen"}).name, "probability of hen");
  EXPECT_EQ(target_of_labels({0, 1, 0, 1}, {}).name, "probability of output 1");
}

// hidden = x, two numbers that are the first two of x, and classes of logits (0, 1, 0), whatever x is.
TEST(Show, EachOfSeveralOutputsIsLookedAt) {
  TemporaryFolder folder;
  Experiment experiment = small_experiment();
  experiment.compiler.mode = CompilerConfig::Mode::kReference;
  experiment.trainer.batch_size = 3;
  Dense::Options hidden, numbers;
  hidden.name = "hidden", hidden.units = 4;
  numbers.name = "numbers", numbers.units = 2, numbers.inputs = {"hidden"};
  Softmax::Options kind;
  kind.name = "kind", kind.units = 3, kind.inputs = {"hidden"};
  experiment.model.layers = {hidden, numbers, kind};
  OutputLossConfig of_numbers, of_kind;
  of_numbers.layer = "numbers", of_numbers.objective = SquaredError::Options(), of_numbers.columns = {1, 3};
  of_kind.layer = "kind", of_kind.columns = {0, 1};
  experiment.loss.outputs = {of_numbers, of_kind};
  Tensor x = counting({6, 4}).cast(DType::kFloat32), y = Tensor::zeros(DType::kFloat32, {6, 3});
  const std::vector<int64_t> labels = {2, 1, 1, 0, 2, 2};
  for (int64_t i = 0; i < 6; ++i) y.data<float>()[3 * i] = static_cast<float>(labels[static_cast<size_t>(i)]);
  Dataset data;
  data.name = "test";
  data.target_names = {"kind", "left", "right"};
  data.train = data.valid = data.test =
      Split({.raw = x, .origin = "x.npy"}, {.raw = y, .origin = "y.npy"}, Targets::kValues, 1);
  Tensor identity = Tensor::zeros(DType::kFloat32, {4, 4}), first_two = Tensor::zeros(DType::kFloat32, {4, 2});
  for (int64_t i = 0; i < 4; ++i) identity.data<float>()[5 * i] = 1;
  first_two.data<float>()[0] = first_two.data<float>()[3] = 1;
  const std::string weights = folder.path("w.npz");
  write_npz(weights, {{"hidden/W", identity},
                      {"hidden/b", Tensor::zeros(DType::kFloat32, {4})},
                      {"numbers/W", first_two},
                      {"numbers/b", Tensor::zeros(DType::kFloat32, {2})},
                      {"kind/W", Tensor::zeros(DType::kFloat32, {4, 3})},
                      {"kind/b", Tensor::vector<float>({0, 1, 0})}});
  TrainedModel model(experiment, data, weights);
  ASSERT_TRUE(model.has_several_outputs());
  const Tensor one = model.read(Part::kTest, 1, 1).x;
  EXPECT_EQ(model.output().layer, "numbers");
  EXPECT_FALSE(can_judge(model));
  EXPECT_FALSE(model.gives_probabilities());
  EXPECT_EQ(model.predict(Part::kTest, 6).probabilities.shape(), (Shape{6, 2}));
  EXPECT_EQ(model.predict(Batch{one, {}}).probabilities.as_double(1), 5);  // of 4, 5, 6, 7
  EXPECT_EQ(saliency_target(model, Part::kTest, 1, one).name, "value of left");
  EXPECT_EQ(score_gradient(model, one, 1).as_double(1), 1);
  EXPECT_FALSE(evaluate(experiment, data, Part::kTest, weights).confusion.has_value());

  model.look_at(1);
  EXPECT_EQ(model.output().layer, "kind");
  ASSERT_TRUE(can_judge(model));
  EXPECT_TRUE(model.gives_probabilities());
  EXPECT_EQ(model.classes(), 3);
  EXPECT_EQ(model.class_name(2), "2");
  EXPECT_EQ(model.labels(Part::kTest, 1, 4), (std::vector<int64_t>{1, 1, 0, 2}));
  const Judgements of = judge(model, Part::kTest, 6);
  EXPECT_EQ(of.classes, labels);
  EXPECT_EQ(of.taken, std::vector<int64_t>(6, 1));
  EXPECT_NEAR(of.score(0, 2), 1 / (2 + std::exp(1.0)), 1e-6);
  EXPECT_EQ(worst_mistakes(of, 9), (std::vector<int64_t>{0, 3, 4, 5}));
  EXPECT_EQ(saliency_target(model, Part::kTest, 4, one).name, "probability of 2");
  EXPECT_EQ(score_gradient(model, one, 1).as_double(1), 0);
  const Evaluation found = evaluate(experiment, data, Part::kTest, weights, 1);
  ASSERT_TRUE(found.confusion.has_value());
  EXPECT_EQ(found.confusion->shape(), (Shape{3, 3}));
  for (int64_t i = 0; i < 9; ++i) EXPECT_EQ(found.confusion->as_double(i), i == 1 ? 1 : i == 4 ? 2 : i == 7 ? 3 : 0);
}

TEST(Show, TheSquareFollowsThePicture) {
  EXPECT_EQ(standard_square({1, 28, 28}).size, 7);
  EXPECT_EQ(standard_square({1, 28, 28}).stride, 1);
  EXPECT_EQ(standard_square({3, 32, 64}).size, 8);
  EXPECT_EQ(standard_square({3, 32, 64}).stride, 2);
  EXPECT_EQ(square_of({3, 32, 64}, {.size = 16}).stride, 4);
  EXPECT_EQ(square_of({3, 32, 64}, {.stride = 3}).size, 8);
  EXPECT_EQ(square_of({3, 32, 64}, {.size = 16, .stride = 3}).stride, 3);
}

TEST(Show, FiltersAreColumnsOrFilters) {
  const Tensor matrix = counting({16, 2}).cast(DType::kFloat32);
  const Filters columns = *filters_of(matrix, ImageShape{1, 4, 4});
  EXPECT_EQ(columns.values.shape(), (Shape{2, 16}));
  EXPECT_EQ(columns.values.as_double(16 + 3), 7);  // row 3, column 1
  EXPECT_FALSE(filters_of(matrix, ImageShape{1, 4, 5}));
  EXPECT_FALSE(filters_of(matrix, {}));
  const Filters coloured = *filters_of(counting({5, 3, 2, 2}), {});
  EXPECT_EQ(coloured.picture, (ImageShape{3, 2, 2}));
  EXPECT_EQ(coloured.values.shape(), (Shape{5, 12}));
  EXPECT_EQ(coloured.of_unit, 1);
  const Filters grey = *filters_of(counting({5, 6, 2, 2}), {});
  EXPECT_EQ(grey.picture, (ImageShape{1, 2, 2}));
  EXPECT_EQ(grey.values.shape(), (Shape{30, 4}));
  EXPECT_EQ(grey.of_unit, 6);
  EXPECT_FALSE(filters_of(counting({4}), {}));
  EXPECT_EQ(picture_shape({784}), (ImageShape{1, 28, 28}));
  EXPECT_EQ(picture_shape({3, 8, 9}), (ImageShape{3, 8, 9}));
  EXPECT_FALSE(picture_shape({4}));
  EXPECT_FALSE(picture_shape({20}));
}

// The first weights of a run, as its checkpoint of step 0 has them.
std::string first_weights(const Experiment& experiment, const Dataset& data, const TemporaryFolder& folder) {
  const Model model = build_model(experiment, model_input(experiment, data.input_shape()), data.classes());
  NamedArrays arrays;
  for (const Param& param : model.params()) arrays.emplace_back(param.name, param.variable.get_value());
  for (const auto& array : arrays_of(data.standardization, model.dtype())) arrays.push_back(array);
  write_npz(folder.path("w.npz"), arrays);
  return folder.path("w.npz");
}

TEST(Show, JudgementsAreThoseThatEvalCounts) {
  TemporaryFolder folder;
  Experiment experiment = small_experiment();
  experiment.compiler.mode = CompilerConfig::Mode::kReference;
  experiment.trainer.batch_size = 16;  // of 40 test examples, 32 are measured
  const Dataset data = load_data(experiment, "");
  const std::string weights = first_weights(experiment, data, folder);
  const TrainedModel model(experiment, data, weights);
  ASSERT_TRUE(can_judge(model));
  ASSERT_EQ(model.count(Part::kTest), 32);
  const Judgements of = judge(model, Part::kTest, 32);
  EXPECT_TRUE(of.are_probabilities);
  const Evaluation expected = evaluate(experiment, data, Part::kTest, weights);
  std::vector<double> counts(100);
  double loss = 0;
  for (int64_t i = 0; i < of.size(); ++i) {
    const auto at = static_cast<size_t>(i);
    ++counts[static_cast<size_t>(of.classes[at] * 10 + of.taken[at])];
    loss -= std::log(of.score(i, of.classes[at])) / 32;
  }
  for (int64_t i = 0; i < 100; ++i) EXPECT_EQ(counts[static_cast<size_t>(i)], expected.confusion->as_double(i)) << i;
  EXPECT_NEAR(loss, expected.loss, 1e-5);
  const std::vector<int64_t> worst = worst_mistakes(of, 1000);
  EXPECT_EQ(std::ssize(worst), expected.errors);
  for (size_t i = 1; i < worst.size(); ++i)
    EXPECT_LE(of.score(worst[i - 1], of.classes[static_cast<size_t>(worst[i - 1])]),
              of.score(worst[i], of.classes[static_cast<size_t>(worst[i])]));
  EXPECT_EQ(worst_mistakes(of, 3), (std::vector<int64_t>{worst[0], worst[1], worst[2]}));
}

TEST(Show, ScoresThatAreNoProbabilitiesAreComparedWithTheWinner) {
  const Judgements of{.classes = {0, 0, 1},
                      .taken = {1, 1, 1},
                      .scores = Tensor::matrix<double>({{-5, -4}, {3, 7}, {0, 1}}),
                      .are_probabilities = false};
  EXPECT_EQ(worst_mistakes(of, 9), (std::vector<int64_t>{1, 0}));
  EXPECT_EQ(first_of_classes({2, 0, 2, 2}, 3, 2), (std::vector<std::vector<int64_t>>{{1}, {}, {0, 2}}));
}

// A softmax of two features, W = [[a, 0], [b, 0]]: class 0 where a x + b y > 0, x and y standardized.
TEST(Show, TheBoundaryHasTheUnitsOfTheData) {
  TemporaryFolder folder;
  Experiment experiment = small_experiment();
  experiment.compiler.mode = CompilerConfig::Mode::kReference;
  MoonsConfig moons;
  moons.n_train = 50;
  moons.n_valid = moons.n_test = 20;
  experiment.data = moons;
  Softmax::Options softmax;
  softmax.name = "softmax";
  experiment.model.layers = {softmax};
  Dataset data = load_data(experiment, "");
  Standardization standard;
  standard.inputs = {{1, -2}, {0.5, 4}};
  data.set_standardization(std::make_shared<const Standardization>(standard));
  NamedArrays arrays = {{"softmax/W", Tensor::matrix<float>({{1, 0}, {-3, 0}})},
                        {"softmax/b", Tensor::zeros(DType::kFloat32, {2})}};
  for (const auto& array : arrays_of(data.standardization, DType::kFloat32)) arrays.push_back(array);
  write_npz(folder.path("w.npz"), arrays);
  const TrainedModel model(experiment, data, folder.path("w.npz"));
  ASSERT_TRUE(has_plane(model));
  // Of linear scores the gradient does not depend on x.
  const Tensor gradient = score_gradient(model, model.read(Part::kTest, 0, 1).x, 0);
  EXPECT_EQ(gradient.as_double(0), 1);
  EXPECT_EQ(gradient.as_double(1), -3);
  const Boundary of = boundary_of(model, Part::kTest, 6, 8, 15);
  ASSERT_EQ(of.points.shape(), (Shape{15, 2}));
  const Tensor raw = data.test.x_array().raw.cast(DType::kFloat64);
  double least = 1e9, most = -1e9;
  for (int64_t i = 0; i < 15; ++i) {
    EXPECT_NEAR(of.points.as_double(2 * i), raw.as_double(2 * data.test.file_row(i)), 1e-5);
    EXPECT_EQ(of.targets.as_int(i), data.test.read_targets(i, 1, DType::kFloat64).as_int(0));
    least = std::min(least, of.points.as_double(2 * i + 1));
    most = std::max(most, of.points.as_double(2 * i + 1));
  }
  EXPECT_NEAR(of.bottom, least - (most - least) / 10, 1e-9);
  EXPECT_NEAR(of.top, most + (most - least) / 10, 1e-9);
  for (int64_t row = 0; row < 6; ++row)
    for (int64_t column = 0; column < 8; ++column) {
      const double x = of.left + (of.right - of.left) * (static_cast<double>(column) + 0.5) / 8,
                   y = of.top - (of.top - of.bottom) * (static_cast<double>(row) + 0.5) / 6;
      const double z = (x - 1) / 0.5 - 3 * (y + 2) / 4;
      EXPECT_EQ(of.classes.as_int(row * 8 + column), z > 0 ? 0 : 1);
      EXPECT_NEAR(of.values.as_double(row * 8 + column), 1 / (1 + std::exp(-std::abs(z))), 1e-5);
    }
}

}  // namespace
}  // namespace thtrain
