#include "trainers/feed.h"

#include <algorithm>

#include "compiler/ir/variables.h"
#include "compiler/ops/index/index.h"

namespace thtrain {

Feed::Feed(Examples examples, const std::string& name, bool shuffled, int64_t window)
    : examples_(std::move(examples)), shuffled_(shuffled), window_(window) {
  if (examples_.streamed()) {
    stream_ = examples_.stream(shuffled_, window_);
    return;
  }
  shared_.push_back(Shared(examples_.all().x, name + "_x", true));
  shared_.push_back(Shared(examples_.all().y, name + "_y", true));
  if (examples_.has_weights()) shared_.push_back(Shared(examples_.all().weights, name + "_weights", true));
  if (shuffled_)
    order_in_memory_.push_back(Shared(Tensor::zeros(DType::kInt64, {examples_.size()}), name + "_order", true));
  arguments_ = {Tensor(int64_t{0})};
}

Minibatch Feed::minibatch(int64_t count) {
  Scope scope("data");
  if (!examples_.streamed()) {
    Expr start = iscalar("start");
    Expr chosen = shuffled_ ? rows(order_in_memory_[0], start, count) : Expr();
    auto part = [&](const Shared& all) { return shuffled_ ? take(all, chosen) : rows(all, start, count); };
    Minibatch out{{start}, part(shared_[0]), part(shared_[1])};
    if (examples_.has_weights()) out.weights = part(shared_[2]);
    return out;
  }
  auto input = [](const char* name, const Type& type) { return tensor(name, type.dims, type.dtype); };
  const Batch like = examples_.like(count);
  Expr x = input("x", type_of(like.x)), y = input("y", type_of(like.y));
  if (!examples_.has_weights()) return {{x, y}, x, y};
  Expr weights = input("weights", type_of(like.weights));
  return {{x, y, weights}, x, y, weights};
}

std::span<const Tensor> Feed::arguments(int64_t start, int64_t count) {
  if (!examples_.streamed()) {
    *arguments_[0].data<int64_t>() = start;
    return arguments_;
  }
  const Batch& batch = stream_->at(start, count);
  arguments_ = {batch.x, batch.y};
  if (examples_.has_weights()) arguments_.push_back(batch.weights);
  return arguments_;
}

void Feed::set_plan(int64_t count, int64_t batch) {
  if (stream_ && count > 0) stream_->set_plan({count, batch});
}

void Feed::begin_epoch(RandomState& random) {
  TH_CHECK(shuffled_, "an order of examples that are not shuffled");
  if (stream_) return stream_->begin_pass(random);
  const EpochOrder order = draw_order(random, examples_.size(), window_);
  std::copy(order.examples.begin(), order.examples.end(), order_in_memory_[0].get_value(true).data<int64_t>());
}

}  // namespace thtrain
