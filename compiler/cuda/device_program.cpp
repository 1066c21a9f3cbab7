#include "compiler/cuda/device_program.h"

#include <algorithm>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <utility>

#include "compiler/base/error.h"
#include "compiler/cuda/cubin.h"
#include "compiler/cuda/emulated/driver.h"
#include "compiler/cuda/emulated/math_libraries.h"
#include "compiler/cuda/libraries.h"

namespace thtrain {
namespace {

constexpr int kMayFail = 1, kReadsWord = 2;  // of a launch: device_abi.h

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
                             true, *new cuda::LibraryHandles(*device, cuda::emulated::math_libraries())};
  }();
  return *once;
}

const ProgramDevice& real_device(int number) {
  static std::mutex mutex;
  static auto& opened = *new std::map<int, const ProgramDevice*>;  // without an end, as the devices
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
                            false, *new cuda::LibraryHandles(*device, cuda::math_libraries())};
  }
  return *out;
}

}  // namespace

const ProgramDevice& device_of(const kernel::Target& target) {
  TH_CHECK(target.is_device(), "no device: ", target.text());
  return target.is_emulated() ? emulated_device() : real_device(target.device_number());
}

std::string why_no_device(const kernel::Target& target) {
  return target.is_emulated() ? "" : cuda::why_no_device(cuda::driver(), target.device_number());
}

const cuda::MathLibraries& libraries_of(const kernel::Target& target) {
  return target.is_emulated() ? cuda::emulated::math_libraries() : cuda::math_libraries();
}

std::vector<std::pair<std::string, std::string>> device_facts(const kernel::Target& target) {
  const cuda::Device& device = device_of(target).device;
  return {{"device", str(device.name(), ", sm_", device.compute_capability())},
          {"driver", device.driver_version()},
          {"kernels by", target.is_emulated() ? "the host's compiler" : cuda::cubin_compiler().version}};
}

bool wants_device_graphs() {
  const char* const text = std::getenv("THTRAIN_DEVICE_GRAPHS");
  const std::string_view wish = text ? text : "1";
  if (wish != "0" && wish != "1")
    throw UserError({.what = "THTRAIN_DEVICE_GRAPHS is neither 0 nor 1", .got = std::string(wish)});
  return wish == "1";
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
  leaves_work_ = source.entry.find("return left(ctx") != std::string::npos;
}

// ---- DeviceCalls

