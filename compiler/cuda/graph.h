// Work that is launched as one CUDA graph of explicit nodes: each waits for those before it that write what it reads or
// writes, or read what it writes.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "compiler/cuda/device.h"

namespace thtrain::cuda {

class LibraryHandles;
struct LibraryStream;

/// Memory by its number, and whether it is written.
struct Access {
  int memory;
  bool is_written;
};

/// What a node does: a kernel with its arguments, a copy, or a call of a library.
struct Work {
  enum class Kind : unsigned char { kKernel, kCopyIn, kCopyOut, kCopyWithin, kLibrary } kind;
  CUfunc_st* kernel = nullptr;
  unsigned blocks = 0, threads = 0;
  std::string arguments = {};          // their bytes
  std::vector<unsigned> offsets = {};  // of each argument in these
  /// Calls the library. It depends on its arguments alone, which hold all numbers that are passed by value.
  void (*call)(LibraryHandles&, const LibraryStream&, const std::string& arguments) = nullptr;
  DeviceAddress device = 0;  // of a copy; of a library's workspace, when it was called or captured
  const void* host = nullptr;
  DeviceAddress from = 0;  // of a copy within the device
  size_t bytes = 0;
  std::vector<unsigned> waits_for = {};  // numbers of nodes before it, in order

  friend bool operator==(const Work&, const Work&) = default;
  bool is_call_of(const Work& other) const { return call == other.call && arguments == other.arguments; }
  /// Can a node of the one become one of the other? Not of another call: what a capture has seen stays as it was.
  bool has_form_of(const Work& other) const {
    return kind == other.kind && kernel == other.kernel && waits_for == other.waits_for &&
           (kind != Kind::kLibrary || (is_call_of(other) && device == other.device));
  }
};

/// Makes the call of a library in a stream.
using CallLibrary = std::function<void(const Work&, CUstream_st*)>;

/// Finds for each piece of work what it has to wait for, of the work that it was told before.
class Dependencies {
 public:
  /// So many numbers of memory, each with its range [begin, end): where two ranges overlap, the memory is shared.
  void set_ranges(std::span<const long> begins_and_ends);
  std::vector<unsigned> add(std::span<const Access> accesses);
  /// From here on there was none.
  void clear();

 private:
  struct Memory {
    std::vector<size_t> shared;          // numbers of memory that it shares, its own among them
    long writer = -1;                    // the last one
    std::vector<unsigned> readers = {};  // since then
  };
  std::vector<Memory> memory_;
  std::vector<std::vector<unsigned>> waits_for_;
};

/// One executable graph, which is made again only where the form of the work changes. What else differs from the launch
/// before, addresses and arguments by value, is set in its nodes. A call of a library is captured, as a graph of its
/// own that is a node: it must not allocate, load kernels or wait then, so the same call was made before by
/// launch_apart.
class Graph {
 public:
  explicit Graph(const Device& device) : device_(device) {}
  ~Graph();
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;

  void launch(std::vector<Work> work, Stream& stream, const CallLibrary& call = {});
  /// By the stream itself, piece by piece.
  void launch_apart(const std::vector<Work>& work, Stream& stream, const CallLibrary& call);
  /// Need the graph not be made again for it?
  bool fits(const std::vector<Work>& work) const;
  /// Were its calls of libraries made by the last launch_apart? Else they cannot be captured.
  bool knows_calls_of(const std::vector<Work>& work) const;

  size_t nodes() const { return work_.size(); }
  long launches() const { return launches_; }
  long builds() const { return builds_; }    // of the executable graph
  long changes() const { return changes_; }  // of nodes of it

 private:
  void build(const std::vector<Work>& work, const CallLibrary& call);
  void free();

  const Device& device_;
  CUgraph_st* graph_ = nullptr;
  CUgraphExec_st* executable_ = nullptr;
  std::vector<CUgraphNode_st*> handles_;
  std::vector<Work> work_, called_;  // of the last launch; calls of the last launch_apart
  long launches_ = 0, builds_ = 0, changes_ = 0;
};

/// The same work by the stream itself, piece by piece.
void launch_one_by_one(const std::vector<Work>& work, Stream& stream, const CallLibrary& call = {});

}  // namespace thtrain::cuda
