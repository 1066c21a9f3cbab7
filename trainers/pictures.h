// Pictures of what a model has learned: filters, and samples of a restricted Boltzmann machine; and of augmented
// images.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "compiler/runtime/function.h"
#include "nn/model.h"
#include "reports/sheet.h"
#include "reports/tiles.h"
#include "trainers/experiment.h"

namespace thtrain {

struct Dataset;
class MachineLayer;

/// The pictures that [output] asks for.
class Pictures {
 public:
  /// UserError: examples are no pictures, there is no such layer, the layer has no weights of pictures, samples are
  /// asked for of another layer than an rbm or of pictures of several channels, or there are not so many examples to
  /// begin with. The model stays alive.
  Pictures(const Experiment& experiment, const Dataset& data, const Model& model);

  bool has_filters() const { return filters_ != nullptr; }
  bool has_samples() const { return machine_ != nullptr; }
  /// The first output.filter_rows * output.filter_columns units of the layer: columns of its matrix, or filters of a
  /// convolution. Of three channels they are coloured; of other numbers of channels there is a row for each unit with
  /// its first output.filter_columns channels.
  Pixels filters() const;
  /// A row for each of the first output.augmented training examples: the image, cut as the model takes it, and what
  /// trainer.augment makes of it in epochs 0 to 8; the mean of its channels. None where it is not asked for.
  const std::optional<Pixels>& augmented() const { return augmented_; }
  /// "drawing samples of rbm: 10 rows of 1000 steps of Gibbs sampling"
  std::string samples_text() const;
  /// A row of tiles for each of output.sample_rows: means of the visible units in the last of output.sample_steps steps
  /// of Gibbs sampling, which go on from the row above; in debug mode at most 2 rows of 10 steps. The chains begin at
  /// the first output.sample_chains test examples (training examples where there are none), and draw from copies of the
  /// layer's generators. Before each row, and where references run before each step, `stops` is asked, where there is
  /// one: nothing where it says yes.
  std::optional<Pixels> samples(const FunctionOptions& options, const std::function<bool()>& stops = {}) const;
  /// The page of samples(): its tiles in rows, with the number of steps that have led to each row.
  Sheet samples_sheet(const Pixels& samples) const;

 private:
  const OutputConfig& output_;
  int64_t sample_rows_, sample_steps_;
  bool is_debug_;
  ImageShape picture_{};  // of an example
  const Param* filters_ = nullptr;
  const MachineLayer* machine_ = nullptr;
  Tensor first_;  // [chains, pixels]
  std::optional<Pixels> augmented_;
};

}  // namespace thtrain
