// The curves of thresholds on a classifier's scores, and how far its probabilities can be believed.
#include <algorithm>
#include <cmath>

#include "reports/plot.h"
#include "trainers/show/ranking.h"
#include "trainers/show/show.h"

namespace thtrain {

namespace {

std::string part_text(double value) {
  if (!std::isfinite(value)) return "-";
  char text[32];
  std::snprintf(text, sizeof text, "%.4f", value);
  return text;
}

std::string examples_of(Part part, int64_t count) {
  return str(count, ' ', kind_of(part), count == 1 ? " example" : " examples");
}

struct ClassCurves {
  std::string name;
  RankingCurves curves;
  bool has_values() const { return std::isfinite(curves.area); }
};

// Of two classes that of the second, else of each against the others.
std::vector<ClassCurves> curves_of(const TrainedModel& model, const Judgements& of) {
  std::vector<ClassCurves> out;
  const int64_t classes = of.scores.dim(1);
  for (int64_t c = classes == 2 ? 1 : 0; c < classes; ++c) out.push_back({model.class_name(c), ranking_curves(of, c)});
  return out;
}

double mean_of(const std::vector<ClassCurves>& all, double RankingCurves::*value) {
  double sum = 0, count = 0;
  for (const ClassCurves& one : all)
    if (one.has_values()) sum += one.curves.*value, ++count;
  return sum / count;
}

void list_ranking(const std::vector<ClassCurves>& all, const std::string& of, ShowFolder& folder) {
  folder.report().tables.push_back({"how well scores rank " + of + folder.output_text(),
                                    {{"class", "examples", "area under ROC", "average precision"}}});
  auto& rows = folder.report().tables.back().rows;
  for (const ClassCurves& one : all)
    rows.push_back({one.name, std::to_string(one.curves.positives), part_text(one.curves.area),
                    part_text(one.curves.average_precision)});
  if (all.size() > 1)
    rows.push_back({"mean", "", part_text(mean_of(all, &RankingCurves::area)),
                    part_text(mean_of(all, &RankingCurves::average_precision))});
}

// Those with the smallest areas where there are more than can be told apart.
std::vector<ClassCurves> drawn_of(std::vector<ClassCurves> all) {
  std::erase_if(all, [](const ClassCurves& one) { return !one.has_values(); });
  if (all.size() <= kCurveStyles) return all;
  std::vector<double> areas;
  for (const ClassCurves& one : all) areas.push_back(one.curves.area);
  std::nth_element(areas.begin(), areas.begin() + kCurveStyles - 1, areas.end());
  const double most = areas[kCurveStyles - 1];
  std::erase_if(all, [&](const ClassCurves& one) { return one.curves.area > most; });
  all.resize(std::min(all.size(), kCurveStyles));
  return all;
}

CurveStyle line_style(size_t index) {
  CurveStyle out = curve_style(index);
  out.marker.reset();
  out.thickness = 1.6;
  return out;
}

const CurveStyle kChance{.colour = plot::kGrey, .dash = {4, 4}, .thickness = 1};

void draw_roc(Canvas& canvas, const Box& box, const Axis& x, const Axis& y, const std::vector<ClassCurves>& all) {
  std::vector<Curve> curves;
  for (size_t k = 0; k < all.size(); ++k) {
    Curve curve{str(shortened(all[k].name, 150, plot::kTextSize), "  ", part_text(all[k].curves.area)), line_style(k)};
    for (const auto& point : all[k].curves.points) curve.points.emplace_back(point.false_rate, point.recall);
    curves.push_back(std::move(curve));
  }
  curves.push_back({"chance", kChance, {{0, 0}, {1, 1}}, true});
  Panel(canvas, box, x, y).draw("ROC, with the area under each curve", curves);
}

// Steps: between two thresholds no precision in between is reached.
void draw_precision(Canvas& canvas, const Box& box, const Axis& x, const Axis& y, const std::vector<ClassCurves>& all) {
  std::vector<Curve> curves;
  for (size_t k = 0; k < all.size(); ++k) {
    Curve curve{str(shortened(all[k].name, 150, plot::kTextSize), "  ", part_text(all[k].curves.average_precision)),
                line_style(k)};
    const auto& points = all[k].curves.points;
    for (size_t i = 1; i < points.size(); ++i) {
      curve.points.emplace_back(points[i - 1].recall, points[i].precision);
      curve.points.emplace_back(points[i].recall, points[i].precision);
    }
    curves.push_back(std::move(curve));
  }
  Panel(canvas, box, x, y).draw("precision and recall, with the average precision", curves);
}

void draw_ranking(const TrainedModel& model, const Judgements& of, Part part, ShowFolder& folder) {
  const std::vector<ClassCurves> all = curves_of(model, of);
  const std::string examples = examples_of(part, of.size());
  list_ranking(all, examples, folder);
  const std::vector<ClassCurves> drawn = drawn_of(all);
  if (drawn.empty()) return folder.leave_out("ROC curve", str("all ", examples, " are of one class"));
  const std::string which = all.size() == 1             ? "class " + all[0].name
                            : drawn.size() < all.size() ? str("each class and the others, the ", drawn.size(), " of ",
                                                              all.size(), " with the smallest areas")
                                                        : "each class and the others";
  const std::string what = str("ow the scores rank ", examples, ": ", which, folder.output_text());
  Canvas canvas(1000, 530);
  canvas.text(20, 27, shortened("H" + what, 960, 15, true), {.size = 15, .bold = true});
  const Axis false_rate{.name = "part of the other classes that is taken for it"},
      recall{.name = "recall: part of the class that is taken for it"}, along{.name = "recall"},
      precision{.name = "precision"};
  const Margins left = Panel::margins(false_rate, recall), right = Panel::margins(along, precision);
  draw_roc(canvas, {16 + left.left, 44 + left.top, 500 - left.right, 520 - left.bottom}, false_rate, recall, drawn);
  draw_precision(canvas, {508 + right.left, 44 + right.top, 990 - right.right, 520 - right.bottom}, along, precision,
                 drawn);
  folder.write(canvas, folder.output_file("ranking", part), "h" + what, true);
}

void draw_bins(Canvas& canvas, const Reliability& of) {
  const Axis x{.name = "probability of the class that an example is taken for"}, y{.name = "part that is right"};
  const Margins around = Panel::margins(x, y);
  Panel panel(canvas, {16 + around.left, 44 + around.top, 500 - around.right, 440 - around.bottom}, x, y);
  panel.draw_axes("accuracy at each probability");
  const double width = 1 / static_cast<double>(of.bins.size());
  for (size_t i = 0; i < of.bins.size(); ++i) {
    if (of.bins[i].count == 0) continue;
    const double low = static_cast<double>(i) * width;
    canvas.fill(
        {panel.x_of(low) + 1, panel.y_of(of.bins[i].accuracy()), panel.x_of(low + width) - 1, panel.box().bottom},
        {150, 190, 230});
  }
  panel.draw_curve({"", kChance, {{0, 0}, {1, 1}}});
  for (const Reliability::Bin& bin : of.bins)
    if (bin.count > 0)
      canvas.marker(panel.x_of(bin.confidence), panel.y_of(bin.accuracy()), {.size = 7, .colour = plot::kBlue});
}

void draw_counts(Canvas& canvas, const Reliability& of) {
  std::vector<double> edges, counts;
  for (size_t i = 0; i <= of.bins.size(); ++i)
    edges.push_back(static_cast<double>(i) / static_cast<double>(of.bins.size()));
  for (const Reliability::Bin& bin : of.bins) counts.push_back(static_cast<double>(bin.count));
  const Axis x{.name = "probability"},
      y{.high = *std::max_element(counts.begin(), counts.end()) * 1.1, .whole = true, .name = "examples"};
  const Margins around = Panel::margins(x, y);
  Panel panel(canvas, {508 + around.left, 44 + around.top, 990 - around.right, 440 - around.bottom}, x, y);
  panel.draw_histogram("how many examples have it", edges, counts, plot::kBlue);
}

void draw_reliability(const Judgements& of, Part part, ShowFolder& folder) {
  if (!of.are_probabilities)
    return folder.leave_out("reliability", str("the numbers of ", folder.who(), " are no probabilities"));
  const Reliability found = reliability(of);
  const std::string what =
      str("ow far the probabilities of ", examples_of(part, of.size()), " can be believed: expected calibration error ",
          part_text(found.error), folder.output_text());
  Canvas canvas(1000, 450);
  canvas.text(20, 27, shortened("H" + what, 960, 15, true), {.size = 15, .bold = true});
  draw_bins(canvas, found);
  draw_counts(canvas, found);
  folder.write(canvas, folder.output_file("reliability", part), "h" + what, true);
}

}  // namespace

void show_ranking(const TrainedModel& model, Part part, ShowFolder& folder) {
  if (!model.output().classifies(model.data())) return;  // show_classes() says so
  if (!can_judge(model)) return folder.leave_out("ROC curve and reliability", "classes belong to steps of sequences");
  const int64_t count = model.count(part) > 0 ? model.count(part) : model.split(part).size();
  const Judgements of = judge(model, part, count);
  draw_ranking(model, of, part, folder);
  draw_reliability(of, part, folder);
}

}  // namespace thtrain
