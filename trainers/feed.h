// How minibatches reach the function of a training step: as rows of data that stays in memory, or read for each call.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "compiler/base/random_state.h"
#include "compiler/runtime/function.h"
#include "nn/sparse_examples.h"
#include "trainers/examples.h"

namespace thtrain {

/// A minibatch inside a graph.
struct Minibatch {
  std::vector<In> inputs;                     // of the function
  Expr x;                                     // [count, input...]: floatX
  Expr y;                                     // [count, ...]: int64 classes, floatX values or uint8 labels
  Expr weights = {};                          // [count]: floatX; empty where each example counts alike
  Expr lengths = {};                          // [count]: int64, of sequences; empty where all have the same length
  std::optional<SparseExamples> sparse = {};  // of which x is the dense form
};

/// The arguments for the inputs of a function of `batch`: x or its sparse parts, y, weights and lengths if there are
/// some.
std::vector<Tensor> arguments_of(const Batch& batch);

/// In memory, x, y and weights are shared variables and a minibatch is a slice of them from the input `start` on (no
/// copy), or the rows that a slice of `order` names. Streamed, and where sequences differ in length, the inputs are x,
/// y, weights and lengths themselves, and so they are where images are augmented, where there is no room for all, and,
/// as nn/sparse_examples.h has them, where examples are sparse; x and the targets of steps have then as many steps as
/// the longest sequence of the minibatch, a length with the name "steps". Shuffled minibatches hold sequences of about
/// the same length (trainers/epoch_order.h), unless there is a window.
class Feed {
 public:
  /// Shared variables are called `name`_x, `name`_y, `name`_weights and `name`_order. Shuffled ones wait for
  /// begin_epoch(), and are shuffled within `window` (trainers/epoch_order.h). With an `augmentation` the examples are
  /// images, and minibatches hold what it makes of them; another thread computes them ahead. `room`: bytes of examples
  /// that are held where the function computes; it reads more of them ahead, minibatch by minibatch.
  Feed(Examples examples, const std::string& name, bool shuffled, int64_t window = 0,
       std::shared_ptr<const Augmentation> augmentation = nullptr, int64_t room = INT64_MAX);

  const Examples& examples() const { return examples_; }
  Examples& examples() { return examples_; }
  /// Expressions of minibatches of this length.
  Minibatch minibatch(int64_t count);
  /// How arguments() will be called. Without it, its calls say it.
  void set_plan(const ExampleStream::Plan& plan);
  /// The values of those inputs for examples `start` to `start + count` (of the order); valid until the next call.
  /// Streamed, as ExampleStream::at().
  std::span<const Tensor> arguments(int64_t start, int64_t count);
  /// Draws the examples' order from now on.
  void begin_epoch(RandomState& random);
  /// What augmentation draws from now on; behind begin_epoch() where examples are shuffled.
  void set_epoch(int64_t epoch);
  /// Steps of the first `count` examples of the order, where sequences differ in length; else 0.
  int64_t steps_of_first(int64_t count) const;

 private:
  Type target_type(int64_t count) const;
  bool gives_values() const { return stream_ || examples_.has_lengths(); }

  Examples examples_;
  bool shuffled_;
  int64_t window_;
  std::vector<Shared> shared_;           // x, y, weights where there are some; none where streamed
  std::vector<Shared> order_in_memory_;  // one, where shuffled and not streamed
  std::vector<int64_t> order_;           // of sequences of different lengths; of others where they are streamed: none
  std::vector<int64_t> lengths_;         // of the examples, where they differ
  int64_t batch_ = 0;                    // of the plan
  std::vector<Tensor> arguments_;
  std::unique_ptr<ExampleStream> stream_;  // none where they are in memory, as they are there
};

}  // namespace thtrain
