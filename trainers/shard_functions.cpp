// The functions of a step in shards: of a shard, and of the optimizer's step.
#include <algorithm>

#include "compiler/ir/op.h"
#include "compiler/ir/variables.h"
#include "compiler/ops/elemwise/elemwise.h"
#include "trainers/sharded_step.h"

namespace thtrain {

static Expr next_value(const ShardGraph& graph, const Shared& of) {
  const auto found = std::find_if(graph.updates.begin(), graph.updates.end(),
                                  [&](const Update& update) { return update.variable.same(of.expr()); });
  TH_CHECK(found != graph.updates.end(), "a shard does not update ", of.name());
  return found->value;
}

std::vector<Expr> ShardedStep::statistics_of(const ShardGraph& graph) const {
  std::vector<Expr> out;
  for (const Shared& variable : averaged_) out.push_back(next_value(graph, variable));
  return out;
}

std::vector<Out> ShardedStep::outputs_of(const ShardGraph& graph) const {
  std::vector<Out> out = {Out(graph.cost, true)};
  if (!device_) {
    out.emplace_back(graph.weight, true);
    for (const Expr& value : statistics_of(graph)) out.emplace_back(value, true);
    for (size_t i = gradients_; i-- > 0;) out.emplace_back(graph.gradients[i], true);
  }
  for (const OwnState& own : own_) out.emplace_back(next_value(graph, own.variable), true);
  return out;
}

// On a device: the parts of the sums, each weighted.
std::vector<Expr> ShardedStep::parts_of(const ShardGraph& graph, const Expr& wishes) const {
  std::vector<Expr> out;
  for (size_t i = gradients_; i-- > 0;) out.push_back(graph.gradients[i] * graph.weight);
  for (const Expr& value : statistics_of(graph)) out.push_back(value * graph.weight);
  out.push_back(graph.cost * graph.weight);
  out.push_back(graph.weight);
  out.push_back(wishes);
  return out;
}

ShardedStep::ShardFunction& ShardedStep::shard_function(int64_t count) {
  auto found = functions_.find(count);
  if (found != functions_.end()) return found->second;
  const ShardGraph graph = build_(count);
  FunctionOptions options = options_.function;
  options.unused_inputs = UnusedInputs::kAllowed;  // targets of an autoencoder
  options.early_outputs = !meets_;
  std::vector<In> inputs = graph.inputs;
  std::vector<Update> updates;
  if (device_) {
    inputs.emplace_back(tensor("wishes", {kWishes}, dtype_));
    updates.push_back(device_->update(parts_of(graph, inputs.back().variable)));
  }
  ShardFunction made{thtrain::function(inputs, outputs_of(graph), updates, options), {}};
  if (device_) made.of_level = device_->for_levels(made.function);
  if (graph.weight.node().op == &constant_op())
    made.weight = graph.weight.node().props.get<Tensor>("value").as_double(0);
  for (int64_t shard = options_.shards.first + 1; meets_ && shard < options_.shards.last; ++shard) {
    std::vector<std::pair<Shared, Shared>> swap;
    for (size_t i = 0; i < own_.size(); ++i) swap.emplace_back(own_[i].variable, copy_of(shard, i));
    made.of_shard.push_back(made.function.copy(swap));
  }
  return functions_.emplace(count, std::move(made)).first->second;
}

// What the shards give, in the order in which a program computes it, but for what is small: that comes last.
void ShardedStep::make_sums(const TrainingStep& step) {
  std::vector<int64_t> sizes;
  const std::vector<Param>& params = step.optimizer().params();
  for (size_t i = params.size(); i-- > 0;) sizes.push_back(element_count(params[i].variable.type().known_shape()));
  for (const Shared& variable : averaged_) sizes.push_back(element_count(variable.type().known_shape()));
  for (int64_t size : {int64_t{1}, int64_t{1}, kWishes}) sizes.push_back(size);
  const int64_t shards = options_.shards.last - options_.shards.first;
  if (is_on_device())
    device_.emplace(dtype_, sizes, shards, ranks_, options_.function);
  else
    sums_.emplace(dtype_, sizes, shards, ranks_);
}

// Of the sums over the examples' weights: means.
void ShardedStep::make_apply(const TrainingStep& step) {
  std::vector<In> inputs;
  // On the host an input that looks at the sums' memory.
  auto sum_of = [&](const std::string& name, size_t part, const Shape& shape) {
    if (device_) return device_->part(part, shape);
    Tensor& all = sums_->all();
    Shape strides(shape.size(), 1);
    for (size_t axis = shape.size(); axis-- > 1;) strides[axis - 1] = strides[axis] * shape[axis];
    char* data = static_cast<char*>(all.raw()) + sums_->begin_of(part) * static_cast<int64_t>(size_of(dtype_));
    apply_arguments_.push_back(Tensor::wrap(dtype_, shape, strides, data, std::make_shared<Tensor>(all)));
    return inputs.emplace_back(tensor(name, Dims(shape.begin(), shape.end()), dtype_)).variable;
  };
  const std::vector<Param>& params = step.optimizer().params();
  const size_t last = first_of_last_parts();
  const Expr cost = sum_of("cost", last, {}), weight = sum_of("weight", last + 1, {});
  const Expr total = where(eq(weight, 0), 1, weight);
  std::vector<Update> updates;
  for (size_t i = 0; i < averaged_.size(); ++i) {
    const Shared& variable = averaged_[i];
    const Expr all = sum_of(variable.name(), params.size() + i, variable.type().known_shape());
    updates.push_back({variable, where(eq(weight, 0), variable.expr(), all / total)});
  }
  std::vector<Expr> gradients;
  for (size_t i = 0; i < params.size(); ++i)
    gradients.push_back(
        sum_of(str("gradient/", params[i].name), params.size() - 1 - i, params[i].variable.type().known_shape()) /
        total);
  for (const Update& update : step.updates(gradients)) updates.push_back(update);
  updates.push_back({loss_sum_, loss_sum_ + cast(cost / total, DType::kFloat64)});
  FunctionOptions options = options_.function;
  options.name = "apply";
  std::vector<Out> outputs;
  if (device_) outputs.emplace_back(device_->part(last + 2, {kWishes}));
  apply_ = thtrain::function(inputs, outputs, updates, options);
}

}  // namespace thtrain
