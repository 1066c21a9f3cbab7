#include "trainers/error_counter.h"

#include <algorithm>

#include "compiler/ir/variables.h"
#include "compiler/ops/elemwise/elemwise.h"
#include "nn/losses.h"

namespace thtrain {

int64_t evaluation_chunk(int64_t count, int64_t batch) {
  constexpr int64_t kLargest = 1024, kLarge = 256;
  batch = std::min(batch, count);
  int64_t most = std::max<int64_t>(1, kLargest / batch);
  for (int64_t multiple = most; multiple * batch >= std::min(kLarge, most * batch); --multiple)
    if (count % (multiple * batch) == 0) return multiple * batch;
  return std::min(most, count / batch) * batch;
}

// Of all chunks but a shorter last one, and of that.
static std::vector<int64_t> lengths_of(int64_t count, int64_t batch) {
  std::vector<int64_t> out;
  if (count == 0) return out;
  const int64_t chunk = evaluation_chunk(count, batch), rest = count % chunk;
  out.push_back(chunk);
  if (rest > 0) out.push_back(rest);
  return out;
}

void ErrorCounter::begin(int64_t count, int64_t batch) {
  for (int64_t length : lengths_of(count, batch)) of_length(length, true);
}

bool ErrorCounter::is_compiling() const {
  return std::any_of(functions_.begin(), functions_.end(), [](const auto& f) { return f.second.is_compiling(); });
}

bool ErrorCounter::take_compiled() {
  bool all = true;
  for (auto& [length, f] : functions_) {
    if (f.is_compiling())
      all = false;
    else
      f.wait();
  }
  return all;
}

void ErrorCounter::wait(int64_t count, int64_t batch) {
  for (int64_t length : lengths_of(count, batch)) of_length(length).wait();
}

Function& ErrorCounter::of_length(int64_t count, bool background) {
  auto found = functions_.find(count);
  if (found != functions_.end()) return found->second;
  Dims lengths = {count};
  for (int64_t length : model_.input_shape()) lengths.push_back(length);
  Expr x = tensor("x", lengths, model_.dtype()), y = tensor("y", {count}, DType::kInt64);
  std::vector<Out> outputs = {Out(error_count(model_.probabilities(x), y), true)};
  if (with_loss_) outputs.emplace_back(negative_log_likelihood(model_.logits(x), y), true);
  FunctionOptions options = options_;
  options.background = background;
  return functions_.emplace(count, function({x, y}, outputs, {}, options)).first->second;
}

Explanation ErrorCounter::explain(int64_t count, int64_t batch) {
  return of_length(evaluation_chunk(count, batch)).explain();
}

const std::vector<kernel::Choice>& ErrorCounter::choices(int64_t count, int64_t batch) {
  return of_length(evaluation_chunk(count, batch)).info().choices;
}

ErrorCounter::Count ErrorCounter::count(Examples& examples, int64_t count, int64_t batch) {
  int64_t chunk = evaluation_chunk(count, batch);
  Count out;
  for (int64_t begin = 0; begin < count; begin += chunk) {
    int64_t length = std::min(chunk, count - begin);
    Batch part = examples.batch(begin, length);
    std::vector<Tensor> results = of_length(length)({part.x, part.y});
    out.examples += length;
    out.errors += *results[0].data<int64_t>();
    if (with_loss_) out.loss_sum += results[1].as_double() * static_cast<double>(length);
  }
  return out;
}

}  // namespace thtrain
