// Which parts of a device's program are launched as one graph, and what ends each.
#pragma once

#include <string>
#include <vector>

#include "compiler/plan/program.h"

namespace thtrain {

/// What an entry asks of a device between two waits.
struct GraphPart {
  Dim kernels = 0, calls = 0, copies = 0;  // its nodes, those of all iterations; calls of libraries
  bool has_checks = false;                 // then one more node copies the word of failure to the host
  bool has_branch = false;                 // whose sides are both counted
  std::string end = {};   // what the host waits for: "the end of the call", "sort on the host"; or, without
                          // waiting, a library's function: "cublas_gemm_f32"
  std::string loop = {};  // it ends within that loop, in each iteration; empty: outside of loops

  Dim nodes() const { return kernels + calls + copies + Dim(has_checks ? 1 : 0); }
};

/// Counts them while an entry is written.
class GraphParts {
 public:
  void add(const Step& step);
  void enter(const Loop& loop);
  void leave() { loops_.pop_back(); }
  void enter_branch() { part_.has_branch = true; }
  /// Gives the part's number: its place in the entry.
  size_t end(std::string why);

  std::vector<GraphPart> parts;

 private:
  struct OpenLoop {
    const Loop* loop;
    bool waits;
    Dim times;  // that a step in it counts
  };
  std::vector<OpenLoop> loops_;
  GraphPart part_;
};

/// Where a device's program has its values, what is copied, and its graphs: lines of comments before its kernels.
std::string device_comment(const Program& program, const std::vector<GraphPart>& parts);

/// "10 nodes (8 kernels, 2 copies), up to the end of the call".
std::string text_of(const GraphPart& part);

}  // namespace thtrain
