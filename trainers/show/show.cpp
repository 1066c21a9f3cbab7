#include "trainers/show/show.h"

#include <algorithm>
#include <filesystem>
#include <functional>

#include "compiler/base/file.h"
#include "compiler/base/system_error.h"
#include "reports/font.h"
#include "reports/learning_curves.h"
#include "reports/pixels.h"
#include "trainers/build_model.h"
#include "trainers/data_state.h"
#include "trainers/stale_files.h"

namespace thtrain {

namespace fs = std::filesystem;

void ShowFolder::add_files(const std::vector<std::string>& written, const std::string& what) {
  std::string names;
  for (const std::string& path : written)
    names += names.empty() ? fs::path(path).filename().string() : ", " + fs::path(path).extension().string();
  report_.files.push_back({names, what, written.back()});
}

void ShowFolder::write(const Canvas& canvas, const std::string& name, const std::string& what, bool is_plot) {
  std::vector<std::string> written;
  if (is_plot || !Font::find())
    written = canvas.write(file(name));
  else
    canvas.write_png(written.emplace_back(file(name + ".png")));
  add_files(written, what);
}

const char* kind_of(Part part) {
  return part == Part::kTrain ? "training" : part == Part::kValid ? "validation" : "test";
}

std::string class_name(const Dataset& data, int64_t number) {
  const auto at = static_cast<size_t>(number);
  return at < data.class_names.size() ? data.class_names[at] : std::to_string(number);
}

std::vector<std::string> input_names(const Dataset& data) {
  const Shape& shape = data.input_shape();
  std::vector<std::string> out;
  if (data.is_sequence() || shape.size() != 1) return out;
  const TableInputs* table = data.train.table_inputs();
  const int64_t columns = table ? table->columns() : shape[0];
  const bool are_named = data.columns_named && columns == std::ssize(data.columns);
  for (int64_t j = 0; j < columns; ++j) out.push_back(are_named ? data.columns[static_cast<size_t>(j)] : str('x', j));
  return table ? input_names(*table, out, data.standardization->categories) : out;
}

Pixels number_pixels(const double* numbers, const ImageShape& image) {
  auto [channels, height, width] = image;
  const int64_t pixels = height * width;
  std::vector<double> mean(static_cast<size_t>(pixels));
  if (channels != 1 && channels != 3) {
    for (int64_t i = 0; i < element_count(image); ++i)
      mean[static_cast<size_t>(i % pixels)] += numbers[i] / static_cast<double>(channels);
    numbers = mean.data();
    channels = 1;
  }
  ValueRange range = range_of(numbers, channels * pixels);
  // Standardization and its way back leave numbers a little beyond 0 and 1.
  constexpr double kRounding = 1e-5;
  if (range.low >= -kRounding && range.high <= 1 + kRounding) range = {0, 1};
  return image_pixels(numbers, {channels, height, width}, range);
}

Pixels example_pixels(const TrainedModel& model, const Tensor& x) {
  TH_CHECK(model.picture(), "an example that is no picture");
  Tensor scaled = model.in_units(x);
  const double scale = model.data().train.scale();
  for (int64_t i = 0; scale != 1 && i < scaled.size(); ++i) scaled.data<double>()[i] *= scale;
  return number_pixels(scaled.data<double>(), *model.picture());
}

static void make_output_folder(const std::string& path) {
  std::error_code error;
  fs::create_directories(path, error);
  if (error) throw folder_error(path, error.value());
}

static Part part_to_show(const Dataset& data, const std::optional<Part>& asked) {
  if (asked) return *asked;
  return data.test.size() > 0 ? Part::kTest : data.valid.size() > 0 ? Part::kValid : Part::kTrain;
}

static void check_part(const TrainedModel& model, Part part, int64_t example) {
  const int64_t size = model.split(part).size();
  if (size == 0)
    throw UserError(Message{.what = str("there are no ", kind_of(part), " examples to show"),
                            .expected = "--part with another part of the data"});
  if (example < size) return;
  throw UserError(Message{.what = str("thtrain show: there is no such ", kind_of(part), " example"),
                          .expected = str("--example from 0 to ", size - 1),
                          .got = std::to_string(example)});
}

static void show_history(const ShownRun& run, ShowFolder& folder) {
  const bool has_epochs = std::any_of(run.history.begin(), run.history.end(),
                                      [](const PhaseHistory& phase) { return !phase.epochs.empty(); });
  if (!has_epochs) return folder.leave_out("learning curves", "the run has finished no epoch, or keeps no checkpoint");
  folder.add_files(draw_learning_curves(folder.file("learning_curves"), run.history, run.history.back().metrics.at(0),
                                        run.title, run.experiment.output.plot_scale),
                   "errors and losses after each epoch");
}

// The numbers of an example go into the first layer, classes come from outputs.
static WeightNames weight_names(TrainedModel& model, const std::string& layer) {
  WeightNames out;
  const auto& layers = model.experiment().model.layers;
  if (layers.front()->name == layer) out.inputs = input_names(model.data());
  for (size_t k = 0; k < model.outputs().size(); ++k) {
    model.look_at(k);
    if (model.output().layer == layer && model.output().classifies(model.data()))
      for (int64_t c = 0; c < model.classes(); ++c) out.units.push_back(model.class_name(c));
  }
  return out;
}

static void for_each_output(TrainedModel& model, ShowFolder& folder, const std::function<void()>& draw) {
  for (size_t k = 0; k < model.outputs().size(); ++k) {
    model.look_at(k);
    if (model.has_several_outputs()) folder.set_output(model.output().layer);
    draw();
  }
  folder.set_output("");
}

ShowReport show(const ShownRun& run, const ShowOptions& options, const std::string& path) {
  ShowReport report;
  ShowFolder folder(path, run.phase.empty() ? "" : run.phase + "_", report);
  std::map<std::string, Tensor> arrays = read_weights(run.weights);
  take_standardization(arrays, run.weights);
  std::optional<TrainedModel> model;
  Part part = Part::kTest;
  if (run.data) {
    model.emplace(run.experiment, *run.data, run.weights);
    report.unused_arrays = model->unused_arrays();
    part = part_to_show(*run.data, options.part);
    check_part(*model, part, options.example);
    if (model->picture()) check_square(*model->picture(), square_of(*model->picture(), options.square));
  }
  const std::string layer = layer_to_show(run.experiment, arrays, options.layer);
  if (!options.features.empty()) require_layer(run.experiment, options.features, "show");
  make_output_folder(path);
  remove_stale_pictures(path);
  show_history(run, folder);
  show_weights(run.experiment, arrays, layer, model ? model->picture() : std::nullopt,
               model ? weight_names(*model, layer) : WeightNames(), folder);
  if (!model) {
    folder.leave_out("everything of examples", run.missing);
    return report;
  }
  show_examples(*model, part, folder);
  for_each_output(*model, folder, [&] {
    show_classes(*model, run.weights, part, folder);
    show_ranking(*model, part, folder);
    show_values(*model, part, folder);
    show_reconstructions(*model, part, folder);
  });
  show_embedding(*model, part, options, folder);
  show_feature_maps(*model, part, options.example, folder);
  for_each_output(*model, folder, [&] {
    show_saliency(*model, part, options, folder);
    show_boundary(*model, part, folder);
  });
  return report;
}

}  // namespace thtrain
