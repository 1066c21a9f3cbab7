// [trainer.augment] of phases, and with examples that it does not suit.
#include "tests/support/datasets_support.h"
#include "tests/support/phases_support.h"
#include "trainers/image_data.h"
#include "trainers/inspect.h"

namespace thtrain {
namespace {

TEST(AugmentKeys, EachPhaseDrawsNumbersOfItsOwn) {
  const Experiment e = experiment_in(kSmallTop + "[trainer.augment]\nshift = 3\n[[phase]]\n[[phase]]\n");
  const Dataset data = load_data(e, ".");
  Tensor first = Tensor::empty(DType::kFloat32, {5, 28, 28}), second = first.copy();
  const std::vector<int64_t> examples = {0, 1, 2, 3, 4};
  const Tensor x = data.train.read(0, 5, DType::kFloat32).x;
  augmentation_of(e.phases.at(0), data.train)->apply(x, examples, 0, first);
  augmentation_of(e.phases.at(1), data.train)->apply(x, examples, 0, second);
  EXPECT_FALSE(same_bits(first, second));
}

// Phases may crop differently: their data is then not the same.
TEST(AugmentKeys, PhasesThatCropHaveDataOfTheirOwn) {
  const Experiment e = experiment_in(kSmallTop +
                                     "[[phase]]\n[[phase]]\n[phase.trainer.augment]\ncrop = [20, 20]\n[[phase]]\n"
                                     "[phase.trainer.augment]\nshift = 2\n");
  PhaseData data = data_of(e);
  EXPECT_FALSE(data.are_alike(0, 1));
  EXPECT_TRUE(data.are_alike(0, 2));
  EXPECT_EQ(data.of(1).input_shape(), (Shape{20, 20}));
}

TEST(AugmentKeys, ExamplesThatAreNoImagesAreRefused) {
  auto error = [](const std::string& toml) {
    const Experiment e = experiment_in(toml);
    return error_text([&] { check_experiment(e, load_data(e, "."), "."); });
  };
  const std::string rest = "[[model.layers]]\ntype = \"softmax\"\n[trainer]\nbatch_size = 10\n[trainer.augment]\n";
  EXPECT_EQ(error("[data]\nsource = \"moons\"\nn_train = 50\nn_valid = 20\nn_test = 20\n" + rest + "shift = 1\n"),
            "error: trainer.augment changes images, and the examples are none\n"
            "  expected: examples of [height, width] or [channels, height, width] numbers\n"
            "  got:      examples of [2]\n"
            "  config:   e.toml:10:1\n"
            "     10 | [trainer.augment]\n"
            "        | ^^^^^^^^^^^^^^^^^\n"
            "  hint:     data.image_shape, of the sources npy, idx and csv, says that rows are images");
  EXPECT_EQ(
      error("[data]\nsource = \"digits\"\nn_train = 50\nn_valid = 20\nn_test = 20\n" + rest + "crop = [30, 28]\n"),
      "error: trainer.augment.crop is larger than the images\n"
      "  expected: at most [28, 28]: the images are 28x28 pixels\n"
      "  got:      [30, 28]\n"
      "  config:   e.toml:11:8\n"
      "     11 | crop = [30, 28]\n"
      "        |        ^^^^^^^^\n"
      "  hint:     trainer.augment.padding puts pixels around them");
  EXPECT_EQ(error("[data]\nsource = \"digits\"\nn_train = 50\nn_valid = 20\nn_test = 20\n" + rest + "shift = 28\n"),
            "error: trainer.augment.shift moves whole images away\n"
            "  expected: at most 27 (pixels): the images are 28x28 pixels\n"
            "  got:      28\n"
            "  config:   e.toml:11:9\n"
            "     11 | shift = 28\n"
            "        |         ^^");
}

}  // namespace
}  // namespace thtrain
