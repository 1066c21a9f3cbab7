#include "trainers/pictures.h"

#include <algorithm>
#include <numeric>

#include "compiler/runtime/shared.h"
#include "datasets/dataset.h"
#include "nn/boltzmann_machine.h"
#include "trainers/image_data.h"
#include "trainers/outputs.h"
#include "trainers/show/filters.h"

namespace thtrain {

// Filters of a convolution, or the matrix that the layer multiplies pictures with.
static const Param& weights_of(const Layer& layer, const ImageShape& picture, const OutputConfig& output,
                               const char* key) {
  for (const Param& param : layer.params()) {
    const Shape shape = param.variable.type().known_shape();
    if (param.name != str(layer.name(), "/W") || (shape.size() != 2 && shape.size() != 4)) continue;
    if (shape.size() == 4 || shape[0] == element_count(picture)) return param;
    throw UserError(Message{.what = str("output.", key, ": the layer ", layer.name(), " takes no pictures"),
                            .expected = str(element_count(picture), " inputs, the numbers of an example"),
                            .got = std::to_string(shape[0]),
                            .config = output.at(key)});
  }
  throw UserError(Message{.what = str("output.", key, ": the layer ", layer.name(), " has no matrix of weights"),
                          .expected = "a layer of a type such as \"dense\", \"rbm\" or \"conv\"",
                          .got = str("type = \"", layer.type(), '"'),
                          .config = output.at(key)});
}

static const MachineLayer& machine_of(const Model& model, const OutputConfig& output) {
  const Layer& sampled = layer_of(model, output.samples);
  const auto* machine = dynamic_cast<const MachineLayer*>(&sampled);
  if (machine && machine->is_one_machine()) return *machine;
  throw UserError(Message{.what = str("output.samples: the layer ", sampled.name(), " draws none"),
                          .expected = "a layer of the type \"rbm\"",
                          .got = str("type = \"", sampled.type(), '"'),
                          .config = output.at("samples")});
}

static Pixels draw_augmented(const Experiment& experiment, const Split& train) {
  constexpr int64_t kColumns = 10;
  const std::shared_ptr<const Augmentation> augmentation = augmentation_of(experiment, train);
  const auto [channels, height, width] = augmentation->output();
  const int64_t rows = std::min(experiment.output.augmented, train.size()), pixels = height * width;
  std::vector<int64_t> examples(static_cast<size_t>(rows));
  std::iota(examples.begin(), examples.end(), 0);
  const Tensor images = train.whole_images().read(0, rows, DType::kFloat64).x;
  Tensor of_column = train.read(0, rows, DType::kFloat64).x.copy();
  Tensor all = Tensor::zeros(DType::kFloat64, {rows * kColumns, pixels});
  for (int64_t column = 0; column < kColumns; ++column) {
    if (column > 0) {
      augmentation->apply(images, examples, column - 1, of_column);
      train.standardize(of_column);
    }
    for (int64_t i = 0; i < of_column.size(); ++i) {
      const int64_t row = i / (channels * pixels);
      all.data<double>()[(row * kColumns + column) * pixels + i % pixels] +=
          of_column.data<double>()[i] / static_cast<double>(channels);
    }
  }
  return tiles_of(all, {1, height, width}, rows, kColumns);
}

// The debug mode holds each step against the references, which takes a thousand times as long as the step.
constexpr int64_t kDebugRows = 2, kDebugSteps = 10;

Pictures::Pictures(const Experiment& experiment, const Dataset& data, const Model& model)
    : output_(experiment.output), is_debug_(experiment.compiler.mode == CompilerConfig::Mode::kDebug) {
  sample_rows_ = is_debug_ ? std::min(output_.sample_rows, kDebugRows) : output_.sample_rows;
  sample_steps_ = is_debug_ ? std::min(output_.sample_steps, kDebugSteps) : output_.sample_steps;
  if (output_.augmented > 0 && experiment.trainer.augment) augmented_ = draw_augmented(experiment, data.train);
  const bool wants_filters = !output_.filters.empty(), wants_samples = !output_.samples.empty();
  if (!wants_filters && !wants_samples) return;
  const char* key = wants_filters ? "filters" : "samples";
  if (wants_samples) machine_ = &machine_of(model, output_);
  if (data.is_sequence())
    throw UserError(Message{.what = str("output.", key, ": filters of a layer that takes sequences are no pictures"),
                            .expected = "examples that are pictures, without data.sequences",
                            .got = str("sequences, whose steps are ", shape_text(data.train.step_shape())),
                            .config = output_.at(key)});
  const std::optional<ImageShape> shape = picture_shape(data.input_shape());
  if (!shape)
    throw UserError(Message{
        .what = str("output.", key, ": the examples are no pictures"),
        .expected = "examples of the shape [height, width] or [channels, height, width], or rows of n * n numbers",
        .got = shape_text(data.input_shape()),
        .config = output_.at(key)});
  picture_ = *shape;
  if (wants_filters) filters_ = &weights_of(layer_of(model, output_.filters), picture_, output_, "filters");
  if (!wants_samples) return;
  if (picture_[0] != 1)
    throw UserError(Message{.what = "output.samples: the examples are no grey pictures",
                            .expected = "examples of one channel",
                            .got = shape_text(data.input_shape()),
                            .config = output_.at("samples")});
  weights_of(*machine_, picture_, output_, "samples");
  const Split& from = data.test.size() > 0 ? data.test : data.train;
  if (from.size() < output_.sample_chains)
    throw UserError(Message{
        .what = str("output.sample_chains: chains begin at examples, each at its own"),
        .expected = str("at most ", from.size(), data.test.size() > 0 ? " (test examples)" : " (training examples)"),
        .got = std::to_string(output_.sample_chains),
        .config = output_.at("sample_chains")});
  first_ =
      from.read(0, output_.sample_chains, model.dtype()).x.reshape({output_.sample_chains, element_count(picture_)});
}

Pixels Pictures::filters() const {
  TH_CHECK(has_filters(), "no filters are asked for");
  const std::optional<Filters> all = filters_of(filters_->variable.get_value(), picture_);
  TH_CHECK(all.has_value(), "weights that are no filters");
  const int64_t rows = output_.filter_rows, columns = output_.filter_columns;
  if (all->of_unit == 1) return tiles_of(all->values, all->picture, rows, columns);
  // A row for each unit: its first channels.
  const int64_t units = all->values.dim(0) / all->of_unit, pixels = all->values.dim(1);
  const Tensor shown = Tensor::zeros(DType::kFloat64, {std::min(rows, units) * columns, pixels});
  for (int64_t unit = 0; unit < std::min(rows, units); ++unit) {
    const int64_t channels = std::min(columns, all->of_unit);
    shown.rows(unit * columns, channels).assign(all->values.rows(unit * all->of_unit, channels));
  }
  return tiles_of(shown, all->picture, rows, columns);
}

std::optional<Pixels> Pictures::samples(const FunctionOptions& options, const std::function<bool()>& stops) const {
  TH_CHECK(has_samples(), "no samples are asked for");
  const Shared v(first_, "samples"), of_visible(machine_->visible_random().get_value(), "visible_random"),
      of_hidden(machine_->hidden_random().get_value(), "hidden_random");
  const BoltzmannMachine machine = machine_->machine(ModelOutput());
  const int64_t chains = output_.sample_chains, pixels = element_count(picture_);
  const Shared h(Tensor::zeros(first_.dtype(), {chains, machine.hidden_units()}), "hidden");
  const Drawn first = machine.sample_hidden(v, of_hidden);
  // Of a loop by references each step would take memory, and a signal would wait for all of them.
  const int64_t steps = options.mode == Mode::kNative ? sample_steps_ : 1;
  const GibbsStep last = machine.gibbs_chain(h, steps, of_visible, of_hidden);
  Function begin_row = function({}, {}, {{h, first.sample}, {of_hidden, first.next}}, options);
  Function go_on = function(
      {}, {last.visible_mean},
      {{v, last.visible}, {h, last.hidden}, {of_visible, last.visible_random}, {of_hidden, last.hidden_random}},
      options);
  Tensor all = Tensor::empty(DType::kFloat64, {sample_rows_ * chains, pixels});
  for (int64_t i = 0; i < sample_rows_; ++i) {
    begin_row({});
    Tensor means;
    for (int64_t step = 0; step < sample_steps_; step += steps) {
      if (stops && stops()) return std::nullopt;
      means = go_on({})[0];
    }
    means = means.cast(DType::kFloat64);
    std::copy_n(means.data<double>(), chains * pixels, all.data<double>() + i * chains * pixels);
  }
  return tiles_of(all, picture_, sample_rows_, chains);
}

std::string Pictures::samples_text() const {
  auto counted = [](int64_t count, const char* what) { return str(count, ' ', what, count == 1 ? "" : "s"); };
  return str("drawing samples of ", output_.samples, ": ", counted(sample_rows_, "row"), " of ",
             counted(sample_steps_, "step"), " of Gibbs sampling", is_debug_ ? ", no more in debug mode" : "");
}

Sheet Pictures::samples_sheet(const Pixels& samples) const {
  const int64_t height = picture_[1], width = picture_[2];
  SheetSection section{.columns = output_.sample_chains, .side = static_cast<double>(std::max(height, width))};
  for (int64_t row = 0; row < sample_rows_; ++row) {
    const int64_t steps = (row + 1) * sample_steps_;
    section.row_names.push_back(str(steps, steps == 1 ? " step" : " steps"));
    for (int64_t chain = 0; chain < output_.sample_chains; ++chain) {
      Pixels tile{.width = width, .height = height};
      for (int64_t y = 0; y < height; ++y) {
        const auto first = samples.values.begin() + (row * (height + 1) + y) * samples.width + chain * (width + 1);
        tile.values.insert(tile.values.end(), first, first + width);
      }
      section.tiles.push_back({.pixels = std::move(tile)});
    }
  }
  return {str("Samples of ", output_.samples, " after steps of Gibbs sampling, a chain in each column"), {section}};
}

}  // namespace thtrain
