// A graph over blocks of elements, compiled for a width of vectors: functions of the API take the process's own.
#pragma once

#include <initializer_list>
#include <memory>

#include "compiler/codegen/entry_abi.h"
#include "compiler/host/cache.h"
#include "compiler/ir/graph.h"
#include "compiler/passes/pass.h"
#include "compiler/plan/program.h"

namespace thtrain {

class MathsProgram {
 public:
  static constexpr int64_t kCount = 4096;  // elements of an input: they stay in the first cache

  /// The graph's inputs have the shape [kCount], its one output that or none, and it is one kernel. UserError without a
  /// compiler.
  MathsProgram(const Graph& graph, Level level, int vector_bytes);
  /// On this thread; several may call.
  void operator()(std::initializer_list<const void*> inputs, void* output) const;

 private:
  Program program_;
  std::shared_ptr<const SharedObject> object_;
  ThEntry entry_;
};

}  // namespace thtrain
