#include "compiler/cuda/emulated/machine.h"

#include <algorithm>

#include "compiler/base/str.h"

namespace thtrain::cuda::emulated {
namespace {

thread_local CUctx_st* current = nullptr;
thread_local int current_machine = 0;  // that `current` is of
thread_local Status refused = 0;
thread_local std::string complaint;

bool is_idle(const Machine& m, const CUctx_st& context) {
  return std::ranges::all_of(
      m.streams, [&](const auto& entry) { return entry.second->context != &context || entry.second->queue->empty(); });
}

}  // namespace

std::mutex& mutex() {
  static std::mutex one;
  return one;
}

std::unique_ptr<Machine>& machine() {
  static std::unique_ptr<Machine> one = std::make_unique<Machine>(Options{});
  return one;
}

Status refuse(Status status, std::string why) {
  refused = status;
  complaint = std::move(why);
  return status;
}

Status refused_status() {
  return refused;
}

const std::string& refused_why() {
  return complaint;
}

Status no_handle(const char* what) {
  return refuse(CUDA_ERROR_INVALID_HANDLE, str("no ", what, " of the current context"));
}

CUctx_st* current_context() {
  const Machine& m = *machine();
  if (!m.is_initialized) {
    refuse(CUDA_ERROR_NOT_INITIALIZED, "cuInit was not called");
    return nullptr;
  }
  if (current && current_machine == m.number && current->memory) return current;
  refuse(CUDA_ERROR_INVALID_CONTEXT, "this thread has no context that is retained");
  return nullptr;
}

void set_current_context(CUctx_st* context) {
  current = context;
  current_machine = machine()->number;
}

Status enqueue(Machine& m, CUctx_st& context, CUstream_st* handle, std::function<void()> run, IsDone waits_for) {
  CUstream_st* stream = found(m.streams, handle, context);
  if (!stream) return no_handle("stream");
  CUctx_st* of = &context;
  auto unless_spoiled = [of, run = std::move(run)] {
    if (of->status == 0) run();
  };
  if (!stream->captured) {
    stream->queue->push_back({std::move(unless_spoiled), std::move(waits_for)});
    return CUDA_SUCCESS;
  }
  if (stream->capturing != std::this_thread::get_id())
    return refuse(CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD, "another thread captures what the stream is asked for");
  if (waits_for) return refused_in_capture(m, "an event");
  if (stream->is_invalid) return refuse(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, "the capture is lost");
  std::vector<CUgraph_st::Node>& nodes = stream->captured->nodes;
  CUgraph_st::Node node{CUgraph_st::Node::Kind::kCaptured, std::move(unless_spoiled)};
  if (!nodes.empty()) node.waits_for.push_back(nodes.size() - 1);
  nodes.push_back(std::move(node));
  return CUDA_SUCCESS;
}

Status drain(Machine& m, const CUctx_st& context) {
  m.queues.run_until([&] { return is_idle(m, context); });
  return CUDA_SUCCESS;
}

}  // namespace thtrain::cuda::emulated
