// The emulated driver's graphs. What a launch of one does runs in any order that the edges allow, drawn by the seed: a
// dependency that is missing gives other results.
#include <algorithm>

#include "compiler/base/str.h"
#include "compiler/cuda/emulated/machine.h"
#include "compiler/cuda/graph_nodes.h"

namespace thtrain::cuda::emulated {
namespace {

using Node = CUgraph_st::Node;

Status no_parameters(const char* why) {
  return refuse(CUDA_ERROR_INVALID_VALUE, why);
}

Status create_graph(CUgraph_st** out, unsigned flags) {
  return in_context([&](Machine& m, CUctx_st& context) {
    if (flags != 0) return no_parameters("flags of a graph are 0");
    auto graph = std::make_unique<CUgraph_st>(CUgraph_st{&context});
    *out = graph.get();
    m.graphs[*out] = std::move(graph);
    return CUDA_SUCCESS;
  });
}

Status destroy_graph(CUgraph_st* handle) {
  return in_context([&](Machine& m, CUctx_st& context) {
    if (!found(m.graphs, handle, context)) return no_handle("graph");
    m.graphs.erase(handle);
    return CUDA_SUCCESS;
  });
}

// ---- nodes

Status kernel_work(CUctx_st& context, const CUDA_KERNEL_NODE_PARAMS_v2_st* theirs, Node& out) {
  const auto& p = *reinterpret_cast<const KernelNode*>(theirs);
  if (p.library_kernel || (p.context && p.context != &context)) return no_parameters("a kernel of another context");
  out.kind = Node::Kind::kKernel;
  return kernel_launch(context, p, out.run);
}

Status copy_work(CUctx_st& context, const CUDA_MEMCPY3D_st* theirs, CUctx_st* of, Node& out) {
  const auto& p = *reinterpret_cast<const CopyNode*>(theirs);
  if (of != &context) return no_parameters("a copy of another context");
  const auto starts = [](const auto& side) { return side.x == 0 && side.y == 0 && side.z == 0 && side.level == 0; };
  if (p.rows != 1 || p.planes != 1 || p.bytes == 0 || !starts(p.from) || !starts(p.to))
    return no_parameters("a copy is of some bytes in one line");
  out.kind = Node::Kind::kCopy;
  if (p.from.type == CU_MEMORYTYPE_HOST && p.to.type == CU_MEMORYTYPE_DEVICE)
    return copy_in_work(context, p.to.device, p.from.host, p.bytes, out.run);
  if (p.from.type == CU_MEMORYTYPE_DEVICE && p.to.type == CU_MEMORYTYPE_HOST)
    return copy_out_work(context, p.to.host, p.from.device, p.bytes, out.run);
  if (p.from.type == CU_MEMORYTYPE_DEVICE && p.to.type == CU_MEMORYTYPE_DEVICE)
    return copy_within_work(context, p.to.device, p.from.device, p.bytes, out.run);
  return no_parameters("a copy between these kinds of memory");
}

template <class F>
Status add_node(CUgraphNode_st** out, CUgraph_st* handle, CUgraphNode_st* const* dependencies, size_t count, F work) {
  return in_context([&](Machine& m, CUctx_st& context) {
    CUgraph_st* graph = found(m.graphs, handle, context);
    if (!graph) return no_handle("graph");
    Node node;
    for (size_t i = 0; i < count; ++i) {
      const auto at =
          std::ranges::find_if(graph->handles, [&](const auto& own) { return own.get() == dependencies[i]; });
      if (at == graph->handles.end()) return no_parameters("a node that the graph does not have is waited for");
      node.waits_for.push_back(static_cast<size_t>(at - graph->handles.begin()));
    }
    std::vector<size_t> sorted = node.waits_for;
    std::ranges::sort(sorted);
    if (std::ranges::adjacent_find(sorted) != sorted.end()) return no_parameters("a node is waited for twice");
    if (const Status status = work(context, node); status != CUDA_SUCCESS) return status;
    graph->nodes.push_back(std::move(node));
    graph->handles.push_back(std::make_unique<CUgraphNode_st>());
    *out = graph->handles.back().get();
    return CUDA_SUCCESS;
  });
}

Status add_kernel(CUgraphNode_st** out, CUgraph_st* graph, CUgraphNode_st* const* dependencies, size_t count,
                  const CUDA_KERNEL_NODE_PARAMS_v2_st* parameters) {
  return add_node(out, graph, dependencies, count,
                  [&](CUctx_st& context, Node& node) { return kernel_work(context, parameters, node); });
}

Status add_copy(CUgraphNode_st** out, CUgraph_st* graph, CUgraphNode_st* const* dependencies, size_t count,
                const CUDA_MEMCPY3D_st* parameters, CUctx_st* of) {
  return add_node(out, graph, dependencies, count,
                  [&](CUctx_st& context, Node& node) { return copy_work(context, parameters, of, node); });
}

// Its nodes in any order that the edges allow.
void run_all(Machine& m, const CUctx_st& context, const std::vector<Node>& nodes) {
  std::vector<size_t> missing, ready;
  std::vector<std::vector<size_t>> next(nodes.size());
  for (size_t n = 0; n < nodes.size(); ++n) {
    missing.push_back(nodes[n].waits_for.size());
    for (const size_t before : nodes[n].waits_for) next[before].push_back(n);
    if (missing[n] == 0) ready.push_back(n);
  }
  while (!ready.empty() && context.status == 0) {
    const size_t drawn = m.queues.draw() % ready.size(), n = ready[drawn];
    ready.erase(ready.begin() + static_cast<std::ptrdiff_t>(drawn));
    nodes[n].run();
    for (const size_t after : next[n])
      if (--missing[after] == 0) ready.push_back(after);
  }
}

// The child is copied.
Status add_child(CUgraphNode_st** out, CUgraph_st* graph, CUgraphNode_st* const* dependencies, size_t count,
                 CUgraph_st* child) {
  return add_node(out, graph, dependencies, count, [&](CUctx_st& context, Node& node) {
    Machine& m = *machine();
    const CUgraph_st* inner = found(m.graphs, child, context);
    if (!inner || child == graph) return no_handle("graph that can be a node");
    node.kind = Node::Kind::kChild;
    node.run = [&m, &context, nodes = inner->nodes] { run_all(m, context, nodes); };
    return CUDA_SUCCESS;
  });
}

// ---- executable graphs: copies of their nodes

Status instantiate(CUgraphExec_st** out, CUgraph_st* handle, unsigned long long flags) {
  return in_context([&](Machine& m, CUctx_st& context) {
    const CUgraph_st* graph = found(m.graphs, handle, context);
    if (!graph) return no_handle("graph");
    if (flags != 0) return no_parameters("flags of an executable graph are 0");
    auto executable = std::make_unique<CUgraphExec_st>(CUgraphExec_st{&context, graph, graph->nodes});
    *out = executable.get();
    m.executables[*out] = std::move(executable);
    return CUDA_SUCCESS;
  });
}

Status destroy_executable(CUgraphExec_st* handle) {
  return in_context([&](Machine& m, CUctx_st& context) {
    if (!found(m.executables, handle, context)) return no_handle("executable graph");
    m.executables.erase(handle);
    return CUDA_SUCCESS;
  });
}

// The node is one of the graph that the executable one was made of, which lives still; its kind stays.
template <class F>
Status set_node(CUgraphExec_st* handle, CUgraphNode_st* of, F work) {
  return in_context([&](Machine& m, CUctx_st& context) {
    CUgraphExec_st* executable = found(m.executables, handle, context);
    if (!executable) return no_handle("executable graph");
    const CUgraph_st* graph = found(m.graphs, executable->graph, context);
    if (!graph) return no_handle("graph of that executable one");
    const auto at = std::ranges::find_if(graph->handles, [&](const auto& own) { return own.get() == of; });
    const auto number = static_cast<size_t>(at - graph->handles.begin());
    if (number >= executable->nodes.size()) return no_handle("node of that executable graph");
    Node node = executable->nodes[number];
    if (const Status status = work(context, node); status != CUDA_SUCCESS) return status;
    if (node.kind != executable->nodes[number].kind) return no_parameters("a node stays of its kind");
    executable->nodes[number] = std::move(node);
    return CUDA_SUCCESS;
  });
}

Status set_kernel(CUgraphExec_st* executable, CUgraphNode_st* of, const CUDA_KERNEL_NODE_PARAMS_v2_st* parameters) {
  return set_node(executable, of,
                  [&](CUctx_st& context, Node& node) { return kernel_work(context, parameters, node); });
}

Status set_copy(CUgraphExec_st* executable, CUgraphNode_st* of, const CUDA_MEMCPY3D_st* parameters, CUctx_st* in) {
  return set_node(executable, of,
                  [&](CUctx_st& context, Node& node) { return copy_work(context, parameters, in, node); });
}

Status launch_graph(CUgraphExec_st* handle, CUstream_st* stream) {
  return in_context([&](Machine& m, CUctx_st& context) {
    const CUgraphExec_st* executable = found(m.executables, handle, context);
    if (!executable) return no_handle("executable graph");
    return enqueue(m, context, stream, [&m, &context, nodes = executable->nodes] { run_all(m, context, nodes); });
  });
}

}  // namespace

void add_graphs(Driver& driver) {
  driver.cuGraphCreate = create_graph;
  driver.cuGraphDestroy = destroy_graph;
  driver.cuGraphAddKernelNode_v2 = add_kernel;
  driver.cuGraphAddMemcpyNode = add_copy;
  driver.cuGraphAddChildGraphNode = add_child;
  driver.cuGraphInstantiateWithFlags = instantiate;
  driver.cuGraphExecDestroy = destroy_executable;
  driver.cuGraphExecKernelNodeSetParams_v2 = set_kernel;
  driver.cuGraphExecMemcpyNodeSetParams = set_copy;
  driver.cuGraphLaunch = launch_graph;
}

}  // namespace thtrain::cuda::emulated
