#include "bench/compile_cases.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>

#include "compiler/api.h"
#include "compiler/codegen/emit.h"
#include "compiler/passes/rename_lengths.h"
#include "compiler/plan/program.h"
#include "compiler/runtime/cpu.h"

namespace thtrain {

namespace {

// A training step of tanh layers of 16 units: about 24 nodes a layer with its gradient and update.
Graph deep_mlp(int64_t layers, DType dtype) {
  constexpr int64_t kUnits = 16;
  Expr x = matrix("x", {"n", kUnits}), h = cast(x, dtype);
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

// A graph of about that many nodes: each kind grows by the same number of nodes with each piece.
Graph graph_of(const std::string& kind, int64_t nodes, DType dtype) {
  Graph (*make)(int64_t, DType) = kind == "mlp"     ? deep_mlp
                                  : kind == "chain" ? chain
                                  : kind == "sum"   ? wide_sum
                                                    : nullptr;
  if (!make) throw UserError(Message{.what = "bench: no such graph", .expected = "mlp, chain, sum", .got = kind});
  auto count = [&](int64_t pieces) { return static_cast<double>(node_count(make(pieces, dtype))); };
  double step = (count(12) - count(2)) / 10, rest = count(2) - 2 * step;
  return make(std::max<int64_t>(1, std::llround((static_cast<double>(nodes) - rest) / step)), dtype);
}

}  // namespace

Rate measure_compile(const std::string& text, const WorkloadOptions& options) {
  size_t slash = text.find('/');
  int64_t nodes = 0;
  const char* end = text.data() + text.size();
  if (slash == std::string::npos || std::from_chars(text.data() + slash + 1, end, nodes).ptr != end || nodes < 1)
    throw UserError(
        Message{.what = "bench: no such case", .expected = "a graph and its nodes, such as mlp/1000", .got = text});
  set_floatX(options.dtype);
  Graph graph = graph_of(text.substr(0, slash), nodes, options.dtype);
  auto exact = static_cast<double>(node_count(graph));
  std::vector<double> rates;
  for (int i = 0; i < (nodes < 100000 ? 3 : 1); ++i) {
    auto begin = std::chrono::steady_clock::now();
    CanonicalGraph canonical = canonical_lengths(graph);
    Program program = plan(optimize(canonical.graph, {}), canonical.value_checks, {.vector_bytes = cpu().vector_bytes});
    emit_cpp(program, {.vector_bytes = cpu().vector_bytes});
    rates.push_back(exact / std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  }
  auto [low, high] = std::minmax_element(rates.begin(), rates.end());
  return {median(rates), *low, *high};
}

}  // namespace thtrain
