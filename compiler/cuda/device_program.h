// Programs on devices: the device that a target names, the kernels of a program there, and what its entry calls.
#pragma once

#include <cstring>
#include <exception>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "compiler/codegen/entry_abi.h"
// It follows the interface.
#include "compiler/codegen/device_text/device_abi.h"
#include "compiler/codegen/source_text.h"
#include "compiler/cuda/device_memory.h"
#include "compiler/cuda/graph.h"
#include "compiler/cuda/library_handles.h"
#include "compiler/cuda/sent_arguments.h"
#include "compiler/ir/tensor.h"
#include "compiler/kernel/target.h"

namespace thtrain {

/// A device from its first use until the process ends.
struct ProgramDevice {
  const cuda::Device& device;
  const cuda::DeviceMemory& memory;
  /// Machine code of texts of kernels.
  std::vector<std::string> (*compile)(std::span<const std::string> texts, int compute_capability);
  bool is_one_text;  // is it faster to compile all kernels of a program together?
  cuda::LibraryHandles& libraries;
};

/// Why there is none; "" where there is one.
std::string why_no_device(const kernel::Target& target);
/// The libraries of such a device, which need not be there.
const cuda::MathLibraries& libraries_of(const kernel::Target& target);

/// Opens it at the first call. UserError where it is not there.
const ProgramDevice& device_of(const kernel::Target& target);

/// What the bits of a run there depend on besides the program, by name: "device" = "NVIDIA H200, sm_90", "driver" =
/// "13.0", "kernels by" = "NVRTC 13.0".
std::vector<std::pair<std::string, std::string>> device_facts(const kernel::Target& target);

/// Not with THTRAIN_DEVICE_GRAPHS=0: then each kernel of a program and each copy is launched by itself. UserError where
/// that is neither 0 nor 1.
bool wants_device_graphs();

/// A program's kernels and constants on its device. Immutable: functions and threads share it.
class DeviceProgram {
 public:
  DeviceProgram(const ProgramDevice& on, const SourceText& source, std::span<const Tensor> constants);

  const ProgramDevice& on() const { return on_; }
  CUfunc_st* kernel(size_t number) const { return kernels_[number]; }
  const std::string& name(size_t number) const { return names_[number]; }
  void* const* constants() const { return addresses_.data(); }
  /// Does nobody wait at the end of a call?
  bool leaves_work() const { return leaves_work_; }

 private:
  const ProgramDevice& on_;
  std::vector<std::unique_ptr<cuda::Module>> modules_;
  std::vector<CUfunc_st*> kernels_;
  std::vector<std::string> names_;
  std::vector<Tensor> constants_;
  std::vector<void*> addresses_;
  bool leaves_work_ = false;
};

/// ThContext::device of one function: its arguments there, its word of failure, and memory whose size the data decides.
/// What is asked for between two waits of the entry is launched as one graph. Whoever calls has DeviceMemory::turn().
class DeviceCalls : public ThDevice, public cuda::UnreadWork {
 public:
  explicit DeviceCalls(const ProgramDevice& on);
  DeviceCalls(const DeviceCalls&) = delete;
  DeviceCalls& operator=(const DeviceCalls&) = delete;

