#include "trainers/sharded_step.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <set>
#include <utility>

#include "compiler/ir/variables.h"
#include "compiler/ops/elemwise/elemwise.h"
#include "nn/noise.h"

namespace thtrain {

// What stands before the statistics and gradients in the tree: weight, cost, and three wishes.
static constexpr int64_t kHead = 5;

ShardedStep::ShardedStep(Options options, Build build, const std::optional<TrainingStep>& step, const Shared& loss_sum,
                         const Model& model, const WeightedObjectives& objectives, Ranks& ranks)
    : options_(std::move(options)), build_(std::move(build)), loss_sum_(loss_sum), ranks_(ranks) {
  const ShardRange& shards = options_.shards;
  ShardGraph graph = build_(std::max<int64_t>(1, shards.length_of(0, options_.batch_size)));
  dtype_ = graph.cost.dtype();
  sort_updates(graph.updates, model, objectives.state());
  for (const In& in : graph.inputs) graph_.inputs.push_back(in.variable);
  graph_.outputs = {graph.cost};
  graph_.outputs.insert(graph_.outputs.end(), graph.gradients.begin(), graph.gradients.end());
  int64_t elements = kHead;
  for (const Shared& variable : averaged_) elements += element_count(variable.type().known_shape());
  for (const Param& param : step->optimizer().params()) elements += element_count(param.variable.type().known_shape());
  tree_.emplace(dtype_, elements, shards.last - shards.first);
  make_apply(*step);
  for (int64_t examples : {options_.batch_size, options_.rest})
    for (int64_t shard = shards.first; shard < shards.last; ++shard)
      if (const int64_t count = shards.length_of(shard, examples); count > 0) function_of(count);
}

// Layers' floats that are not carried are statistics of examples; generators, counts and carried rows are the shard's.
void ShardedStep::sort_updates(const std::vector<Update>& updates, const Model& model, const NamedState& of_objective) {
  std::set<std::string> carried;
  for (const Param& state : model.carried_state()) carried.insert(state.name);
  NamedState known = of_objective;
  for (const Param& state : model.state()) known.emplace_back(state.name, state.variable);
  for (const Update& update : updates) {
    const auto found = std::find_if(known.begin(), known.end(),
                                    [&](const auto& entry) { return entry.second.expr().same(update.variable); });
    TH_CHECK(found != known.end(), "a shard updates what no checkpoint keeps");
    const auto& [name, variable] = *found;
    if (is_float(variable.type().dtype) && !carried.contains(name))
      averaged_.push_back(variable);
    else
      own_.push_back({name, variable, carried.contains(name)});
  }
  for (int64_t shard = 0; shard < options_.shards.count; ++shard)
    for (const OwnState& own : own_) {
      Tensor first = own.variable.get_value();
      // A generator of its own for each shard, that of the minibatch for the first.
      if (shard > 0 && first.dtype() == DType::kInt32 && first.rank() == 2 && first.dim(0) == 6) {
        std::vector<int64_t> words = {shard};
        for (int64_t k = 0; k < 6; ++k) words.push_back(first.data<int32_t>()[k * first.dim(1)]);
        RandomState random{std::span<const int64_t>(words)};
        first = mrg_state_of(random, first.dim(1));
      }
      const std::string name = str("shard", shard, '/', own.name);
      copies_.emplace_back(name, Shared(first, name, true));
    }
}

Function& ShardedStep::function_of(int64_t count) {
  auto found = functions_.find(count);
  if (found != functions_.end()) return found->second;
  ShardGraph graph = build_(count);
  std::vector<Out> outputs = {Out(graph.cost, true), Out(graph.weight, true)};
  auto add_updates = [&](const Shared& of) {
    for (const Update& update : graph.updates)
      if (update.variable.same(of.expr())) outputs.emplace_back(update.value, true);
  };
  for (const Shared& variable : averaged_) add_updates(variable);
  for (const Expr& gradient : graph.gradients) outputs.emplace_back(gradient, true);
  for (const OwnState& own : own_) add_updates(own.variable);
  TH_CHECK(outputs.size() == 2 + averaged_.size() + graph.gradients.size() + own_.size(), "outputs of a shard");
  FunctionOptions options = options_.function;
  options.unused_inputs = UnusedInputs::kAllowed;  // targets of an autoencoder
  return functions_.emplace(count, thtrain::function(graph.inputs, outputs, {}, options)).first->second;
}

// Of the sums over the examples' weights: means.
void ShardedStep::make_apply(const TrainingStep& step) {
  Tensor& sum = tree_->sum();
  auto part = [&](int64_t begin, const Shape& shape) {
    Shape strides(shape.size(), 1);
    for (size_t axis = shape.size(); axis-- > 1;) strides[axis - 1] = strides[axis] * shape[axis];
    char* data = static_cast<char*>(sum.raw()) + begin * static_cast<int64_t>(size_of(dtype_));
    apply_arguments_.push_back(Tensor::wrap(dtype_, shape, strides, data, std::make_shared<Tensor>(sum)));
  };
  std::vector<In> inputs;
  auto add_input = [&](const std::string& name, int64_t begin, const Shape& shape) {
    part(begin, shape);
    return inputs.emplace_back(tensor(name, Dims(shape.begin(), shape.end()), dtype_)).variable;
  };
  const Expr weight = add_input("weight", 0, {}), cost = add_input("cost", 1, {});
  const Expr total = where(eq(weight, 0), 1, weight);
  std::vector<Update> updates;
  int64_t at = kHead;
  for (const Shared& variable : averaged_) {
    const Shape shape = variable.type().known_shape();
    const Expr all = add_input(variable.name(), at, shape);
    updates.push_back({variable, where(eq(weight, 0), variable.expr(), all / total)});
    at += element_count(shape);
  }
  std::vector<Expr> gradients;
  for (const Param& param : step.optimizer().params()) {
    const Shape shape = param.variable.type().known_shape();
    gradients.push_back(add_input(str("gradient/", param.name), at, shape) / total);
    at += element_count(shape);
  }
  for (const Update& update : step.updates(gradients)) updates.push_back(update);
  updates.push_back({loss_sum_, loss_sum_ + cast(cost / total, DType::kFloat64)});
  FunctionOptions options = options_.function;
  options.name = "apply";
  apply_ = thtrain::function(inputs, {}, updates, options);
}

void ShardedStep::use_copies(int64_t shard) const {
  for (size_t i = 0; i < own_.size(); ++i) own_[i].variable.set_value(copy_of(shard, i).get_value(true));
}

std::span<const Tensor> ShardedStep::arguments(Feed& feed, int64_t begin, int64_t length, int64_t shard) const {
  return feed.arguments(begin + options_.shards.begin_of(shard, length), options_.shards.length_of(shard, length));
}

// Into the tree; of what the shard keeps, its next values are appended to `next`.
void ShardedStep::compute_shard(Feed& feed, int64_t begin, int64_t length, int64_t shard, std::vector<Tensor>& next) {
  Tensor& room = tree_->next();
  const int64_t count = options_.shards.length_of(shard, length);
  if (count == 0) std::memset(room.raw(), 0, room.bytes());
  const bool is_first = shard == options_.shards.first;
  for (int64_t i = 0; bool wish : {wishes_.stop, wishes_.save, wishes_.end})
    scale_into(Tensor(double(wish && is_first)).cast(dtype_), 1, room, 2 + i++);
  if (count == 0) {
    for (size_t i = 0; i < own_.size(); ++i) next.push_back(copy_of(shard, i).get_value(true));
    return tree_->add();
  }
  use_copies(shard);
  const std::vector<Tensor> found = function_of(count)(arguments(feed, begin, length, shard));
  const double weight = found[1].as_double(0);
  scale_into(found[1], 1, room, 0);
  scale_into(found[0], weight, room, 1);
  int64_t at = kHead;
  size_t i = 2;
  for (; i < found.size() - own_.size(); at += found[i++].size()) scale_into(found[i], weight, room, at);
  for (; i < found.size(); ++i) next.push_back(found[i].copy());
  tree_->add();
}

void ShardedStep::step(Feed& feed, int64_t begin, int64_t length) {
  const ShardRange& shards = options_.shards;
  using Clock = std::chrono::steady_clock;
  Clock::time_point before = Clock::now();
  auto add_time = [&](double& to) {
    const Clock::time_point now = Clock::now();
    to += std::chrono::duration<double>(now - std::exchange(before, now)).count();
  };
  tree_->clear();
  std::vector<Tensor> next;
  for (int64_t shard = shards.first; shard < shards.last; ++shard) compute_shard(feed, begin, length, shard, next);
  Tensor& sum = tree_->sum();
  add_time(times_.shards);
  sum_over(ranks_, sum);
  add_time(times_.exchange);
  agreed_ = {.stop = sum.as_double(2) > 0, .save = sum.as_double(3) > 0, .end = sum.as_double(4) > 0};
  wishes_ = {};
  for (int64_t shard = shards.first; shard < shards.last; ++shard)
    for (size_t i = 0; i < own_.size(); ++i)
      copy_of(shard, i).set_value(next[static_cast<size_t>(shard - shards.first) * own_.size() + i], true);
  use_copies(shards.first);  // of shard 0 at rank 0: what files of weights hold
  (*apply_)(apply_arguments_);
  add_time(times_.apply);
}

void ShardedStep::gather_state() {
  if (ranks_.size() == 1 || own_.empty()) return;
  std::string mine;
  auto of_range = [&](int64_t first, int64_t last, auto what) {
    for (int64_t shard = first; shard < last; ++shard)
      for (size_t i = 0; i < own_.size(); ++i) what(copy_of(shard, i));
  };
  of_range(options_.shards.first, options_.shards.last, [&](const Shared& copy) {
    const Tensor value = copy.get_value(true).contiguous();
    mine.append(static_cast<const char*>(value.raw()), value.bytes());
  });
  const std::string all = join(ranks_.gather(mine), "", [](const std::string& one) { return one; });
  size_t at = 0;
  of_range(0, options_.shards.count, [&](const Shared& copy) {
    Tensor value = Tensor::empty(copy.type().dtype, copy.type().known_shape());
    TH_CHECK(at + value.bytes() <= all.size(), "state of the shards");
    std::memcpy(value.raw(), all.data() + at, value.bytes());
    at += value.bytes();
    copy.set_value(value, true);
  });
}

void ShardedStep::clear_carried_state() {
  for (int64_t shard = 0; shard < options_.shards.count; ++shard)
    for (size_t i = 0; i < own_.size(); ++i)
      if (own_[i].is_carried) copy_of(shard, i).set_zero();
}

std::optional<int64_t> ShardedStep::bad_shard(Feed& feed, int64_t begin, int64_t length) {
  for (int64_t shard = options_.shards.first; shard < options_.shards.last; ++shard) {
    const int64_t count = options_.shards.length_of(shard, length);
    if (count == 0) continue;
    use_copies(shard);
    const std::vector<Tensor> found = function_of(count)(arguments(feed, begin, length, shard));
    if (!std::isfinite(found[0].as_double(0))) return shard;
  }
  return {};
}

void ShardedStep::watch(Feed& feed, int64_t begin, int64_t length, int64_t shard,
                        const std::function<void(const StepEvent&)>& callback) {
  use_copies(shard);
  function_of(options_.shards.length_of(shard, length)).watch(arguments(feed, begin, length, shard), callback);
}

}  // namespace thtrain
