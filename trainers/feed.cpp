#include "trainers/feed.h"

#include <algorithm>

#include "compiler/ir/variables.h"
#include "compiler/ops/index/index.h"

namespace thtrain {

Feed::Feed(Examples examples, const std::string& name, bool shuffled)
    : examples_(std::move(examples)), shuffled_(shuffled) {
  if (examples_.streamed()) return;
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
  Batch like = examples_.batch(0, count);
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
  Batch batch = shuffled_ ? examples_.batch(std::span(order_).subspan(start, count)) : examples_.batch(start, count);
  arguments_ = {batch.x, batch.y};
  if (examples_.has_weights()) arguments_.push_back(batch.weights);
  return arguments_;
}

void Feed::set_order(std::vector<int64_t> order) {
  TH_CHECK(shuffled_ && static_cast<int64_t>(order.size()) == examples_.size(), "an order of ", order.size(),
           " examples");
  if (examples_.streamed())
    order_ = std::move(order);
  else
    std::copy(order.begin(), order.end(), order_in_memory_[0].get_value(true).data<int64_t>());
}

}  // namespace thtrain