  const ProgramDevice& on() const { return on_; }
  /// Before a call of the entry. Reads what others have left, and throws what has failed of it; its own work where that
  /// is known to have failed, or the program waits. `fail` throws the failure that the context's word names: of this
  /// program, where its work is read later.
  void begin(const DeviceProgram& program, size_t host_bytes, ThContext* context = nullptr,
             void (*fail)(ThContext*) = nullptr);
  /// The arguments of the call on the host, which are sent to the device.
  std::span<const Tensor> send(std::span<const Tensor> arguments) { return arguments_.send(arguments); }
  void read() override;
  bool may_fail() const override { return may_have_failed_; }
  /// Until all is done that was launched. Throws what went wrong on the device.
  void finish();
  /// After a call that failed: waits, and rethrows what a function of the context threw, if anything.
  void end_early();
  void free();
  /// What a function of a library calls, which the entry gives the number of its place: f(calls) asks for work of the
  /// stream, behind what was asked for so far, which is launched as the graph of that place. Nothing waits. What f
  /// throws ends the call of the entry.
  template <class F>
  static void call_library(ThContext* context, int place, F f) {
    guarded(context, [&](DeviceCalls& self) {
      self.launch_work(place);
      self.start_clock();
      f(self);
      self.stop_clock();
    });
  }
  /// The same without an end of the graph: the call is a node of it, behind what wrote the buffers that it uses
  /// (ThDevice::launch), and captured when the graph is made. F(handles, stream, arguments) depends on its arguments
  /// alone: numbers and addresses, no address of a number.
  template <auto F, class... Arguments>
  static void ask_library(ThContext* context, std::span<const int> uses, Arguments... arguments) {
    static_assert(((std::is_floating_point_v<Arguments> || std::has_unique_object_representations_v<Arguments>)&&...));
    guarded(context, [&](DeviceCalls& self) {
      cuda::Work work{.kind = cuda::Work::Kind::kLibrary, .call = call_with<F, Arguments...>};
      (work.arguments.append(reinterpret_cast<const char*>(&arguments), sizeof arguments), ...);
      self.add(std::move(work), uses);
    });
  }
  /// Where that work goes: to the device's stream, or to the one that captures it.
  cuda::LibraryStream library_stream(CUstream_st* stream = nullptr);
  /// From now on events measure what is launched.
  void start_timing();
  /// On the device, of what was launched since the last time; 0 where that was nothing.
  double take_seconds() { return std::exchange(seconds_, 0); }
  /// The graphs that it has launched, by the places of the entry.
  const std::map<int, cuda::Graph>& graphs() const { return graphs_; }
  /// What it has beside the arena: on the host, and of lengths that the data decides.
  std::vector<Tensor> memory() const;

 private:
  // Nothing is thrown through the entry, which asks the word of failure.
  template <class F>
  static void guarded(ThContext* context, F f) {
    auto& self = *static_cast<DeviceCalls*>(context->device);
    if (self.thrown_) return;
    try {
      f(self);
    } catch (...) {
      self.thrown_ = std::current_exception();
      context->fail(context, TH_NO_CHECK, 0, 0);
    }
  }
  template <auto F, class... Arguments>
  static void call_with(cuda::LibraryHandles& handles, const cuda::LibraryStream& at, const std::string& bytes) {
    std::tuple<Arguments...> all;
    const char* from = bytes.data();
    std::apply([&](auto&... one) { ((std::memcpy(&one, from, sizeof one), from += sizeof one), ...); }, all);
    std::apply([&](auto... one) { F(handles, at, one...); }, all);
  }
  void add(cuda::Work work, std::span<const int> uses, int checks = 0);
  cuda::DeviceAddress workspace(size_t bytes);
  void launch_work(int place);
  void launch_work(int place, std::vector<cuda::Work> work);
  void launch_all(int place);
  void start_clock();
  void stop_clock();
  void read_failure(ThContext* context, int place);
  void tell_failure(ThContext* context);
  const volatile long* failed() const { return reinterpret_cast<const long*>(failed_.data()); }
  void clear_word();

  const ProgramDevice& on_;
  cuda::Stream& stream_;
  cuda::DeviceBuffer word_;
  const cuda::PinnedBuffer failed_;  // what was copied of the word
  SentArguments arguments_;
  const DeviceProgram* program_ = nullptr;
  ThContext* context_ = nullptr;  // of the last call
  void (*fail_)(ThContext*) = nullptr;
  const void* ranges_ = nullptr;  // that the entry has told
  cuda::Dependencies dependencies_;
  int word_number_ = 0;  // of the word of failure, among the buffers; the next is that of the libraries' workspace
  std::vector<cuda::Work> work_;
  std::map<int, cuda::Graph> graphs_;
  const bool uses_graphs_;  // else work goes to the stream piece by piece
  bool may_have_failed_ = false;
  struct Clock {
    cuda::Event begin, end;
    bool is_running = false;
  };
  std::unique_ptr<Clock> clock_;  // null: nobody asks for times
  double seconds_ = 0;
  std::vector<size_t> launched_;  // kernels since the last wait
  std::exception_ptr thrown_;
  Tensor host_memory_ = Tensor::empty(DType::kUInt8, {0});
  std::vector<Tensor> temporaries_;  // by their slots
  std::vector<char> library_host_memory_;
  Tensor library_memory_ = Tensor::empty(DType::kUInt8, {0});  // the workspace of calls of libraries
  size_t library_bytes_ = 0;                                   // that they have asked for, at most
};

}  // namespace thtrain
