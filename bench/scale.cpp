#include "bench/scale.h"

#include <algorithm>
#include <chrono>

#include "compiler/base/clock.h"
#include "compiler/base/str.h"
#include "reports/json.h"
#include "trainers/program.h"

namespace thtrain {

// The same addition as that of ranks, of as many bytes.
static double seconds_of_adding(int64_t bytes) {
  const auto elements = static_cast<size_t>(std::max<int64_t>(1, bytes / 4));
  std::vector<float> a(elements), b(elements, 1);
  add_to(std::span<float>(a), std::span<const float>(b));
  int times = 0;
  const auto begin = std::chrono::steady_clock::now();
  for (; times < 3 || seconds_since(begin) < 0.02; ++times) add_to(std::span<float>(a), std::span<const float>(b));
  return seconds_since(begin) / times / static_cast<double>(4 * elements);
}

ShardedStepTimes measure_sharded_step(const Experiment& experiment, const Dataset& data,
                                      const std::string& config_folder, double seconds) {
  if (experiment.trainer.shards == 0)
    throw UserError(Message{.what = "bench scale: minibatches are not computed in shards",
                            .expected = "trainer.shards, a power of two",
                            .hint = "thtrain bench scale CONFIG trainer.shards=4"});
  TrainingProgram program(experiment, data, config_folder);
  RandomState random = program.model().random();
  int64_t steps = 0;
  auto train = [&](double most) {
    const auto begin = std::chrono::steady_clock::now();
    auto goes_on = [&] { return steps < 2 || seconds_since(begin) < most; };
    for (steps = 0; goes_on();) {
      program.begin_epoch(random);
      program.clear_carried_state();
      for (int64_t batch = 0; batch < program.batches() && goes_on(); ++batch, ++steps) program.step(batch);
    }
  };
  train(seconds / 10);
  const ShardedStep::Times before = program.sharded()->times();
  train(seconds);
  const ShardedStep::Times& after = program.sharded()->times();
  const auto count = static_cast<double>(steps);
  ShardedStepTimes out{.shards = experiment.trainer.shards,
                       .examples = experiment.trainer.batch_size,
                       .bytes = program.sharded()->bytes(),
                       .computing = (after.shards - before.shards) / count,
                       .optimizer = (after.apply - before.apply) / count};
  out.adding = seconds_of_adding(out.bytes);
  return out;
}

double predicted_exchange(const ShardedStepTimes& step, const ScaleNetwork& network, int64_t ranks) {
  double out = 0;
  auto bytes = static_cast<double>(step.bytes);
  for (int64_t distance = 1; distance < ranks; distance *= 2) {
    bytes /= 2;
    out += 2 * (network.latency + bytes / network.bandwidth) + bytes * step.adding;
  }
  return out;
}

std::vector<PredictedStep> predicted_steps(const ShardedStepTimes& step, const ScaleNetwork& network) {
  std::vector<PredictedStep> out;
  for (int64_t ranks = 1; ranks <= 1024; ranks *= 2) {
    PredictedStep one{.ranks = ranks, .exchange = predicted_exchange(step, network, ranks)};
    const double rest = one.exchange + step.optimizer;
    if (ranks <= step.shards) one.shared = step.computing / static_cast<double>(ranks) + rest;
    one.each = step.computing + rest;
    out.push_back(one);
  }
  return out;
}

static std::string milliseconds(double seconds) {
  return fixed_text(1000 * seconds, 3);
}

std::string scale_table(const ShardedStepTimes& step, const ScaleNetwork& network) {
  std::string out = str("measured: a minibatch of ", step.examples, " examples in ", step.shards, " shards, ",
                        milliseconds(step.computing), " ms, optimizer ", milliseconds(step.optimizer),
                        " ms; combined are ", bytes_text(static_cast<double>(step.bytes)), ", added in ",
                        milliseconds(step.adding * static_cast<double>(step.bytes)), " ms\nstated: latency ",
                        number_text(1e6 * network.latency), " us, bandwidth ", number_text(network.bandwidth / 1e9),
                        " GB/s\n\n| ranks | exchange, ms | one minibatch shared, ms | speedup | a minibatch each, ms | "
                        "examples/s |\n| --- | --- | --- | --- | --- | --- |\n");
  const std::vector<PredictedStep> steps = predicted_steps(step, network);
  for (const PredictedStep& one : steps)
    out +=
        str("| ", one.ranks, " | ", milliseconds(one.exchange), " | ", one.shared > 0 ? milliseconds(one.shared) : "",
            " | ", one.shared > 0 ? fixed_text(steps[0].shared / one.shared, 2) : "", " | ", milliseconds(one.each),
            " | ", fixed_text(static_cast<double>(one.ranks * step.examples) / one.each, 0), " |\n");
  return out;
}

std::string scale_json(const ShardedStepTimes& step, const ScaleNetwork& network) {
  std::string out;
  for (const PredictedStep& one : predicted_steps(step, network)) {
    JsonObject line;
    line.add("ranks", one.ranks).add("exchange", one.exchange);
    if (one.shared > 0) line.add("shared", one.shared);
    out += line.add("each", one.each).line() + '\n';
  }
  return out;
}

}  // namespace thtrain
