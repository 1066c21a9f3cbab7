// Minibatches are cut into shards, neighbours of about equal numbers of examples: shard s of S has those from
// floor(s n / S) to before floor((s + 1) n / S) of n. Where n < S some are empty.
#pragma once

#include <cstdint>

namespace thtrain {

/// Some of the shards of every minibatch: those of a process.
struct ShardRange {
  int64_t count = 1;            // of a minibatch
  int64_t first = 0, last = 1;  // these of them, to before `last`
  bool operator==(const ShardRange&) const = default;

  int64_t begin_of(int64_t shard, int64_t examples) const { return shard * examples / count; }
  int64_t length_of(int64_t shard, int64_t examples) const {
    return begin_of(shard + 1, examples) - begin_of(shard, examples);
  }
  /// The length of the shard that begins at `start` of so many examples; 0 where none of these does.
  int64_t length_at(int64_t start, int64_t examples) const {
    const int64_t shard = shard_at(start, examples);
    const bool is_one = shard >= first && shard < last && begin_of(shard, examples) == start;
    return is_one ? length_of(shard, examples) : 0;
  }
  /// The beginning of the first of these that has examples at or behind `start`, and begins there; `examples` where
  /// there is none.
  int64_t next(int64_t start, int64_t examples) const {
    for (int64_t shard = first; shard < last; ++shard)
      if (begin_of(shard, examples) >= start && length_of(shard, examples) > 0) return begin_of(shard, examples);
    return examples;
  }

 private:
  // The one that has this example.
  int64_t shard_at(int64_t example, int64_t examples) const {
    return ((example + 1) * count + examples - 1) / examples - 1;
  }
};

}  // namespace thtrain
