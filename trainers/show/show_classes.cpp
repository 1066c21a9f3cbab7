// The pictures of a classifier: examples of each class, the confusion matrix and the worst mistakes.
#include <algorithm>
#include <cmath>

#include "reports/confusion_picture.h"
#include "reports/sheet.h"
#include "trainers/show/mistakes.h"
#include "trainers/show/show.h"

namespace thtrain {

namespace {

constexpr int64_t kMostClasses = 40;  // of pictures that have a cell for each

std::string score_text(double score) {
  char text[32];
  std::snprintf(text, sizeof text, std::abs(score) < 0.001 ? "%.2g" : "%.3f", score);
  return text;
}

std::string examples_text(Part part) {
  return str(kind_of(part), " examples");
}

SheetTile tile_of(const TrainedModel& model, Part part, int64_t example) {
  return {.pixels = example_pixels(model, model.read(part, example, 1).x)};
}

void draw_examples(const TrainedModel& model, Part part, int64_t count, ShowFolder& folder) {
  constexpr int64_t kOfClass = 10;
  const Tensor labels = model.split(part).read_targets(0, count, DType::kFloat64);
  std::vector<int64_t> of;
  for (int64_t i = 0; i < count; ++i) of.push_back(labels.as_int(i));
  const int64_t classes = std::min(model.data().classes(), kMostClasses);
  SheetSection section{.columns = kOfClass};
  const std::vector<std::vector<int64_t>> found = first_of_classes(of, model.data().classes(), kOfClass);
  for (int64_t c = 0; c < classes; ++c) {
    const std::vector<int64_t>& here = found[static_cast<size_t>(c)];
    section.row_names.push_back(class_name(model.data(), c));
    for (int64_t i = 0; i < kOfClass; ++i)
      section.tiles.push_back(i < std::ssize(here) ? tile_of(model, part, here[static_cast<size_t>(i)]) : SheetTile{});
  }
  const auto has_pixels = [](const SheetTile& tile) { return !tile.pixels.values.empty(); };
  const auto some = std::find_if(section.tiles.begin(), section.tiles.end(), has_pixels);
  if (some == section.tiles.end()) return;
  for (SheetTile& tile : section.tiles)
    if (!has_pixels(tile)) tile.pixels = {.width = some->pixels.width, .height = some->pixels.height};
  const std::string what = str("he first ", examples_text(part), " of each class");
  folder.write(draw_sheet({"T" + what, {section}}), "examples", "t" + what, false);
}

void draw_confusion(const TrainedModel& model, const std::string& weights, Part part, ShowFolder& folder) {
  const int64_t classes = model.classes();
  if (model.count(part) == 0)
    return folder.leave_out("confusion matrix", str("fewer ", examples_text(part), " than a minibatch has"));
  if (classes > kMostClasses)
    return folder.leave_out("confusion matrix", str(classes, " classes; it is drawn of at most ", kMostClasses));
  const Evaluation found = evaluate(model.experiment(), model.data(), part, weights, model.output_number());
  if (!found.confusion) return;
  std::vector<std::vector<int64_t>> counts;
  std::vector<std::string> names;
  for (int64_t row = 0; row < classes; ++row) {
    counts.emplace_back();
    for (int64_t column = 0; column < classes; ++column)
      counts.back().push_back(std::llround(found.confusion->as_double(row * classes + column)));
    names.push_back(model.class_name(row));
  }
  const std::string of = found.steps > 0 ? str("steps of ", examples_text(part)) : examples_text(part);
  const char* rounded = model.split(part).has_weights() ? ", sums of their weights" : "";
  const std::string of_output = folder.output_text();
  folder.add_files(draw_confusion_matrix(folder.file(folder.output_file("confusion", part)), counts, names,
                                         str("Confusion of ", of, rounded, of_output)),
                   str("how many ", of, " of each class are taken for each", rounded, of_output));
}

void draw_mistakes(const TrainedModel& model, const Judgements& of, const std::vector<int64_t>& worst, Part part,
                   ShowFolder& folder) {
  SheetSection section{.side = 84};
  for (int64_t i : worst) {
    SheetTile tile = tile_of(model, part, i);
    const auto at = static_cast<size_t>(i);
    const int64_t right = of.classes[at], taken = of.taken[at];
    tile.lines = {str(model.class_name(right), ": ", score_text(of.score(i, right))),
                  str("taken for ", model.class_name(taken), ": ", score_text(of.score(i, taken))), str("example ", i)};
    section.tiles.push_back(std::move(tile));
  }
  const std::string what = str("he worst mistakes among ", of.size(), ' ', examples_text(part), ", with ",
                               of.are_probabilities ? "probabilities" : "scores", folder.output_text());
  folder.write(draw_sheet({"T" + what, {section}}), folder.output_file("mistakes", part), "t" + what, false);
}

// A number of an example as the data has it.
std::string value_text(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.6g", value);
  return text;
}

void list_mistakes(const TrainedModel& model, const Judgements& of, const std::vector<int64_t>& worst, Part part,
                   ShowFolder& folder) {
  constexpr int64_t kMostColumns = 8;
  const Dataset& data = model.data();
  const Shape& shape = data.input_shape();
  const int64_t columns = !data.is_sequence() && shape.size() == 1 && shape[0] <= kMostColumns ? shape[0] : 0;
  const char* number = of.are_probabilities ? "its probability" : "its score";
  std::vector<std::string> names = {"example", "class", number, "taken for", number};
  for (int64_t j = 0; j < columns; ++j) names.push_back(input_names(data)[static_cast<size_t>(j)]);
  folder.report().tables.push_back({"the worst mistakes" + folder.output_text(), {names}});
  auto& rows = folder.report().tables.back().rows;
  for (int64_t i : worst) {
    const auto at = static_cast<size_t>(i);
    rows.push_back({std::to_string(i), model.class_name(of.classes[at]), score_text(of.score(i, of.classes[at])),
                    model.class_name(of.taken[at]), score_text(of.score(i, of.taken[at]))});
    if (columns == 0) continue;
    const Tensor x = model.in_units(model.read(part, i, 1).x);
    for (int64_t j = 0; j < columns; ++j) rows.back().push_back(value_text(x.data<double>()[j]));
  }
}

// Where there are no pictures of classes, the first examples.
void draw_first(const TrainedModel& model, Part part, ShowFolder& folder) {
  constexpr int64_t kMost = 100;
  SheetSection section;
  for (int64_t i = 0; i < std::min(kMost, model.split(part).size()); ++i)
    section.tiles.push_back(tile_of(model, part, i));
  const std::string what = str("he first ", examples_text(part));
  folder.write(draw_sheet({"T" + what, {section}}), "examples", "t" + what, false);
}

}  // namespace

// As many as are measured, or all where these are fewer than a minibatch.
static int64_t shown_count(const TrainedModel& model, Part part) {
  return model.count(part) > 0 ? model.count(part) : model.split(part).size();
}

void show_examples(const TrainedModel& model, Part part, ShowFolder& folder) {
  if (!model.picture())
    folder.leave_out("pictures of examples",
                     str("examples of the shape ", shape_text(model.data().input_shape()), " are no pictures"));
  else if (model.data().targets() == Targets::kClasses && !model.split(part).has_step_targets())
    draw_examples(model, part, shown_count(model, part), folder);
  else
    draw_first(model, part, folder);
}

void show_classes(const TrainedModel& model, const std::string& weights, Part part, ShowFolder& folder) {
  if (!model.output().classifies(model.data()))
    return folder.leave_out("confusion matrix and mistakes", str(folder.who(), " does not tell classes apart"));
  draw_confusion(model, weights, part, folder);
  const int64_t count = shown_count(model, part);
  if (!can_judge(model)) return folder.leave_out("mistakes", "classes belong to steps of sequences");
  const Judgements of = judge(model, part, count);
  constexpr int64_t kPictures = 40, kRows = 10;
  const std::vector<int64_t> worst = worst_mistakes(of, model.picture() ? kPictures : kRows);
  if (worst.empty()) return folder.leave_out("mistakes", str("none among ", count, ' ', examples_text(part)));
  if (model.picture())
    draw_mistakes(model, of, worst, part, folder);
  else
    list_mistakes(model, of, worst, part, folder);
}

}  // namespace thtrain
