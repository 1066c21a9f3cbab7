#include "compiler/cuda/emulated/driver.h"

#include <charconv>
#include <cstdlib>
#include <cstring>

#include "compiler/base/error.h"
#include "compiler/base/str.h"
#include "compiler/cuda/emulated/machine.h"

namespace thtrain::cuda::emulated {
namespace {

// ---- driver and devices

Status init(unsigned flags) {
  std::lock_guard lock(mutex());
  if (flags != 0) return refuse(CUDA_ERROR_INVALID_VALUE, "flags of cuInit are 0");
  machine()->is_initialized = true;
  return CUDA_SUCCESS;
}

Status driver_version(int* version) {
  *version = 12040;
  return CUDA_SUCCESS;
}

Status error_name(Status status, const char** name) {
  switch (status) {
#define TH_CONSTANT(type, constant, value) TH_NAME_OF_##type(constant, value)
#define TH_NAME_OF_Status(constant, value) \
  case value:                              \
    *name = #constant;                     \
    return CUDA_SUCCESS;
#define TH_NAME_OF_Attribute(constant, value)
#define TH_NAME_OF_unsigned(constant, value)
#define TH_NAME_OF_int(constant, value)
#include "compiler/cuda/driver_constants.inc"
#undef TH_NAME_OF_Status
#undef TH_NAME_OF_Attribute
#undef TH_NAME_OF_unsigned
#undef TH_NAME_OF_int
    default:
      *name = nullptr;
      return CUDA_ERROR_INVALID_VALUE;
  }
}

Status error_string(Status status, const char** text) {
  *text = status == CUDA_SUCCESS       ? "no error"
          : status == refused_status() ? refused_why().c_str()
                                       : "not by this thread";
  return CUDA_SUCCESS;
}

Status device_count(int* count) {
  std::lock_guard lock(mutex());
  if (!machine()->is_initialized) return refuse(CUDA_ERROR_NOT_INITIALIZED, "cuInit was not called");
  *count = machine()->options.devices;
  return CUDA_SUCCESS;
}

bool is_device(int number) {
  return machine()->is_initialized && number >= 0 && number < machine()->options.devices;
}
Status no_device() {
  return refuse(CUDA_ERROR_INVALID_DEVICE, "there is no device of that number");
}

Status device(DeviceNumber* out, int ordinal) {
  std::lock_guard lock(mutex());
  if (!is_device(ordinal)) return no_device();
  *out = ordinal;
  return CUDA_SUCCESS;
}

Status device_name(char* name, int bytes, DeviceNumber) {
  std::strncpy(name, "emulated device", static_cast<size_t>(bytes));
  name[bytes - 1] = 0;
  return CUDA_SUCCESS;
}

Status device_attribute(int* value, Attribute attribute, DeviceNumber number) {
  std::lock_guard lock(mutex());
  if (!is_device(number)) return no_device();
  static const std::map<Attribute, unsigned> kValues = {
      {CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, kMostThreads},
      {CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X, kMostBlocks},
      {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK, 48 << 10},
      {CU_DEVICE_ATTRIBUTE_WARP_SIZE, 32},
      {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 7},
      {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, 5},
      {CU_DEVICE_ATTRIBUTE_CLOCK_RATE, 1'000'000},
      {CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 2},
      {CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE, 1'000'000},
      {CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH, 64},
      {CU_DEVICE_ATTRIBUTE_SINGLE_TO_DOUBLE_PRECISION_PERF_RATIO, 32}};
  const auto known = kValues.find(attribute);
  if (known == kValues.end()) return refuse(CUDA_ERROR_INVALID_VALUE, "an attribute that thtrain does not ask for");
  *value = static_cast<int>(known->second);
  return CUDA_SUCCESS;
}

Status total_memory(size_t* bytes, DeviceNumber number) {
  std::lock_guard lock(mutex());
  if (!is_device(number)) return no_device();
  *bytes = machine()->options.bytes;
  return CUDA_SUCCESS;
}

// ---- contexts

Status retain(CUctx_st** out, DeviceNumber number) {
  std::lock_guard lock(mutex());
  if (!is_device(number)) return no_device();
  CUctx_st& context = machine()->contexts[static_cast<size_t>(number)];
  if (context.retained++ == 0) {
    context.memory = std::make_unique<Memory>(machine()->options.bytes);
    if (machine()->options.checks) context.checker = std::make_unique<Checker>(machine()->options.on_touch);
  }
  *out = &context;
  return CUDA_SUCCESS;
}

template <class T>
void remove_of(std::map<const void*, std::unique_ptr<T>>& all, const CUctx_st& context) {
  std::erase_if(all, [&](const auto& entry) { return entry.second->context == &context; });
}

// With the last user all goes that the context had, its error too.
Status release(DeviceNumber number) {
  std::lock_guard lock(mutex());
  Machine& m = *machine();
  if (!is_device(number)) return no_device();
  CUctx_st& context = m.contexts[static_cast<size_t>(number)];
  if (context.retained == 0) return refuse(CUDA_ERROR_INVALID_CONTEXT, "nobody retains the context");
  if (--context.retained > 0) return CUDA_SUCCESS;
  for (const auto& [handle, stream] : m.streams)
    if (stream->context == &context) m.queues.remove(stream->queue);
  remove_of(m.streams, context);
  remove_of(m.events, context);
  remove_of(m.executables, context);
  remove_of(m.graphs, context);
  remove_of(m.modules, context);
  context.memory = nullptr;
  context.pinned = {};
  context.checker = nullptr;
  context.status = 0;
  return CUDA_SUCCESS;
}

Status set_current(CUctx_st* context) {
  std::lock_guard lock(mutex());
  set_current_context(context);
  return CUDA_SUCCESS;
}

Status synchronize_context() {
  return in_context([](Machine& m, CUctx_st& context) {
    const Status status = refused_in_capture(m, "a wait");
    return status != CUDA_SUCCESS ? status : drain(m, context);
  });
}

}  // namespace

// The variable's value; `without` where there is none.
static uint64_t number_of(const char* variable, const char* what, uint64_t least, uint64_t most, uint64_t without) {
  const char* text = std::getenv(variable);
  if (!text) return without;
  uint64_t out = 0;
  const char* const end = text + std::strlen(text);
  const auto [behind, error] = std::from_chars(text, end, out);
  if (error != std::errc() || behind != end || out < least || out > most)
    throw UserError(
        {.what = str(variable, " is ", what), .expected = str("an integer from ", least, " to ", most), .got = text});
  return out;
}

uint64_t seed_of_streams() {
  return number_of("THTRAIN_EMULATED_STREAMS", "not a number that draws the order of streams", 0, UINT64_MAX, 0);
}

// Kernels read it themselves, and skip what is no digit (compiler/codegen/device_text/emulated_cuda.h).
void check_order() {
  number_of("THTRAIN_EMULATED_ORDER", "not a number that draws the order of blocks and threads", 0, UINT64_MAX, 0);
}

size_t bytes_of_device() {
  return number_of("THTRAIN_EMULATED_BYTES", "not a number of bytes that a device may have", 1 << 12, uint64_t{1} << 40,
                   uint64_t{1} << 32);
}

bool wants_checks() {
  return number_of("THTRAIN_EMULATED_CHECKS", "neither 0 nor 1", 0, 1, 0) == 1;
}

void start(const Options& options) {
  std::lock_guard lock(mutex());
  auto next = std::make_unique<Machine>(options);
  next->number = machine()->number + 1;
  machine() = std::move(next);
}

const Driver& driver() {
  static const Driver once = [] {
    Driver out = {.cuInit = init,
                  .cuDriverGetVersion = driver_version,
                  .cuGetErrorName = error_name,
                  .cuGetErrorString = error_string,
                  .cuDeviceGetCount = device_count,
                  .cuDeviceGet = device,
                  .cuDeviceGetName = device_name,
                  .cuDeviceGetAttribute = device_attribute,
                  .cuDeviceTotalMem_v2 = total_memory,
                  .cuDevicePrimaryCtxRetain = retain,
                  .cuDevicePrimaryCtxRelease_v2 = release,
                  .cuCtxSetCurrent = set_current,
                  .cuCtxSynchronize = synchronize_context};
    add_memory(out);
    add_streams(out);
    add_captures(out);
    add_kernels(out);
    add_graphs(out);
    return out;
  }();
  return once;
}

}  // namespace thtrain::cuda::emulated
