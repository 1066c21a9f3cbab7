// The epochs of a long run, thinned for a picture of it.
#pragma once

#include <vector>

#include "reports/history.h"

namespace thtrain {

/// Takes epochs in their order and keeps so many that a picture of its width looks the same: where there are more than
/// kMostGroups, groups of neighbouring epochs of equal length, and of each the first, the last, the best ones, and
/// those with the lowest and highest of each value. Memory is bounded whatever the number of epochs.
class ThinnedEpochs {
 public:
  static constexpr size_t kMostGroups = 2000;

  void add(EpochReport report);
  /// In their order.
  std::vector<EpochReport> take();

 private:
  struct Group {
    int64_t count = 0;  // epochs that it was made of
    std::vector<EpochReport> kept;
  };
  static void thin(Group& group);
  void join_pairs();

  int64_t length_ = 1;  // epochs of a whole group
  std::vector<Group> groups_;
};

}  // namespace thtrain
