// How minibatches of one set of examples reach a function: as rows of data that stays in memory, or read for each call.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "compiler/runtime/function.h"
#include "datasets/dataset.h"

namespace thtrain {

/// A minibatch inside a graph.
struct Minibatch {
  std::vector<In> inputs;  // of the function, to be followed by no others
  Expr x;                  // [count, input...]: floatX
  Expr y;                  // [count]: int64 labels
};

/// In memory, x and y are shared variables and a minibatch is a slice of them from the input `start` on (no copy), or the
/// rows that a slice of `order` names. Streamed, the inputs are x and y themselves.
class Feed {
 public:
  enum class Where { kMemory, kStreamed };

  /// `name` is what shared variables are called: "train". Examples get the lengths `input`, with as many elements as the
  /// split's. Shuffled ones wait for set_order().
  Feed(const Split& split, std::string name, const Shape& input, DType floatx, Where where, bool shuffled);

  int64_t size() const { return split_.size(); }
  /// Expressions of minibatches of this length. Each length is for one function.
  Minibatch minibatch(int64_t count) const;
  /// The values of those inputs for examples `start` to `start + count` (of the order). Valid until the next call. UserError
  /// where a streamed value is not finite or a label is out of range.
  std::span<const Tensor> arguments(int64_t start, int64_t count);
  /// The examples' order from now on: a permutation of their numbers.
  void set_order(std::vector<int64_t> order);

  /// Bytes of the examples that stay in memory.
  int64_t bytes() const;
  /// A hash of the data in memory; of the sizes where it is streamed.
  std::string identity() const;

 private:
  bool in_memory() const { return where_ == Where::kMemory; }

  Split split_;
  std::string name_;
  Shape input_;
  DType floatx_;
  Where where_;
  bool shuffled_;
  std::vector<Shared> shared_;              // x and y, and the order; none where streamed
  std::vector<int64_t> order_;              // streamed and shuffled
  std::map<int64_t, std::vector<Tensor>> arguments_;  // by count
};

}  // namespace thtrain
