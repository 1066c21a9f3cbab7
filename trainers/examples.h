// One set of examples as a model takes them: all of them in memory, or read from their file as they are needed.
#pragma once

#include <map>
#include <span>
#include <string>

#include "compiler/ir/type.h"
#include "datasets/dataset.h"

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
  /// Examples `begin` to `begin + count`: a part of all(), or read into a buffer that the next call with this count
  /// fills again. UserError where a streamed value is not finite or a label is out of range.
  Batch batch(int64_t begin, int64_t count);
  /// Tensors for so many examples, to be filled by read().
  Batch new_buffer(int64_t count) const;
  /// Fills `into` from streamed examples: `begin` and on, or those with these numbers. May be called in any thread.
  /// UserError as batch().
  void read(const Batch& into, int64_t begin) const;
  void read(const Batch& into, std::span<const int64_t> examples) const;

  /// Bytes of all().
  int64_t bytes() const;
  /// Their number and a hash of the values in memory; where they are streamed, fingerprints of their files
  /// (trainers/data_fingerprint.h).
  std::string identity() const;

 private:
  const Batch& buffer(int64_t count);

  Split split_;
  Shape input_;
  DType floatx_;
  bool streamed_;
  Batch all_;
  std::map<int64_t, Batch> buffers_;  // by count
};

/// UserError unless these are classes, or no examples: for objectives that take nothing else.
void require_classes(const Split& split);

}  // namespace thtrain
