#include "bench/large_graphs.h"

#include <algorithm>
#include <chrono>

#include "compiler/api.h"

namespace thtrain {

namespace {

// Nodes of one piece of the graph, so that all kinds of the same case have about as many.
constexpr int64_t kNodesOfSine = 3, kNodesOfSwitch = 2, kNodesOfValue = 3, kNodesOfWrite = 2, kNodesOfLeaf = 3,
                  kNodesOfOutput = 5;

Graph sines(int64_t nodes, DType dtype) {
  const Expr x = tensor("x", {"n"}, dtype);
  Expr y = x;
  for (int64_t i = 0; i < nodes; i += kNodesOfSine) y = sin(y);
  return {.inputs = {x}, .outputs = {grad(sum(y), x)}, .updates = {}};
}

Graph switches(int64_t nodes, DType dtype) {
  const Expr x = tensor("x", {"n"}, dtype);
  Expr y = x;
  for (int64_t i = 0; i < nodes; i += kNodesOfSwitch) y = switch_(x > i, y, 2 * i + 1);
  return {.inputs = {x}, .outputs = {y}, .updates = {}};
}

Graph joined(int64_t nodes, DType dtype) {
  const Expr x = tensor("x", {"n"}, dtype);
  std::vector<Operand> values;
  for (int64_t i = 0; i < nodes; i += kNodesOfValue) values.push_back(sin(x * (i + 2)));
  return {.inputs = {x}, .outputs = {join(0, values)}, .updates = {}};
}

Graph large_wide_sum(int64_t nodes, DType dtype) {
  const Expr x = tensor("x", {"n"}, dtype);
  Expr y = x;
  for (int64_t i = 0; i < nodes; i += kNodesOfValue) y = y + sin(x * (i + 2));
  return {.inputs = {x}, .outputs = {y}, .updates = {}};
}

Graph writes(int64_t nodes, DType dtype) {
  const int64_t pieces = std::max<int64_t>(1, nodes / kNodesOfWrite);
  const Expr x = tensor("x", {4}, dtype);
  Expr y = zeros({Length(4 * pieces)}, dtype);
  for (int64_t i = 0; i < pieces; ++i) y = set_subtensor(y[Slice{4 * i, 4 * i + 4}], x * (i + 2));
  return {.inputs = {x}, .outputs = {y}, .updates = {}};
}

Graph tree(int64_t nodes, DType dtype) {
  const Expr x = tensor("x", {"n"}, dtype);
  std::vector<Expr> level;
  for (int64_t i = 0; i < nodes; i += kNodesOfLeaf) level.push_back(sin(x + i));
  for (bool is_sum = true; level.size() > 1; is_sum = !is_sum) {
    std::vector<Expr> next;
    for (size_t i = 0; i + 1 < level.size(); i += 2)
      next.push_back(is_sum ? level[i] + level[i + 1] : level[i] * level[i + 1]);
    if (level.size() % 2) next.push_back(level.back());
    level = std::move(next);
  }
  return {.inputs = {x}, .outputs = {level[0]}, .updates = {}};
}

Graph many_outputs(int64_t nodes, DType dtype) {
  const Expr x = tensor("x", {"n"}, dtype), z = tensor("z", {"n"}, dtype);
  Graph graph{.inputs = {x, z}, .outputs = {}, .updates = {}};
  for (int64_t i = 0; i < nodes; i += kNodesOfOutput) graph.outputs.push_back(tanh(x * (i + 2)) + z * i);
  return graph;
}

struct GraphKind {
  const char* name;
  Graph (*build)(int64_t nodes, DType dtype);
};
constexpr GraphKind kKinds[] = {{"sines", sines},         {"switches", switches}, {"join", joined},
                                {"sum", large_wide_sum},  {"writes", writes},     {"tree", tree},
                                {"outputs", many_outputs}};

}  // namespace

const std::vector<std::string>& large_graph_kinds() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> out;
    for (const GraphKind& kind : kKinds) out.emplace_back(kind.name);
    return out;
  }();
  return names;
}

Graph large_graph(const std::string& kind, int64_t nodes, DType dtype) {
  for (const GraphKind& one : kKinds)
    if (kind == one.name) return one.build(nodes, dtype);
  throw UserError(Message{.what = "bench: no such graph", .expected = join(large_graph_kinds(), ", "), .got = kind});
}

double seconds_to_build_graph(const std::string& kind, int64_t nodes, const WorkloadOptions& options) {
  const auto begin = std::chrono::steady_clock::now();
  const Graph graph = large_graph(kind, nodes, options.dtype);
  function({graph.inputs.begin(), graph.inputs.end()}, {graph.outputs.begin(), graph.outputs.end()}, {},
           {.threads = options.threads, .name = "bench " + kind});
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

}  // namespace thtrain
