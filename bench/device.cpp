#include "bench/device.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <memory>
#include <utility>

#include "bench/workloads.h"
#include "compiler/api.h"
#include "compiler/base/str.h"
#include "compiler/cuda/device_program.h"
#include "compiler/cuda/libraries.h"
#include "reports/json.h"

namespace thtrain {

kernel::Target device_named(const std::string& word) {
  if (word == "emulated") return kernel::emulated_cuda_target();
  const bool has_number = word.size() == 6 && word.starts_with("cuda:") && word[5] >= '0' && word[5] <= '7';
  if (word != "cuda" && !has_number)
    throw UserError(Message{.what = "bench device: there is no device " + word,
                            .expected = "cuda, cuda:0 to cuda:7, or emulated",
                            .hint = "thtrain info lists the devices"});
  const int number = has_number ? word[5] - '0' : 0;
  cuda::require_device(number);
  return kernel::cuda_target(number);
}

namespace {

// A call computes `value` of arrays that lie on the device, into one that lies there too.
struct Formula {
  std::string what;
  Shape shape;  // of both arguments
  std::function<Expr(const Expr&, const Expr&)> of;
  double bytes_of_element = 0;  // read and written
  double flops = 0;             // of a call, where that is what is counted
};

std::vector<Formula> formulas(bool quick) {
  const int64_t n = quick ? 1000 : 10'000'000, rows = quick ? 30 : 4000, columns = quick ? 40 : 3000,
                side = quick ? 32 : 2048;
  const Shape vector{n}, matrix{rows, columns}, square{side, side};
  const std::string of_vector = str('/', n), of_matrix = str('/', rows, 'x', columns);
  return {
      {"2a+3b" + of_vector, vector, [](const Expr& a, const Expr& b) { return 2 * a + 3 * b; }, 12},
      {"sigm_tanh" + of_vector, vector, [](const Expr& a, const Expr& b) { return 1 / (1 + exp(-a)) * tanh(b); }, 12},
      {"sum" + of_vector, vector, [](const Expr& a, const Expr&) { return sum(a); }, 4},
      {"sum0" + of_matrix, matrix, [](const Expr& a, const Expr&) { return sum(a, {0}); }, 4},
      {"sum1" + of_matrix, matrix, [](const Expr& a, const Expr&) { return sum(a, {1}); }, 4},
      {"argmax1" + of_matrix, matrix, [](const Expr& a, const Expr&) { return argmax(a, {1}); }, 4},
      {"softmax" + of_matrix, matrix, [](const Expr& a, const Expr&) { return softmax(a); }, 8},
      {str("product/", side, 'x', side, 'x', side), square, [](const Expr& a, const Expr& b) { return dot(a, b); }, 0,
       2 * std::pow(static_cast<double>(side), 3)}};
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
  const Shared a(numbers(formula.shape, 1), "a", true), b(numbers(formula.shape, 2), "b", true);
  const Expr value = formula.of(a.expr(), b.expr());
  const Shared result(Tensor::zeros(value.dtype(), value.type().known_shape()), "result", true);
  auto f = std::make_shared<Function>(
      function({}, {}, {{result, value}}, {.target = target, .name = "bench " + formula.what}));
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

DeviceMeasurement measured(const Formula& formula, const kernel::Target& target, double seconds) {
  const Compiled there = compiled(formula, target), here = compiled(formula, {});
  const double bytes = formula.bytes_of_element * static_cast<double>(element_count(formula.shape));
  const Workload workload{[f = there.function](long calls) {
                            for (; calls > 0; --calls) (*f)({});
                          },
                          (formula.flops > 0 ? formula.flops : bytes) / 1e9,
                          {},
                          there.function};
  DeviceMeasurement out = measured(formula.what, workload, target, seconds);
  out.unit = formula.flops > 0 ? "GFLOP/s" : "GB/s";
  (*here.function)({});
  out.difference = difference(there.result.get_value().on_host(), here.result.get_value());
  return out;
}

struct TrainingCase {
  const char* name;
  Workload (*make)(const std::string&, const WorkloadOptions&);
  const char *text, *quick;
};
constexpr TrainingCase kTraining[] = {{"mlp", net_workload, "784-500-10/60", "20-15-10/12"},
                                      {"mlp", net_workload, "784-1000-1000-1000-10/60", "20-15-15-15-10/12"},
                                      {"convnet", convnet_workload, "lenet/60", "convsmall/1"},
                                      {"rnn", rnn_workload, "tanh-128-256-100/32", "tanh-5-6-7/3"},
                                      {"rbm", rbm_workload, "784-500-1/20", "20-15-3/12"}};

}  // namespace

void measure_device(const kernel::Target& target, double seconds, bool quick,
                    const std::function<void(const std::string&)>& progress,
                    const std::function<void(const DeviceMeasurement&)>& found) {
  for (const Formula& formula : formulas(quick)) {
    progress(formula.what);
    found(measured(formula, target, seconds));
  }
  for (const TrainingCase& training : kTraining) {
    const std::string text = quick ? training.quick : training.text, what = str(training.name, ' ', text);
    progress(what);
    found(measured(what, training.make(text, {.dtype = DType::kFloat32, .target = target}), target, seconds));
  }
}

std::string device_table(const kernel::Target& target, const std::vector<DeviceMeasurement>& all) {
  std::string out = join(device_facts(target), "; ", [](const auto& fact) { return fact.first + ": " + fact.second; });
  out +=
      "\n\n| float32 | us | rate | kernels | graphs | nodes | on the host | off by |\n| --- | --- | --- | --- | --- | "
      "--- | --- | --- |\n";
  for (const DeviceMeasurement& m : all)
    out += str("| ", m.what, " | ", fixed_text(1e6 * m.seconds, 1), " | ", fixed_text(m.rate, 1), ' ', m.unit, " | ",
               m.kernels, " | ", m.graphs, " | ", m.nodes, " | ", m.host_steps, " | ",
               m.difference < 0 ? "" : short_text(m.difference), " |\n");
  return out;
}

std::string json_line(const DeviceMeasurement& m) {
  JsonObject line;
  line.add("case", m.what).add("seconds", m.seconds).add("value", m.rate).add("unit", m.unit);
  for (auto [name, count] :
       {std::pair("kernels", m.kernels), {"graphs", m.graphs}, {"nodes", m.nodes}, {"host_steps", m.host_steps}})
    line.add(name, static_cast<double>(count));
  if (m.difference >= 0) line.add("difference", m.difference);
  return line.line();
}

}  // namespace thtrain
