#include "trainers/feed.h"

#include <algorithm>

#include "compiler/ir/variables.h"
#include "compiler/ops/index/index.h"

namespace thtrain {

Feed::Feed(Examples examples, const std::string& name, bool shuffled)
    : examples_(std::move(examples)), shuffled_(shuffled) {
  if (examples_.streamed()) {
    reader_ = std::make_unique<ReadAhead>();
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
  Batch batch = streamed(start, count);
  arguments_ = {batch.x, batch.y};
  if (examples_.has_weights()) arguments_.push_back(batch.weights);
  return arguments_;
}

Batch Feed::streamed(int64_t start, int64_t count) {
  Batch out;
  if (ahead_.start == start && ahead_.count == count) {
    ahead_.start = -1;
    reader_->wait();
    out = ahead_.batch;
  } else {
    forget_ahead();
    out = next_buffer(count);
    read(out, start, count);
  }
  const int64_t next = start + count, length = std::min(count, examples_.size() - next);
  if (length > 0) {
    ahead_ = {next, length, next_buffer(length)};
    reader_->start([this, next, length, batch = ahead_.batch] { read(batch, next, length); });
  }
  return out;
}

Batch& Feed::next_buffer(int64_t count) {
  Buffers& buffers = buffers_[count];
  Batch& out = buffers.batches[buffers.next];
  buffers.next = 1 - buffers.next;
  if (out.x.rank() == 0) out = examples_.new_buffer(count);
  return out;
}

void Feed::read(const Batch& into, int64_t start, int64_t count) const {
  if (shuffled_)
    examples_.read(into, std::span(order_).subspan(static_cast<size_t>(start), static_cast<size_t>(count)));
  else
    examples_.read(into, start);
}

// What was read ahead is not wanted, and neither is its error.
void Feed::forget_ahead() {
  if (ahead_.start < 0) return;
  ahead_.start = -1;
  try {
    reader_->wait();
  } catch (const Error&) {
  }
}

void Feed::set_order(std::vector<int64_t> order) {
  TH_CHECK(shuffled_ && static_cast<int64_t>(order.size()) == examples_.size(), "an order of ", order.size(),
           " examples");
  if (examples_.streamed()) {
    forget_ahead();
    order_ = std::move(order);
  } else {
    std::copy(order.begin(), order.end(), order_in_memory_[0].get_value(true).data<int64_t>());
  }
}

}  // namespace thtrain
