// The plots of models of values, and of models of two features.
#include <algorithm>
#include <cmath>

#include "reports/decision_map.h"
#include "reports/plot.h"
#include "reports/sheet.h"
#include "trainers/predict.h"
#include "trainers/show/boundary.h"
#include "trainers/show/show.h"

namespace thtrain {

namespace {

struct Pairs {
  std::string name;
  std::vector<double> given, wanted;
};

constexpr int kWidth = 960, kHeight = 400, kTitle = 40;

// On the left the values that are given over those that are wanted, on the right a histogram of the differences.
void draw_pairs(Canvas& canvas, const Pairs& of, double top) {
  const auto [low, high] = std::minmax_element(of.wanted.begin(), of.wanted.end());
  const auto [least, most] = std::minmax_element(of.given.begin(), of.given.end());
  const Axis x = axis_of(*low, *high, "value in the data"), y = axis_of(*least, *most, "value of the model");
  const Margins around = Panel::margins(x, y);
  const double bottom = top + kHeight - around.bottom - 10;
  Panel left(canvas, {around.left + 10, top + around.top, 470 - around.right, bottom}, x, y);
  left.draw_axes(of.name);
  const double from = std::max(x.low, y.low), to = std::min(x.high, y.high);
  if (from < to)
    canvas.line(left.x_of(from), left.y_of(from), left.x_of(to), left.y_of(to),
                {.thickness = 1.2, .colour = plot::kGrey, .dash = {5, 4}});
  const double size = of.given.size() > 300 ? 3 : 5;
  for (size_t i = 0; i < of.given.size(); ++i)
    canvas.marker(left.x_of(of.wanted[i]), left.y_of(of.given[i]), {.size = size, .colour = plot::kBlue});
  std::vector<double> differences;
  for (size_t i = 0; i < of.given.size(); ++i) differences.push_back(of.given[i] - of.wanted[i]);
  const auto [first, last] = std::minmax_element(differences.begin(), differences.end());
  const double edge = std::max({std::abs(*first), std::abs(*last), 1e-30});
  const auto bins = std::clamp<int64_t>(static_cast<int64_t>(4 * std::cbrt(differences.size())), 8, 40);
  std::vector<double> edges, counts(static_cast<size_t>(bins));
  for (int64_t i = 0; i <= bins; ++i)
    edges.push_back(edge * (2 * static_cast<double>(i) / static_cast<double>(bins) - 1));
  for (double difference : differences) {
    const double part = (difference + edge) / (2 * edge) * static_cast<double>(bins);
    ++counts[static_cast<size_t>(std::clamp<int64_t>(static_cast<int64_t>(part), 0, bins - 1))];
  }
  const Axis across{.low = -edge, .high = edge, .name = "value of the model - value in the data"},
      up{.high = *std::max_element(counts.begin(), counts.end()) * 1.1, .name = "examples"};
  const Margins margins = Panel::margins(across, up);
  Panel right(canvas, {500 + margins.left, top + margins.top, kWidth - 20 - margins.right, bottom}, across, up);
  right.draw_histogram("differences", edges, counts, plot::kBlue);
  right.line_up_at(0, {.thickness = 1.2, .colour = plot::kAxis, .dash = {5, 4}});
}

}  // namespace

void show_values(const TrainedModel& model, Part part, ShowFolder& folder) {
  const Split& split = model.split(part);
  const TrainedOutput& output = model.output();
  if (split.targets() != Targets::kValues || split.has_step_targets() || output.compare_with != CompareWith::kTargets ||
      output.decides(model.data()))
    return;
  const int64_t count = model.count(part) > 0 ? model.count(part) : split.size();
  const Prediction found = model.predict(part, count);
  // As the data has them: predictions come in its units too.
  Split plain = split;
  plain.set_standardization(nullptr);
  const Tensor wanted = plain.read_targets(0, count, DType::kFloat64);
  const int64_t given_width = found.probabilities.size() / count, width = wanted.size() / count,
                first = output.columns ? output.columns->first : 0;
  constexpr int64_t kMost = 4;
  const int64_t shown = std::min({given_width, width - first, kMost});
  Canvas canvas(kWidth, kTitle + kHeight * static_cast<int>(shown));
  const std::string what =
      str("hat the model gives compared with the values of ", count, ' ', kind_of(part), " examples",
          shown < given_width ? str(", the first ", shown, " of ", given_width, " values") : "", folder.output_text());
  canvas.text(20, 24, "W" + what, {.size = 15, .bold = true});
  for (int64_t j = 0; j < shown; ++j) {
    const auto& names = model.data().target_names;
    const auto at = static_cast<size_t>(first + j);
    Pairs pairs{at < names.size() ? names[at] : shown > 1 ? str("value ", first + j) : "given and wanted", {}, {}};
    for (int64_t i = 0; i < count; ++i) {
      pairs.given.push_back(found.probabilities.as_double(i * given_width + j));
      pairs.wanted.push_back(wanted.as_double(i * width + first + j));
    }
    draw_pairs(canvas, pairs, kTitle + static_cast<double>(j) * kHeight);
  }
  folder.write(canvas, folder.output_file("predictions", part), "w" + what, true);
}

void show_reconstructions(const TrainedModel& model, Part part, ShowFolder& folder) {
  if (model.output().compare_with != CompareWith::kInputs || !model.picture()) return;
  constexpr int64_t kOfRow = 12, kRows = 4;
  const int64_t there = model.split(part).size(),
                count = there < kOfRow ? there : std::min(kRows, there / kOfRow) * kOfRow;  // whole rows
  const Prediction found = model.predict(part, count);
  const int64_t numbers = element_count(*model.picture());
  if (found.probabilities.size() != count * numbers) return;
  const Tensor given = found.probabilities.cast(DType::kFloat64).contiguous();
  SheetSection section{.columns = std::min(kOfRow, count)};
  for (int64_t first = 0; first < count; first += kOfRow) {
    const int64_t end = first + section.columns;
    for (int64_t i = first; i < end; ++i)
      section.tiles.push_back({.pixels = example_pixels(model, model.read(part, i, 1).x)});
    for (int64_t i = first; i < end; ++i)
      section.tiles.push_back({.pixels = number_pixels(given.data<double>() + i * numbers, *model.picture())});
    section.row_names.insert(section.row_names.end(), {"example", "given"});
  }
  const std::string what =
      str("hat the model gives for ", count, ' ', kind_of(part), " examples, below each", folder.output_text());
  folder.write(draw_sheet({"W" + what, {section}}), folder.output_file("reconstructions", part), "w" + what, false);
}

void show_boundary(const TrainedModel& model, Part part, ShowFolder& folder) {
  if (!has_plane(model)) {
    if (model.output().classifies(model.data()))
      folder.leave_out("decision boundary",
                       str("examples have the shape ", shape_text(model.data().input_shape()), ", not [2]"));
    return;
  }
  constexpr int64_t kRaster = 300, kPoints = 1000;
  const Boundary of = boundary_of(model, part, kRaster, kRaster, kPoints);
  if (of.classes.rank() == 0)
    return folder.leave_out("decision boundary", str(folder.who(), " does not tell classes apart"));
  DecisionMap map;
  map.rows = of.rows;
  map.columns = of.columns;
  for (int64_t i = 0; i < of.classes.size(); ++i) {
    map.classes.push_back(of.classes.as_int(i));
    map.probabilities.push_back(model.gives_probabilities() ? of.values.as_double(i) : 1);
  }
  for (int64_t i = 0; i < of.points.dim(0); ++i)
    map.examples.push_back({of.points.as_double(2 * i), of.points.as_double(2 * i + 1),
                            of.targets.rank() == 1 ? of.targets.as_int(i) : 0});
  for (int64_t c = 0; c < std::max<int64_t>(2, model.classes()); ++c) map.class_names.push_back(model.class_name(c));
  const std::vector<std::string> inputs = input_names(model.data());
  Canvas canvas(760, 640);
  const std::string what = str("the class of each point of the plane, with ", of.points.dim(0), ' ', kind_of(part),
                               " examples", folder.output_text());
  draw_decisions(canvas, {10, 10, 750, 630}, "Decisions" + folder.output_text(),
                 {.low = of.left, .high = of.right, .name = inputs[0]},
                 {.low = of.bottom, .high = of.top, .name = inputs[1]}, map);
  folder.write(canvas, folder.output_file("boundary"), what, true);
}

}  // namespace thtrain
