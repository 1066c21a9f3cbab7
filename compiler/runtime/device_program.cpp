#include "compiler/runtime/device_program.h"

#include <algorithm>
#include <map>
#include <mutex>

#include "compiler/base/error.h"
#include "compiler/cuda/cubin.h"
#include "compiler/cuda/emulated/driver.h"
#include "compiler/cuda/libraries.h"

namespace thtrain {
namespace {

const ProgramDevice& emulated_device() {
  static const ProgramDevice* const once = [] {
    const auto* device = new cuda::Device(cuda::emulated::driver(), 0);
    const auto* memory = new cuda::DeviceMemory(*device, "the emulated device's memory");
    return new ProgramDevice{*device, *memory,
                             [](std::span<const std::string> texts, int compute_capability) {
                               std::vector<std::string> out;
                               for (const std::string& text : texts)
                                 out.push_back(cuda::compile_cubin(cuda::emulated::nvrtc(), text, compute_capability));
                               return out;
                             },
                             true};
  }();
  return *once;
}

const ProgramDevice& real_device(int number) {
  static std::mutex mutex;
  static std::map<int, const ProgramDevice*> opened;
  const std::lock_guard lock(mutex);
  const ProgramDevice*& out = opened[number];
  if (!out) {
    cuda::require_device(number);
    const auto* device = new cuda::Device(cuda::driver().functions, number);
    const auto* memory = new cuda::DeviceMemory(*device, str("the memory of CUDA device ", number));
    out = new ProgramDevice{*device, *memory,
                            [](std::span<const std::string> texts, int compute_capability) {
                              return cuda::cached_cubins(cuda::cubin_compiler(), texts, compute_capability);
                            },
                            false};
  }
  return *out;
}

}  // namespace

const ProgramDevice& device_of(const kernel::Target& target) {
  TH_CHECK(target.is_device(), "no device: ", target.text());
  return target.is_emulated() ? emulated_device() : real_device(target.device_number());
}

// ---- DeviceProgram

DeviceProgram::DeviceProgram(const ProgramDevice& on, const SourceText& source, std::span<const Tensor> constants)
    : on_(on) {
  std::vector<std::string> texts, names;
  for (const KernelText& kernel : source.kernels) {
    names_.push_back(kernel.name);
    const NamedText one = on.is_one_text ? NamedText{kernel.name, {}} : device_text_of(source, kernel);
    names.push_back(one.name);
    if (!on.is_one_text) texts.push_back(one.text);
  }
  if (on.is_one_text && !names.empty()) texts.push_back(device_text(source));
  for (const std::string& image : on.compile(texts, on.device.compute_capability()))
    modules_.push_back(std::make_unique<cuda::Module>(on.device, image));
  for (size_t i = 0; i < names.size(); ++i)
    kernels_.push_back(modules_[on.is_one_text ? 0 : i]->kernel(names[i].c_str()));
  for (size_t i = 0; i < constants.size(); ++i) {
    const bool is_there = source.entry.find(str("ctx->device->constants[", i, "]")) != std::string::npos;
    constants_.push_back(is_there ? constants[i].copy(&on.memory) : Tensor());
    addresses_.push_back(is_there ? const_cast<void*>(constants_.back().address()) : nullptr);
  }
}

// ---- DeviceCalls

// Nothing is thrown through the entry, which asks the word of failure.
template <class F>
void DeviceCalls::guarded(ThContext* context, F f) {
  auto& self = *static_cast<DeviceCalls*>(context->device);
  if (self.thrown_) return;
  try {
    f(self);
  } catch (...) {
    self.thrown_ = std::current_exception();
    context->fail(context, TH_NO_CHECK, 0, 0);
  }
}

DeviceCalls::DeviceCalls(const ProgramDevice& on)
    : ThDevice{}, on_(on), stream_(on.device), word_(on.device, sizeof failed_) {
  failure = reinterpret_cast<long*>(word_.address());
  stream_.fill(word_.address(), 0, sizeof failed_);
  launch = [](ThContext* context, int kernel, int may_fail, long blocks, int threads, void** arguments) {
    guarded(context, [&](DeviceCalls& self) {
      const auto number = static_cast<size_t>(kernel);
      self.launched_.push_back(number);
      self.may_have_failed_ = self.may_have_failed_ || may_fail != 0;
      TH_CHECK(blocks <= UINT32_MAX, blocks, " blocks of ", self.program_->name(number));
      self.stream_.launch_with(self.program_->kernel(number), static_cast<unsigned>(blocks),
                               static_cast<unsigned>(threads), arguments);
    });
  };
  copy_in = [](ThContext* context, void* to, const void* from, long bytes) {
    guarded(context, [&](DeviceCalls& self) {
      if (bytes > 0) self.stream_.copy_in(cuda::address_of(to), from, static_cast<size_t>(bytes));
    });
  };
  copy_out = [](ThContext* context, void* to, const void* from, long bytes) {
    guarded(context, [&](DeviceCalls& self) {
      if (bytes > 0) self.stream_.copy_out(to, cuda::address_of(from), static_cast<size_t>(bytes));
    });
  };
  wait = [](ThContext* context) { guarded(context, [&](DeviceCalls& self) { self.read_failure(context); }); };
  check = [](ThContext* context) {
    guarded(context, [&](DeviceCalls& self) {
      if (self.may_have_failed_) self.read_failure(context);
    });
  };
  allocate = [](ThContext* context, int slot, long bytes) {
    void* out = nullptr;
    guarded(context, [&](DeviceCalls& self) {
      const auto number = static_cast<size_t>(slot);
      if (self.temporaries_.size() <= number) self.temporaries_.resize(number + 1, Tensor::empty(DType::kUInt8, {0}));
      Tensor& memory = self.temporaries_[number];
      if (memory.bytes() < static_cast<size_t>(bytes)) memory = Tensor::empty(DType::kUInt8, {bytes}, &self.on_.memory);
      out = const_cast<void*>(memory.address());
    });
    return out;
  };
}

void DeviceCalls::begin(const DeviceProgram& program, size_t host_bytes) {
  program_ = &program;
  if (host_memory_.bytes() < host_bytes)
    host_memory_ = Tensor::empty(DType::kUInt8, {static_cast<int64_t>(host_bytes)});
  host_arena = static_cast<char*>(host_memory_.raw());
  constants = program.constants();
  thrown_ = nullptr;
  if (may_have_failed_) stream_.fill(word_.address(), 0, sizeof failed_);  // a call that ended early left it so
  may_have_failed_ = false;
}

void DeviceCalls::finish() {
  std::vector<size_t> kernels;
  kernels.swap(launched_);
  try {
    stream_.wait();
  } catch (InternalError& error) {
    constexpr size_t kMostNamed = 8;
    std::ranges::sort(kernels);
    kernels.erase(std::ranges::unique(kernels).begin(), kernels.end());
    if (kernels.empty()) throw;
    Message message = error.messages().front();
    message.got = str("after ",
                      join(std::span(kernels).first(std::min(kernels.size(), kMostNamed)), ", ",
                           [&](size_t number) { return program_->name(number); }),
                      kernels.size() > kMostNamed ? ", ..." : "");
    throw InternalError(std::move(message));
  }
}

void DeviceCalls::read_failure(ThContext* context) {
  if (!may_have_failed_) return finish();
  stream_.copy_out(failed_, word_.address(), sizeof failed_);
  finish();
  may_have_failed_ = false;
  if (failed_[0] == 0) return;
  stream_.fill(word_.address(), 0, sizeof failed_);
  context->fail(context, static_cast<int>(failed_[0]) - 1, failed_[1], failed_[2]);
}

void DeviceCalls::end_early() {
  try {
    finish();
  } catch (const InternalError&) {
    if (!thrown_) throw;
  }
  if (thrown_) std::rethrow_exception(std::exchange(thrown_, nullptr));
}

std::vector<Tensor> DeviceCalls::memory() const {
  std::vector<Tensor> out = temporaries_;
  out.push_back(host_memory_);
  return out;
}

void DeviceCalls::free() {
  host_memory_ = Tensor::empty(DType::kUInt8, {0});
  temporaries_.clear();
}

}  // namespace thtrain
