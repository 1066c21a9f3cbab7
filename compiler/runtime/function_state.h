// What a Function holds: the user's graph, the program, and the buffers of a call.
#pragma once

#include <exception>
#include <future>

#include "compiler/ir/lengths.h"
#include "compiler/runtime/call_scope.h"
#include "compiler/runtime/compile.h"
#include "compiler/runtime/data_lengths.h"
#include "compiler/runtime/fixed_arguments.h"
#include "compiler/runtime/function.h"
#include "compiler/runtime/kept_transposes.h"

namespace thtrain {

struct Step;             // plan/program.h
class NanGuard;          // runtime/nan_guard.h
class Profiler;          // runtime/profiler.h
struct CheckedRewrites;  // runtime/debug_rewrites.h
struct EarlyOutputs;     // runtime/early_outputs.h

/// Memory for values inside, of one function or of several that share it.
struct Arena {
  Tensor memory = Tensor::empty(DType::kUInt8, {0});
  size_t replaced = 0;  // how often: an address that was taken before is another one's

  void replace(Tensor by) {
    memory = std::move(by);
    ++replaced;
  }
};

struct Function::State {
  State();
  State(const State&) = default;
  /// What has failed of its last calls, and nobody has read, is thrown by whoever reads next.
  ~State();

  FunctionOptions options;
  // The user's, givens applied; after its outputs the next values of inputs and variables, then those that are lengths.
  Graph graph;
  std::vector<InOptions> inputs;          // their values are those of the next call
  std::vector<Expr> resized;              // variables that an update may give another length
  std::vector<std::string> output_names;  // of the outputs that callers see
  std::vector<bool> borrowed, internal;   // outputs
  CanonicalGraph canonical;
  std::vector<Expr> leaves;  // shared variables: those of the program in its order, then others of the user's graph
  std::vector<size_t> own_leaves;                           // numbers of the user's, in the order of that graph
  std::vector<size_t> updated_leaves;                       // numbers of those that a call gives another value
  std::vector<KeptTranspose> kept;                          // whose leaves are the function's alone
  std::vector<std::shared_ptr<SharedStorage>> storages;     // theirs, or what copy() put there instead
  std::vector<size_t> changing_leaves;                      // numbers of those whose lengths set_value() may change
  std::shared_ptr<const CompiledProgram> program;           // null in reference mode, and until `pending` is there
  std::shared_ptr<const CompiledProgram> prepared_program;  // while another thread compiles it: its image
  std::shared_future<CompileOutcome> pending;               // valid while another thread compiles
  std::shared_ptr<const CompiledProgram> instrumented;      // the same with probes of steps, made when first wanted
  ProgramInfo info;

  // One call.
  std::shared_ptr<CallMark> mark = std::make_shared<CallMark>();  // with `arena` that of another function, maybe
  ThContext context{};
  std::shared_ptr<DeviceCalls> device;  // of this function alone; null: a processor runs the kernels
  std::shared_ptr<Arena> arena = std::make_shared<Arena>();
  size_t arena_bytes = 0;     // that these lengths need
  size_t host_bytes = 0;      // likewise, on the host, of a device's program
  size_t arena_replaced = 0;  // Arena::replaced when the context got its address
  std::vector<ThTensor> args;
  std::optional<FixedArguments> fixed_arguments;  // where the target replays calls and is no device
  struct OwnOutput {                              // of a borrowed output
    std::optional<Tensor> value = {};             // none before its first call
    std::shared_ptr<void> claim = {};             // keeps shared variables off its memory, which the next call writes
  };
  std::vector<OwnOutput> own_outputs;
  std::vector<Shape> output_shapes;  // [0] for those that the data decides, until their lengths are known
  DataLengths lengths;
  Lengths user_lengths, canonical_lengths;
  bool fixed = false;              // no length depends on a call
  size_t next_values = 0;          // outputs that inputs and then `resized` have as values in the next call
  bool overwrites_inputs = false;  // updates, or inputs that are mutable: arguments that others have are copied
  bool values_matter = true;       // lengths depend on values of integer scalars, not on shapes alone
  bool bound = false;
  std::vector<DType> last_dtypes;
  std::vector<Shape> last_shapes;  // of the arguments, then of `changing_leaves`
  std::exception_ptr failure;      // thrown by what the entry called
  const std::function<void(const StepEvent&)>* observer = nullptr;
  std::source_location called_at;                   // the last time, where that is known
  std::source_location left_at;                     // calls that nobody has waited for, where all have one line
  EarlyOutputs* early = nullptr;                    // of a call that tells of its outputs
  std::shared_ptr<const CheckedRewrites> rewrites;  // debug mode: null until they are checked, in the first call
  std::shared_ptr<Profiler> profiler;               // null unless the calls are profiled
  std::shared_ptr<NanGuard> guard;                  // null but in mode kNanGuard
  // Programs of some outputs (Function::only), by the numbers of these.
  std::map<std::vector<size_t>, std::shared_ptr<State>> subsets;

