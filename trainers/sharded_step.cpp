#include "trainers/sharded_step.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <set>
#include <utility>

#include "compiler/base/clock.h"
#include "compiler/ir/op.h"
#include "compiler/ir/variables.h"
#include "compiler/ops/elemwise/elemwise.h"
#include "nn/noise.h"

namespace thtrain {

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
  gradients_ = graph.gradients.size();
  meets_ = graph.meets;
  check_meetings();
  if (meets_) turns_.emplace(shards.last - shards.first, ranks_);
  make_sums(*step);
  make_apply(*step);
  for (int64_t examples : {options_.batch_size, options_.rest})
    for (int64_t shard = shards.first; shard < shards.last; ++shard)
      if (const int64_t count = shards.length_of(shard, examples); count > 0) function_of(count);
}

// Shards without examples have no program that would meet the others.
void ShardedStep::check_meetings() const {
  const int64_t shards = options_.shards.count;
  if (meets_ && is_on_device())
    throw UserError(Message{.what = "sync = true does not go with trainer.shards on a device",
                            .expected = "compiler.device = \"cpu\", or sync = false"});
  if (meets_ && options_.rest > 0 && options_.rest < shards)
    throw UserError(Message{
        .what = str("the last minibatch has fewer examples than shards, which a layer with sync = true does not take"),
        .expected = str("at least ", shards, " examples in each minibatch"),
        .got = str(options_.rest),
        .hint = "trainer.full_batches_only = true leaves it out"});
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

void ShardedStep::use_copies(int64_t shard) const {
  for (size_t i = 0; i < own_.size(); ++i) own_[i].variable.set_value(copy_of(shard, i).get_value(true));
}

std::span<const Tensor> ShardedStep::arguments(Feed& feed, int64_t begin, int64_t length, int64_t shard) const {
  return feed.arguments(begin + options_.shards.begin_of(shard, length), options_.shards.length_of(shard, length));
}

// Hands what a shard's function gives on to the sums: not before the weight is known.
class ShardedStep::Giver {
 public:
  Giver(ShardedStep& step, int64_t shard, std::optional<double> weight)
      : step_(step), shard_(shard), weight_(weight), outputs_(2 + step.averaged_.size() + step.gradients_) {}

  void operator()(size_t output, const Tensor& value) {
    if (output == kWeight) weight_ = value.as_double(0);
    if (output < outputs_) waiting_.emplace_back(output, value);
    if (!weight_) return;
    for (const auto& [number, given] : std::exchange(waiting_, {})) give(number, given);
  }

 private:
  static constexpr size_t kWeight = 1;

  void give(size_t output, const Tensor& value) {
    const size_t averaged = step_.averaged_.size(), gradients = step_.gradients_;
    const bool is_gradient = output >= 2 + averaged;
    const size_t part = is_gradient  ? output - 2 - averaged
                        : output < 2 ? gradients + averaged + output
                                     : gradients + output - 2;
    step_.sums_->give(shard_, part, value, output == kWeight || (is_gradient && step_.meets_) ? 1 : *weight_);
  }

  ShardedStep& step_;
  int64_t shard_;  // of this process, from 0
  std::optional<double> weight_;
  size_t outputs_;
  std::vector<std::pair<size_t, Tensor>> waiting_;
};

// The first shard of a process speaks for it.
Tensor ShardedStep::wishes_of(int64_t shard) const {
  const bool speaks = shard == options_.shards.first;
  const std::vector<double> wishes = {double(wishes_.stop && speaks), double(wishes_.save && speaks),
                                      double(wishes_.end && speaks)};
  return Tensor::of(wishes, {kWishes}).cast(dtype_);
}

void ShardedStep::compute_shard(Feed& feed, int64_t begin, int64_t length, int64_t shard) {
  use_copies(shard);
  ShardFunction& shard_of = shard_function(options_.shards.length_of(shard, length));
  Giver giver(*this, shard - options_.shards.first, shard_of.weight);
  const std::vector<Tensor> found =
      shard_of.function.call_early(arguments(feed, begin, length, shard), std::ref(giver));
  for (size_t i = found.size() - own_.size(); i < found.size(); ++i) next_.push_back(found[i].copy());
}

// Each on its own copy of the function, and of the arguments, which the feed gives until it is asked again.
void ShardedStep::compute_meeting_shards(Feed& feed, int64_t begin, int64_t length) {
  const ShardRange& shards = options_.shards;
  const auto count = static_cast<size_t>(shards.last - shards.first);
  use_copies(shards.first);
  std::vector<std::vector<Tensor>> arguments_of(count), found(count);
  std::vector<std::function<void()>> calls;
  for (size_t k = 0; k < count; ++k) {
    const int64_t shard = shards.first + static_cast<int64_t>(k);
    for (const Tensor& argument : arguments(feed, begin, length, shard)) arguments_of[k].push_back(argument.copy());
    ShardFunction& shard_of = shard_function(shards.length_of(shard, length));
    Function& function = k == 0 ? shard_of.function : shard_of.of_shard[k - 1];
    calls.emplace_back([&function, &found, &arguments_of, k] { found[k] = function(arguments_of[k]); });
  }
  turns_->run(calls);
  for (size_t k = 0; k < count; ++k) {
    Giver giver(*this, static_cast<int64_t>(k), {});
    for (size_t i = 0; i < found[k].size(); ++i) giver(i, found[k][i]);
    for (size_t i = found[k].size() - own_.size(); i < found[k].size(); ++i) next_.push_back(found[k][i].copy());
  }
}

// What they give stays on the device.
void ShardedStep::compute_device_shards(Feed& feed, int64_t begin, int64_t length) {
  const ShardRange& shards = options_.shards;
  device_->begin_step();
  for (int64_t shard = shards.first; shard < shards.last; ++shard) {
    if (shards.length_of(shard, length) == 0) {
      device_->add_zeros(wishes_of(shard));
      for (size_t i = 0; i < own_.size(); ++i) next_.push_back(copy_of(shard, i).get_value(true));
      continue;
    }
    use_copies(shard);
    Function& function = shard_function(shards.length_of(shard, length)).of_level[device_->level()];
    const std::vector<Tensor> found = function(call_arguments(feed, begin, length, shard));
    for (size_t i = found.size() - own_.size(); i < found.size(); ++i) next_.push_back(found[i].copy());
    device_->add();
  }
}

// With the wishes behind them on a device.
std::vector<Tensor> ShardedStep::call_arguments(Feed& feed, int64_t begin, int64_t length, int64_t shard) const {
  const std::span<const Tensor> given = arguments(feed, begin, length, shard);
  std::vector<Tensor> out(given.begin(), given.end());
  if (device_) out.push_back(wishes_of(shard));
  return out;
}

void ShardedStep::compute_shards(Feed& feed, int64_t begin, int64_t length) {
  const ShardRange& shards = options_.shards;
  sums_->begin_step();
  for (int64_t shard = shards.first; shard < shards.last; ++shard)
    sums_->give(shard - shards.first, first_of_last_parts() + 2, wishes_of(shard), 1);
  if (meets_) return compute_meeting_shards(feed, begin, length);
  for (int64_t shard = shards.first; shard < shards.last; ++shard) {
    if (shards.length_of(shard, length) > 0) {
      compute_shard(feed, begin, length, shard);
      continue;
    }
    sums_->give_zeros(shard - shards.first);
    for (size_t i = 0; i < own_.size(); ++i) next_.push_back(copy_of(shard, i).get_value(true));
  }
}

// The sums over the shards of all processes; for them the seconds that they were waited for.
void ShardedStep::sum_shards(Feed& feed, int64_t begin, int64_t length) {
  const auto began = std::chrono::steady_clock::now();
  if (!device_) {
    compute_shards(feed, begin, length);
    times_.shards += seconds_since(began);
    return sums_->finish();
  }
  compute_device_shards(feed, begin, length);
  const double computed = seconds_since(began);
  times_.shards += computed;
  device_->sum_over_ranks();
  times_.waited += seconds_since(began) - computed;
}

void ShardedStep::step(Feed& feed, int64_t begin, int64_t length) {
  const ShardRange& shards = options_.shards;
  next_.clear();
  try {
    sum_shards(feed, begin, length);
  } catch (...) {
    if (sums_) sums_->give_up();
    throw;
  }
  const auto summed = std::chrono::steady_clock::now();
  for (int64_t shard = shards.first; shard < shards.last; ++shard)
    for (size_t i = 0; i < own_.size(); ++i)
      copy_of(shard, i).set_value(next_[static_cast<size_t>(shard - shards.first) * own_.size() + i], true);
  use_copies(shards.first);  // of shard 0 at rank 0: what files of weights hold
  const std::vector<Tensor> applied = (*apply_)(apply_arguments_);
  const Tensor& wishes = device_ ? applied[0] : sums_->all();
  const int64_t at = device_ ? 0 : sums_->begin_of(first_of_last_parts() + 2);
  agreed_ = {
      .stop = wishes.as_double(at) > 0, .save = wishes.as_double(at + 1) > 0, .end = wishes.as_double(at + 2) > 0};
  wishes_ = {};
  times_.apply += seconds_since(summed);
  ++times_.steps;
}

ShardedStep::Times ShardedStep::times() const {
  Times out = times_;
  if (sums_) out.hidden = sums_->times().hidden;
  if (sums_) out.waited = sums_->times().waited;
  return out;
}

std::vector<Bucket> ShardedStep::buckets() const {
  return sums_ ? sums_->buckets() : std::vector<Bucket>{{0, device_->elements()}};
}

std::vector<double> ShardedStep::ready_seconds() const {
  return sums_ ? sums_->ready_seconds() : std::vector<double>{times_.shards};
}

ExchangeProfile ShardedStep::exchange_profile() const {
  const Times all = times();
  return {.processes = ranks_.size(),
          .steps = all.steps,
          .buckets = static_cast<int64_t>(buckets().size()),
          .bytes = buckets().back().end * static_cast<int64_t>(size_of(dtype_)),
          .computing = all.shards,
          .hidden = all.hidden,
          .waited = all.waited,
          .optimizer = all.apply};
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

// A shard that is computed again takes the sums over all shards from the last step.
void ShardedStep::alone(const std::function<void()>& call) {
  meets_ ? turns_->repeat(call) : call();
}

std::optional<int64_t> ShardedStep::bad_shard(Feed& feed, int64_t begin, int64_t length) {
  for (int64_t shard = options_.shards.first; shard < options_.shards.last; ++shard) {
    const int64_t count = options_.shards.length_of(shard, length);
    if (count == 0) continue;
    use_copies(shard);
    double cost = 0;
    alone([&] { cost = function_of(count)(call_arguments(feed, begin, length, shard))[0].as_double(0); });
    if (!std::isfinite(cost)) return shard;
  }
  return {};
}

void ShardedStep::watch(Feed& feed, int64_t begin, int64_t length, int64_t shard,
                        const std::function<void(const StepEvent&)>& callback) {
  use_copies(shard);
  alone([&] {
    function_of(options_.shards.length_of(shard, length)).watch(call_arguments(feed, begin, length, shard), callback);
  });
}

}  // namespace thtrain
