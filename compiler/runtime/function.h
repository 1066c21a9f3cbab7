// Functions: a graph compiled, with its arguments bound.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "compiler/ir/bad_values.h"
#include "compiler/ir/graph.h"
#include "compiler/passes/pipeline.h"
#include "compiler/runtime/in_out.h"
#include "compiler/runtime/profile.h"
#include "compiler/runtime/shared.h"
#include "compiler/tuning/tuner.h"

namespace thtrain {

// ---- functions -----------------------------------------------------------------------------------------------------

/// How calls compute.
enum class Mode {
  kNative,  // compiled by the system's compiler; the reference with a warning where there is neither compiler nor cache
  kReference,  // every op by its definition
  kDebug,      // native, every rewrite and every step compared with the reference; the first that differs is an error
  kNanGuard,   // native; the first value that is NaN, infinite or too large is an error that names what made it
};

/// What function() does about an input that nothing reads: an error, a line on standard error, or nothing.
enum class UnusedInputs { kRefused, kWarned, kAllowed };

/// What function() may be told.
struct FunctionOptions {
  Mode mode = Mode::kNative;
  Level level = Level::kStandard;
  int threads = 0;  // 0: OMP_NUM_THREADS, or all cores
  /// What native code is made for: this machine, where none is given; kernel::c99_target(): scalar C99, with libm
  /// alone; kernel::cuda_target() and kernel::emulated_cuda_target(): kernels in CUDA C++, run by a device of NVIDIA,
  /// or by one that the host emulates.
  std::optional<kernel::Target> target = {};
  std::string name = "function";
  /// Values that are replaced by others of the same type before compiling.
  std::vector<std::pair<Expr, Expr>> givens = {};
  /// Results of print (or of an op with a print in its body) that the function computes although none of its outputs
  /// and updates needs them: {.effects = {print(norm, "norm")}}. UserError for a value that has no effect. See print().
  std::vector<Expr> effects = {};
  /// Random draws whose generators stay as they are: none, all (true), or those of these states (random_streams.h).
  /// Without it each call moves on the generators of the draws that it computes.
  std::variant<bool, std::vector<Expr>> no_default_updates = false;
  /// Passes and rewrite rules left out, by the names that `thtrain explain --stage=passes` prints: {"merge",
  /// "log1p_of_exp"}. UserError for another name.
  std::set<std::string> without = {};
  std::vector<Pass> extra_passes = {};  // run before all others; the function is then compiled anew each time
  UnusedInputs unused_inputs = UnusedInputs::kRefused;
  /// The native program says of each output when it is computed: Function::call_early(). Not on a device.
  bool early_outputs = false;
  bool use_cache = true;  // the second key: finished programs
  Tune tune = Tune::kCached;
  /// The largest error that an implementation of a convolution may have that computes other terms than its definition
  /// (Winograd's), by its bound: a part of the largest |image| times the largest sum of |w| of a filter. With 0, at
  /// Level::kStrict and in debug mode none is taken but by name.
  double conv_tolerance = 0;
  /// Candidates to take wherever they apply, before what was measured and the rule: {{"matrix_product", "library"}}.
  std::vector<TakenCandidate> candidates = {};
  /// Which others may be taken: lists of names with `*`, and a limit for their workspaces (candidate_lists.h).
  CandidateLists candidate_lists = {};
  /// In native mode: a program that must be compiled is compiled by another thread. Calls run the reference until it is
  /// there; from which call on the bits are the native code's is then an accident of that run.
  bool background = false;
  /// In mode kNanGuard: what no step may compute. Arguments, shared variables and constants may be so.
  BadValues nan_guard = {.above = 1e10};
  /// In debug mode: takes a line for each rule that forgot an infinity or a NaN, as finite-math rules may. Without it
  /// they go to standard error, each once in a process.
  std::function<void(const std::string&)> on_note = {};
};

struct Program;  // compiler/plan/program.h

/// What became of one graph. `thtrain explain` prints these.
struct Explanation {
  std::string graph, canonical, fused, program, cpp;
  std::string device;              // what lies and runs where on a device, its graphs, and the kernels, as in `cpp`
  Graph given;                     // what the first pass takes: the user's graph, its lengths under canonical names
  std::vector<PassRecord> passes;  // with their graphs
  std::vector<Fired> fired;
  std::shared_ptr<const Program> plan;
};

/// A part of a device's program that is launched as one graph.
struct GraphInfo {
  size_t nodes = 0;
  long launches = 0, builds = 0, changes = 0;  // how often it was made, and nodes of it were changed
};

/// Facts about a compiled program.
struct ProgramInfo {
  bool from_cache = false;                   // found finished: no pass ran
  size_t kernels = 0;                        // generated loops in the program
  int64_t arena_bytes = -1;                  // -1 where a call decides it
  int64_t memory_bound = -1;                 // bytes live at the peak
  std::vector<std::string> reference_steps;  // ops that run through the reference
  std::vector<kernel::Choice> choices;       // who computes what has several implementations
  std::vector<GraphInfo> graphs;             // that calls have launched so far, in the program's order
  double seconds_passes = 0, seconds_compile = 0;
};

/// Called before and after each step of a native program that was made for it (see Function::watch).
struct StepEvent {
  size_t step;
  bool after;
  const Node* node;                  // null for copies
  std::span<const Tensor> operands;  // inputs, then outputs, then workspaces
  size_t inputs, outputs;            // how many of them are which
  std::span<void* const> addresses;  // of their first elements, where the program computes
};

/// What Function::copy() may be told.
struct CopyOptions {
  /// Temporaries of both lie in the same memory: one of them at a time is called.
  bool share_memory = false;
  /// The copy updates nothing, generators and values of inputs included: it is compiled anew.
  bool delete_updates = false;
  std::string name = {};  // without it the function's
};

/// A compiled program with an arena of its own, called as f({x, y}). One thread at a time calls it, and no callback of
/// a call: UserError, which says so. Threads call copies.
class Function {
 public:
  /// Copies share the program and the shared variables, and have an arena of their own. UserError during a call.
  Function(const Function& other);
  Function(Function&&) noexcept;
  Function& operator=(Function&&) noexcept;
  ~Function();

