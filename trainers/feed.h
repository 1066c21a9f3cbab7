// How minibatches reach the function of a training step: as rows of data that stays in memory, or read for each call.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "compiler/runtime/function.h"
#include "trainers/examples.h"
#include "trainers/read_ahead.h"

namespace thtrain {

/// A minibatch inside a graph.
struct Minibatch {
  std::vector<In> inputs;  // of the function
  Expr x;                  // [count, input...]: floatX
  Expr y;                  // [count, ...]: int64 classes, floatX values or uint8 labels
  Expr weights = {};       // [count]: floatX; empty where each example counts alike
};

/// In memory, x, y and weights are shared variables and a minibatch is a slice of them from the input `start` on (no
/// copy), or the rows that a slice of `order` names. Streamed, the inputs are x, y and weights themselves.
class Feed {
 public:
  /// Shared variables are called `name`_x, `name`_y, `name`_weights and `name`_order. Shuffled ones wait for
  /// set_order().
  Feed(Examples examples, const std::string& name, bool shuffled);

  const Examples& examples() const { return examples_; }
  Examples& examples() { return examples_; }
  /// Expressions of minibatches of this length.
  Minibatch minibatch(int64_t count);
  /// The values of those inputs for examples `start` to `start + count` (of the order); valid until the next call.
  /// UserError as Examples::batch. Where they are streamed, the minibatch behind it is read meanwhile, by a thread; an
  /// error of it comes with the call that asks for it.
  std::span<const Tensor> arguments(int64_t start, int64_t count);
  /// The examples' order from now on: a permutation of their numbers.
  void set_order(std::vector<int64_t> order);

 private:
  Batch streamed(int64_t start, int64_t count);
  Batch& next_buffer(int64_t count);
  void read(const Batch& into, int64_t start, int64_t count) const;
  void forget_ahead();

  Examples examples_;
  bool shuffled_;
  std::vector<Shared> shared_;           // x, y, weights where there are some; none where streamed
  std::vector<Shared> order_in_memory_;  // one, where shuffled and not streamed
  std::vector<int64_t> order_;           // streamed and shuffled
  std::vector<Tensor> arguments_;
  // Streamed: the minibatch in use and the one that is read meanwhile, by length.
  struct Buffers {
    Batch batches[2];
    int next = 0;
  };
  std::map<int64_t, Buffers> buffers_;
  struct Ahead {
    int64_t start = -1, count = 0;  // what is read, or was; -1: nothing
    Batch batch = {};
  };
  Ahead ahead_;
  std::unique_ptr<ReadAhead> reader_;  // last: its job uses the others
};

}  // namespace thtrain
