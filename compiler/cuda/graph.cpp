#include "compiler/cuda/graph.h"

#include <algorithm>

#include "compiler/cuda/device_calls.h"
#include "compiler/cuda/graph_nodes.h"

namespace thtrain::cuda {
namespace {

// Addresses of the arguments, as a launch takes them.
std::vector<void*> addresses_of(const Work& work) {
  std::vector<void*> out;
  for (const unsigned offset : work.offsets) out.push_back(const_cast<char*>(work.arguments.data()) + offset);
  out.push_back(nullptr);
  return out;
}

KernelNode kernel_node(const Work& work, std::vector<void*>& addresses) {
  addresses = addresses_of(work);
  return {.kernel = work.kernel, .blocks = work.blocks, .threads = work.threads, .parameters = addresses.data()};
}

CopyNode copy_node(const Work& work) {
  if (work.kind == Work::Kind::kCopyWithin) return CopyNode::within(work.device, work.from, work.bytes);
  return work.kind == Work::Kind::kCopyIn ? CopyNode::in(work.device, work.host, work.bytes)
                                          : CopyNode::out(const_cast<void*>(work.host), work.device, work.bytes);
}

// What the stream of a capture is asked for, as a graph. In the mode of which other threads know nothing.
class Capture {
 public:
  explicit Capture(const Device& device) : device_(device), stream_(device) {
    TH_CALL(device_, cuStreamBeginCapture_v2, stream_.handle(), CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
  }
  ~Capture() {
    if (!has_ended_) TH_RELEASE(device_, cuStreamEndCapture, stream_.handle(), &graph_);
    if (graph_) TH_RELEASE(device_, cuGraphDestroy, graph_);
  }
  Capture(const Capture&) = delete;
  Capture& operator=(const Capture&) = delete;

  CUstream_st* stream() const { return stream_.handle(); }
  CUgraph_st* end() {
    has_ended_ = true;
    TH_CALL(device_, cuStreamEndCapture, stream_.handle(), &graph_);
    return graph_;
  }

 private:
  const Device& device_;
  Stream stream_;
  CUgraph_st* graph_ = nullptr;
  bool has_ended_ = false;
};

std::vector<Work> calls_in(const std::vector<Work>& work) {
  std::vector<Work> out;
  std::ranges::copy_if(work, std::back_inserter(out), [](const Work& w) { return w.kind == Work::Kind::kLibrary; });
  return out;
}

}  // namespace

// ---- Dependencies

void Dependencies::set_ranges(std::span<const long> ranges) {
  memory_.assign(ranges.size() / 2, {});
  for (size_t a = 0; a < memory_.size(); ++a)
    for (size_t b = 0; b < memory_.size(); ++b)
      if (a == b || (ranges[2 * a] < ranges[2 * b + 1] && ranges[2 * b] < ranges[2 * a + 1]))
        memory_[a].shared.push_back(b);
  waits_for_.clear();
}

void Dependencies::clear() {
  for (Memory& memory : memory_) {
    memory.writer = -1;
    memory.readers.clear();
  }
  waits_for_.clear();
}

std::vector<unsigned> Dependencies::add(std::span<const Access> accesses) {
  const auto number = static_cast<unsigned>(waits_for_.size());
  std::vector<unsigned> out;
  for (const Access& access : accesses)
    for (const size_t k : memory_[static_cast<size_t>(access.memory)].shared) {
      const Memory& memory = memory_[k];
      if (memory.writer >= 0) out.push_back(static_cast<unsigned>(memory.writer));
      if (access.is_written) out.insert(out.end(), memory.readers.begin(), memory.readers.end());
    }
  std::ranges::sort(out);
  out.erase(std::unique(out.begin(), out.end()), out.end());
  // Whom one of these waits for already need not be named.
  const std::vector<unsigned> all = out;
  std::erase_if(out, [&](unsigned before) {
    return std::ranges::any_of(
        all, [&](unsigned between) { return std::ranges::binary_search(waits_for_[between], before); });
  });
  for (const Access& access : accesses) {
    Memory& memory = memory_[static_cast<size_t>(access.memory)];
    if (access.is_written) {
      memory.writer = number;
      memory.readers.clear();
    }
  }
  for (const Access& access : accesses)
    if (!access.is_written) memory_[static_cast<size_t>(access.memory)].readers.push_back(number);
  waits_for_.push_back(out);
  return out;
}

// ---- Graph

Graph::~Graph() {
  free();
}

void Graph::free() {
  if (executable_) TH_RELEASE(device_, cuGraphExecDestroy, executable_);
  if (graph_) TH_RELEASE(device_, cuGraphDestroy, graph_);
  executable_ = nullptr;
  graph_ = nullptr;
  handles_.clear();
}

void Graph::build(const std::vector<Work>& work, const CallLibrary& call) {
  free();
  ++builds_;
  TH_CALL(device_, cuGraphCreate, &graph_, 0);
  for (const Work& node : work) {
    std::vector<CUgraphNode_st*> before;
    for (const unsigned number : node.waits_for) before.push_back(handles_[number]);
    CUgraphNode_st* handle = nullptr;
    if (node.kind == Work::Kind::kKernel) {
      std::vector<void*> addresses;
      const KernelNode parameters = kernel_node(node, addresses);
      TH_CALL(device_, cuGraphAddKernelNode_v2, &handle, graph_, before.data(), before.size(), parameters.theirs());
    } else if (node.kind == Work::Kind::kLibrary) {
      Capture capture(device_);
      call(node, capture.stream());
      TH_CALL(device_, cuGraphAddChildGraphNode, &handle, graph_, before.data(), before.size(), capture.end());
    } else {
      const CopyNode parameters = copy_node(node);
      TH_CALL(device_, cuGraphAddMemcpyNode, &handle, graph_, before.data(), before.size(), parameters.theirs(),
              device_.context());
    }
    handles_.push_back(handle);
  }
  TH_CALL(device_, cuGraphInstantiateWithFlags, &executable_, graph_, 0);
}

bool Graph::fits(const std::vector<Work>& work) const {
  return executable_ &&
         std::ranges::equal(work, work_, [](const Work& now, const Work& before) { return now.has_form_of(before); });
}

bool Graph::knows_calls_of(const std::vector<Work>& work) const {
  return std::ranges::equal(calls_in(work), called_,
                            [](const Work& now, const Work& before) { return now.is_call_of(before); });
}

void Graph::launch_apart(const std::vector<Work>& work, Stream& stream, const CallLibrary& call) {
  launch_one_by_one(work, stream, call);
  called_ = calls_in(work);
}

void Graph::launch(std::vector<Work> work, Stream& stream, const CallLibrary& call) {
  const bool has_form = fits(work);
  if (!has_form) build(work, call);
  for (size_t n = 0; n < work.size() && has_form; ++n) {
    if (work[n] == work_[n]) continue;
    ++changes_;
    if (work[n].kind == Work::Kind::kKernel) {
      std::vector<void*> addresses;
      const KernelNode parameters = kernel_node(work[n], addresses);
      TH_CALL(device_, cuGraphExecKernelNodeSetParams_v2, executable_, handles_[n], parameters.theirs());
    } else {
      const CopyNode parameters = copy_node(work[n]);
      TH_CALL(device_, cuGraphExecMemcpyNodeSetParams, executable_, handles_[n], parameters.theirs(),
              device_.context());
    }
  }
  work_ = std::move(work);
  ++launches_;
  stream.launch(executable_);
}

void launch_one_by_one(const std::vector<Work>& work, Stream& stream, const CallLibrary& call) {
  for (const Work& node : work) {
    switch (node.kind) {
      case Work::Kind::kKernel:
        stream.launch_with(node.kernel, node.blocks, node.threads, addresses_of(node).data());
        break;
      case Work::Kind::kLibrary:
        call(node, stream.handle());
        break;
      case Work::Kind::kCopyIn:
        stream.copy_in(node.device, node.host, node.bytes);
        break;
      case Work::Kind::kCopyWithin:
        stream.copy(node.device, node.from, node.bytes);
        break;
      case Work::Kind::kCopyOut:
        stream.copy_out(const_cast<void*>(node.host), node.device, node.bytes);
        break;
    }
  }
}

}  // namespace thtrain::cuda
