#include "bench/scale.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

#include "compiler/base/clock.h"
#include "compiler/base/str.h"
#include "compiler/host/cpu.h"
#include "compiler/libraries/threads.h"
#include "reports/json.h"
#include "trainers/program.h"

namespace thtrain {

// The same addition as that of ranks, of as many bytes.
double seconds_of_adding(int64_t bytes) {
  const auto elements = static_cast<size_t>(std::max<int64_t>(1, bytes / 4));
  std::vector<float> a(elements), b(elements, 1);
  add_to(std::span<float>(a), std::span<const float>(b));
  int times = 0;
  const auto begin = std::chrono::steady_clock::now();
  for (; times < 3 || seconds_since(begin) < 0.02; ++times) add_to(std::span<float>(a), std::span<const float>(b));
  return seconds_since(begin) / times / static_cast<double>(4 * elements);
}

// Each rank's threads, and one that exchanges.
static bool ranks_fill_cores(const Ranks& ranks) {
  int here = 0;
  for (int rank = 0; rank < ranks.size(); ++rank) here += ranks.host_of(rank) == ranks.host_of(ranks.rank());
  return here > 1 && here * (thread_count(0) + 1) > cpu().cores;
}

// What messages take: by sums over the ranks, of one number and of a step's bytes.
static ScaleNetwork measure_network(Ranks& ranks, int64_t bytes_of_step, double adding) {
  auto seconds_of_sum = [&](size_t elements) {
    std::vector<float> values(elements);
    constexpr int kTimes = 5;
    ranks.sum(values);
    const auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < kTimes; ++i) ranks.sum(values);
    return seconds_since(begin) / kTimes;
  };
  double stages = 0, part = 1, sent = 0;
  for (int distance = 1; distance < ranks.size(); distance *= 2) {
    part /= 2;
    stages += 1;
    sent += part;
  }
  const size_t elements = std::max<size_t>(size_t{1} << 16, static_cast<size_t>(bytes_of_step) / 4);
  const double bytes = sent * 4 * static_cast<double>(elements), small = seconds_of_sum(1);
  const double large = std::max(1e-9, seconds_of_sum(elements) - small - bytes * adding);
  return {.latency = small / (2 * stages), .bandwidth = 2 * bytes / large, .takes_cores = ranks_fill_cores(ranks)};
}

ShardedStepMeter::ShardedStepMeter(const Experiment& experiment, const Dataset& data, const std::string& config_folder,
                                   const std::shared_ptr<Ranks>& ranks)
    : shards_(experiment.trainer.shards), examples_(experiment.trainer.batch_size) {
  if (shards_ == 0)
    throw UserError(Message{.what = "bench scale: minibatches are not computed in shards",
                            .expected = "trainer.shards, a power of two",
                            .hint = "thtrain bench scale CONFIG trainer.shards=4"});
  using Weights = std::vector<std::pair<std::string, Tensor>>;
  program_ = std::make_unique<TrainingProgram>(experiment, data, config_folder, Weights{}, ranks);
  random_ = program_->model().random();
}

// All ranks go on, or none.
void ShardedStepMeter::train(double seconds) {
  ShardedStep& sharded = *program_->sharded();
  const auto begin = std::chrono::steady_clock::now();
  const int64_t first = sharded.times().steps;
  bool goes_on = true;
  while (goes_on) {
    program_->begin_epoch(*random_);
    program_->clear_carried_state();
    for (int64_t batch = 0; batch < program_->batches() && goes_on; ++batch) {
      sharded.wish({.stop = sharded.times().steps - first >= 2 && seconds_since(begin) > seconds});
      program_->step(batch);
      goes_on = !sharded.agreed().stop;
    }
  }
}

ShardedStepTimes ShardedStepMeter::measure(double seconds) {
  const ShardedStep& sharded = *program_->sharded();
  train(seconds / 10);
  const ShardedStep::Times before = sharded.times();
  const std::vector<double> ready_before = sharded.ready_seconds();
  train(seconds);
  const ShardedStep::Times after = sharded.times();
  const auto count = static_cast<double>(after.steps - before.steps);
  ShardedStepTimes out{.shards = shards_,
                       .examples = examples_,
                       .computing = (after.shards - before.shards) / count,
                       .optimizer = (after.apply - before.apply) / count,
                       .hidden = (after.hidden - before.hidden) / count,
                       .waited = (after.waited - before.waited) / count};
  const std::vector<Bucket> buckets = sharded.buckets();
  const std::vector<double> ready = sharded.ready_seconds();
  const auto element = static_cast<int64_t>(size_of(floatX()));
  for (size_t i = 0; i < buckets.size(); ++i)
    out.buckets.push_back({(buckets[i].end - buckets[i].begin) * element, (ready[i] - ready_before[i]) / count});
  out.adding = seconds_of_adding(out.bytes());
  return out;
}

// The median of all rounds by what they took.
template <class T, class Key>
static T median_of(std::vector<T> rounds, Key key) {
  const auto middle = rounds.begin() + static_cast<int64_t>(rounds.size() / 2);
  std::nth_element(rounds.begin(), middle, rounds.end(), [&](const T& a, const T& b) { return key(a) < key(b); });
  return *middle;
}

