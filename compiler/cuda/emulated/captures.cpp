// The emulated driver's captures: what a stream is asked for becomes a graph, one node behind the other. While a thread
// captures, it must ask for nothing that has to be done at once: memory, modules, waiting. Then the capture is lost, as
// with CU_STREAM_CAPTURE_MODE_THREAD_LOCAL; stricter, of any stream and for memory of the host, too.
#include "compiler/base/str.h"
#include "compiler/cuda/emulated/machine.h"

namespace thtrain::cuda::emulated {
namespace {

Status begin_capture(CUstream_st* handle, int mode) {
  return in_context([&](Machine& m, CUctx_st& context) {
    CUstream_st* stream = found(m.streams, handle, context);
    if (!stream) return no_handle("stream");
    if (mode != CU_STREAM_CAPTURE_MODE_THREAD_LOCAL)
      return refuse(CUDA_ERROR_INVALID_VALUE, "a mode of captures that thtrain does not use");
    if (stream->captured) return refuse(CUDA_ERROR_ILLEGAL_STATE, "the stream is captured already");
    stream->captured = std::make_unique<CUgraph_st>(CUgraph_st{&context});
    stream->capturing = std::this_thread::get_id();
    stream->is_invalid = false;
    return CUDA_SUCCESS;
  });
}

Status end_capture(CUstream_st* handle, CUgraph_st** out) {
  return in_context([&](Machine& m, CUctx_st& context) {
    CUstream_st* stream = found(m.streams, handle, context);
    if (!stream) return no_handle("stream");
    *out = nullptr;
    if (!stream->captured) return refuse(CUDA_ERROR_ILLEGAL_STATE, "the stream is not captured");
    if (stream->capturing != std::this_thread::get_id())
      return refuse(CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD, "another thread has begun the capture");
    std::unique_ptr<CUgraph_st> graph = std::move(stream->captured);
    if (stream->is_invalid) return refuse(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, "the capture is lost");
    for (size_t n = 0; n < graph->nodes.size(); ++n) graph->handles.push_back(std::make_unique<CUgraphNode_st>());
    *out = graph.get();
    m.graphs[*out] = std::move(graph);
    return CUDA_SUCCESS;
  });
}

}  // namespace

Status refused_in_capture(Machine& m, const char* what) {
  bool any = false;
  for (auto& [handle, stream] : m.streams) {
    if (!stream->captured || stream->capturing != std::this_thread::get_id()) continue;
    stream->is_invalid = any = true;
  }
  return any ? refuse(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, str(what, " in a capture")) : CUDA_SUCCESS;
}

void add_captures(Driver& driver) {
  driver.cuStreamBeginCapture_v2 = begin_capture;
  driver.cuStreamEndCapture = end_capture;
}

}  // namespace thtrain::cuda::emulated
