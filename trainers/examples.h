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
  /// Each example gets the lengths `input`, with as many elements as the split's. In memory, they are read (or mapped)
  /// now.
  Examples(const Split& split, const Shape& input, DType floatx, bool streamed);

  /// The type of y of this many examples.
  Type target_type(int64_t count) const;
  int64_t size() const { return split_.size(); }
  bool streamed() const { return streamed_; }
  bool has_weights() const { return split_.has_weights(); }
  /// x [size, input...], y [size, ...], weights [size] if there are some; of examples in memory.
  const Batch& all() const { return all_; }
  /// How batch() will be called: for examples 0 to `count`, `batch` at a time, again and again. Streamed ones are read
  /// ahead by that.
  void set_plan(int64_t count, int64_t batch);
  /// Examples `begin` to `begin + count`: a part of all(), or read (trainers/example_stream.h) and valid until the next
  /// call. UserError where a streamed value is not finite or a label is out of range.
  Batch batch(int64_t begin, int64_t count);
  /// A stream of its own over the same examples.
  std::unique_ptr<ExampleStream> stream(bool shuffled, int64_t window) const;
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
  Shape input_;
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
