// The order in which an epoch takes its examples: all of them shuffled, or shuffled within a window.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "compiler/base/random_state.h"

namespace thtrain {

/// In a window of W examples, these are one behind the other in blocks of max(1, W / 8). The blocks come in a drawn
/// order; W examples are held at a time, each draw takes one of them, drawn with equal chances, and the next one that
/// comes replaces it. So what is taken by draw t is among the first W + t that came, and a file is read by blocks.
struct EpochOrder {
  std::vector<int64_t> examples;  // each number once, in the order of the draws
  std::vector<int64_t> blocks;    // the first example of each block, in the order in which they come; none: no window
  int64_t block = 0;              // examples of a block; the one with the largest numbers may have fewer
  int64_t window = 0;             // examples that are held, at most `examples`; 0: no window
};

/// A function of the generator's state, the number of examples and the window alone. `window` 0 or at least `size`:
/// random.permutation(size), which comes as one block where `window` is not 0.
EpochOrder draw_order(RandomState& random, int64_t size, int64_t window);

/// An order in which minibatches of `batch` examples hold sequences of about the same length, so that little is padded:
/// the examples are drawn, random.permutation(n); the rest that fills no minibatch stays at the end; the others are
/// sorted by length within each 16 minibatches (those of one length stay as they were drawn), and the minibatches are
/// put into the order random.permutation(number of minibatches). Without a window.
EpochOrder draw_order(RandomState& random, std::span<const int64_t> lengths, int64_t batch);

/// Walks through the examples of an order as they come.
class Arrivals {
 public:
  explicit Arrivals(const EpochOrder& order) : order_(&order) {}

  struct Run {
    int64_t first = 0, count = 0;
  };
  /// Neighbours that come next, at most `most`; none at the end.
  Run next(int64_t most);

 private:
  const EpochOrder* order_;
  size_t block_ = 0;
  int64_t at_ = 0;  // within the block
};

}  // namespace thtrain
