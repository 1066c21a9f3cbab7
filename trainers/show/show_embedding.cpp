// What a layer makes of examples, in the plane: by principal components and by t-SNE.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "compiler/base/random_state.h"
#include "reports/plot.h"
#include "trainers/show/principal_components.h"
#include "trainers/show/show.h"
#include "trainers/show/tsne.h"

namespace thtrain {

namespace {

// The layer that was asked for, else the one that the first output takes: the last hidden one.
std::string layer_to_embed(const TrainedModel& model, const std::string& asked) {
  if (!asked.empty()) return asked;
  std::string before = TrainedModel::kExamples;
  for (const OneOf<LayerOptions>& layer : model.experiment().model.layers) {
    if (layer->name == model.output().layer) return layer->inputs.empty() ? before : layer->inputs.front();
    before = layer->name;
  }
  return before;
}

// At most `most` of the examples, drawn by `seed`, in their order.
std::vector<int64_t> drawn_examples(int64_t count, int64_t most, int64_t seed) {
  std::vector<int64_t> out = RandomState(static_cast<uint32_t>(seed)).permutation(count);
  out.resize(static_cast<size_t>(std::min(count, most)));
  std::sort(out.begin(), out.end());
  return out;
}

struct Groups {
  std::vector<std::string> names;  // of the groups; none: all are one
  std::vector<int64_t> of;         // of each example
};

// Those of classes, where the data has one of each example, and as many as markers can tell apart.
Groups groups_of(const TrainedModel& model, const Split& split) {
  Groups out{{}, std::vector<int64_t>(static_cast<size_t>(split.size()))};
  const int64_t classes = model.data().classes();
  if (split.targets() != Targets::kClasses || split.has_step_targets() ||
      classes > static_cast<int64_t>(2 * kCurveStyles))
    return out;
  const Tensor labels = split.read_targets(0, split.size(), DType::kFloat64);
  for (size_t i = 0; i < out.of.size(); ++i) out.of[i] = labels.as_int(static_cast<int64_t>(i));
  for (int64_t c = 0; c < classes; ++c) out.names.push_back(model.class_name(c));
  return out;
}

// From the ninth on, colours come again with other markers.
CurveStyle group_style(size_t index) {
  CurveStyle out = curve_style(index);
  if (index >= kCurveStyles) {
    const bool is_lines = out.marker == Marker::kCross || out.marker == Marker::kPlus;
    out.marker = out.hollow ? Marker::kTriangleDown : is_lines ? Marker::kDisc : Marker::kStar;
    out.hollow = !out.hollow;
  }
  out.dash = {};
  out.thickness = 0;
  return out;
}

std::vector<Curve> points_of(const Tensor& coordinates, const Groups& groups) {
  std::vector<Curve> out;
  for (size_t g = 0; g < std::max<size_t>(1, groups.names.size()); ++g)
    out.push_back({groups.names.empty() ? "" : shortened(groups.names[g], 120, plot::kTextSize), group_style(g)});
  for (int64_t i = 0; i < coordinates.dim(0); ++i)
    out.at(static_cast<size_t>(groups.of[static_cast<size_t>(i)]))
        .points.emplace_back(coordinates.as_double(2 * i), coordinates.as_double(2 * i + 1));
  return out;
}

// Of column `j`, as long as the longer one of both, so that distances are the same along both axes.
Axis plane_axis(const Tensor& coordinates, int64_t j, const std::string& name) {
  double low[2], high[2];
  for (int64_t k = 0; k < 2; ++k) {
    low[k] = high[k] = coordinates.as_double(k);
    for (int64_t i = 1; i < coordinates.dim(0); ++i) {
      low[k] = std::min(low[k], coordinates.as_double(2 * i + k));
      high[k] = std::max(high[k], coordinates.as_double(2 * i + k));
    }
  }
  const double half = 0.53 * std::max({high[0] - low[0], high[1] - low[1], 1e-300}), middle = (low[j] + high[j]) / 2;
  return {.low = middle - half, .high = middle + half, .name = name};
}

constexpr double kSide = 410, kTop = 72, kBottom = 48;

// A square with markers alone: with their own size, and without the breaks of a curve.
void draw_plane(Canvas& canvas, double left, const std::string& title, const Axis& x, const Axis& y,
                const std::vector<Curve>& groups) {
  Panel panel(canvas, {left, kTop, left + kSide, kTop + kSide}, x, y);
  panel.draw_axes(title);
  for (const Curve& group : groups)
    for (const auto& [at_x, at_y] : group.points)
      canvas.marker(
          panel.x_of(at_x), panel.y_of(at_y),
          {.shape = *group.style.marker, .size = 6, .colour = group.style.colour, .hollow = group.style.hollow});
}

double width_of_names(const std::vector<Curve>& groups) {
  double out = 0;
  for (const Curve& group : groups) out = std::max(out, Canvas::text_width(group.name, plot::kTextSize));
  return out > 0 ? out + 40 : 0;
}

void draw_names_of_groups(Canvas& canvas, double left, double top, const std::vector<Curve>& groups) {
  for (size_t g = 0; g < groups.size(); ++g) {
    if (groups[g].name.empty()) continue;
    const double y = top + 20 * static_cast<double>(g);
    const CurveStyle& style = groups[g].style;
    canvas.marker(left, y, {.shape = *style.marker, .size = 7, .colour = style.colour, .hollow = style.hollow});
    canvas.text(left + 12, y, groups[g].name, {.size = plot::kTextSize, .level = TextLevel::kMiddle});
  }
}

std::string percent_text(double part) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f %%", 100 * part);
  return text;
}

void draw(const TrainedModel& model, const std::string& layer, const Tensor& features, const Split& split, Part part,
          ShowFolder& folder) {
  const PrincipalComponents components = principal_components(features, 2);
  if (!(components.variances[1] > 0))
    return folder.leave_out("embedding", str("the features of ", layer, " lie on a line"));
  const Tsne neighbours = tsne(features, components.coordinates);
  const Groups groups = groups_of(model, split);
  const std::vector<Curve> left = points_of(components.coordinates, groups),
                           right = points_of(neighbours.coordinates, groups);
  auto component = [&](size_t k) {
    return str(k == 0 ? "first" : "second", " component, ", percent_text(components.variances[k] / components.whole),
               " of the variance");
  };
  const Axis left_x = plane_axis(components.coordinates, 0, component(0)),
             left_y = plane_axis(components.coordinates, 1, component(1)),
             right_x = plane_axis(neighbours.coordinates, 0, ""), right_y = plane_axis(neighbours.coordinates, 1, "");
  const double first = 16 + Panel::margins(left_x, left_y).left,
               second = first + kSide + 36 + Panel::margins(right_x, right_y).left, end = second + kSide + 18;
  Canvas canvas(static_cast<int>(end + width_of_names(left)), static_cast<int>(kTop + kSide + kBottom));
  const std::string of =
      layer == TrainedModel::kExamples ? "the examples themselves" : "what the layer " + layer + " gives";
  const std::string what = str(of, " for ", features.dim(0), ' ', kind_of(part), " examples, ", features.dim(1),
                               " numbers each, in the plane");
  std::string title = what;
  title[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(title[0])));
  canvas.text(20, 27, shortened(title, canvas.width() - 40, 15, true), {.size = 15, .bold = true});
  draw_plane(canvas, first, "principal components", left_x, left_y, left);
  char divergence[32];
  std::snprintf(divergence, sizeof divergence, "%.3f", neighbours.divergence);
  draw_plane(canvas, second, str("t-SNE, divergence ", divergence), right_x, right_y, right);
  draw_names_of_groups(canvas, end, kTop + 18, right);
  folder.write(canvas, str("embedding_", layer, '_', name_of(part)), what, true);
}

}  // namespace

void show_embedding(const TrainedModel& model, Part part, const ShowOptions& options, ShowFolder& folder) {
  constexpr int64_t kFewest = 10, kMostNumbers = int64_t{1} << 25;
  const std::string layer = layer_to_embed(model, options.features);
  const std::vector<int64_t> examples = drawn_examples(model.split(part).size(), options.points, options.seed);
  const auto count = std::ssize(examples);
  if (count < kFewest)
    return folder.leave_out("embedding", str("fewer than ", kFewest, ' ', kind_of(part), " examples"));
  const Split split = model.split(part).part(examples);
  const std::optional<Tensor> features = model.features(split, layer);
  if (!features && split.is_sparse() && layer == TrainedModel::kExamples)
    return folder.leave_out("embedding", "the examples are sparse");
  if (!features)
    return folder.leave_out("embedding", str("the layer ", layer, " gives something for each step of sequences"));
  if (features->dim(1) < 2) return folder.leave_out("embedding", str("the layer ", layer, " gives one number"));
  if (features->size() > kMostNumbers)
    return folder.leave_out("embedding", str("the layer ", layer, " gives ", features->dim(1),
                                             " numbers; --points with fewer examples draws them"));
  draw(model, layer, *features, split, part, folder);
}

}  // namespace thtrain
