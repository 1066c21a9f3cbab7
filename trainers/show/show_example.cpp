// The pictures of one example: what layers make of it, and which of its pixels decide.
#include <algorithm>

#include "reports/sheet.h"
#include "trainers/show/feature_maps.h"
#include "trainers/show/mistakes.h"
#include "trainers/show/show.h"

namespace thtrain {

namespace {

std::string example_text(Part part, int64_t example) {
  return str(kind_of(part), " example ", example);
}

void draw_feature_maps(const TrainedModel& model, const Tensor& x, const std::string& example, ShowFolder& folder) {
  const std::vector<FeatureMaps> all = feature_maps(model, x);
  if (all.empty()) return folder.leave_out("feature maps", "no layer gives images");
  constexpr int64_t kMost = 64;
  Sheet sheet{.title = str("Feature maps of ", example, ", each scaled by itself")};
  if (model.picture())
    sheet.sections.push_back({.title = "x", .tiles = {{.pixels = example_pixels(model, x)}}, .side = 84});
  for (const FeatureMaps& of : all) {
    const ImageShape one = {1, of.values.dim(1), of.values.dim(2)};
    const int64_t channels = of.values.dim(0), shown = std::min(channels, kMost), pixels = one[1] * one[2];
    SheetSection section{.title = str(of.layer, of.layer.starts_with(of.type) ? "" : str(" (", of.type, ")"), ": ",
                                      shown < channels ? str("the first ", shown, " of ") : "", channels,
                                      channels == 1 ? " channel of " : " channels of ", one[1], " x ", one[2])};
    for (int64_t c = 0; c < shown; ++c) {
      const double* first = of.values.data<double>() + c * pixels;
      ValueRange range = range_of(first, pixels);
      if (!(range.high > range.low)) range.high = range.low + 1;  // black
      section.tiles.push_back({.pixels = image_pixels(first, one, range)});
    }
    sheet.sections.push_back(std::move(section));
  }
  folder.write(draw_sheet(sheet), "feature_maps", str("what the layers of images make of ", example), false);
}

// What to call one of several labels.
std::string label_name(const Dataset& data, int64_t label, int64_t output) {
  const auto at = static_cast<size_t>(label);
  for (const auto* names : {&data.class_names, &data.target_names})
    if (at < names->size()) return (*names)[at];
  return str("output ", output);
}

// Has it scores of classes, labels or values?
bool learns_targets(const TrainedModel& model) {
  const std::vector<TargetForm> forms = model.output().objective->target_forms();
  return model.output().compare_with == CompareWith::kTargets && model.data().targets() != Targets::kNone &&
         std::any_of(forms.begin(), forms.end(), [](TargetForm form) { return form != TargetForm::kNone; });
}

}  // namespace

SaliencyTarget saliency_target(const TrainedModel& model, Part part, int64_t example, const Tensor& x) {
  const Split& split = model.split(part);
  const bool is_probability = model.gives_probabilities();
  const std::string of = is_probability ? "probability of " : "score of ";
  if (can_judge(model)) {
    const int64_t label = model.labels(part, example, 1).at(0);
    return {label, of + model.class_name(label), is_probability};
  }
  const int64_t first = model.output().columns ? model.output().columns->first : 0;
  const std::vector<std::string>& names = model.data().target_names;
  const bool is_named = split.targets() == Targets::kValues && first < std::ssize(names);
  if (split.targets() != Targets::kLabels || split.has_step_targets())
    return {0, is_named ? "value of " + names[static_cast<size_t>(first)] : "first output", false};
  const Tensor targets = split.read_targets(example, 1, DType::kFloat64);
  const Tensor given = model.predict(Batch{x, {}}).probabilities;
  if (first + given.size() > targets.size()) return {0, "first output", false};
  int64_t chosen = 0;
  for (int64_t i = 1; i < given.size(); ++i)
    if (given.as_double(i) > given.as_double(chosen)) chosen = i;
  for (int64_t i = given.size() - 1; i >= 0; --i)
    if (targets.as_double(first + i) > 0.5) chosen = i;
  return {chosen, of + label_name(model.data(), first + chosen, chosen), is_probability};
}

namespace {

// A quarter of the range of probabilities at least, so that small changes look small.
ValueRange range_of_occlusion(const Occlusion& of, bool is_probability) {
  ValueRange range = range_of(of.by_pixel.data<double>(), of.by_pixel.size());
  range.high = std::max(range.high, of.whole);
  range.low = std::min(range.low, of.whole);
  constexpr double kLeast = 0.25;
  if (is_probability && range.high - range.low < kLeast) range.low = std::max(0.0, range.high - kLeast);
  if (!(range.high > range.low)) range.low -= 1;
  return range;
}

std::string number_text(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3g", value);
  return text;
}

void draw_saliency(const TrainedModel& model, const Tensor& x, const SaliencyTarget& asked,
                   const OcclusionSquare& square, const std::string& example, ShowFolder& folder) {
  const ImageShape picture = *model.picture();
  const Occlusion covered = occlusion(model, x, asked.number, square);
  const Tensor gradient = gradient_by_pixel(score_gradient(model, x, asked.number), picture);
  const ValueRange range = range_of_occlusion(covered, asked.is_probability);
  const ValueRange slopes = {0, range_of(gradient.data<double>(), gradient.size()).high};
  SheetSection section{.columns = 3, .side = 280};
  section.tiles = {
      {.pixels = example_pixels(model, x), .lines = {example, str(asked.name, ": ", number_text(covered.whole))}},
      {.pixels = scale_pixels(covered.by_pixel, range, ColourScale::kFromRed),
       .lines = {str(asked.name, " where a grey square"),
                 str("of ", square.size, " x ", square.size, " pixels covers it")}},
      {.pixels = scale_pixels(gradient, slopes, ColourScale::kBlue),
       .lines = {"how fast the score changes with the pixel", "|d score / d x|, the largest of the channels"}}};
  section.scales = {{ColourScale::kFromRed, range, asked.is_probability ? "probability" : "output"},
                    {ColourScale::kBlue, slopes, "|d score / d x|"}};
  const std::string of_output = folder.output_text();
  folder.write(
      draw_sheet({str("Which pixels of ", example, " decide", of_output), {section}}), folder.output_file("saliency"),
      str("which pixels of ", example, " decide", of_output, ": covered by a grey square, and by the gradient"), false);
}

}  // namespace

void check_square(const ImageShape& picture, const OcclusionSquare& square) {
  const int64_t side = std::min(picture[1], picture[2]);
  if (square.size > side)
    throw UserError(Message{.what = "thtrain show: --occlusion: the square is larger than the picture",
                            .expected = str("at most ", side, " (pixels)"),
                            .got = std::to_string(square.size)});
  if (square.stride > square.size)
    throw UserError(Message{.what = "thtrain show: --stride: the square would leave pixels out",
                            .expected = str("at most ", square.size, " (pixels of the square)"),
                            .got = std::to_string(square.stride)});
}

OcclusionSquare square_of(const ImageShape& picture, const OcclusionSquare& asked) {
  OcclusionSquare out = standard_square(picture);
  if (asked.size > 0) out = {asked.size, std::max<int64_t>(1, asked.size / 4)};
  if (asked.stride > 0) out.stride = asked.stride;
  return out;
}

void show_feature_maps(const TrainedModel& model, Part part, int64_t example, ShowFolder& folder) {
  draw_feature_maps(model, model.read(part, example, 1).x, example_text(part, example), folder);
}

void show_saliency(const TrainedModel& model, Part part, const ShowOptions& options, ShowFolder& folder) {
  const Tensor x = model.read(part, options.example, 1).x;
  const std::string example = example_text(part, options.example);
  if (!model.picture()) return folder.leave_out("occlusion and gradient", "examples are no pictures");
  if (!learns_targets(model))
    return folder.leave_out("occlusion and gradient", str(folder.who(), " learns no targets"));
  draw_saliency(model, x, saliency_target(model, part, options.example, x), square_of(*model.picture(), options.square),
                example, folder);
}

}  // namespace thtrain
