// One set of examples as a model takes them: all of them in memory, or read from their file as they are needed.
#pragma once

#include <memory>
#include <string>

#include "compiler/ir/type.h"
#include "datasets/dataset.h"
#include "trainers/example_stream.h"

namespace thtrain {

class Examples {
 public:
  /// Each example, of sequences each step, gets the lengths `input`, with as many elements as the split's. In memory,
  /// they are read (or mapped) now; of sequences of different lengths each minibatch is, when it is asked for.
  Examples(const Split& split, const Shape& input, DType floatx, bool streamed);

  /// The types of x and y of this many examples. Where sequences differ in length, their steps have the name "steps".
  Type input_type(int64_t count) const;
  Type target_type(int64_t count) const;
  int64_t size() const { return split_.size(); }
  bool streamed() const { return streamed_; }
  /// Is only what is not 0 kept of them?
  bool is_sparse() const { return split_.is_sparse(); }
  /// Is there all()? Else minibatches are read or gathered.
  bool has_all() const { return !streamed_ && !has_lengths() && !is_sparse(); }
  bool has_weights() const { return split_.has_weights(); }
  bool has_lengths() const { return split_.has_lengths(); }
  /// Of one sequence; 1 where they are no sequences.
  int64_t length(int64_t example) const { return split_.length(example); }
  /// Steps that there is room for, where all sequences have so many; -1 where they differ.
  int64_t known_steps() const { return has_lengths() ? -1 : split_.steps(); }
  /// x [size, input...], of sequences [size, steps, input...], y [size, ...], and weights [size] if there are some; of
  /// examples in memory that have no lengths and are not sparse.
  const Batch& all() const { return all_; }
  /// How batch() will be called, again and again. Streamed ones are read ahead by that.
  void set_plan(const ExampleStream::Plan& plan);
  /// Examples `begin` to `begin + count`: a part of all(), or read (trainers/example_stream.h) and valid until the next
  /// call. Sparse ones have Batch::sparse. Sequences have as many steps as the longest of these. UserError where a
  /// streamed value is not finite or a label is out of range.
  Batch batch(int64_t begin, int64_t count);
  /// Sequences of these numbers, copied; of those in memory that have lengths.
  Batch gather(std::span<const int64_t> examples) const;
  /// `batch` with as many steps as its longest sequence has; as it is where all have the same length.
  Batch trimmed(Batch batch) const;
  /// A stream of its own over the same examples, which may be in memory.
  std::unique_ptr<ExampleStream> stream(bool shuffled, int64_t window,
                                        std::shared_ptr<const Augmentation> augmentation = nullptr) const;
  /// A minibatch whose numbers say nothing: its types and lengths.
  Batch like(int64_t count) const;

  /// Bytes of all().
  int64_t bytes() const;
  /// UserError where a file that they are streamed from was changed since it was opened.
  void check_unchanged() const;
  /// Their number and a hash of the values in memory; where they are streamed, fingerprints of their files
  /// (trainers/data_fingerprint.h).
  std::string identity() const;

 private:
  Split split_;
  Shape input_;  // of one example
  DType floatx_;
  bool streamed_;
  Batch all_;
  std::unique_ptr<ExampleStream> stream_;  // of batch(), from its first call on
};

/// `count` of the examples, spread over all of them: blocks of up to 64 at equal distances. Of a packed file that is
/// streamed, of which all rows before a row are read, the first ones.
Split sample_of(const Split& split, int64_t count, bool streamed);

/// UserError unless these are classes, or no examples: for objectives that take nothing else.
void require_classes(const Split& split);

}  // namespace thtrain
