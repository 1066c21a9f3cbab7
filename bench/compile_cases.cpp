#include "bench/compile_cases.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <optional>

#include "bench/large_graphs.h"
#include "bench/scratch_folder.h"
#include "bench/start.h"
#include "bench/worker.h"
#include "compiler/api.h"
#include "compiler/codegen/emit.h"
#include "compiler/host/cache.h"
#include "compiler/passes/rename_lengths.h"
#include "compiler/plan/program.h"
#include "compiler/tuning/machine.h"
#include "compiler/tuning/tuner.h"

namespace thtrain {

namespace {

// About this many nodes in each layer, op and term, so that a peer's graph of the same case is the same.
constexpr int64_t kNodesOfLayer = 20, kNodesOfTerm = 4;
constexpr int64_t kUnits = 16;

Graph deep_mlp(int64_t layers, DType dtype) {
  Expr x = tensor("x", {"n", kUnits}, dtype), h = x;
  std::vector<Expr> parameters;
  for (int64_t i = 0; i < layers; ++i) {
    Shared W(Tensor::zeros(dtype, {kUnits, kUnits}), str("W", i)), b(Tensor::zeros(dtype, {kUnits}), str("b", i));
    h = tanh(dot(h, W) + b);
    parameters.insert(parameters.end(), {W, b});
  }
  Expr cost = mean(sqr(h));
  std::vector<Expr> gradients = grad(cost, parameters);
  Graph out{.inputs = {x}, .outputs = {cost}, .updates = {}};
  for (size_t i = 0; i < parameters.size(); ++i)
    out.updates.push_back({parameters[i], parameters[i] - 0.01 * gradients[i]});
  return out;
}

Graph chain(int64_t length, DType dtype) {
  Expr x = tensor("x", {"n"}, dtype), y = x;
  for (int64_t i = 0; i < length; ++i) y = i % 2 ? sin(y) : tanh(y);
  return {.inputs = {x}, .outputs = {y}, .updates = {}};
}

Graph wide_sum(int64_t terms, DType dtype) {
  Expr x = tensor("x", {"n"}, dtype), sum = x;
  for (int64_t i = 0; i < terms; ++i) sum = sum + sin(x * static_cast<double>(i + 2));
  return {.inputs = {x}, .outputs = {sum}, .updates = {}};
}

Graph graph_of(const std::string& kind, int64_t nodes, DType dtype) {
  if (kind == "mlp") return deep_mlp(std::max<int64_t>(1, nodes / kNodesOfLayer), dtype);
  if (kind == "chain") return chain(nodes, dtype);
  if (kind == "sum") return wide_sum(std::max<int64_t>(1, nodes / kNodesOfTerm), dtype);
  throw UserError(Message{.what = "bench: no such graph", .expected = "mlp, chain, sum", .got = kind});
}

// Of nodes: a positive number.
std::optional<int64_t> whole_number(const std::string& text) {
  constexpr int64_t kMost = 10'000'000;  // some gigabytes
  int64_t number = 0;
  const char* const end = text.data() + text.size();
  if (auto [at, error] = std::from_chars(text.data(), end, number);
      error != std::errc() || at != end || number < 1 || number > kMost)
    return {};
  return number;
}

template <class F>
double seconds_of(F f) {
  auto begin = std::chrono::steady_clock::now();
  f();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

// `units` a second, of three calls of seconds(), or of one that took more than two seconds.
template <class F>
Rate rate_of(double units, F seconds) {
  std::vector<double> rates;
  while (rates.size() < 3 && (rates.empty() || units / rates.back() < 2)) rates.push_back(units / seconds());
  auto [low, high] = std::minmax_element(rates.begin(), rates.end());
  return {median(rates), *low, *high};
}

SourceText printed(const Graph& graph) {
  CanonicalGraph canonical = canonical_lengths(graph);
  Tuner rule({.policy = Tune::kNever});
  return emit_cpp(plan(optimize(canonical.graph, {.chooser = &rule}), canonical.value_checks,
                       {.target = machine(), .chooser = &rule}))
      .text;
}

Rate of_graph(const std::string& kind, int64_t nodes, bool by_host_compiler, DType dtype) {
  Graph graph = graph_of(kind, nodes, dtype);
  auto units = static_cast<double>(nodes);
  if (!by_host_compiler) return rate_of(units, [&] { return seconds_of([&] { printed(graph); }); });
  SourceText source = printed(graph);
  int repetition = 0;
  return rate_of(units, [&] {
    ++repetition;
    SourceText text = source;  // another one each time: the cache has none of its kernels
    for (KernelText& kernel : text.kernels) kernel.comment += str("// ", repetition, "\n");
    text.entry += str("// ", repetition, "\n");
    return seconds_of([&] { cache().load_object(text); });
  });
}

// "sines/10000": a kind of large graph, and its nodes.
std::optional<std::pair<std::string, int64_t>> large_graph_case(const std::string& text) {
  const size_t slash = text.find('/');
  const std::string kind = text.substr(0, slash);
  if (slash == std::string::npos ||
      std::find(large_graph_kinds().begin(), large_graph_kinds().end(), kind) == large_graph_kinds().end())
    return {};
  const std::optional<int64_t> nodes = whole_number(text.substr(slash + 1));
  if (!nodes) return {};
  return std::pair{kind, *nodes};
}

bool is_start_case(const std::string& what) {
  return std::ranges::find(start_cases(), what) != start_cases().end();
}

double seconds_to_build_case(const std::string& what, const WorkloadOptions& options) {
  if (is_start_case(what)) return seconds_to_first_step(what, options);
  if (auto large = large_graph_case(what)) return seconds_to_build_graph(large->first, large->second, options);
  return seconds_to_build(what, options);
}

Rate of_start(const std::string& net, bool warm, const WorkloadOptions& options) {
  std::string self = std::filesystem::read_symlink("/proc/self/exe").string();
  auto seconds = [&](const ScratchFolder& folder) {
    Worker worker({self, "bench", "compile", "--worker", "thtrain", "--dtype", std::string(name_of(options.dtype)),
                   "--threads", std::to_string(options.threads)},
                  {{"THTRAIN_CACHE_DIR", folder.path()}});
    worker.read();
    auto answer = worker.ask("build/" + net, 0);
    if (answer.contains("error")) throw UserError(Message{.what = answer["error"]});
    return 1 / std::stod(answer["value"]);
  };
  ScratchFolder kept;
  if (warm) seconds(kept);
  return rate_of(1, [&] {
    if (warm) return seconds(kept);
    ScratchFolder empty;
    return seconds(empty);
  });
}

}  // namespace

void check_compile_case(const std::string& text) {
  const size_t slash = text.find('/');
  const std::string kind = text.substr(0, slash), what = slash == std::string::npos ? "" : text.substr(slash + 1);
  if (whole_number(what) && (kind == "mlp" || kind == "chain" || kind == "sum")) return;
  if (kind != "cold" && kind != "warm")
    throw UserError(
        Message{.what = "bench: no such case",
                .expected = "a graph and its nodes, such as mlp/1000, or a start, such as cold/784-500-10/20",
                .got = text});
  if (what == "1000-layers" || is_start_case(what) || large_graph_case(what)) return;
  if (what.find('/') == std::string::npos)
    throw UserError(
        Message{.what = "bench: no such start",
                .expected = str(join(start_cases(), ", "), ", or layers and a batch, such as 784-500-10/20"),
                .got = text});
  net_case(what);
}

Rate measure_compile(const std::string& text, const std::string& implementation, const WorkloadOptions& options) {
  size_t slash = text.find('/');
  std::string kind = text.substr(0, slash), what = slash == std::string::npos ? "" : text.substr(slash + 1);
  bool by_host_compiler = implementation == "host_compiler";
  if (kind == "cold" || kind == "warm" || kind == "build") {
    if (by_host_compiler) throw UserError(Message{.what = "bench: a start has no share of the host compiler alone"});
    if (kind != "build") return of_start(what, kind == "warm", options);
    double rate = 1 / seconds_to_build_case(what, options);
    return {rate, rate, rate};
  }
  int64_t nodes = 0;
  auto end = what.data() + what.size();
  if (std::from_chars(what.data(), end, nodes).ptr != end || nodes < 1)
    throw UserError(
        Message{.what = "bench: no such case", .expected = "a graph and its nodes, such as mlp/1000", .got = text});
  return of_graph(kind, nodes, by_host_compiler, options.dtype);
}

}  // namespace thtrain
