// The emulated driver's streams and events.
#include <chrono>

#include "compiler/cuda/emulated/machine.h"

namespace thtrain::cuda::emulated {
namespace {

Status create_stream(CUstream_st** out, unsigned flags) {
  return in_context([&](Machine& m, CUctx_st& context) {
    if (flags != CU_STREAM_NON_BLOCKING)
      return refuse(CUDA_ERROR_INVALID_VALUE, "a stream that the default stream holds up");
    auto stream = std::make_unique<CUstream_st>();
    stream->context = &context;
    stream->queue = m.queues.add();
    *out = stream.get();
    m.streams[*out] = std::move(stream);
    return CUDA_SUCCESS;
  });
}

Status synchronize_stream(CUstream_st* handle) {
  return in_context([&](Machine& m, CUctx_st& context) {
    const CUstream_st* stream = found(m.streams, handle, context);
    if (!stream) return no_handle("stream");
    if (const Status status = refused_in_capture(m, "a wait"); status != CUDA_SUCCESS) return status;
    m.queues.run_until([&] { return stream->queue->empty(); });
    return CUDA_SUCCESS;
  });
}

Status destroy_stream(CUstream_st* handle) {
  return in_context([&](Machine& m, CUctx_st& context) {
    const CUstream_st* stream = found(m.streams, handle, context);
    if (!stream) return no_handle("stream");
    m.queues.run_until([&] { return stream->queue->empty(); });
    m.queues.remove(stream->queue);
    m.streams.erase(handle);
    return CUDA_SUCCESS;
  });
}

Status create_event(CUevent_st** out, unsigned flags) {
  return in_context([&](Machine& m, CUctx_st& context) {
    if (flags != CU_EVENT_DISABLE_TIMING && flags != CU_EVENT_DEFAULT)
      return refuse(CUDA_ERROR_INVALID_VALUE, "an event of flags that the emulated device does not know");
    auto event = std::make_unique<CUevent_st>(CUevent_st{&context, flags == CU_EVENT_DEFAULT});
    *out = event.get();
    m.events[*out] = std::move(event);
    return CUDA_SUCCESS;
  });
}

Status destroy_event(CUevent_st* handle) {
  return in_context([&](Machine& m, CUctx_st& context) {
    if (!found(m.events, handle, context)) return no_handle("event");
    m.events.erase(handle);
    return CUDA_SUCCESS;
  });
}

Status record(CUevent_st* handle, CUstream_st* stream) {
  return in_context([&](Machine& m, CUctx_st& context) {
    CUevent_st* event = found(m.events, handle, context);
    if (!event) return no_handle("event");
    if (const Status status = refused_in_capture(m, "an event"); status != CUDA_SUCCESS) return status;
    auto is_done = std::make_shared<bool>(false);
    const Status status = enqueue(m, context, stream, [] {});
    if (status != CUDA_SUCCESS) return status;
    // Whatever has spoiled the context, nobody waits for it in vain.
    found(m.streams, stream, context)->queue->back().run = [is_done, seconds = event->seconds] {
      *is_done = true;
      *seconds = std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
    };
    event->last = is_done;
    return CUDA_SUCCESS;
  });
}

Status wait_event(CUstream_st* stream, CUevent_st* handle, unsigned flags) {
  return in_context([&](Machine& m, CUctx_st& context) {
    const auto event = m.events.find(handle);  // of any device
    if (event == m.events.end() || flags != 0) return no_handle("event");
    return enqueue(
        m, context, stream, [] {}, event->second->last);
  });
}

Status synchronize_event(CUevent_st* handle) {
  return in_context([&](Machine& m, CUctx_st& context) {
    const CUevent_st* event = found(m.events, handle, context);
    if (!event) return no_handle("event");
    if (const Status status = refused_in_capture(m, "a wait"); status != CUDA_SUCCESS) return status;
    if (event->last) m.queues.run_until([is_done = event->last] { return *is_done; });
    return CUDA_SUCCESS;
  });
}

Status elapsed(float* milliseconds, CUevent_st* begin, CUevent_st* end) {
  return in_context([&](Machine& m, CUctx_st& context) {
    const CUevent_st *from = found(m.events, begin, context), *to = found(m.events, end, context);
    if (!from || !to) return no_handle("event");
    for (const CUevent_st* event : {from, to}) {
      if (!event->has_time || !event->last)
        return refuse(CUDA_ERROR_INVALID_HANDLE, "the time of an event that has none, or was not recorded");
      if (!*event->last) return refuse(CUDA_ERROR_NOT_READY, "the time of an event that nobody waited for");
    }
    *milliseconds = static_cast<float>(1000 * (*to->seconds - *from->seconds));
    return CUDA_SUCCESS;
  });
}

}  // namespace

void add_streams(Driver& driver) {
  driver.cuStreamCreate = create_stream;
  driver.cuStreamDestroy_v2 = destroy_stream;
  driver.cuStreamSynchronize = synchronize_stream;
  driver.cuStreamWaitEvent = wait_event;
  driver.cuEventCreate = create_event;
  driver.cuEventDestroy_v2 = destroy_event;
  driver.cuEventRecord = record;
  driver.cuEventSynchronize = synchronize_event;
  driver.cuEventElapsedTime = elapsed;
}

}  // namespace thtrain::cuda::emulated