  std::shared_ptr<SharedStorage> storage_of(const Expr& leaf) const;
  /// The call ends with this error.
  void fail(std::exception_ptr thrown);
};

/// UserError: a function is used that was moved from. Names the line of the call where it is known.
[[noreturn]] void fail_moved_from(const std::source_location& where);

/// Throws the error that is being handled again; one of a user with the line of the call of `name`.
[[noreturn]] void rethrow_called_at(const std::string& name, const std::source_location& where);

/// What a function holds; UserError where that was moved from.
inline Function::State& state_behind(const std::shared_ptr<Function::State>& state,
                                     const std::source_location& where = {}) {
  if (!state) fail_moved_from(where);
  return *state;
}

/// The value of the variable of that number comes back from the device that another function has moved it to; other
/// memory is the user's choice: UserError.
void bring_to_host(const Function::State& state, size_t variable);
/// The variables that kernels of a device read or write go there; those that only references do, to the host.
void move_to_device(Function::State& state);
/// Brings what is kept of variables up to date with their values.
void keep_up(Function::State& state);
/// What is kept is computed anew by the next call, in variables of this function alone.
void forget_kept(Function::State& state);

/// What the context's word of failure says, or what was thrown by a function that the entry called.
[[noreturn]] void throw_failed_check(Function::State& state);
/// The same of a call that nobody has waited for, with the line of that call.
void throw_unread(ThContext* context);

/// Waits for calls that nobody has waited for, of any function of the device. Throws what has failed of them.
void settle(const Function::State& state);

/// How the function's program is compiled.
CompileOptions compile_options(const Function::State& state);

/// Answers as the tuner did when the function's program was made.
Tuner answered_tuner(const Function::State& state);

/// The elements of an operand of a step, in place, or a copy of those on a device; of a token: false.
Tensor operand_of(const Function::State& state, const Step& step, size_t k, void* const* buffers);

/// Before the host looks at what steps have written: until a device has done its work.
inline void wait_for_device(ThContext* context) {
  if (context->device) context->device->wait(context, -1);
}

/// Takes the program that another thread compiles, if it is done, or waits for it. InternalError where it did not
/// compile.
void take_pending(Function::State& state, bool wait);

/// The program with probes, which is made unless there is one already. UserError where there is no native program.
std::shared_ptr<const CompiledProgram> with_probes(const Function::State& state, Probes probes);

/// A call as Function::watch makes it, within a CallScope.
std::vector<Tensor> watched_call(Function::State& state, std::span<const Tensor> inputs,
                                 const std::function<void(const StepEvent&)>& callback);

/// Makes what function() and only() call, of graph, options, inputs and outputs that callers see.
void build(Function::State& state, size_t seen_outputs);

/// A function of these outputs alone, on the same inputs and variables, with the same effects; without updates the
/// inputs keep their values too.
std::shared_ptr<Function::State> subset(const Function::State& state, const std::vector<size_t>& outputs,
                                        bool with_updates);

/// One call of the program, or through the references where there is none.
std::vector<Tensor> call_program(Function::State& state, std::span<const Tensor> inputs);
/// The arguments in the order of the inputs. UserError, with the line of the call, where names do not tell it.
std::vector<Tensor> in_order(const Function::State& state, const Arguments& arguments,
                             const std::source_location& where);
/// What callers of a function call: `program`, its own or that of some of its outputs, on the arguments, with values of
/// the function's own behind them, which then get their next ones.
std::vector<Tensor> call_of(Function::State& state, Function::State& program, std::span<const Tensor> inputs);

}  // namespace thtrain
