// Pictures of filters and of samples.
#include "trainers/pictures.h"

#include <png.h>

#include <filesystem>

#include "datasets/sources/reber.h"
#include "nn/layers/activation.h"
#include "nn/layers/conv.h"
#include "nn/layers/rbm.h"
#include "nn/layers/rnn.h"
#include "nn/objectives/contrastive_divergence.h"
#include "reports/raster.h"
#include "reports/tiles.h"
#include "tests/support/golden_lines.h"
#include "tests/support/training_support.h"
#include "trainers/build_model.h"
#include "trainers/image_data.h"
#include "trainers/inspect.h"
#include "trainers/load_data.h"
#include "trainers/program.h"
#include "trainers/trainer.h"

namespace thtrain {
namespace {

namespace fs = std::filesystem;

// A machine of 6 units on 200 digits.
Experiment machine_with_pictures() {
  Experiment out = small_experiment();
  Rbm::Options rbm;
  rbm.name = "rbm";
  rbm.units = 6;
  out.model.layers = {rbm};
  out.loss.l2 = 0;
  out.loss.objective = ContrastiveDivergence::Options();
  out.trainer.epochs = 2;
  out.output.filters = out.output.samples = "rbm";
  out.output.filter_rows = 2;
  out.output.filter_columns = 3;
  out.output.sample_chains = 4;
  out.output.sample_rows = 3;
  out.output.sample_steps = 5;
  return out;
}

// A grey PNG file.
Pixels read_png(const std::string& path) {
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  Pixels out;
  if (png_image_begin_read_from_file(&image, path.c_str()) == 0) throw std::runtime_error(image.message);
  EXPECT_EQ(image.format & PNG_FORMAT_FLAG_COLOR, 0u);
  image.format = PNG_FORMAT_GRAY;
  out.width = image.width;
  out.height = image.height;
  out.values.resize(PNG_IMAGE_SIZE(image));
  if (png_image_finish_read(&image, nullptr, out.values.data(), 0, nullptr) == 0)
    throw std::runtime_error(image.message);
  return out;
}

TEST(Tiles, AreNumPysByteForByte) {
  std::map<std::string, Tensor> golden;
  for (const GoldenLine& line : golden_lines("tiles.txt")) golden[line.name] = line.result(DType::kFloat64);
  const Pixels got = tiles_of(golden.at("values"), {1, 3, 2}, 2, 3);
  ASSERT_EQ(got.width, 8);
  ASSERT_EQ(got.height, 7);
  for (int64_t i = 0; i < 56; ++i) EXPECT_EQ(got.values[static_cast<size_t>(i)], golden.at("pixels").as_double(i)) << i;
  TemporaryFolder temporary;
  write_png(temporary.path("tiles.png"), got);
  const Pixels back = read_png(temporary.path("tiles.png"));
  EXPECT_EQ(back.width, 8);
  EXPECT_EQ(back.values, got.values);
}

TEST(PicturesOfRuns, FiltersAreTheColumnsAfterEachEpoch) {
  TemporaryFolder temporary;
  const Experiment e = machine_with_pictures();
  const Dataset data = load_data(e, "");
  RunFolder folder = RunFolder::create(temporary.path("run"), e);
  train(e, data, folder);
  const Pixels first = read_png(folder.file("plots/filters_at_epoch_0001.png")),
               last = read_png(folder.file("plots/filters_at_epoch_0002.png"));
  EXPECT_NE(first.values, last.values);
  EXPECT_FALSE(fs::exists(folder.file("plots/filters_at_epoch_0003.png")));
  EXPECT_FALSE(fs::exists(folder.file("plots/learning_curves.png")));
  const Tensor w = read_checkpoint(folder.checkpoint()).weights.at(0).second;
  Tensor columns = Tensor::empty(DType::kFloat64, {6, 784});
  for (int64_t k = 0; k < 6; ++k)
    for (int64_t i = 0; i < 784; ++i) columns.data<double>()[k * 784 + i] = w.as_double(i * 6 + k);
  EXPECT_EQ(last.values, tiles_of(columns, {1, 28, 28}, 2, 3).values);
  // A page: the title, and three rows of four pictures with their names.
  png_image page{};
  page.version = PNG_IMAGE_VERSION;
  ASSERT_NE(png_image_begin_read_from_file(&page, folder.file("plots/samples.png").c_str()), 0) << page.message;
  EXPECT_GT(page.width, 4u * 34);
  EXPECT_GT(page.height, 3u * 34 + 28);
  png_image_free(&page);
}

// Filters of one and of three channels are tiles; of others, a row for each with its first channels.
TEST(PicturesOfRuns, FiltersOfConvolutions) {
  Experiment e = small_experiment();
  Conv::Options first, second;
  first.name = "first";
  first.units = 6;
  first.window.size = {5};
  second.name = "second";
  second.units = 4;
  second.window.size = {3};
  Softmax::Options softmax;
  softmax.name = "softmax";
  e.model.layers = {first, second, softmax};
  e.output.filter_rows = 3;
  e.output.filter_columns = 2;
  e.output.filters = "first";
  const Dataset data = load_data(e, "");
  const Model model = build_model(e, model_input(e, data.input_shape()), data.classes());
  const auto weights = [&](size_t layer) {
    return model.layers()[layer]->params()[0].variable.get_value().cast(DType::kFloat64);
  };
  EXPECT_EQ(Pictures(e, data, model).filters().values, tiles_of(weights(0).reshape({6, 25}), {1, 5, 5}, 3, 2).values);
  e.output.filters = "second";
  Tensor rows = Tensor::empty(DType::kFloat64, {6, 9});
  for (int64_t unit = 0; unit < 3; ++unit) rows.rows(2 * unit, 2).assign(weights(1).reshape({24, 9}).rows(6 * unit, 2));
  EXPECT_EQ(Pictures(e, data, model).filters().values, tiles_of(rows, {1, 3, 3}, 3, 2).values);
}

// Channels are next to each other in a pixel, and are scaled alike.
TEST(Tiles, OfThreeChannelsAreColoured) {
  const Tensor values = Tensor::of(std::vector<double>{0, 1, 2, 3, 4, 5.1}, {1, 6});
  const Pixels got = tiles_of(values, {3, 1, 2}, 1, 2);
  EXPECT_EQ(got.width, 5);
  EXPECT_EQ(got.channels, 3);
  EXPECT_EQ(got.values, (std::vector<uint8_t>{0, 99, 199, 49, 149, 254, 0, 0, 0, 0, 0, 0, 0, 0, 0}));
}

// Ten tiles in a row: the image, and nine changes of it.
TEST(PicturesOfRuns, AugmentedImagesAreNextToTheirChanges) {
  TemporaryFolder temporary;
  Experiment e = small_experiment();
  e.trainer.epochs = 1;
  e.trainer.augment.emplace().shift = 3;
  e.output.augmented = 2;
  const Dataset data = load_data(e, ".");
  RunFolder folder = RunFolder::create(temporary.path("run"), e);
  train(e, data, folder);
  const Pixels got = read_png(folder.file("plots/augmented.png"));
  EXPECT_EQ(got.width, 10 * 29 - 1);
  EXPECT_EQ(got.height, 2 * 29 - 1);
  const Tensor images = data.train.read(0, 2, DType::kFloat64).x;
  Tensor all = Tensor::empty(DType::kFloat64, {20, 784}), changed = Tensor::empty(DType::kFloat64, {2, 784});
  for (int64_t column = 0; column < 10; ++column) {
    if (column == 0)
      changed.assign(images.reshape({2, 784}));
    else
      augmentation_of(e, data.train)->apply(images, std::vector<int64_t>{0, 1}, column - 1, changed);
    for (int64_t row = 0; row < 2; ++row) all.rows(10 * row + column, 1).assign(changed.rows(row, 1));
  }
  EXPECT_EQ(got.values, tiles_of(all, {1, 28, 28}, 2, 10).values);
}

// A step at a time from the same examples and generators; drawing them leaves the model as it is.
TEST(PicturesOfRuns, SamplesAreStepsOfGibbsSampling) {
  Experiment e = machine_with_pictures();
  const Dataset data = load_data(e, "");
  const Model model = build_model(e, {"x", {784}}, data.classes());
  const Rbm& rbm = dynamic_cast<const Rbm&>(*model.layers()[0]);
  const Pixels got = *Pictures(e, data, model).samples({.mode = Mode::kReference});
  const Shared v(data.test.read(0, 4, model.dtype()).x.reshape({4, 784}), "v"),
      visible(rbm.visible_random().get_value(), "visible"), hidden(rbm.hidden_random().get_value(), "hidden");
  const Drawn h = rbm.machine().sample_hidden(v, hidden);
  const GibbsStep one = rbm.machine().gibbs_hvh(h.sample, visible, h.next);
  // The hidden units of a step are those that the next one begins with.
  const Shared state(Tensor::zeros(model.dtype(), {4, 6}), "h");
  function({}, {}, {{state, h.sample}, {hidden, h.next}}, {.mode = Mode::kReference})({});
  const GibbsStep next = rbm.machine().gibbs_hvh(state, visible, hidden);
  Function step =
      function({}, {next.visible_mean},
               {{state, next.hidden}, {v, next.visible}, {visible, next.visible_random}, {hidden, next.hidden_random}},
               {.mode = Mode::kReference});
  Tensor all = Tensor::empty(DType::kFloat64, {12, 784});
  for (int64_t row = 0; row < 3; ++row) {
    Tensor means;
    if (row > 0)
      function({}, {},
               {{state, rbm.machine().sample_hidden(v, hidden).sample},
                {hidden, rbm.machine().sample_hidden(v, hidden).next}},
               {.mode = Mode::kReference})({});
    for (int i = 0; i < 5; ++i) means = step({})[0].cast(DType::kFloat64);
    std::copy_n(means.data<double>(), 4 * 784, all.data<double>() + row * 4 * 784);
  }
  EXPECT_EQ(got.values, tiles_of(all, {1, 28, 28}, 3, 4).values);
  const Pictures pictures(e, data, model);
  EXPECT_EQ(pictures.samples({.mode = Mode::kReference})->values, got.values);
  const Sheet page = pictures.samples_sheet(got);
  EXPECT_EQ(page.title, "Samples of rbm after steps of Gibbs sampling, a chain in each column");
  const SheetSection& section = page.sections.at(0);
  EXPECT_EQ(section.columns, 4);
  EXPECT_EQ(section.row_names, (std::vector<std::string>{"5 steps", "10 steps", "15 steps"}));
  ASSERT_EQ(section.tiles.size(), 12u);
  for (int64_t i = 0; i < 12; ++i)
    EXPECT_EQ(section.tiles[static_cast<size_t>(i)].pixels.values, tiles_of(all.rows(i, 1), {1, 28, 28}, 1, 1).values);
}

// The debug mode holds each step against the references.
TEST(PicturesOfRuns, InDebugModeSamplesAreFew) {
  Experiment e = machine_with_pictures();
  e.compiler.mode = CompilerConfig::Mode::kDebug;
  e.output.sample_rows = 10;
  e.output.sample_steps = 1000;
  const Dataset data = load_data(e, "");
  const Model model = build_model(e, {"x", {784}}, data.classes());
  const Pictures pictures(e, data, model);
  EXPECT_EQ(pictures.samples_text(),
            "drawing samples of rbm: 2 rows of 10 steps of Gibbs sampling, no more in debug mode");
  int asked = 0;
  const Pixels got = *pictures.samples({.mode = Mode::kDebug}, [&] { return ++asked == 0; });
  EXPECT_EQ(asked, 20);
  EXPECT_EQ(got.height, 2 * 29 - 1);
  EXPECT_EQ(pictures.samples_sheet(got).sections.at(0).row_names, (std::vector<std::string>{"10 steps", "20 steps"}));
  // As in other modes.
  e.compiler.mode = CompilerConfig::Mode::kNative;
  e.output.sample_rows = 2;
  e.output.sample_steps = 10;
  EXPECT_EQ(got.values, Pictures(e, data, model).samples({.mode = Mode::kReference})->values);
}

TEST(PicturesOfRuns, ASignalEndsTheSamplingBetweenTwoStepsByReferences) {
  const Experiment e = machine_with_pictures();
  const Dataset data = load_data(e, "");
  const Model model = build_model(e, {"x", {784}}, data.classes());
  const Pictures pictures(e, data, model);
  int asked = 0;
  EXPECT_FALSE(pictures.samples({.mode = Mode::kReference}, [&] { return ++asked == 7; }));
  EXPECT_EQ(asked, 7);
}

// The files that a run cannot go on without are there at its end, though somebody removed them while it drew.
TEST(PicturesOfRuns, FilesThatAreRemovedMeanwhileAreWrittenAgain) {
  TemporaryFolder temporary;
  const Experiment e = machine_with_pictures();
  const Dataset data = load_data(e, "");
  RunFolder folder = RunFolder::create(temporary.path("run"), e);
  const std::vector<std::string> files = {folder.config(), folder.metrics(), folder.best(), folder.checkpoint()};
  int64_t removed = 0;
  TrainHooks hooks{.on_message = [&](const std::string& line) {
    for (const std::string& file : files) removed += line.starts_with("drawing samples") && fs::remove(file);
  }};
  EXPECT_FALSE(train(e, data, folder, hooks).interrupted);
  EXPECT_EQ(removed, 4);
  for (const std::string& file : files) EXPECT_TRUE(fs::exists(file)) << file;
  RunFolder again = RunFolder::open(folder.path());
  EXPECT_EQ(resume(e, data, again).epochs, 2);
}

TEST(PicturesOfRuns, TheirKeysMatter) {
  const Experiment standard = machine_with_pictures();
  const Dataset data = load_data(standard, "");
  const Model model = build_model(standard, {"x", {784}}, data.classes());
  auto drawn = [&](int64_t OutputConfig::*key, int64_t value) {
    Experiment e = standard;
    if (key) e.output.*key = value;
    const Pictures pictures(e, data, model);
    const Pixels filters = pictures.filters(), samples = *pictures.samples({.mode = Mode::kReference});
    std::vector<uint8_t> out = filters.values;
    out.insert(out.end(), samples.values.begin(), samples.values.end());
    return out;
  };
  for (int64_t OutputConfig::*key :
       {&OutputConfig::filter_rows, &OutputConfig::filter_columns, &OutputConfig::sample_chains,
        &OutputConfig::sample_rows, &OutputConfig::sample_steps})
    EXPECT_NE(drawn(key, 1), drawn(nullptr, 0));
  Experiment none = standard;
  none.output.samples = "";
  EXPECT_FALSE(Pictures(none, data, model).has_samples());
  EXPECT_TRUE(Pictures(standard, data, model).has_samples());
}

std::string error_of(const Experiment& e) {
  const Dataset data = load_data(e, "");
  const Model model = build_model(e, model_input(e, data.input_shape()), data.classes());
  return error_text([&] { Pictures(e, data, model); });
}

TEST(PicturesOfRuns, WhatIsNoPicture) {
  Experiment e = machine_with_pictures();
  Activation::Options squashed;
  squashed.name = "squashed";
  Dense::Options dense;
  dense.name = "dense";
  dense.units = 4;
  e.model.layers.insert(e.model.layers.begin(), {dense, squashed});
  EXPECT_EQ(error_of(e),
            "error: output.filters: the layer rbm takes no pictures\n"
            "  expected: 784 inputs, the numbers of an example\n"
            "  got:      4");
  e.output.filters = "squashed";
  EXPECT_EQ(error_of(e),
            "error: output.filters: the layer squashed has no matrix of weights\n"
            "  expected: a layer of a type such as \"dense\", \"rbm\" or \"conv\"\n"
            "  got:      type = \"activation\"");
  e.output.filters = "";
  e.output.samples = "dense";
  EXPECT_EQ(error_of(e),
            "error: output.samples: the layer dense draws none\n"
            "  expected: a layer of the type \"rbm\"\n"
            "  got:      type = \"dense\"");
  e = machine_with_pictures();
  e.output.sample_chains = 41;
  EXPECT_EQ(error_of(e),
            "error: output.sample_chains: chains begin at examples, each at its own\n"
            "  expected: at most 40 (test examples)\n"
            "  got:      41");
}

// `thtrain check` refuses what training refuses.
TEST(PicturesOfRuns, SequencesAreNoPictures) {
  Experiment e;
  ReberConfig data;
  data.n_train = 40;
  data.n_valid = data.n_test = 0;
  e.data = data;
  Rnn::Options rnn;
  rnn.name = "rnn";
  Softmax::Options softmax;
  softmax.name = "softmax";
  e.model.layers = {rnn, softmax};
  e.trainer.batch_size = 8;
  e.compiler.mode = CompilerConfig::Mode::kReference;
  e.output.filters = "rnn";
  const auto error = [&] { return error_text([&] { check_experiment(e, load_data(e, ""), ""); }); };
  EXPECT_EQ(error(),
            "error: output.filters: filters of a layer that takes sequences are no pictures\n"
            "  expected: examples that are pictures, without data.sequences\n"
            "  got:      sequences, whose steps are [7]");
  e.output.filters = "";
  e.output.samples = "rnn";
  EXPECT_EQ(error(),
            "error: output.samples: the layer rnn draws none\n"
            "  expected: a layer of the type \"rbm\"\n"
            "  got:      type = \"rnn\"");
}

}  // namespace
}  // namespace thtrain
