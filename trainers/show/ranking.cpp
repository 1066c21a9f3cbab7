#include "trainers/show/ranking.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace thtrain {

RankingCurves ranking_curves(const std::vector<double>& scores, const std::vector<bool>& is_positive) {
  RankingCurves out;
  out.positives = std::count(is_positive.begin(), is_positive.end(), true);
  out.negatives = std::ssize(is_positive) - out.positives;
  if (out.positives == 0 || out.negatives == 0) {
    out.area = out.average_precision = std::numeric_limits<double>::quiet_NaN();
    return out;
  }
  std::vector<size_t> order(scores.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return scores[a] > scores[b]; });
  const auto positives = static_cast<double>(out.positives), negatives = static_cast<double>(out.negatives);
  out.points.emplace_back();
  double right = 0, wrong = 0;
  for (size_t k = 0; k < order.size(); ++k) {
    (is_positive[order[k]] ? right : wrong) += 1;
    if (k + 1 < order.size() && scores[order[k + 1]] == scores[order[k]]) continue;
    const RankingCurves::Point before = out.points.back(),
                               point{wrong / negatives, right / positives, right / (right + wrong)};
    out.area += (point.false_rate - before.false_rate) * (point.recall + before.recall) / 2;
    out.average_precision += (point.recall - before.recall) * point.precision;
    out.points.push_back(point);
  }
  return out;
}

RankingCurves ranking_curves(const Judgements& of, int64_t of_class) {
  std::vector<double> scores;
  std::vector<bool> is_positive;
  for (int64_t i = 0; i < of.size(); ++i) {
    scores.push_back(of.score(i, of_class));
    is_positive.push_back(of.classes[static_cast<size_t>(i)] == of_class);
  }
  return ranking_curves(scores, is_positive);
}

Reliability reliability(const Judgements& of, int64_t bins) {
  Reliability out{.bins = std::vector<Reliability::Bin>(static_cast<size_t>(bins))};
  for (int64_t i = 0; i < of.size(); ++i) {
    const auto at = static_cast<size_t>(i);
    const double confidence = of.score(i, of.taken[at]);
    const auto bin = std::clamp<int64_t>(static_cast<int64_t>(confidence * static_cast<double>(bins)), 0, bins - 1);
    Reliability::Bin& into = out.bins[static_cast<size_t>(bin)];
    ++into.count;
    into.right += of.taken[at] == of.classes[at];
    into.confidence += confidence;
  }
  for (Reliability::Bin& bin : out.bins) {
    if (bin.count == 0) continue;
    bin.confidence /= static_cast<double>(bin.count);
    const double part = static_cast<double>(bin.count) / static_cast<double>(of.size());
    out.error += part * std::abs(bin.accuracy() - bin.confidence);
  }
  return out;
}

}  // namespace thtrain
