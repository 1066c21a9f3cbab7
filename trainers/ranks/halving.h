// Recursive halving and doubling: who exchanges which elements with whom, so that sums are those of the tree over the
// ranks. R. Thakur, R. Rabenseifner, W. Gropp, "Optimization of collective communication operations in MPICH", 2005.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

namespace thtrain {

/// Elements of a buffer, from `begin` to before `end`.
struct Bucket {
  int64_t begin = 0, end = 0;
  int64_t size() const { return end - begin; }
};

/// Of the ranks, a power of two: neighbours first, halves of what is left. `add(peer, given, kept, stage)` sends the
/// elements `given` to that rank, and adds what comes from it to those of `kept`; `fill(peer, kept, given, stage)`
/// sends `kept`, and puts what comes into `given`.
template <class Add, class Fill>
void halve_and_double(int rank, int size, Bucket mine, Add add, Fill fill) {
  std::vector<std::pair<Bucket, Bucket>> levels;  // kept, given
  int stage = 0;
  for (int distance = 1; distance < size; distance *= 2, ++stage) {
    const int64_t middle = mine.begin + mine.size() / 2;
    Bucket kept{mine.begin, middle}, given{middle, mine.end};
    if ((rank & distance) != 0) std::swap(kept, given);
    add(rank ^ distance, given, kept, stage);
    levels.emplace_back(kept, given);
    mine = kept;
  }
  for (int distance = size / 2; distance > 0; distance /= 2, ++stage) {
    fill(rank ^ distance, levels.back().first, levels.back().second, stage);
    levels.pop_back();
  }
}

}  // namespace thtrain
