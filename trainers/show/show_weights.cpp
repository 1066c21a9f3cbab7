// The pictures of weights: filters, matrices and histograms.
#include <algorithm>
#include <cmath>

#include "compiler/base/escape.h"
#include "reports/plot.h"
#include "reports/sheet.h"
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
  SheetSection section{.columns = by_row ? channels : 0, .side = by_row ? 32.0 : 56.0};
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

// 0 is white: blue numbers are above it, red ones below.
void draw_matrix(const Tensor& weights, const std::string& layer, ShowFolder& folder) {
  const Tensor values = weights.cast(DType::kFloat64).contiguous();
  const ValueRange range = range_of(values.data<double>(), values.size());
  const double most = std::max({std::abs(range.low), std::abs(range.high), 1e-30});
  SheetSection section{.tiles = {{.pixels = scale_pixels(values, {-most, most}, ColourScale::kRedToBlue)}},
                       .side = 480,
                       .scales = {{ColourScale::kRedToBlue, {-most, most}, "weight"}}};
  const std::string what = str("he weights of ", layer, ": ", values.dim(0), " inputs in rows, ", values.dim(1),
                               values.dim(1) == 1 ? " unit in a column" : " units in columns");
  folder.write(draw_sheet({"T" + what, {section}}), "weights_" + layer, "t" + what, false);
}

// ---- histograms ----

struct Histogram {
  std::vector<double> edges, counts;
  double mean = 0, deviation = 0;
};

Histogram histogram_of(const Tensor& array) {
  const Tensor values = array.cast(DType::kFloat64).contiguous();
  const auto count = static_cast<double>(values.size());
  ValueRange range = range_of(values.data<double>(), values.size());
  Histogram out;
  for (int64_t i = 0; i < values.size(); ++i) out.mean += values.data<double>()[i] / count;
  for (int64_t i = 0; i < values.size(); ++i) out.deviation += std::pow(values.data<double>()[i] - out.mean, 2) / count;
  out.deviation = std::sqrt(out.deviation);
  if (!(range.high > range.low)) range = {range.low - 0.5, range.high + 0.5};
  const auto bins = std::clamp<int64_t>(static_cast<int64_t>(2 * std::cbrt(count)), 5, 60);
  for (int64_t i = 0; i <= bins; ++i)
    out.edges.push_back(range.low + (range.high - range.low) * static_cast<double>(i) / static_cast<double>(bins));
  out.counts.resize(static_cast<size_t>(bins));
  for (int64_t i = 0; i < values.size(); ++i) {
    const double part = (values.data<double>()[i] - range.low) / (range.high - range.low);
    ++out.counts[static_cast<size_t>(
        std::clamp<int64_t>(static_cast<int64_t>(part * static_cast<double>(bins)), 0, bins - 1))];
  }
  return out;
}

std::string short_text(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2g", value);
  return text;
}

constexpr int64_t kColumns = 3, kRows = 3;
constexpr int kPanelWidth = 320, kPanelHeight = 220, kTitle = 40;

void draw_histogram(Canvas& canvas, const std::string& name, const Tensor& array, int64_t place) {
  const Histogram of = histogram_of(array);
  const double most = *std::max_element(of.counts.begin(), of.counts.end());
  const Axis x{.low = of.edges.front(), .high = of.edges.back(), .ticks = 4}, y{.high = most * 1.18, .ticks = 4};
  const double left = static_cast<double>(place % kColumns) * kPanelWidth,
               top = kTitle + static_cast<double>(place / kColumns) * kPanelHeight;
  const Margins around = Panel::margins(x, y);
  const Box box{left + around.left + 8, top + around.top, left + kPanelWidth - around.right - 12,
                top + kPanelHeight - around.bottom - 8};
  Panel(canvas, box, x, y).draw_histogram(str(name, "  ", shape_text(array.shape())), of.edges, of.counts, plot::kBlue);
  canvas.text(box.right - 4, box.top + 12, str("mean ", short_text(of.mean), ", deviation ", short_text(of.deviation)),
              {.size = 10, .colour = plot::kAxis, .anchor = Anchor::kRight});
}

void draw_histograms(const std::vector<std::pair<std::string, Tensor>>& params, ShowFolder& folder) {
  constexpr int64_t kPage = kColumns * kRows;
  const auto count = std::ssize(params), pages = (count + kPage - 1) / kPage;
  for (int64_t page = 0; page < pages; ++page) {
    const int64_t first = page * kPage, here = std::min(kPage, count - first);
    const int64_t rows = (here + kColumns - 1) / kColumns;
    Canvas canvas(kPanelWidth * static_cast<int>(std::min(kColumns, count)),
                  kTitle + kPanelHeight * static_cast<int>(rows));
    std::string what = str("how the numbers of ", count == 1 ? str(count, " parameter") : str(count, " parameters"),
                           " are distributed");
    if (pages > 1)
      what = str("how the numbers of parameters ", first + 1, " to ", first + here, " of ", count, " are distributed");
    canvas.text(20, 24, str("H", what.substr(1)), {.size = 15, .bold = true});
    for (int64_t i = 0; i < here; ++i) {
      const auto& [name, array] = params[static_cast<size_t>(first + i)];
      draw_histogram(canvas, name, array, i);
    }
    folder.write(canvas, page == 0 ? "histograms" : str("histograms_", page + 1), what, true);
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
  std::vector<std::string> names, with_weights;
  for (const OneOf<LayerOptions>& layer : experiment.model.layers) {
    names.push_back(layer->name);
    if (weights_of(arrays, layer->name)) with_weights.push_back(layer->name);
  }
  if (asked.empty()) return with_weights.empty() ? "" : with_weights.front();
  const std::string near = nearest_name(asked, names);
  if (std::find(names.begin(), names.end(), asked) == names.end())
    throw UserError(Message{.what = str("thtrain show: there is no layer ", asked),
                            .expected = join(names, ", "),
                            .hint = near.empty() ? "" : str("did you mean ", near, '?')});
  if (std::find(with_weights.begin(), with_weights.end(), asked) == with_weights.end())
    throw UserError(
        Message{.what = str("thtrain show: the layer ", asked, " has no weights to draw"),
                .expected = with_weights.empty() ? "a run of a model with weights" : join(with_weights, ", ")});
  return asked;
}

void show_weights(const Experiment& experiment, const Arrays& arrays, const std::string& layer,
                  const std::optional<ImageShape>& picture, ShowFolder& folder) {
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
      draw_matrix(weights, layer, folder);
    else
      folder.leave_out(str("weights of ", layer), str(weights.type_text(), " is neither pictures nor a small matrix"));
  }
  const auto params = params_in_order(experiment, arrays);
  if (params.empty()) return folder.leave_out("histograms", "the model has no parameters");
  draw_histograms(params, folder);
}

}  // namespace thtrain
