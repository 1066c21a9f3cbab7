// The emulated driver's objects, and what its functions have in common. Seen by the sources of this folder alone.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "compiler/cuda/emulated/checker.h"
#include "compiler/cuda/emulated/driver.h"
#include "compiler/cuda/emulated/memory.h"
#include "compiler/cuda/emulated/module.h"
#include "compiler/cuda/emulated/pinned_blocks.h"
#include "compiler/cuda/emulated/queues.h"
#include "compiler/cuda/graph_nodes.h"

// A handle is a pointer to one of these.
struct CUctx_st {
  std::unique_ptr<thtrain::cuda::emulated::Memory> memory = {};  // null: nobody retains the context
  thtrain::cuda::emulated::PinnedBlocks pinned = {};
  int retained = 0;
  std::unique_ptr<thtrain::cuda::emulated::Checker> checker = {};  // null: nothing is checked
  thtrain::cuda::Status status = 0;                                // of the error that has spoiled it
  std::string complaint = {};
};
struct CUevent_st {
  CUctx_st* context = nullptr;
  bool has_time = false;
  thtrain::cuda::emulated::IsDone last = {};                        // of its last recording; null: there was none
  std::shared_ptr<double> seconds = std::make_shared<double>(0.0);  // of the host's clock, when that was done
};
struct CUfunc_st {
  CUmod_st* module = nullptr;
  const ThModuleKernel* kernel = nullptr;
};
struct CUmod_st {
  CUctx_st* context = nullptr;
  thtrain::cuda::emulated::LoadedModule loaded = {};
  std::map<std::string, CUfunc_st> functions = {};
};
struct CUgraphNode_st {
  char mark = 0;  // a handle has an address of its own, and no more
};
struct CUgraph_st {
  struct Node {
    enum class Kind : unsigned char { kKernel, kCopy, kChild, kCaptured } kind = Kind::kCopy;
    std::function<void()> run = {};
    std::vector<size_t> waits_for = {};
  };
  CUctx_st* context = nullptr;
  std::vector<Node> nodes = {};
  std::vector<std::unique_ptr<CUgraphNode_st>> handles = {};
};
struct CUgraphExec_st {
  CUctx_st* context = nullptr;
  const CUgraph_st* graph = nullptr;  // that it was made of
  std::vector<CUgraph_st::Node> nodes = {};
};

struct CUstream_st {
  CUctx_st* context = nullptr;
  thtrain::cuda::emulated::Queues::Queue* queue = nullptr;
  std::unique_ptr<CUgraph_st> captured = {};  // what it is asked for becomes a node of it; null: nothing is captured
  std::thread::id capturing = {};             // the thread
  bool is_invalid = false;                    // something was asked for that must not be captured
};

namespace thtrain::cuda::emulated {

inline constexpr unsigned kMostThreads = 1024, kMostBlocks = 2147483647;  // of a launch

/// What start() makes.
struct Machine {
  explicit Machine(const Options& chosen)
      : options(chosen), queues(chosen.seed), contexts(static_cast<size_t>(chosen.devices)) {
    check_order();
  }

  Options options;
  int number = 0;  // of machines that were started
  bool is_initialized = false;
  Queues queues;
  std::vector<CUctx_st> contexts;  // of the devices
  std::map<const void*, std::unique_ptr<CUstream_st>> streams;
  std::map<const void*, std::unique_ptr<CUevent_st>> events;
  std::map<const void*, std::unique_ptr<CUmod_st>> modules;
  std::map<const void*, std::unique_ptr<CUgraph_st>> graphs;
  std::map<const void*, std::unique_ptr<CUgraphExec_st>> executables;
  std::set<std::string> loaded;  // kernels of libraries
};

/// Guards the machine.
std::mutex& mutex();
std::unique_ptr<Machine>& machine();

/// The status, after keeping for cuGetErrorString of this thread why.
Status refuse(Status status, std::string why);
/// Of the last call of this thread that was refused.
Status refused_status();
const std::string& refused_why();
Status no_handle(const char* what);

/// That of this thread; null, after a refusal, where there is none that is retained.
CUctx_st* current_context();
void set_current_context(CUctx_st* context);

/// Calls f(machine, context) where there is a context that nothing has spoiled, and says what spoiled it if f did.
template <class F>
Status in_context(F f) {
  std::lock_guard lock(mutex());
  Machine& m = *machine();
  CUctx_st* const current = current_context();
  if (!current) return refused_status();
  CUctx_st& context = *current;
  const Status status = context.status != 0 ? context.status : f(m, context);
  return context.status != 0 ? refuse(context.status, context.complaint) : status;
}

/// The object of a handle that lives and is of this context; null where it does not.
template <class T>
T* found(std::map<const void*, std::unique_ptr<T>>& all, const void* handle, const CUctx_st& context) {
  const auto it = all.find(handle);
  return it != all.end() && it->second->context == &context ? it->second.get() : nullptr;
}

/// Not CUDA_SUCCESS where this thread captures: `what` must not be asked for then, and the capture is lost.
Status refused_in_capture(Machine& machine, const char* what);
/// Appends to the stream's queue, or to what it captures. Of a context that is spoiled nothing runs.
Status enqueue(Machine& machine, CUctx_st& context, CUstream_st* stream, std::function<void()> run,
               IsDone waits_for = {});
/// Runs all that the context's streams have to do.
Status drain(Machine& machine, const CUctx_st& context);

// What a launch or a copy does, asked for in a stream or as a node of a graph. Not CUDA_SUCCESS: it was refused.
Status kernel_launch(CUctx_st& context, const KernelNode& parameters, std::function<void()>& run);
Status copy_in_work(CUctx_st& context, DeviceAddress to, const void* from, size_t bytes, std::function<void()>& run);
Status copy_out_work(CUctx_st& context, void* to, DeviceAddress from, size_t bytes, std::function<void()>& run);
Status copy_within_work(CUctx_st& context, DeviceAddress to, DeviceAddress from, size_t bytes,
                        std::function<void()>& run);

/// Puts these functions into the table.
void add_streams(Driver& driver);
void add_captures(Driver& driver);
void add_kernels(Driver& driver);
void add_graphs(Driver& driver);
void add_memory(Driver& driver);

}  // namespace thtrain::cuda::emulated
