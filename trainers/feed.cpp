#include "trainers/feed.h"

#include <algorithm>

#include "compiler/ir/variables.h"
#include "compiler/ops/index/index.h"

namespace thtrain {

Feed::Feed(Examples examples, const std::string& name, bool shuffled, int64_t window,
           std::shared_ptr<const Augmentation> augmentation, int64_t room)
    : examples_(std::move(examples)), shuffled_(shuffled), window_(window) {
  if (examples_.has_lengths())
    for (int64_t i = 0; i < examples_.size(); ++i) lengths_.push_back(examples_.length(i));
  const bool is_too_large = examples_.has_all() && examples_.bytes() > room;
  if (examples_.streamed() || augmentation || examples_.is_sparse() || is_too_large) {
    stream_ = examples_.stream(shuffled_, window_, std::move(augmentation));
    return;
  }
  if (examples_.has_lengths()) return;
  shared_.push_back(Shared(examples_.all().x, name + "_x", true));
  shared_.push_back(Shared(examples_.all().y, name + "_y", true));
  if (examples_.has_weights()) shared_.push_back(Shared(examples_.all().weights, name + "_weights", true));
  if (shuffled_)
    order_in_memory_.push_back(Shared(Tensor::zeros(DType::kInt64, {examples_.size()}), name + "_order", true));
  arguments_ = {Tensor(int64_t{0})};
}

Minibatch Feed::minibatch(int64_t count) {
  Scope scope("data");
  if (!gives_values()) {
    Expr start = iscalar("start");
    Expr chosen = shuffled_ ? rows(order_in_memory_[0], start, count) : Expr();
    auto part = [&](const Shared& all) { return shuffled_ ? take(all, chosen) : rows(all, start, count); };
    Minibatch out{{start}, part(shared_[0]), part(shared_[1])};
    if (examples_.has_weights()) out.weights = part(shared_[2]);
    return out;
  }
  auto input = [](const char* name, const Type& type) { return tensor(name, type.dims, type.dtype); };
  const Type x_type = examples_.input_type(count);
  Minibatch out;
  if (examples_.is_sparse()) {
    out.sparse.emplace(count, x_type.dims[1].value(), x_type.dtype);
    out.x = out.sparse->x;
    for (const Expr& part : out.sparse->inputs()) out.inputs.emplace_back(part);
  } else {
    out.inputs.emplace_back(out.x = input("x", x_type));
  }
  out.inputs.emplace_back(out.y = input("y", target_type(count)));
  if (examples_.has_weights())
    out.inputs.emplace_back(out.weights = input("weights", type_of(examples_.like(count).weights)));
  if (examples_.has_lengths()) out.inputs.emplace_back(out.lengths = tensor("lengths", {count}, DType::kInt64));
  return out;
}

// Without targets the array of targets is empty.
Type Feed::target_type(int64_t count) const {
  const Tensor y = examples_.like(count).y;
  return y.size() == 0 ? type_of(y) : examples_.target_type(count);
}

std::span<const Tensor> Feed::arguments(int64_t start, int64_t count) {
  if (!gives_values()) {
    *arguments_[0].data<int64_t>() = start;
    return arguments_;
  }
  Batch batch;
  if (stream_)
    batch = examples_.trimmed(stream_->at(start, count));
  else if (shuffled_)
    batch = examples_.gather(
        std::span<const int64_t>(order_).subspan(static_cast<size_t>(start), static_cast<size_t>(count)));
  else
    batch = examples_.batch(start, count);
  arguments_ = arguments_of(batch);
  return arguments_;
}

std::vector<Tensor> arguments_of(const Batch& batch) {
  const Batch::Sparse& sparse = batch.sparse;
  std::vector<Tensor> out = sparse.indptr.rank() == 0
                                ? std::vector{batch.x}
                                : std::vector{sparse.values, sparse.places, sparse.indptr, sparse.columns};
  out.push_back(batch.y);
  if (batch.weights.rank() > 0) out.push_back(batch.weights);
  if (batch.lengths.rank() > 0) out.push_back(batch.lengths);
  return out;
}

void Feed::set_plan(const ExampleStream::Plan& plan) {
  batch_ = plan.batch;
  if (stream_ && plan.count > 0) stream_->set_plan(plan);
}

void Feed::begin_epoch(RandomState& random) {
  TH_CHECK(shuffled_, "an order of examples that are not shuffled");
  if (stream_) {
    stream_->begin_pass(random);
    if (examples_.has_lengths()) order_ = stream_->order();
    return;
  }
  const bool by_length = examples_.has_lengths() && window_ == 0 && batch_ > 0;
  EpochOrder order = by_length ? draw_order(random, lengths_, batch_) : draw_order(random, examples_.size(), window_);
  if (examples_.has_lengths())
    order_ = std::move(order.examples);
  else
    order_in_memory_[0].set_value(Tensor::wrap(DType::kInt64, {examples_.size()}, {1}, order.examples.data(), nullptr));
}

void Feed::set_epoch(int64_t epoch) {
  if (stream_) stream_->set_epoch(epoch);
}

int64_t Feed::steps_of_first(int64_t count) const {
  int64_t out = 0;
  if (lengths_.empty()) return 0;
  for (auto i = size_t{0}; i < static_cast<size_t>(count); ++i)
    out += lengths_[shuffled_ ? static_cast<size_t>(order_[i]) : i];
  return out;
}

}  // namespace thtrain
