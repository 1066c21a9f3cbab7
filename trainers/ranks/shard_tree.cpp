#include "trainers/ranks/shard_tree.h"

#include <bit>

namespace thtrain {

ShardTree::ShardTree(DType dtype, int64_t elements, int64_t shards, std::vector<Bucket> buckets)
    : buckets_(std::move(buckets)), shards_(shards) {
  for (int64_t i = 0; i <= std::countr_zero(static_cast<uint64_t>(shards)); ++i)
    levels_.push_back(Tensor::zeros(dtype, {elements}));
  clear();
}

// Sums of as many shards as the set bits of their number say wait for their neighbours.
Tensor& ShardTree::room(size_t bucket) {
  return levels_[static_cast<size_t>(std::popcount(added_[bucket]))];
}

template <class T>
static std::span<T> elements_of(Tensor& of, const Bucket& bucket) {
  return {of.data<T>() + bucket.begin, static_cast<size_t>(bucket.size())};
}

static void add_to(Tensor& a, Tensor& b, const Bucket& bucket) {
  if (a.dtype() == DType::kFloat32)
    add_to(elements_of<float>(a, bucket), elements_of<float>(b, bucket));
  else
    add_to(elements_of<double>(a, bucket), elements_of<double>(b, bucket));
}

void ShardTree::add(size_t bucket) {
  uint64_t& added = added_[bucket];
  auto top = static_cast<size_t>(std::popcount(added));
  for (int pairs = std::countr_one(added); pairs > 0; --pairs, --top)
    add_to(levels_[top - 1], levels_[top], buckets_[bucket]);
  ++added;
}

template <class T>
static void scale(const Tensor& from, double factor, Tensor& to, int64_t begin) {
  const T* __restrict in = from.data<T>();
  T* __restrict out = to.data<T>() + begin;
  const T by = static_cast<T>(factor);
  const int64_t size = from.size();  // a function of the shape: not in the loop
  for (int64_t i = 0; i < size; ++i) out[i] = by * in[i];
}

void scale_into(const Tensor& from, double factor, Tensor& to, int64_t begin) {
  const Tensor rows = from.contiguous();
  TH_CHECK(begin + rows.size() <= to.size() && rows.dtype() == to.dtype(), "elements of a shard");
  rows.dtype() == DType::kFloat32 ? scale<float>(rows, factor, to, begin) : scale<double>(rows, factor, to, begin);
}

void sum_over(Ranks& ranks, Tensor& values, const Bucket& bucket) {
  if (values.dtype() == DType::kFloat32)
    ranks.sum(elements_of<float>(values, bucket));
  else
    ranks.sum(elements_of<double>(values, bucket));
}

}  // namespace thtrain
