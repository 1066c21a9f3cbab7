#include "bench/device.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <memory>
#include <set>
#include <span>
#include <utility>

#include "bench/peers.h"
#include "bench/workloads.h"
#include "compiler/api.h"
#include "compiler/base/escape.h"
#include "compiler/base/str.h"
#include "compiler/cuda/device_program.h"
#include "compiler/cuda/libraries.h"
#include "reports/json.h"

namespace thtrain {

kernel::Target device_named(const std::string& word, const std::string& where) {
  if (word == "emulated") return kernel::emulated_cuda_target();
  const bool has_number = word.size() == 6 && word.starts_with("cuda:") && word[5] >= '0' && word[5] <= '7';
  if (word != "cuda" && !has_number)
    throw UserError(Message{.what = str(where, ": there is no device ", printable(word)),
                            .expected = "cuda, cuda:0 to cuda:7, or emulated",
                            .hint = "thtrain info lists the devices"});
  const int number = has_number ? word[5] - '0' : 0;
  cuda::require_device(number);
  return kernel::cuda_target(number);
}

namespace {

constexpr const char* kNotMeasured = "not measured";  // bench/peers/device.py: it has no such case
constexpr const char* kOurs = "thtrain";              // which is always measured
constexpr int kSets = 3;                              // of operands and results

// A call computes `value` of arrays that lie on the device, into one that lies there too.
struct Formula {
  std::string what;
  Shape first, second;
  std::function<Expr(const Expr&, const Expr&)> of;
  double units;  // of a call
  const char* unit;
  bool is_compared = true;
};

double elements(const Shape& shape) {
  return static_cast<double>(element_count(shape));
}

std::vector<Formula> arithmetic(bool quick) {
  const int64_t n = quick ? 1000 : 10'000'000, rows = quick ? 30 : 4000, columns = quick ? 40 : 3000,
                side = quick ? 32 : 2048;
  const Shape vector{n}, matrix{rows, columns}, square{side, side};
  std::vector<Formula> out;
  const auto add = [&](const char* name, const Shape& shape, double bytes, decltype(Formula::of) of) {
    const std::string lengths = join(shape, "x", [](int64_t length) { return str(length); });
    out.push_back({str(name, '/', lengths), shape, shape, std::move(of), 1e-9 * bytes * elements(shape), "GB/s"});
  };
  add("copy", vector, 8, [](const Expr& a, const Expr&) { return a; });
  add("2a+3b", vector, 12, [](const Expr& a, const Expr& b) { return 2 * a + 3 * b; });
  add("sigm_tanh", vector, 12, [](const Expr& a, const Expr& b) { return 1 / (1 + exp(-a)) * tanh(b); });
  add("sum", vector, 4, [](const Expr& a, const Expr&) { return sum(a); });
  add("sum0", matrix, 4, [](const Expr& a, const Expr&) { return sum(a, {0}); });
  add("sum1", matrix, 4, [](const Expr& a, const Expr&) { return sum(a, {1}); });
  add("argmax1", matrix, 4, [](const Expr& a, const Expr&) { return argmax(a, {1}); });
  add("softmax", matrix, 8, [](const Expr& a, const Expr&) { return softmax(a); });
  out.push_back({str("product/", side, 'x', side, 'x', side), square, square,
                 [](const Expr& a, const Expr& b) { return dot(a, b); }, 2e-9 * std::pow(side, 3), "GFLOP/s"});
  return out;
}

// Layers of convnet-benchmarks.
std::vector<Formula> convolutions(bool quick) {
  std::vector<Formula> out;
  for (const std::string& text : conv_cases(quick ? std::vector<std::string>{"i2x9x8,k3x3x2,b2,p1x0"}
                                                  : std::vector<std::string>{"1", "2", "3", "4", "5"})) {
    const ConvCase c = conv_case(text);
    const auto [first, second] = conv_shapes(c);
    out.push_back({str("conv/", text), first, second, [c](const Expr& a, const Expr& b) { return conv_of(c, a, b); },
                   1e-9 * c.flops(), "GFLOP/s"});
  }
  return out;
}

std::vector<Formula> draws(bool quick) {
  const int64_t n = quick ? 1000 : 10'000'000;
  const auto add = [&](const char* name, bool is_normal) {
    const auto of = [n, is_normal](const Expr&, const Expr&) {
      const MrgRandomStreams rng(1);
      return is_normal ? rng.normal(LengthList{n}, 0.0, 1.0, DType::kFloat32)
                       : rng.uniform(LengthList{n}, 0.0, 1.0, DType::kFloat32);
    };
    return Formula{str(name, '/', n), {}, {}, of, 1e-9 * static_cast<double>(n), "1e9 numbers/s", false};
  };
  return {add("mrg_uniform", false), add("mrg_normal", true)};
}

Tensor numbers(const Shape& shape, int64_t seed) {
  RandomState random(seed);
  return Tensor::of(random.uniform(-2, 2, static_cast<size_t>(element_count(shape))), shape).cast(DType::kFloat32);
}

// The function, and the variable that its calls write.
struct Compiled {
  std::shared_ptr<Function> function;
  Shared result;
};
Compiled compiled(const Formula& formula, const std::optional<kernel::Target>& target) {
  const Shared a(numbers(formula.first, 1), "a", true), b(numbers(formula.second, 2), "b", true);
  const Expr value = formula.of(a.expr(), b.expr());
  const Shared result(Tensor::zeros(value.dtype(), value.type().known_shape()), "result", true);
  const bool is_tuned = target && !target->is_emulated();
  auto f = std::make_shared<Function>(
      function({}, {}, {{result, value}},
               {.target = target, .name = "bench " + formula.what, .tune = is_tuned ? Tune::kAlways : Tune::kCached}));
  return {std::move(f), result};
}

// "4.9e-07"
std::string short_text(double x) {
  char out[32];
  std::snprintf(out, sizeof out, "%.1e", x);
  return out;
}

double difference(const Tensor& found, const Tensor& expected) {
  double most = 0;
  for (int64_t i = 0; i < found.size(); ++i) {
    const double x = expected.as_double(i), off = std::abs(found.as_double(i) - x) / std::max(1.0, std::abs(x));
    most = off <= most ? most : off;  // and NaN stays
  }
  return most;
}

// The calls do not wait for the device: who measures them does.
DeviceMeasurement measured(const std::string& what, Workload workload, const kernel::Target& target, double seconds) {
  workload.run = [calls_of = std::move(workload.run), &memory = device_of(target).memory](long calls) {
    calls_of(calls);
    memory.settle();
  };
  const Rate rate = measure(workload, seconds);
  const ProgramInfo& info = workload.function->info();
  DeviceMeasurement out{.what = what,
                        .seconds = workload.units / rate.value,
                        .rate = rate.value,
                        .unit = "examples/s",
                        .kernels = info.kernels,
                        .graphs = info.graphs.size(),
                        .host_steps = info.reference_steps.size()};
  for (const GraphInfo& graph : info.graphs) out.nodes += graph.nodes;
  return out;
}

// Of all choices, each once.
std::string chosen_for(const Function& f) {
  std::vector<std::string> out;
  for (const kernel::Choice& choice : f.info().choices)
    if (std::ranges::count(out, choice.candidate) == 0) out.push_back(choice.candidate);
  return join(out, ", ");
}

DeviceMeasurement measured(const Formula& formula, const kernel::Target& target, double seconds) {
  std::vector<Compiled> sets;
  while (sets.size() < kSets) sets.push_back(compiled(formula, target));
  const Workload workload{[&sets, at = size_t{0}](long calls) mutable {
                            for (; calls > 0; --calls, at = (at + 1) % sets.size()) (*sets[at].function)({});
                          },
                          formula.units,
                          {},
                          sets[0].function};
  DeviceMeasurement out = measured(formula.what, workload, target, seconds);
  out.unit = formula.unit;
  out.by = chosen_for(*sets[0].function);
  if (!formula.is_compared) return out;
  const Compiled here = compiled(formula, {});
  (*here.function)({});
  out.difference = difference(sets[0].result.get_value().on_host(), here.result.get_value());
  return out;
}

struct TrainingCase {
  const char* name;
  Workload (*make)(const std::string&, const WorkloadOptions&);
  const char *text, *quick;
};
constexpr TrainingCase kTraining[] = {{"mlp", net_workload, "784-500-10/1", "20-15-10/1"},
                                      {"mlp", net_workload, "784-500-10/60", "20-15-10/12"},
                                      {"mlp", net_workload, "784-1000-1000-1000-10/60", "20-15-15-15-10/12"},
                                      {"mlp", net_workload, "784-4096-4096-10/60", "20-16-16-10/12"},
                                      {"convnet", convnet_workload, "convsmall/60", "convsmall/1"},
                                      {"convnet", convnet_workload, "convmed/60", "convmed/1"},
                                      {"convnet", convnet_workload, "convlarge/60", "convlarge/1"},
                                      {"convnet", convnet_workload, "lenet/60", "lenet/1"},
                                      {"rnn", rnn_workload, "tanh-128-256-100/32", "tanh-5-6-7/3"},
                                      {"rnn", rnn_workload, "lstm-128-256-100/32", "lstm-5-6-7/3"},
                                      {"rbm", rbm_workload, "784-500-15/20", "20-15-3/12"}};

}  // namespace

DevicePeers::DevicePeers(const BenchOptions& options, const std::function<void(const std::string&)>& progress)
    : limit_seconds_(options.limit_seconds) {
  if (options.only == std::set<std::string>{kOurs}) return;
  std::set<std::string> known{kOurs};
  for (const thtrain::Peer& peer : find_peers("device", options, notes_)) {
    if (!known.insert(peer.name).second || (!options.only.empty() && !options.only.contains(peer.name))) continue;
    progress(str("starting ", peer.name));
    auto worker = std::make_unique<Worker>(peer.command, peer.environment);
    auto hello = worker->read();
    if (hello.contains("ready"))
      peers_.push_back({peer.name, hello["version"], std::move(worker)});
    else
      notes_.push_back(
          str(peer.name, ": not measured: ", hello.contains("missing") ? hello["missing"] : hello["error"]));
  }
  for (const std::string& name : options.only)
    if (!known.contains(name))
      throw UserError(Message{.what = str("bench device: --only: nobody is called ", printable(name)),
                              .expected = join(known, ", ")});
}

void DevicePeers::measure(DeviceMeasurement& m, double seconds) {
  for (Peer& peer : peers_) {
    if (!peer.worker) continue;
    auto answer = peer.worker->ask(m.what, seconds, limit_seconds_);
    if (answer.contains("value"))
      m.peers[peer.name] = m.seconds * m.rate / std::stod(answer["value"]);
    else if (answer.contains("over_limit"))
      peer.worker.reset();
    if (const std::string why = answer.contains("over_limit") ? answer["over_limit"] : answer["error"];
        !why.empty() && why != kNotMeasured)
      notes_.push_back(str(peer.name, ": ", m.what, ": ", why));
  }
}

void measure_device(const kernel::Target& target, double seconds, bool quick,
                    const std::function<void(const std::string&)>& progress,
                    const std::function<void(DeviceMeasurement)>& found) {
  double copied = 0;
  const auto measure_all = [&](const std::vector<Formula>& all) {
    for (const Formula& formula : all) {
      progress(formula.what);
      DeviceMeasurement m = measured(formula, target, seconds);
      if (copied == 0) copied = m.rate;  // which is the first
      if (m.unit == "GB/s") m.of_copy = m.rate / copied;
      found(std::move(m));
    }
  };
  measure_all(arithmetic(quick));
  measure_all(draws(quick));
  for (const TrainingCase& training : kTraining) {
    const std::string text = quick ? training.quick : training.text, what = str(training.name, '/', text);
    progress(what);
    found(measured(what, training.make(text, {.dtype = DType::kFloat32, .target = target}), target, seconds));
  }
  measure_all(convolutions(quick));  // last: their trials take the longest
}

std::string device_head(const kernel::Target& target, const DevicePeers* peers) {
  std::string out = join(device_facts(target), "; ", [](const auto& fact) { return fact.first + ": " + fact.second; });
  std::string head = "| float32 | us | rate | of the copy | by | kernels | graphs | nodes | on the host | off by |",
              line = "\n| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |";
  if (peers && !peers->all().empty()) {
    out += str("\nothers: ",
               join(peers->all(), ", ", [](const auto& peer) { return str(peer.name, " (", peer.version, ")"); }),
               ": us, and how many times as long as thtrain; nobody uses TF32");
    for (const DevicePeers::Peer& peer : peers->all()) {
      head += str(' ', peer.name, " |");
      line += " --- |";
    }
  }
  return str(out, "\n\n", head, line, '\n');
}

std::string device_row(const DeviceMeasurement& m, const DevicePeers* peers) {
  std::string out =
      str("| ", m.what, " | ", fixed_text(1e6 * m.seconds, 1), " | ", fixed_text(m.rate, 1), ' ', m.unit, " | ",
          m.of_copy < 0 ? "" : fixed_text(m.of_copy, 2), " | ", m.by, " | ", m.kernels, " | ", m.graphs, " | ", m.nodes,
          " | ", m.host_steps, " | ", m.difference < 0 ? "" : short_text(m.difference), " |");
  for (const DevicePeers::Peer& peer : peers ? std::span(peers->all()) : std::span<const DevicePeers::Peer>()) {
    const auto at = m.peers.find(peer.name);
    out += at == m.peers.end()
               ? " |"
               : str(' ', fixed_text(1e6 * at->second, 1), " (", fixed_text(at->second / m.seconds, 2), ") |");
  }
  return out + '\n';
}

std::string json_line(const DeviceMeasurement& m) {
  JsonObject line;
  line.add("case", m.what).add("seconds", m.seconds).add("value", m.rate).add("unit", m.unit).add("by", m.by);
  for (auto [name, count] :
       {std::pair("kernels", m.kernels), {"graphs", m.graphs}, {"nodes", m.nodes}, {"host_steps", m.host_steps}})
    line.add(name, static_cast<double>(count));
  if (m.of_copy >= 0) line.add("of_copy", m.of_copy);
  if (m.difference >= 0) line.add("difference", m.difference);
  for (const auto& [name, seconds] : m.peers) line.add("seconds of " + name, seconds);
  return line.line();
}

}  // namespace thtrain
