#include "trainers/feed.h"

#include <algorithm>

#include "compiler/ir/variables.h"
#include "compiler/ops/index/index.h"
#include "compiler/runtime/content_hash.h"

namespace thtrain {

static Shape with_count(int64_t count, const Shape& input) {
  Shape out = {count};
  out.insert(out.end(), input.begin(), input.end());
  return out;
}

Feed::Feed(const Split& split, std::string name, const Shape& input, DType floatx, Where where, bool shuffled)
    : split_(split), name_(std::move(name)), input_(input), floatx_(floatx), where_(where), shuffled_(shuffled) {
  if (!in_memory()) return;
  Batch all = split.all(floatx);
  shared_.emplace_back(all.x.reshape(with_count(split.size(), input)), name_ + "_x", true);
  shared_.emplace_back(all.y, name_ + "_y", true);
  if (shuffled_) shared_.emplace_back(Tensor::zeros(DType::kInt64, {split.size()}), name_ + "_order", true);
}

Minibatch Feed::minibatch(int64_t count) const {
  Scope scope("data");
  if (in_memory()) {
    Expr start = iscalar("start");
    if (!shuffled_) return {{start}, rows(shared_[0], start, count), rows(shared_[1], start, count)};
    Expr chosen = rows(shared_[2], start, count);
    return {{start}, take(shared_[0], chosen), take(shared_[1], chosen)};
  }
  Shape lengths = with_count(count, input_);
  Expr x = tensor("x", Dims(lengths.begin(), lengths.end()), floatx_), y = tensor("y", {count}, DType::kInt64);
  return {{x, y}, x, y};
}

std::span<const Tensor> Feed::arguments(int64_t start, int64_t count) {
  std::vector<Tensor>& values = arguments_[count];
  if (in_memory()) {
    if (values.empty()) values.push_back(Tensor(int64_t{0}));
    *values[0].data<int64_t>() = start;
    return values;
  }
  if (values.empty())
    values = {Tensor::empty(floatx_, with_count(count, input_)), Tensor::empty(DType::kInt64, {count})};
  Batch batch{values[0], values[1]};
  if (shuffled_) {
    std::span<const int64_t> chosen = std::span(order_).subspan(start, count);
    split_.read_into(batch, chosen);
    check_batch(split_, batch, chosen);
  } else {
    split_.read_into(batch, start);
    check_batch(split_, batch, start);
  }
  return values;
}

void Feed::set_order(std::vector<int64_t> order) {
  TH_CHECK(shuffled_ && static_cast<int64_t>(order.size()) == size(), "an order of ", order.size(), " examples");
  if (in_memory()) std::copy(order.begin(), order.end(), shared_[2].get_value(true).data<int64_t>());
  else order_ = std::move(order);
}

int64_t Feed::bytes() const {
  size_t out = 0;
  for (const Shared& shared : shared_) out += shared.get_value(true).bytes();
  return static_cast<int64_t>(out);
}

std::string Feed::identity() const {
  if (!in_memory()) return str(size(), " examples");
  auto bytes_of = [&](size_t i) {
    Tensor value = shared_[i].get_value(true);
    return std::string_view(static_cast<const char*>(value.raw()), value.bytes());
  };
  return str(size(), " examples, ", content_hash({bytes_of(0), bytes_of(1)}));
}

}  // namespace thtrain
