#include "trainers/ranks/shard_tree.h"

#include <bit>

namespace thtrain {

ShardTree::ShardTree(DType dtype, int64_t elements, int64_t shards) {
  for (int64_t i = 0; i <= std::countr_zero(static_cast<uint64_t>(shards)); ++i)
    levels_.push_back(Tensor::zeros(dtype, {elements}));
}

// Sums of as many shards as the set bits of their number say wait for their neighbours.
Tensor& ShardTree::next() {
  return levels_[static_cast<size_t>(std::popcount(added_))];
}

template <class T>
static std::span<T> elements_of(Tensor& of) {
  return {of.data<T>(), static_cast<size_t>(of.size())};
}

static void add_to(Tensor& a, Tensor& b) {
  if (a.dtype() == DType::kFloat32)
    add_to(elements_of<float>(a), elements_of<float>(b));
  else
    add_to(elements_of<double>(a), elements_of<double>(b));
}

void ShardTree::add() {
  auto top = static_cast<size_t>(std::popcount(added_));
  for (int pairs = std::countr_one(added_); pairs > 0; --pairs, --top) add_to(levels_[top - 1], levels_[top]);
  ++added_;
}

template <class T>
static void scale(const Tensor& from, double factor, Tensor& to, int64_t begin) {
  const T* __restrict in = from.data<T>();
  T* __restrict out = to.data<T>() + begin;
  const T by = static_cast<T>(factor);
  for (int64_t i = 0; i < from.size(); ++i) out[i] = by * in[i];
}

void scale_into(const Tensor& from, double factor, Tensor& to, int64_t begin) {
  const Tensor rows = from.contiguous();
  TH_CHECK(begin + rows.size() <= to.size() && rows.dtype() == to.dtype(), "elements of a shard");
  rows.dtype() == DType::kFloat32 ? scale<float>(rows, factor, to, begin) : scale<double>(rows, factor, to, begin);
}

void sum_over(Ranks& ranks, Tensor& values) {
  if (values.dtype() == DType::kFloat32)
    ranks.sum(elements_of<float>(values));
  else
    ranks.sum(elements_of<double>(values));
}

}  // namespace thtrain
