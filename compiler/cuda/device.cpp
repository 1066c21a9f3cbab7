#include "compiler/cuda/device.h"

#include "compiler/base/error.h"
#include "compiler/cuda/device_calls.h"

namespace thtrain::cuda {

// ---- Device

Device::Device(const Driver& driver, int ordinal) : driver_(driver) {
  check(driver_, driver_.cuInit(0), "cuInit");
  check(driver_, driver_.cuDeviceGet(&number_, ordinal), "cuDeviceGet");
  check(driver_, driver_.cuDevicePrimaryCtxRetain(&context_, number_), "cuDevicePrimaryCtxRetain");
}

Device::~Device() {
  driver_.cuDevicePrimaryCtxRelease_v2(number_);
}

size_t Device::bytes() const {
  size_t out = 0;
  check(driver_, driver_.cuDeviceTotalMem_v2(&out, number_), "cuDeviceTotalMem_v2");
  return out;
}

int Device::attribute(Attribute attribute) const {
  int out = 0;
  check(driver_, driver_.cuDeviceGetAttribute(&out, attribute, number_), "cuDeviceGetAttribute");
  return out;
}

int Device::compute_capability() const {
  return 10 * attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR) +
         attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
}

// Multiply-adds of float32 of a multiprocessor in a cycle: 64 of Turing and the first Ampere, 128 of those since ("CUDA
// C++ Programming Guide", "Arithmetic Instructions"). Clocks are in kHz, and memory moves bits at both edges.
Device::Ceilings Device::ceilings() const {
  constexpr double kHertz = 1000, kEdges = 2, kBits = 8;
  const int adds = compute_capability() <= 80 ? 64 : 128;
  Ceilings out;
  out.flops32 = 2.0 * adds * attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT) * kHertz *
                attribute(CU_DEVICE_ATTRIBUTE_CLOCK_RATE);
  out.flops64 = out.flops32 / attribute(CU_DEVICE_ATTRIBUTE_SINGLE_TO_DOUBLE_PRECISION_PERF_RATIO);
  out.bytes = kEdges * kHertz * attribute(CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE) *
              attribute(CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH) / kBits;
  return out;
}

std::string Device::name() const {
  char out[256] = "";
  if (driver_.cuDeviceGetName) check(driver_, driver_.cuDeviceGetName(out, sizeof out, number_), "cuDeviceGetName");
  return out;
}

std::string Device::driver_version() const {
  int version = 0;
  check(driver_, driver_.cuDriverGetVersion(&version), "cuDriverGetVersion");
  return str(version / 1000, ".", version % 1000 / 10);
}

void Device::use() const {
  check(driver_, driver_.cuCtxSetCurrent(context_), "cuCtxSetCurrent");
}

void Device::wait() const {
  TH_CALL(*this, cuCtxSynchronize);
}

// ---- memory, events, kernels

DeviceAddress allocate_memory(const Device& device, size_t bytes) {
  DeviceAddress out = 0;
  if (bytes == 0) return out;
  device.use();
  const Status status = device.driver().cuMemAlloc_v2(&out, bytes);
  if (status == CUDA_ERROR_OUT_OF_MEMORY)
    throw UserError({.what = "the device's memory has run out",
                     .expected = str(bytes, " bytes more"),
                     .got = str("a device with ", device.bytes(), " bytes"),
                     .hint = "smaller minibatches need less"});
  check(device.driver(), status, "cuMemAlloc_v2");
  return out;
}

void free_memory(const Device& device, DeviceAddress address) {
  if (address) TH_RELEASE(device, cuMemFree_v2, address);
}

DeviceBuffer::DeviceBuffer(const Device& device, size_t bytes)
    : device_(device), bytes_(bytes), address_(allocate_memory(device, bytes)) {}

DeviceBuffer::~DeviceBuffer() {
  free_memory(device_, address_);
}

PinnedBuffer::PinnedBuffer(const Device& device, size_t bytes) : device_(device), bytes_(bytes) {
  if (bytes == 0) return;
  device_.use();
  const Status status = device_.driver().cuMemHostAlloc(&data_, bytes, 0);
  if (status == CUDA_ERROR_OUT_OF_MEMORY)
    throw UserError({.what = "the host has no memory for copies to the device",
                     .expected = str(bytes, " bytes that stay in memory"),
                     .hint = "smaller minibatches need less; `ulimit -l` may be too low"});
  check(device_.driver(), status, "cuMemHostAlloc");
}

PinnedBuffer::~PinnedBuffer() {
  if (data_) TH_RELEASE(device_, cuMemFreeHost, data_);
}

Event::Event(const Device& device, bool has_time) : device_(device) {
  TH_CALL(device_, cuEventCreate, &handle_, has_time ? CU_EVENT_DEFAULT : CU_EVENT_DISABLE_TIMING);
}

double Event::seconds_since(const Event& begin) const {
  float milliseconds = 0;
  TH_CALL(device_, cuEventElapsedTime, &milliseconds, begin.handle(), handle_);
  return milliseconds / 1000.0;
}

Event::~Event() {
  TH_RELEASE(device_, cuEventDestroy_v2, handle_);
}

void Event::wait() const {
  TH_CALL(device_, cuEventSynchronize, handle_);
}

Module::Module(const Device& device, const std::string& image) : device_(device) {
  TH_CALL(device_, cuModuleLoadData, &handle_, image.c_str());
}

Module::~Module() {
  TH_RELEASE(device_, cuModuleUnload, handle_);
}

CUfunc_st* Module::kernel(const char* name) const {
  CUfunc_st* out = nullptr;
  TH_CALL(device_, cuModuleGetFunction, &out, handle_, name);
  return out;
}

// ---- Stream

Stream::Stream(const Device& device) : device_(device) {
  TH_CALL(device_, cuStreamCreate, &handle_, CU_STREAM_NON_BLOCKING);
}

Stream::~Stream() {
  TH_RELEASE(device_, cuStreamDestroy_v2, handle_);
}

void Stream::copy_in(DeviceAddress to, const void* from, size_t bytes) {
  TH_CALL(device_, cuMemcpyHtoDAsync_v2, to, from, bytes, handle_);
}

void Stream::copy_out(void* to, DeviceAddress from, size_t bytes) {
  TH_CALL(device_, cuMemcpyDtoHAsync_v2, to, from, bytes, handle_);
}

void Stream::copy(DeviceAddress to, DeviceAddress from, size_t bytes) {
  TH_CALL(device_, cuMemcpyDtoDAsync_v2, to, from, bytes, handle_);
}

void Stream::fill(DeviceAddress to, unsigned char value, size_t bytes) {
  TH_CALL(device_, cuMemsetD8Async, to, value, bytes, handle_);
}

void Stream::record(const Event& event) {
  TH_CALL(device_, cuEventRecord, event.handle(), handle_);
}

void Stream::wait_for(const Event& event) {
  TH_CALL(device_, cuStreamWaitEvent, handle_, event.handle(), 0);
}

void Stream::launch_with(CUfunc_st* kernel, unsigned blocks, unsigned threads, void** parameters) {
  TH_CALL(device_, cuLaunchKernel, kernel, blocks, 1, 1, threads, 1, 1, 0, handle_, parameters, nullptr);
}

void Stream::launch(CUgraphExec_st* graph) {
  TH_CALL(device_, cuGraphLaunch, graph, handle_);
}

void Stream::wait() {
  TH_CALL(device_, cuStreamSynchronize, handle_);
}

}  // namespace thtrain::cuda