  /// Calls it. UserError, before anything is changed, where an argument does not fit its type; after the first write in
  /// location where a check inside the program fails (the message says so). The last inputs may be left out where they
  /// have values of their own. An argument of integers is copied to an input's other dtype where that holds each of its
  /// numbers exactly, so that f({Tensor::vector({1, 2})}) works for a float64 vector; floats are never converted. C++
  /// numbers are scalars of their dtypes: f({x, 0.1}), and f({x, 0.1F}) for float32. Errors name the line of the call.
  std::vector<Tensor> operator()(std::span<const Tensor> inputs);
  std::vector<Tensor> operator()(std::initializer_list<Tensor> inputs,
                                 std::source_location where = std::source_location::current()) {
    return call_at(std::span<const Tensor>(inputs.begin(), inputs.size()), where);
  }
  std::vector<Tensor> operator()(const std::vector<Tensor>& inputs,
                                 std::source_location where = std::source_location::current()) {
    return call_at(inputs, where);
  }
  /// By name: f({{"x", x}, {"rate", 0.1}}). UserError for a name that no input has, or that two have, and where an
  /// input without a value of its own is left out.
  std::vector<Tensor> operator()(const Arguments& arguments,
                                 std::source_location where = std::source_location::current());

  /// The outputs by their names. UserError where an output has none, or two have the same.
  std::map<std::string, Tensor> named(const Arguments& arguments,
                                      std::source_location where = std::source_location::current());
  /// These outputs, in this order, computed without the others; the updates are those of every call. The first call for
  /// a set of outputs compiles a program of its own, which this function keeps.
  std::vector<Tensor> only(const std::vector<OutputKey>& outputs, const Arguments& arguments,
                           std::source_location where = std::source_location::current());

  /// The same program on other shared variables (of the same types) than those that this one uses, where `swap` pairs
  /// them: {{this one's, the copy's}}.
  Function copy(const std::vector<std::pair<Shared, Shared>>& swap, const CopyOptions& options = {}) const;
  /// Gives the memory of temporaries and of borrowed outputs back; the next call allocates it again.
  void free();
  /// The variables that it reads or updates, each once: w = f.shared_variables()[0], f.copy({{w, own}}).
  std::vector<Shared> shared_variables() const;
  /// Writes it to a file that load_function() reads: graph, options, inputs and their values, outputs' names, updates,
  /// and the values of its shared variables. UserError where the file cannot be written, for a function with passes of
  /// its own or for another target than this machine, and where two of its OpFromFunction have one name.
  void save(const std::string& path) const;

  const ProgramInfo& info() const;
  /// Did the last call run native code? (Before the first: is there some to run?)
  bool is_native() const;
  /// Is another thread still compiling it (FunctionOptions::background)?
  bool is_compiling() const;
  /// Waits for that thread, so that the next call runs native code. UserError and InternalError where it did not
  /// compile, Interrupted where the user asked to stop; a call runs the reference then.
  void wait();
  /// A hash of the graph, mode and level: the same for the same function in every process, whatever its passes made of
  /// it.
  std::string identity() const;
  const std::string& name() const;
  /// Runs the passes again with everything recorded. The C++ text is what was compiled.
  Explanation explain() const;
  /// One call that tells `on_output` of each output, by its number, as soon as it is computed, in the order of the
  /// program: in this thread, which then goes on with the rest. What the program cannot tell (without
  /// FunctionOptions::early_outputs, on a device, in reference and debug mode, where the data decides the output's
  /// lengths) is told before the call returns. The value stays as it is until the next call.
  std::vector<Tensor> call_early(std::span<const Tensor> inputs,
                                 const std::function<void(size_t output, const Tensor& value)>& on_output);

  /// One call with a callback around each step, on the same kernels and the same plan as without.
  std::vector<Tensor> watch(std::span<const Tensor> inputs, const std::function<void(const StepEvent&)>& callback);

  /// From now on calls are timed step by step, on the same kernels and the same plan, which are compiled with probes
  /// for it: two readings of the clock for each step, of a device two events around each launch. UserError where there
  /// is no native program.
  void start_profile();
  /// Of the calls since start_profile(); UserError where it was not called.
  Profile profile() const;

  struct State;

 private:
  explicit Function(std::shared_ptr<State> state);
  std::vector<Tensor> call_at(std::span<const Tensor> inputs, const std::source_location& where);
  friend Function function(const std::vector<In>&, const std::vector<Out>&, const std::vector<Update>&,
                           const FunctionOptions&, std::source_location);
  std::shared_ptr<State> state_;
};

/// Compiles a function of `inputs` that returns `outputs` and then gives each updated variable its value. UserError
/// where an output needs an input that is not listed, a variable is updated twice, or an update has another type.
Function function(const std::vector<In>& inputs, const std::vector<Out>& outputs,
                  const std::vector<Update>& updates = {}, const FunctionOptions& options = {},
                  std::source_location where = std::source_location::current());

}  // namespace thtrain