DeviceCalls::DeviceCalls(const ProgramDevice& on)
    : ThDevice{},
      on_(on),
      stream_(on.memory.stream()),
      word_(on.device, 3 * sizeof(long)),
      failed_(on.device, word_.bytes()),
      arguments_(on.device, on.memory),
      uses_graphs_(wants_device_graphs()) {
  failure = reinterpret_cast<long*>(word_.address());
  clear_word();
  buffers = [](ThContext* context, const long(*ranges)[2], int count) {
    guarded(context, [&](DeviceCalls& self) {
      if (self.ranges_ == ranges) return;
      self.ranges_ = ranges;
      self.word_number_ = count;
      std::vector<long> all(ranges[0], ranges[0] + 2 * count);
      all.insert(all.end(), {LONG_MAX - 1, LONG_MAX, LONG_MAX - 2, LONG_MAX - 1});
      self.dependencies_.set_ranges(all);
    });
  };
  launch = [](ThContext* context, int kernel, int checks, const int* uses, int use_count, long blocks, int threads,
              void** arguments, const unsigned* sizes, int argument_count) {
    guarded(context, [&](DeviceCalls& self) {
      const auto number = static_cast<size_t>(kernel);
      self.launched_.push_back(number);
      self.may_have_failed_ = self.may_have_failed_ || (checks & kMayFail) != 0;
      TH_CHECK(blocks <= INT32_MAX, blocks, " blocks of ", self.program_->name(number));
      cuda::Work work{.kind = cuda::Work::Kind::kKernel,
                      .kernel = self.program_->kernel(number),
                      .blocks = static_cast<unsigned>(blocks),
                      .threads = static_cast<unsigned>(threads)};
      for (int i = 0; i < argument_count; ++i) {
        work.offsets.push_back(static_cast<unsigned>(work.arguments.size()));
        work.arguments.append(static_cast<const char*>(arguments[i]), sizes[i]);
        work.arguments.resize((work.arguments.size() + 7) / 8 * 8);
      }
      self.add(std::move(work), {uses, static_cast<size_t>(use_count)}, checks);
    });
  };
  copy_in = [](ThContext* context, const int* uses, void* to, const void* from, long bytes) {
    guarded(context, [&](DeviceCalls& self) {
      if (bytes == 0) return;
      const cuda::DeviceAddress there = self.arguments_.there(from);
      self.add({.kind = there ? cuda::Work::Kind::kCopyWithin : cuda::Work::Kind::kCopyIn,
                .device = cuda::address_of(to),
                .host = there ? nullptr : from,
                .from = there,
                .bytes = static_cast<size_t>(bytes)},
               {uses, 2});
    });
  };
  copy_out = [](ThContext* context, const int* uses, void* to, const void* from, long bytes) {
    guarded(context, [&](DeviceCalls& self) {
      if (bytes > 0)
        self.add({.kind = cuda::Work::Kind::kCopyOut,
                  .device = cuda::address_of(from),
                  .host = to,
                  .bytes = static_cast<size_t>(bytes)},
                 {uses, 2});
    });
  };
  wait = [](ThContext* context, int place) {
    guarded(context, [&](DeviceCalls& self) { self.read_failure(context, place); });
  };
  leave = [](ThContext* context, int place) {
    guarded(context, [&](DeviceCalls& self) {
      self.launch_all(place);
      self.arguments_.end_call();
      std::ranges::sort(self.launched_);
      self.launched_.erase(std::unique(self.launched_.begin(), self.launched_.end()), self.launched_.end());
      self.on_.memory.leave(self);
    });
  };
  check = [](ThContext* context, int place) {
    guarded(context, [&](DeviceCalls& self) {
      if (self.may_have_failed_) self.read_failure(context, place);
    });
  };
  allocate = [](ThContext* context, int slot, long bytes) {
    void* out = nullptr;
    guarded(context, [&](DeviceCalls& self) {
      const auto number = static_cast<size_t>(slot);
      if (self.temporaries_.size() <= number) self.temporaries_.resize(number + 1, Tensor::empty(DType::kUInt8, {0}));
      Tensor& memory = self.temporaries_[number];
      // Of no elements too, since kernels get the address.
      if (memory.is_on_host() || memory.bytes() < static_cast<size_t>(bytes)) {
        memory = Tensor::empty(DType::kUInt8, {0});  // there may be no room for both
        memory = Tensor::empty(DType::kUInt8, {std::max(bytes, 1L)}, &self.on_.memory);
      }
      out = const_cast<void*>(memory.address());
    });
    return out;
  };
}

void DeviceCalls::add(cuda::Work work, std::span<const int> uses, int checks) {
  std::vector<cuda::Access> accesses;
  for (const int use : uses) accesses.push_back({use < 0 ? ~use : use, use < 0});
  if (checks != 0) accesses.push_back({word_number_, (checks & kMayFail) != 0});
  if (work.kind == cuda::Work::Kind::kLibrary) accesses.push_back({word_number_ + 1, true});
  work.waits_for = dependencies_.add(accesses);
  work_.push_back(std::move(work));
}

void DeviceCalls::launch_work(int place) {
  std::vector<cuda::Work> work = std::exchange(work_, {});
  dependencies_.clear();
  if (work.empty()) return;
  start_clock();
  launch_work(place, std::move(work));
  stop_clock();
}

// From the first that was launched since the last wait to the last.
void DeviceCalls::start_clock() {
  if (clock_ && !std::exchange(clock_->is_running, true)) stream_.record(clock_->begin);
}

void DeviceCalls::stop_clock() {
  if (clock_) stream_.record(clock_->end);
}

cuda::LibraryStream DeviceCalls::library_stream(CUstream_st* stream) {
  return {stream ? stream : stream_.handle(), [this](size_t bytes) { return workspace(bytes); },
          [this](size_t bytes) -> void* {
            if (library_host_memory_.size() < bytes) library_host_memory_.resize(bytes);
            return library_host_memory_.data();
          }};
}

cuda::DeviceAddress DeviceCalls::workspace(size_t bytes) {
  library_bytes_ = std::max(library_bytes_, bytes);
  // Memory that is freed is so behind the work in it.
  if (library_memory_.bytes() < library_bytes_)
    library_memory_ = Tensor::empty(DType::kUInt8, {static_cast<int64_t>(library_bytes_)}, &on_.memory);
  return cuda::address_of(library_memory_.address());
}

