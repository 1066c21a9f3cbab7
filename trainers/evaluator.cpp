#include "trainers/evaluator.h"

#include <algorithm>

#include "compiler/ir/variables.h"
#include "nn/model_pass.h"
#include "trainers/feed.h"
#include "trainers/ranks/tensor_bytes.h"

namespace thtrain {

int64_t evaluation_chunk(int64_t count, int64_t batch) {
  constexpr int64_t kLargest = 1024, kLarge = 256;
  batch = std::min(batch, count);
  int64_t most = std::max<int64_t>(1, kLargest / batch);
  for (int64_t multiple = most; multiple * batch >= std::min(kLarge, most * batch); --multiple)
    if (count % (multiple * batch) == 0) return multiple * batch;
  return std::min(most, count / batch) * batch;
}

// What runs through references takes long, and a signal is answered between two chunks.
int64_t Evaluator::chunk_of(int64_t count, int64_t batch) const {
  return options_.mode == Mode::kNative ? evaluation_chunk(count, batch) : std::min(batch, count);
}

// Of all chunks but a shorter last one, and of that.
std::vector<int64_t> Evaluator::lengths_of(int64_t count, int64_t batch) const {
  std::vector<int64_t> out;
  if (count == 0) return out;
  const int64_t chunk = chunk_of(count, batch), rest = count % chunk;
  out.push_back(chunk);
  if (rest > 0) out.push_back(rest);
  return out;
}

void Evaluator::begin(const Examples& examples, int64_t count, int64_t batch) {
  for (int64_t length : lengths_of(count, batch)) of_length(examples, length, true);
}

bool Evaluator::is_compiling() const {
  return std::any_of(functions_.begin(), functions_.end(),
                     [](const auto& f) { return f.second.function.is_compiling(); });
}

bool Evaluator::take_compiled() {
  bool all = true;
  for (auto& [length, compiled] : functions_) {
    if (compiled.function.is_compiling())
      all = false;
    else
      compiled.function.wait();
  }
  return all;
}

void Evaluator::wait(const Examples& examples, int64_t count, int64_t batch) {
  for (int64_t length : lengths_of(count, batch)) of_length(examples, length).function.wait();
}

Evaluator::Expressions Evaluator::expressions(const Examples& examples, int64_t count) const {
  const Type x_type = examples.input_type(count), y_type = examples.target_type(count);
  Expressions out;
  if (examples.is_sparse()) out.sparse.emplace(count, x_type.dims[1].value(), x_type.dtype);
  out.x = out.sparse ? out.sparse->x : tensor("x", x_type.dims, x_type.dtype);
  out.y = tensor("y", y_type.dims, y_type.dtype);
  if (examples.has_weights()) out.weights = tensor("weights", {count}, model_.dtype());
  if (examples.has_lengths()) out.lengths = tensor("lengths", {count}, DType::kInt64);
  ModelPass pass =
      out.sparse ? model_.pass(*out.sparse, Phase::kEvaluation) : model_.pass({out.x}, Phase::kEvaluation, out.lengths);
  std::vector<std::optional<MetricInput>> inputs(outputs_.size());
  for (const auto& [metric, output] : metrics_) {
    if (output && !inputs[*output]) inputs[*output] = input_of(*output, pass, out);
    out.parts.push_back(output ? metric->parts(*inputs[*output]) : std::vector<MetricPart>());
  }
  return out;
}

std::vector<In> Evaluator::Expressions::inputs() const {
  std::vector<In> out;
  for (const Expr& input : sparse ? sparse->inputs() : std::vector{x}) out.emplace_back(input);
  for (const Expr& input : {y, weights, lengths})
    if (input.has_value()) out.emplace_back(input);
  return out;
}

MetricInput Evaluator::input_of(size_t output, ModelPass& pass, const Expressions& examples) const {
  const TrainedOutput& of = outputs_[output];
  const ModelOutput given = pass.model_output(of.layer);
  const TargetInput targets = of.targets(given, of.compared(pass, examples.x), examples.y, examples.weights);
  MetricInput out{.scores = of.objective->scores(given),
                  .targets = {.value = targets.value, .weights = targets.weights},
                  .unit = of.unit(given),
                  .is_sequence = given.is_sequence,
                  .steps = given.steps,
                  .batch = given.batch};
  const bool has_losses = std::any_of(metrics_.begin(), metrics_.end(), [&](const OutputMetric& m) {
    return m.output == output && m.metric->reads_losses();
  });
  if (has_losses) out.losses = of.objective->losses(given, targets);
  return out;
}

void Evaluator::check(const Examples& examples) const {
  expressions(examples, 1);
}

Evaluator::Compiled& Evaluator::of_length(const Examples& examples, int64_t count, bool background) {
  const std::tuple key(count, examples.has_weights(), examples.known_steps());
  auto found = functions_.find(key);
  if (found != functions_.end()) return found->second;
  Expressions of_chunk = expressions(examples, count);
  std::vector<Out> outputs;
  for (const std::vector<MetricPart>& parts : of_chunk.parts)
    for (const MetricPart& part : parts) outputs.emplace_back(part.value, true);
  FunctionOptions options = options_;
  options.background = background;
  options.unused_inputs = UnusedInputs::kAllowed;  // the targets of an autoencoder
  return functions_.emplace(key, Compiled{function(of_chunk.inputs(), outputs, {}, options), of_chunk.parts})
      .first->second;
}

Explanation Evaluator::explain(const Examples& examples, int64_t count, int64_t batch) {
  return of_length(examples, chunk_of(count, batch)).function.explain();
}

const std::vector<kernel::Choice>& Evaluator::choices(const Examples& examples, int64_t count, int64_t batch) {
  return of_length(examples, chunk_of(count, batch)).function.info().choices;
}

std::vector<MetricValue> Evaluator::measure(Examples& examples, int64_t count, int64_t batch,
                                            const std::function<bool()>& stops) {
  Ranks alone;
  return measure(examples, count, batch, stops, alone);
}

// Totals are those of all chunks in their order, whoever computed them.
std::vector<MetricValue> Evaluator::measure(Examples& examples, int64_t count, int64_t batch,
                                            const std::function<bool()>& stops, Ranks& ranks) {
  const int64_t chunk = chunk_of(count, batch), chunks = (count + chunk - 1) / chunk;
  const int64_t first = chunks * ranks.rank() / ranks.size() * chunk;
  const int64_t last = std::min(count, chunks * (ranks.rank() + 1) / ranks.size() * chunk);
  if (first < last) examples.set_plan({.count = last, .batch = chunk, .begin = first});
  std::vector<MetricTotals> totals;
  auto add = [&](std::span<const Tensor> results) {
    const Compiled& compiled = of_length(examples, std::min(chunk, count));
    if (totals.empty())
      for (const std::vector<MetricPart>& parts : compiled.parts) totals.emplace_back(parts);
    for (size_t i = 0; i < totals.size(); ++i) {
      totals[i].add(results.first(compiled.parts[i].size()));
      results = results.subspan(compiled.parts[i].size());
    }
  };
  std::string own;
  for (int64_t begin = first; begin < last; begin += chunk) {
    if (begin > 0 && stops && stops()) throw MeasurementStopped();
    int64_t length = std::min(chunk, count - begin);
    Batch part = examples.batch(begin, length);
    const std::vector<Tensor> results = of_length(examples, length).function(arguments_of(part));
    if (ranks.size() == 1)
      add(results);
    else
      append_tensors(results, own);
  }
  if (ranks.size() > 1)
    for (const std::string& one : ranks.gather(own))
      for (std::string_view rest = one; !rest.empty();) add(take_tensors(rest));
  return values_of(totals);
}

std::vector<MetricValue> Evaluator::values_of(const std::vector<MetricTotals>& totals) const {
  std::vector<MetricValue> out;
  double whole = 0;
  for (size_t i = 0; i < totals.size(); ++i) {
    const auto& [metric, output] = metrics_[i];
    out.push_back(output ? metric->value(totals[i]) : MetricValue());
    if (output && metric->reads_losses()) whole += outputs_[*output].weight * *out.back().number;
  }
  for (size_t i = 0; i < out.size(); ++i)
    if (!metrics_[i].output) out[i].number = whole;
  return out;
}

}  // namespace thtrain
