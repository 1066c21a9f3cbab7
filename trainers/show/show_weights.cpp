// The pictures of weights: filters, matrices and histograms.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "compiler/base/escape.h"
#include "reports/histograms.h"
#include "reports/json.h"
#include "reports/matrix_picture.h"
#include "reports/sheet.h"
#include "trainers/predict.h"
#include "trainers/show/filters.h"
#include "trainers/show/show.h"

namespace thtrain {

namespace {

using Arrays = std::map<std::string, Tensor>;

const Tensor* weights_of(const Arrays& arrays, const std::string& layer) {
  auto found = arrays.find(layer + "/W");
  return found != arrays.end() ? &found->second : nullptr;
}

SheetTile tile_of(const Filters& filters, int64_t at) {
  const int64_t size = element_count(filters.picture);
  const double* first = filters.values.data<double>() + at * size;
  return {.pixels = image_pixels(first, filters.picture, range_of(first, size))};
}

// Many filters and channels are cut to what a page shows.
void draw_filters(const Filters& filters, const std::string& layer, ShowFolder& folder) {
  constexpr int64_t kMostPictures = 256, kMostRows = 32, kMostChannels = 32;
  const int64_t units = filters.values.dim(0) / filters.of_unit;
  const bool by_row = filters.of_unit > 1;
  const int64_t shown = std::min(units, by_row ? kMostRows : kMostPictures),
                channels = std::min(filters.of_unit, kMostChannels);
  SheetSection section{.columns = by_row ? channels : 0, .side = by_row ? 32.0 : shown <= 24 ? 84.0 : 56.0};
  for (int64_t unit = 0; unit < shown; ++unit) {
    for (int64_t c = 0; c < channels; ++c) section.tiles.push_back(tile_of(filters, unit * filters.of_unit + c));
    if (by_row) section.row_names.push_back(std::to_string(unit));
  }
  std::string what =
      str(shown < units ? str("the first ", shown, " of ", units) : str("the ", units), " filters of ", layer);
  if (by_row)
    what += str(", a row of ", channels < filters.of_unit ? str("the first ", channels, " of ") : "", filters.of_unit,
                " channels each");
  what += ", each picture scaled by itself";
  std::string title = what;
  title.front() = 'T';
  folder.write(draw_sheet({title, {section}}), "weights_" + layer, what, false);
}

void show_matrix(const Tensor& weights, const std::string& layer, const WeightNames& names, ShowFolder& folder) {
  const Tensor values = weights.cast(DType::kFloat64).contiguous();
  const int64_t rows = values.dim(0), columns = values.dim(1);
  const auto fitting = [](const std::vector<std::string>& given, int64_t count) {
    return std::ssize(given) == count ? given : std::vector<std::string>();
  };
  const MatrixPicture drawn = draw_matrix(values, fitting(names.inputs, rows), fitting(names.units, columns), "weight");
  const std::string inputs = str(rows, rows == 1 ? " input" : " inputs"),
                    units = str(columns, columns == 1 ? " unit" : " units");
  const std::string what =
      str("he weights of ", layer, ": ",
          drawn.is_transposed ? str(units, columns == 1 ? " in a row, " : " in rows, ", inputs, " in columns")
                              : str(inputs, " in rows, ", units, columns == 1 ? " in a column" : " in columns"));
  folder.write(draw_sheet({"T" + what, {drawn.section}}), "weights_" + layer, "t" + what, false);
}

// Of a matrix with too many rows for a picture: of each unit the inputs with the largest weights.
void list_largest(const Tensor& weights, const std::string& layer, const WeightNames& names, ShowFolder& folder) {
  constexpr int64_t kMostUnits = 20, kListed = 6;
  const Tensor values = weights.cast(DType::kFloat64).contiguous();
  const int64_t rows = values.dim(0), columns = values.dim(1), listed = std::min(rows, kListed);
  const auto name_of = [](const std::vector<std::string>& given, int64_t count, int64_t at, const char* otherwise) {
    return std::ssize(given) == count ? given[static_cast<size_t>(at)] : str(otherwise, at);
  };
  ShowReport::Table table{.title = str("the largest weights of ", layer, ", of ", rows, " inputs"), .rows = {{"unit"}}};
  for (int64_t k = 1; k <= listed; ++k) table.rows[0].push_back(std::to_string(k));
  std::vector<int64_t> order(static_cast<size_t>(rows));
  for (int64_t j = 0; j < std::min(columns, kMostUnits); ++j) {
    std::iota(order.begin(), order.end(), int64_t{0});
    const auto weight = [&](int64_t i) { return values.data<double>()[i * columns + j]; };
    std::partial_sort(order.begin(), order.begin() + listed, order.end(),
                      [&](int64_t a, int64_t b) { return std::pair(-weight(a), a) < std::pair(-weight(b), b); });
    std::vector<std::string> row{name_of(names.units, columns, j, "")};
    for (int64_t k = 0; k < listed; ++k) {
      const int64_t input = order[static_cast<size_t>(k)];
      row.push_back(str(name_of(names.inputs, rows, input, "x"), ' ', json_fixed(weight(input), 3)));
    }
    table.rows.push_back(std::move(row));
  }
  folder.report().tables.push_back(std::move(table));
}

// About the cube root of the numbers' count on each side of the middle.
size_t bins_of(int64_t count) {
  return static_cast<size_t>(std::clamp(2 * std::cbrt(static_cast<double>(count)), 5.0, 60.0));
}

void draw_pages(const std::vector<std::pair<std::string, Tensor>>& params, ShowFolder& folder) {
  constexpr int64_t kPage = 9;
  const auto count = std::ssize(params);
  for (int64_t first = 0; first < count; first += kPage) {
    std::vector<HistogramPanel> panels;
    for (int64_t i = first; i < std::min(first + kPage, count); ++i) {
      const auto& [name, array] = params[static_cast<size_t>(i)];
      const Tensor values = array.cast(DType::kFloat64).contiguous();
      panels.push_back(histogram_of(str(name, ' ', shape_text(array.shape())),
                                    {values.data<double>(), static_cast<size_t>(values.size())},
                                    bins_of(values.size())));
    }
    std::string of = count == 1 ? "1 array" : str(count, " arrays");
    if (count > kPage) of = str("arrays ", first + 1, " to ", first + std::ssize(panels), " of ", count);
    const std::string name = first == 0 ? "histograms" : str("histograms_", first / kPage + 1);
    folder.add_files(draw_histograms(folder.file(name), panels, str("The numbers of ", of, " of the model")),
                     str("how the numbers of ", of, " of the model are distributed"));
  }
}

// Of the layers in their order; in a layer, its matrices first.
std::vector<std::pair<std::string, Tensor>> params_in_order(const Experiment& experiment, const Arrays& arrays) {
  std::vector<std::pair<std::string, Tensor>> out;
  for (const OneOf<LayerOptions>& layer : experiment.model.layers) {
    const size_t begin = out.size();
    for (const auto& [name, array] : arrays)
      if (name.starts_with(layer->name + "/") && is_float(array.dtype()) && array.size() > 0)
        out.emplace_back(name, array);
    std::stable_sort(out.begin() + static_cast<std::ptrdiff_t>(begin), out.end(),
                     [](const auto& a, const auto& b) { return a.second.rank() > b.second.rank(); });
  }
  return out;
}

}  // namespace

std::string layer_to_show(const Experiment& experiment, const Arrays& arrays, const std::string& asked) {
  std::vector<std::string> with_weights;
  for (const OneOf<LayerOptions>& layer : experiment.model.layers)
    if (weights_of(arrays, layer->name)) with_weights.push_back(layer->name);
  if (asked.empty()) return with_weights.empty() ? "" : with_weights.front();
  require_layer(experiment, asked, "show");
  if (std::find(with_weights.begin(), with_weights.end(), asked) == with_weights.end())
    throw UserError(
        Message{.what = str("thtrain show: the layer ", asked, " has no weights to draw"),
                .expected = with_weights.empty() ? "a run of a model with weights" : join(with_weights, ", ")});
  return asked;
}

void show_weights(const Experiment& experiment, const Arrays& arrays, const std::string& layer,
                  const std::optional<ImageShape>& picture, const WeightNames& names, ShowFolder& folder) {
  if (layer.empty()) {
    folder.leave_out("weights", "no layer has a matrix or filters");
  } else {
    const Tensor& weights = *weights_of(arrays, layer);
    std::optional<ImageShape> image = picture;
    if (!image && !experiment.data->has_sequences() && weights.rank() == 2) image = picture_shape({weights.dim(0)});
    const std::optional<Filters> filters = filters_of(weights, image);
    constexpr int64_t kLargestMatrix = 1024;
    if (filters)
      draw_filters(*filters, layer, folder);
    else if (weights.rank() == 2 && std::max(weights.dim(0), weights.dim(1)) <= kLargestMatrix)
      show_matrix(weights, layer, names, folder);
    else if (weights.rank() == 2)
      list_largest(weights, layer, names, folder);
    else
      folder.leave_out(str("weights of ", layer), str(weights.type_text(), " is neither pictures nor a small matrix"));
  }
  const auto params = params_in_order(experiment, arrays);
  if (params.empty()) return folder.leave_out("histograms", "the model has no parameters");
  draw_pages(params, folder);
}

}  // namespace thtrain
