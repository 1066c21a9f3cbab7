#include "tests/models/small_labs.h"

#include <algorithm>

#include "datasets/sources/cifar10.h"
#include "datasets/sources/csv.h"
#include "datasets/sources/digits.h"
#include "datasets/sources/piano_rolls.h"
#include "datasets/sources/text.h"
#include "nn/layers/conv.h"
#include "nn/layers/dense.h"
#include "nn/layers/rbm.h"
#include "nn/layers/rnn_rbm.h"
#include "tests/support/sequence_labs.h"

namespace thtrain {

std::vector<std::string> lab_names() {
  std::vector<std::string> out;
  for (const auto& entry : std::filesystem::directory_iterator(source_path("configs/labs")))
    if (entry.path().extension() == ".toml") out.push_back(entry.path().stem().string());
  std::sort(out.begin(), out.end());
  return out;
}

bool is_of_paper(const std::string& name) {
  return name == "convsmall" || name == "convmed" || name == "convlarge";
}

namespace {

// Two epochs, in each phase.
std::vector<std::string> two_epochs(const std::string& file) {
  const size_t phases = lab(file, {}).phases.size();
  if (phases == 0) return {"trainer.epochs=2"};
  std::vector<std::string> out;
  for (size_t i = 0; i < phases; ++i) out.push_back(str("phase.", i, ".trainer.epochs=2"));
  return out;
}

// Small files of CIFAR-10's records: 40 pictures to train, 20 to validate and 20 to test with. Each class has a colour
// of its own, of which every pixel differs.
std::vector<std::string> small_pictures(const TemporaryFolder& folder) {
  auto records = [&](const std::string& name, size_t count) {
    std::string bytes;
    for (size_t record = 0; record < count; ++record) {
      const size_t label = record % 10;
      bytes += static_cast<char>(label);
      for (size_t pixel = 0; pixel < 3072; ++pixel) {
        const size_t colour = pixel / 1024, noise = (record * 7919 + pixel * 104729) % 61;
        bytes += static_cast<char>(20 + 19 * ((label * (colour + 1)) % 10) + noise);
      }
    }
    return "[\"" + folder.write(name, bytes) + "\"]";
  };
  return {"data.train=" + records("train.bin", 60), "data.test=" + records("test.bin", 20), "data.n_valid=20"};
}
// References take a second for an image of 92 x 92.
void make_images_small(const std::string& name, std::vector<std::string>& overrides) {
  if (name == "convlarge")
    overrides.insert(overrides.end(), {"trainer.augment.crop=[56, 56]", "trainer.augment.padding=14"});
  if (name == "convmed")
    overrides.insert(overrides.end(), {"trainer.augment.crop=[40, 40]", "trainer.augment.padding=6"});
  if (is_of_paper(name)) overrides.push_back("trainer.learning_rate=0.05");
}
void make_samples_few(Experiment& experiment) {
  if (!experiment.output.samples.empty()) experiment.output.sample_steps = 3;
  for (Experiment& phase : experiment.phases) make_samples_few(phase);
}
// Large layers get 50 units (the last one has those of the targets), and filters are 3 in each layer.
void make_small(Experiment& experiment) {
  for (OneOf<LayerOptions>& layer : experiment.model.layers) {
    const bool is_last = &layer == &experiment.model.layers.back();
    if (auto* dense = layer.get_if<Dense::Options>(); dense && !is_last)
      dense->units = std::min<int64_t>(dense->units, 50);
    if (auto* conv = layer.get_if<Conv::Options>()) conv->units = 3;
    if (auto* rbm = layer.get_if<Rbm::Options>()) rbm->units = std::min<int64_t>(rbm->units, 50);
    if (auto* machine = layer.get_if<RnnRbm::Options>()) machine->units = machine->recurrent_units = 20;
  }
  for (Experiment& phase : experiment.phases) make_small(phase);
}

}  // namespace

std::optional<Experiment> small_lab(const std::string& name, int64_t train, int64_t others,
                                    std::vector<std::string> overrides) {
  const std::string file = str("configs/labs/", name, ".toml");
  for (std::string& override_ : two_epochs(file)) overrides.push_back(std::move(override_));
  const OneOf<DataConfig> data = lab(file, {}).data;
  const bool is_of_files =
      data.is<CsvConfig>() || data.is<Cifar10Config>() || data.is<TextConfig>() || data.is<PianoRollsConfig>();
  if (!is_of_files)
    for (const std::string& size :
         {str("data.n_train=", train), str("data.n_valid=", others), str("data.n_test=", others)})
      overrides.push_back(size);
  Experiment out = lab(file, overrides);
  try {
    load_data(out, "configs/labs");
  } catch (const UserError&) {
    return std::nullopt;
  }
  return out;
}

std::optional<Experiment> smallest_lab(const std::string& name, const TemporaryFolder& folder,
                                       std::vector<std::string> overrides, bool has_whole_layers) {
  for (const char* small : {"trainer.batch_size=20", "output.plots=false"}) overrides.emplace_back(small);
  for (const std::string& small : small_sequence_files(name, folder)) overrides.push_back(small);
  if (name == "rnn_chars") overrides.push_back("data.tracks=20");
  if (name == "lstm_adding") overrides.push_back("data.steps=10");
  if (name.ends_with("_cifar10"))
    for (const std::string& small : small_pictures(folder)) overrides.push_back(small);
  if (!has_whole_layers) {
    if (name == "lstm_adding" || name == "rnn_jsb") overrides.push_back("model.layers.0.units=10");
    if (name == "rnn_chars") overrides.push_back("model.layers.1.units=10");
    if (name == "mlp_cifar10") overrides.push_back("model.layers.1.units=20");
    make_images_small(name, overrides);
  }
  if (name == "rbm_mnist") overrides.push_back("loss.k=3");
  if (name == "sda_mnist")  // in so few steps
    for (int phase : {0, 1, 2}) overrides.push_back(str("phase.", phase, ".trainer.learning_rate=0.05"));
  std::optional<Experiment> experiment = small_lab(name, 40, 20, overrides);
  if (name.ends_with("_mnist")) {
    const std::string file = str("configs/labs/", name, ".toml");
    for (const std::string& override_ : two_epochs(file)) overrides.push_back(override_);
    experiment = lab(file, overrides);
    DigitsConfig digits;
    digits.n_train = 40;
    digits.n_valid = 20;
    digits.n_test = 20;
    experiment->data = digits;
    for (Experiment& phase : experiment->phases) phase.data = digits;
  }
  if (!experiment) return experiment;
  make_samples_few(*experiment);
  if (!has_whole_layers) make_small(*experiment);
  if (name.ends_with("_jsb")) experiment->trainer.batch_size = 5;  // of 40, 10 and 10 pieces
  return experiment;
}

}  // namespace thtrain