ScaleMeasurement measure_scale(const Experiment& experiment, const Dataset& data, const std::string& config_folder,
                               double seconds, const std::shared_ptr<Ranks>& ranks) {
  ShardedStepMeter alone(experiment, data, config_folder, nullptr);
  auto whole = [](const ShardedStepTimes& times) { return times.whole(); };
  if (ranks->size() == 1) return {.alone = alone.measure(seconds)};
  constexpr int kRounds = 5;
  const Ranks::Patience all_measure(*ranks);
  ShardedStepMeter together(experiment, data, config_folder, ranks);
  std::vector<ShardedStepTimes> of_one, of_all;
  std::vector<ScaleNetwork> networks;
  for (int round = 0; round < kRounds; ++round) {
    ranks->from_first("");  // they begin at once
    of_one.push_back(alone.measure(seconds / kRounds));
    networks.push_back(measure_network(*ranks, of_one[0].bytes(), of_one[0].adding));
    of_all.push_back(together.measure(seconds / kRounds));
  }
  return {.alone = median_of(of_one, whole),
          .together = median_of(of_all, whole),
          .network = median_of(networks, [](const ScaleNetwork& network) { return network.bandwidth; })};
}

int64_t ShardedStepTimes::bytes() const {
  int64_t out = 0;
  for (const Bucket& bucket : buckets) out += bucket.bytes;
  return out;
}

double predicted_exchange(double bytes, double adding, const ScaleNetwork& network, int64_t ranks) {
  double out = 0;
  for (int64_t distance = 1; distance < ranks; distance *= 2) {
    bytes /= 2;
    out += 2 * (network.latency + bytes / network.bandwidth) + bytes * adding;
  }
  return out;
}

// What of the exchange is left when the computing ends, which takes so long; `computing` of the step is the time of all
// shards, and buckets come at the end of the last one.
static double waiting_behind(const ShardedStepTimes& step, const ScaleNetwork& network, int64_t ranks,
                             double computing) {
  double end = 0;
  for (const ShardedStepTimes::Bucket& bucket : step.buckets) {
    const double ready = network.takes_cores ? computing : computing - (step.computing - bucket.ready);
    end = std::max(end, ready) + predicted_exchange(static_cast<double>(bucket.bytes), step.adding, network, ranks);
  }
  return std::max(0.0, end - computing);
}

std::vector<PredictedStep> predicted_steps(const ShardedStepTimes& step, const ScaleNetwork& network) {
  std::vector<PredictedStep> out;
  for (int64_t ranks = 1; ranks <= 1024; ranks *= 2) {
    PredictedStep one{.ranks = ranks};
    for (const ShardedStepTimes::Bucket& bucket : step.buckets)
      one.exchange += predicted_exchange(static_cast<double>(bucket.bytes), step.adding, network, ranks);
    auto whole = [&](double computing) {
      return computing + waiting_behind(step, network, ranks, computing) + step.optimizer;
    };
    if (ranks <= step.shards) one.shared = whole(step.computing / static_cast<double>(ranks));
    one.each = whole(step.computing);
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
                        " ms; summed are ", bytes_text(static_cast<double>(step.bytes())), " in ", step.buckets.size(),
                        step.buckets.size() == 1 ? " bucket" : " buckets", ", added in ",
                        milliseconds(step.adding * static_cast<double>(step.bytes())), " ms\nnetwork: latency ",
                        fixed_text(1e6 * network.latency, 1), " us, bandwidth ", fixed_text(network.bandwidth / 1e9, 2),
                        " GB/s", network.takes_cores ? ", by the cores that compute" : "",
                        "\n\n| ranks | exchange, ms | one minibatch shared, ms | speedup | a minibatch each, ms | "
                        "examples/s |\n| --- | --- | --- | --- | --- | --- |\n");
  const std::vector<PredictedStep> steps = predicted_steps(step, network);
  for (const PredictedStep& one : steps)
    out +=
        str("| ", one.ranks, " | ", milliseconds(one.exchange), " | ", one.shared > 0 ? milliseconds(one.shared) : "",
            " | ", one.shared > 0 ? fixed_text(steps[0].shared / one.shared, 2) : "", " | ", milliseconds(one.each),
            " | ", fixed_text(static_cast<double>(one.ranks * step.examples) / one.each, 0), " |\n");
  return out;
}

std::string compared_step(const ScaleMeasurement& scale, int64_t ranks) {
  const auto& [alone, measured, network] = scale;
  const std::vector<PredictedStep> all = predicted_steps(alone, network);
  const double predicted =
      std::find_if(all.begin(), all.end(), [&](const PredictedStep& one) { return one.ranks == ranks; })->shared;
  const double exchange = measured.hidden + measured.waited;
  return str("\nmeasured with ", ranks, " processes: ", milliseconds(measured.whole()), " ms, predicted ",
             milliseconds(predicted), " ms (", fixed_text(100 * (predicted / measured.whole() - 1), 1),
             " %); the shards of a process took ", milliseconds(measured.computing), " ms, the exchange ",
             milliseconds(exchange), " ms, of which ", milliseconds(measured.hidden), " ms beside them\n");
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