// A single piece of work is no graph, and neither are those of a place whose form changes more often than not, nor
// those of calls of libraries that are made for the first time.
void DeviceCalls::launch_work(int place, std::vector<cuda::Work> work) {
  constexpr long kTried = 8;
  const cuda::CallLibrary call = [this](const cuda::Work& of, CUstream_st* stream) {
    of.call(on_.libraries, library_stream(stream), of.arguments);
  };
  if (work.size() < 2 || place < 0 || !uses_graphs_) return launch_one_by_one(work, stream_, call);
  cuda::Graph& graph = graphs_.try_emplace(place, on_.device).first->second;
  for (cuda::Work& of : work)
    if (of.kind == cuda::Work::Kind::kLibrary) of.device = workspace(0);
  const bool changes_often = graph.builds() >= kTried && 2 * graph.builds() > graph.launches();
  if (!graph.fits(work) && (changes_often || !graph.knows_calls_of(work)))
    return graph.launch_apart(work, stream_, call);
  graph.launch(std::move(work), stream_, call);
}

void DeviceCalls::start_timing() {
  // NOLINTNEXTLINE(modernize-make-unique): an event does not move
  clock_.reset(new Clock{cuda::Event(on_.device, true), cuda::Event(on_.device, true)});
  seconds_ = 0;
}

void DeviceCalls::begin(const DeviceProgram& program, size_t host_bytes, ThContext* context, void (*fail)(ThContext*)) {
  const cuda::DeviceMemory& memory = on_.memory;
  if (program.leaves_work())
    memory.settle_checks(this);
  else
    memory.settle();
  arguments_.begin_call(memory.has_left(*this));
  // Of a call before the last: kernels that change variables have done nothing since.
  if (memory.has_left(*this) && may_have_failed_ && failed()[0] != 0) memory.settle();
  program_ = &program;
  context_ = context;
  fail_ = fail;
  if (host_memory_.bytes() < host_bytes)
    host_memory_ = Tensor::empty(DType::kUInt8, {static_cast<int64_t>(host_bytes)});
  host_arena = static_cast<char*>(host_memory_.raw());
  constants = program.constants();
  thrown_ = nullptr;
  work_.clear();
  dependencies_.clear();
  if (memory.has_left(*this)) return;
  if (may_have_failed_) clear_word();  // a call that ended early left it so
  may_have_failed_ = false;
}

void DeviceCalls::clear_word() {
  stream_.fill(word_.address(), 0, word_.bytes());
  std::memset(failed_.data(), 0, failed_.bytes());
}

void DeviceCalls::finish() {
  std::vector<size_t> kernels;
  kernels.swap(launched_);
  try {
    stream_.wait();
    if (clock_ && std::exchange(clock_->is_running, false)) seconds_ += clock_->end.seconds_since(clock_->begin);
  } catch (InternalError& error) {
    constexpr size_t kMostNamed = 8;
    std::ranges::sort(kernels);
    kernels.erase(std::unique(kernels.begin(), kernels.end()), kernels.end());
    if (kernels.empty()) throw;
    Message message = error.messages().front();
    message.got = str("after ",
                      join(std::span(kernels).first(std::min(kernels.size(), kMostNamed)), ", ",
                           [&](size_t number) { return program_->name(number); }),
                      kernels.size() > kMostNamed ? ", ..." : "");
    throw InternalError(std::move(message));
  }
}

void DeviceCalls::launch_all(int place) {
  if (may_have_failed_)
    add({.kind = cuda::Work::Kind::kCopyOut,
         .device = word_.address(),
         .host = failed_.data(),
         .bytes = failed_.bytes()},
        {}, kReadsWord);
  launch_work(place);
}

void DeviceCalls::read_failure(ThContext* context, int place) {
  launch_all(place);
  finish();
  tell_failure(context);
}

// After a wait.
void DeviceCalls::tell_failure(ThContext* context) {
  if (!std::exchange(may_have_failed_, false) || failed()[0] == 0) return;
  const int check = static_cast<int>(failed()[0]) - 1;
  const long value = failed()[1], limit = failed()[2];
  clear_word();
  context->fail(context, check, value, limit);
}

void DeviceCalls::read() {
  finish();
  context_->failure.word = 0;
  tell_failure(context_);
  if (context_->failure.word) fail_(context_);
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
  out.push_back(library_memory_);
  return out;
}

void DeviceCalls::free() {
  arguments_.free();
  host_memory_ = Tensor::empty(DType::kUInt8, {0});
  library_memory_ = host_memory_;
  temporaries_.clear();
}

}  // namespace thtrain
