// From a canonical graph to a loaded program: cache, passes, planner, printer, compiler.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "compiler/codegen/entry_abi.h"
#include "compiler/cuda/device_program.h"
#include "compiler/host/cache.h"
#include "compiler/passes/pipeline.h"
#include "compiler/passes/rename_lengths.h"
#include "compiler/plan/program.h"
#include "compiler/runtime/program_image.h"
#include "compiler/tuning/machine.h"
#include "compiler/tuning/tuner.h"

namespace thtrain {

/// Immutable, shared between functions and threads.
struct CompiledProgram {
  ProgramImage image;
  std::shared_ptr<const SharedObject> object;
  ThEntry entry = nullptr;
  std::shared_ptr<const DeviceProgram> device;  // null: a processor runs the kernels
  std::vector<void*> library;                   // ThContext::library
  /// The plan, with its nodes: there unless the program came finished from the cache.
  std::shared_ptr<const Program> plan;
  bool from_cache = false;
  double seconds_passes = 0, seconds_compile = 0;
};

/// What is shown of a call, before it and after it.
enum class Probes : uint8_t {
  kNone,
  kSteps,     // each step by itself
  kLaunches,  // each step that is left where a device's are launched together
};

struct CompileOptions {
  kernel::Target target = machine();
  PipelineOptions pipeline = {};
  int threads = 1;
  Probes probes = Probes::kNone;
  bool early_outputs = false;  // EmitOptions::early_outputs
  bool use_cache = true;
  Tune tune = Tune::kCached;
  double conv_tolerance = 0;
  std::set<size_t> mutable_inputs = {}, internal_outputs = {};  // as PlanOptions has them
  std::vector<TakenCandidate> candidates = {};
  CandidateLists candidate_lists = {};
  bool allow_wrong_results = false;  // of candidates, see TunerOptions
};
TunerOptions tuner_options(const CompileOptions& options);
PlanOptions plan_options(const CompileOptions& options, const Tuner& tuner);

struct CompileOutcome {
  std::shared_ptr<const CompiledProgram> program;
  std::string reason;  // why there is none: no compiler, and not in the cache
};

/// A program as it was found in the cache, or planned and printed, before the host compiler has seen it.
struct PreparedProgram {
  std::shared_ptr<CompiledProgram> program;
  std::string key;                       // in the cache of finished programs
  std::vector<const Op*> user_ops = {};  // of the graph, in the order of its text
  bool is_stored = false;                // there, when it is compiled
};

/// The cache, or passes, planner and printer.
PreparedProgram prepare(const CanonicalGraph& canonical, const CompileOptions& options);
/// The host compiler and the loader, where the program was not found. May run in another thread.
CompileOutcome finish(const PreparedProgram& prepared);
/// One after the other.
CompileOutcome compile(const CanonicalGraph& canonical, const CompileOptions& options);

}  // namespace thtrain
