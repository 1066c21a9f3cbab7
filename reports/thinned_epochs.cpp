#include "reports/thinned_epochs.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <optional>
#include <set>
#include <utility>

namespace thtrain {

static std::vector<std::optional<double>> values_of(const EpochReport& report) {
  std::vector<std::optional<double>> out = {report.train_loss, report.valid_loss, report.train_error,
                                            report.valid_error, report.test_error};
  for (const EpochReport::Other& other : report.others) out.insert(out.end(), {other.train, other.valid, other.test});
  return out;
}

void ThinnedEpochs::thin(Group& group) {
  std::vector<EpochReport>& kept = group.kept;
  if (kept.size() < 3) return;
  std::set<size_t> stay = {0, kept.size() - 1};
  std::vector<std::optional<std::pair<double, size_t>>> lowest, highest;
  for (size_t i = 0; i < kept.size(); ++i) {
    if (kept[i].best) stay.insert(i);
    const std::vector<std::optional<double>> of_epoch = values_of(kept[i]);
    lowest.resize(std::max(lowest.size(), of_epoch.size()));
    highest.resize(lowest.size());
    for (size_t k = 0; k < of_epoch.size(); ++k) {
      if (!of_epoch[k] || !std::isfinite(*of_epoch[k])) continue;
      const std::pair here(*of_epoch[k], i);
      if (!lowest[k] || here.first < lowest[k]->first) lowest[k] = here;
      if (!highest[k] || here.first > highest[k]->first) highest[k] = here;
    }
  }
  for (const auto& extremes : {lowest, highest})
    for (const auto& extreme : extremes)
      if (extreme) stay.insert(extreme->second);
  std::vector<EpochReport> out;
  for (size_t i : stay) out.push_back(std::move(kept[i]));
  kept = std::move(out);
}

void ThinnedEpochs::join_pairs() {
  std::vector<Group> joined;
  for (size_t i = 0; i < groups_.size(); i += 2) {
    Group& group = joined.emplace_back(std::move(groups_[i]));
    if (i + 1 == groups_.size()) break;
    group.count += groups_[i + 1].count;
    std::move(groups_[i + 1].kept.begin(), groups_[i + 1].kept.end(), std::back_inserter(group.kept));
    thin(group);
  }
  groups_ = std::move(joined);
  length_ *= 2;
}

void ThinnedEpochs::add(EpochReport report) {
  constexpr size_t kMostOfGroup = 64;  // before it is thinned
  if (groups_.empty() || groups_.back().count == length_) {
    if (!groups_.empty()) thin(groups_.back());
    if (groups_.size() == kMostGroups) join_pairs();
    groups_.emplace_back();
  }
  Group& group = groups_.back();
  ++group.count;
  group.kept.push_back(std::move(report));
  if (group.kept.size() >= kMostOfGroup) thin(group);
}

std::vector<EpochReport> ThinnedEpochs::take() {
  std::vector<EpochReport> out;
  for (Group& group : groups_) {
    thin(group);
    std::move(group.kept.begin(), group.kept.end(), std::back_inserter(out));
  }
  groups_.clear();
  length_ = 1;
  return out;
}

}  // namespace thtrain
