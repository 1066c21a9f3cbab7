// Training on images that are changed as they are read: which bits come, and which examples are left alone.
#include "trainers/image_data.h"

#include <filesystem>

#include "datasets/npy.h"
#include "datasets/sources/digits.h"
#include "datasets/sources/npy.h"
#include "tests/support/training_support.h"
#include "trainers/build_model.h"
#include "trainers/checkpoint.h"
#include "trainers/feed.h"
#include "trainers/load_data.h"
#include "trainers/predict.h"

namespace thtrain {
namespace {

AugmentConfig all_changes() {
  AugmentConfig out;
  out.shift = 2;
  out.flip = AugmentConfig::Flip::kBoth;
  out.crop = {24, 26};
  out.padding = 1;
  out.rotation = 15;
  out.noise = 0.1;
  out.border = Border::kReflect;
  return out;
}

// 97 digits in .npy files, of which 20 validate.
struct DigitFiles {
  TemporaryFolder folder;
  DigitFiles() {
    const Dataset digits =
        load_dataset({.read = digits_reader(), .name = "digits", .train = 97, .valid = 0, .test = 0}, DType::kFloat32);
    write_npy(folder.path("x.npy"), digits.train.x_array().raw);
    write_npy(folder.path("y.npy"), digits.train.y_array().raw);
  }
  Experiment experiment(bool streamed, bool shuffled, int64_t window = 0) const {
    Experiment out = small_experiment();
    NpyConfig data;
    data.train = folder.path("x.npy");
    data.train_labels = folder.path("y.npy");
    data.n_valid = 20;
    data.scale = kPixelScale;
    data.standardize = Standardization::By::kFeatures;
    data.shuffle_window = window;
    if (streamed) data.memory_limit = 1e-5;
    out.data = data;
    out.trainer.batch_size = 10;
    out.trainer.full_batches_only = false;
    out.trainer.shuffle = shuffled;
    out.trainer.augment = all_changes();
    return out;
  }
};

Checkpoint trained_checkpoint(const Experiment& e, const std::string& path) {
  RunFolder folder = RunFolder::create(path, e);
  EXPECT_FALSE(train(e, load_data(e, "."), folder).interrupted);
  return read_checkpoint(folder.checkpoint());
}

bool same_weights(const Checkpoint& a, const Checkpoint& b) {
  EXPECT_EQ(a.weights.size(), b.weights.size());
  bool out = true;
  for (size_t i = 0; i < a.weights.size(); ++i) out = out && same_bits(a.weights[i].second, b.weights[i].second);
  return out;
}

TEST(AugmentedRuns, TheBitsAreAlikeInMemoryAndStreamedOnOneThreadAndTwo) {
  DigitFiles files;
  for (bool shuffled : {false, true}) {
    const Checkpoint one =
        trained_checkpoint(files.experiment(false, shuffled), files.folder.path(str("one", shuffled)));
    auto expect_same = [&](const Experiment& e, const char* name) {
      EXPECT_TRUE(same_weights(trained_checkpoint(e, files.folder.path(str(name, shuffled))), one)) << name;
    };
    expect_same(files.experiment(false, shuffled), "again");
    expect_same(files.experiment(true, shuffled), "streamed");
    Experiment two = files.experiment(false, shuffled);
    two.compiler.threads = 2;
    expect_same(two, "two");
    Experiment other = files.experiment(false, shuffled);
    other.trainer.augment->noise = 0.2;
    EXPECT_FALSE(same_weights(trained_checkpoint(other, files.folder.path(str("other", shuffled))), one));
  }
  const Checkpoint window = trained_checkpoint(files.experiment(false, true, 16), files.folder.path("window"));
  EXPECT_TRUE(
      same_weights(trained_checkpoint(files.experiment(true, true, 16), files.folder.path("streamed_window")), window));
}

// After each step, within the epochs and between them.
TEST(AugmentedRuns, GoOnWithTheirBitsWhereverTheyAreStopped) {
  DigitFiles files;
  for (bool streamed : {false, true})
    for (bool shuffled : {false, true}) {
      const Experiment e = files.experiment(streamed, shuffled, streamed && shuffled ? 33 : 0);
      const Dataset data = load_data(e, ".");
      EXPECT_EQ(data.streamed, streamed);
      const std::string path = files.folder.path(str("stopped", streamed, shuffled));
      std::atomic<int> stop{1};
      {
        RunFolder folder = RunFolder::create(path, e);
        EXPECT_TRUE(train(e, data, folder, {}, {.stop = &stop}).interrupted);
      }
      int times = 1;
      for (bool interrupted = true; interrupted; ++times) {
        RunFolder folder = RunFolder::open(path);
        interrupted = resume(e, data, folder, {}, {.stop = &stop}).interrupted;
        ASSERT_LT(times, 100);
      }
      EXPECT_GE(times, 3 * 8);
      EXPECT_TRUE(same_weights(read_checkpoint(RunFolder::open(path).checkpoint()),
                               trained_checkpoint(e, files.folder.path(str("whole", streamed, shuffled)))));
    }
}

// x of a minibatch by hand: whole images, changed by number and epoch, then standardized.
TEST(AugmentedFeed, MinibatchesAreTheChangesOfTheirExamples) {
  DigitFiles files;
  for (bool streamed : {false, true})
    for (bool shuffled : {false, true}) {
      const Experiment e = files.experiment(streamed, shuffled);
      const Dataset data = load_data(e, ".");
      ASSERT_EQ(data.train.input_shape(), (Shape{24, 26}));
      const auto augmentation = augmentation_of(e, data.train);
      Feed feed(Examples(data.train, {24 * 26}, DType::kFloat32, streamed), "train", shuffled, 0, augmentation);
      feed.set_plan({77, 10});
      const Batch images = data.train.whole_images().read(0, 77, DType::kFloat32);
      RandomState random(3), same(3);
      // Epoch by epoch, from within one, one again, and another one in the middle of it.
      for (auto [epoch, first, last] :
           {std::tuple(0, 0, 77), {1, 0, 77}, {2, 30, 77}, {2, 0, 20}, {7, 20, 50}, {8, 0, 77}, {8, 0, 10}}) {
        std::vector<int64_t> order(77);
        for (int64_t i = 0; i < 77; ++i) order[static_cast<size_t>(i)] = i;
        if (shuffled) feed.begin_epoch(random), order = same.permutation(77);
        feed.set_epoch(epoch);
        for (int64_t start = first; start < last; start += 10) {
          const int64_t count = std::min<int64_t>(10, 77 - start);
          const std::vector<int64_t> examples(order.begin() + start, order.begin() + start + count);
          const Batch whole = data.train.whole_images().read(examples, DType::kFloat32);
          Tensor expected = Tensor::empty(DType::kFloat32, {count, 24 * 26});
          augmentation->apply(whole.x, examples, epoch, expected);
          data.standardization->inputs.apply(expected);
          std::span<const Tensor> got = feed.arguments(start, count);
          ASSERT_TRUE(same_bits(got[0], expected)) << streamed << shuffled << " epoch " << epoch << " at " << start;
          ASSERT_TRUE(same_bits(got[1], whole.y));
        }
      }
    }
}

// What is measured is measured on examples as they are; without a crop, as a run without augmentation measures it.
TEST(AugmentedRuns, ValidationTestAndTrainingErrorsSeeTheImagesAsTheyAre) {
  TemporaryFolder temporary;
  Experiment e = small_experiment(), plain = e;
  e.trainer.augment = all_changes();
  e.trainer.augment->crop.clear();
  e.trainer.augment->padding = 0;
  const Dataset data = load_data(e, ".");
  RunFolder folder = RunFolder::create(temporary.path("run"), e);
  std::vector<EpochReport> reports;
  train(e, data, folder, {.on_epoch = [&](const EpochReport& report) { reports.push_back(report); }});
  const std::string weights = folder.checkpoint();
  ASSERT_EQ(reports.size(), 3u);
  EXPECT_EQ(*reports.back().valid_error, evaluate(plain, load_data(plain, "."), Part::kValid, weights).error);
  for (Part part : {Part::kTrain, Part::kValid, Part::kTest})
    EXPECT_EQ(evaluate(e, data, part, weights).loss, evaluate(plain, load_data(plain, "."), part, weights).loss);

  // The training loss is that of the changed images.
  RunFolder other = RunFolder::create(temporary.path("plain"), plain);
  EXPECT_NE(train(plain, data, other).train_loss, reports.back().train_loss);
}

// A crop makes another example of each; what is read to be predicted is cropped as the run's examples are.
TEST(AugmentedRuns, ACropIsTheModelsInput) {
  TemporaryFolder temporary;
  Experiment e = small_experiment();
  e.trainer.augment = all_changes();
  const Dataset data = load_data(e, ".");
  EXPECT_EQ(data.test.input_shape(), (Shape{24, 26}));
  RunFolder folder = RunFolder::create(temporary.path("run"), e);
  std::string input;
  train(e, data, folder, {.on_start = [&](const ModelSummary& summary) { input = summary.input; }});
  EXPECT_EQ(input, "float32[20, 624]");
  const Evaluation evaluation = evaluate(e, data, Part::kTest, folder.checkpoint());
  EXPECT_EQ(evaluation.examples, 40);

  Split whole = data.test.whole_images();
  take_images(whole, e);
  EXPECT_TRUE(same_bits(whole.read(0, 40, DType::kFloat32).x, data.test.read(0, 40, DType::kFloat32).x));
  const Prediction prediction = predict(e, whole.all(DType::kFloat32).x, folder.checkpoint());
  int64_t errors = 0;
  for (int64_t i = 0; i < 40; ++i)
    errors += prediction.classes.as_int(i) != data.test.read_targets(i, 1, DType::kFloat32).as_int(0);
  EXPECT_EQ(errors, evaluation.errors);
}

// Layers that take the examples are told what images they are, as rows too.
TEST(ImageInput, IsSaidToTheModel) {
  const Experiment e = small_experiment();
  const ModelInput grey = model_input(e, {28, 28}), color = model_input(e, {3, 32, 30});
  EXPECT_EQ(grey.shape, (Shape{784}));
  EXPECT_EQ(grey.image, (ImageShape{1, 28, 28}));
  EXPECT_EQ(color.image, (ImageShape{3, 32, 30}));
  EXPECT_EQ(model_input(e, {784}).image, std::nullopt);
  EXPECT_EQ(model_input(e, {28, 28}, true).image, std::nullopt);

  Experiment rows = e;
  NpyConfig data;
  data.image_shape = {1, 4, 6};
  rows.data = data;
  EXPECT_EQ(input_of_rows(rows, {10, 24}).image, (ImageShape{1, 4, 6}));
  EXPECT_EQ(input_of_rows(rows, {10, 24}).shape, (Shape{24}));
  EXPECT_EQ(input_of_rows(rows, {10, 25}).image, std::nullopt);
}

}  // namespace
}  // namespace thtrain
