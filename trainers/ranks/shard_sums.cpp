#include "trainers/ranks/shard_sums.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <utility>

#include "compiler/base/clock.h"

namespace thtrain {

// A part that would make a bucket too large begins the next one, but nothing small is a bucket of its own.
static std::vector<size_t> buckets_of(DType dtype, const std::vector<int64_t>& sizes) {
  constexpr int64_t kMost = int64_t{1} << 19, kLeast = int64_t{1} << 16;  // bytes
  std::vector<size_t> out;
  int64_t bytes = 0;
  size_t bucket = 0;
  for (int64_t size : sizes) {
    const int64_t more = size * static_cast<int64_t>(size_of(dtype));
    if (bytes >= kLeast && bytes + more > kMost) {
      bytes = 0;
      ++bucket;
    }
    bytes += more;
    out.push_back(bucket);
  }
  if (bytes < kLeast && bucket > 0) std::replace(out.begin(), out.end(), bucket, bucket - 1);
  return out;
}

static std::vector<Bucket> ranges_of(const std::vector<size_t>& bucket_of, const std::vector<int64_t>& sizes) {
  std::vector<Bucket> out;
  int64_t at = 0;
  for (size_t part = 0; part < sizes.size(); ++part) {
    if (part == 0 || bucket_of[part] != bucket_of[part - 1]) out.push_back({at, at});
    at += sizes[part];
    out.back().end = at;
  }
  return out;
}

ShardSums::ShardSums(DType dtype, const std::vector<int64_t>& sizes, int64_t shards, Ranks& ranks)
    : sizes_(sizes),
      bucket_of_(buckets_of(dtype, sizes)),
      tree_(dtype, std::accumulate(sizes.begin(), sizes.end(), int64_t{0}), shards, ranges_of(bucket_of_, sizes)),
      sums_(ranks),
      ready_seconds_(tree_.buckets().size()) {
  int64_t at = 0;
  for (int64_t size : sizes) begins_.push_back(std::exchange(at, at + size));
  parts_in_.resize(tree_.buckets().size());
  for (size_t bucket : bucket_of_) ++parts_in_[bucket];
}

void ShardSums::begin_step() {
  begin_ = std::chrono::steady_clock::now();
  tree_.clear();
  given_.assign(tree_.buckets().size(), std::vector<Given>(static_cast<size_t>(tree_.shards())));
  handed_on_ = 0;
}

void ShardSums::give(int64_t shard, size_t part, const Tensor& value, double factor) {
  TH_CHECK(value.size() == sizes_[part], "elements of a part");
  const size_t bucket = bucket_of_[part];
  Given& given = given_[bucket][static_cast<size_t>(shard)];
  given.values.emplace_back(part, value);
  given.factors.push_back(factor);
  if (given.values.size() == parts_in_[bucket]) take(bucket);
}

void ShardSums::give_zeros(int64_t shard) {
  for (size_t bucket = 0; bucket < given_.size(); ++bucket) {
    given_[bucket][static_cast<size_t>(shard)].is_zero = true;
    take(bucket);
  }
}

// Shards are added in their order, and buckets handed on in theirs.
void ShardSums::take(size_t bucket) {
  for (int64_t shard; (shard = tree_.next_shard(bucket)) < tree_.shards(); tree_.add(bucket)) {
    Given& given = given_[bucket][static_cast<size_t>(shard)];
    if (!given.is_zero && given.values.size() < parts_in_[bucket]) break;
    Tensor& room = tree_.room(bucket);
    const auto [begin, end] = tree_.buckets()[bucket];
    const auto size = static_cast<int64_t>(size_of(room.dtype()));
    if (given.is_zero)
      std::memset(static_cast<char*>(room.raw()) + begin * size, 0, static_cast<size_t>((end - begin) * size));
    for (size_t i = 0; i < given.values.size(); ++i)
      scale_into(given.values[i].second, given.factors[i], room, begins_[given.values[i].first]);
    given.values.clear();
    given.is_zero = true;
  }
  for (; handed_on_ < given_.size() && tree_.next_shard(handed_on_) == tree_.shards(); ++handed_on_) {
    ready_seconds_[handed_on_] += seconds_since(begin_);
    sums_.add(all(), tree_.buckets()[handed_on_]);
  }
}

}  // namespace thtrain
