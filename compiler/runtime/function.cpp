#include "compiler/runtime/function.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <future>
#include <mutex>
#include <set>
#include <unordered_set>

#include "compiler/autodiff/differentiation.h"
#include "compiler/base/escape.h"
#include "compiler/ir/effects.h"
#include "compiler/ir/op.h"
#include "compiler/ir/print.h"
#include "compiler/libraries/threads.h"
#include "compiler/ops/evaluate.h"
#include "compiler/runtime/arguments.h"
#include "compiler/runtime/compile.h"
#include "compiler/runtime/data_lengths.h"
#include "compiler/runtime/debug.h"
#include "compiler/runtime/early_outputs.h"
#include "compiler/runtime/function_graph.h"
#include "compiler/runtime/function_state.h"
#include "compiler/runtime/nan_guard.h"
#include "compiler/runtime/profiler.h"
#include "compiler/runtime/value_number.h"
#include "compiler/tuning/machine.h"

namespace thtrain {
namespace {

using State = Function::State;

void warn_once(const std::string& text) {
  static std::mutex mutex;
  static std::unordered_set<std::string> said;
  std::lock_guard lock(mutex);
  if (said.insert(text).second) std::fprintf(stderr, "warning: %s\n", printable(text).c_str());
}

// ---- building ------------------------------------------------------------------------------------------------------

void prepare(State& s) {
  const bool keeps =
      s.options.mode == Mode::kNative && s.options.level != Level::kStrict && !compile_options(s).target.is_device();
  const Graph graph = keeps ? with_kept_transposes(s.graph, s.kept) : s.graph;
  s.leaves = shared_leaves(graph);
  const auto add = [&](const Expr& variable) {
    const auto at =
        std::find_if(s.leaves.begin(), s.leaves.end(), [&](const Expr& leaf) { return leaf.same(variable); });
    s.own_leaves.push_back(static_cast<size_t>(at - s.leaves.begin()));
    if (at == s.leaves.end()) s.leaves.push_back(variable);
  };
  for (const Expr& leaf : shared_leaves(s.graph)) add(leaf);
  for (const Expr& variable : s.resized)
    if (std::none_of(s.own_leaves.begin(), s.own_leaves.end(), [&](size_t i) { return s.leaves[i].same(variable); }))
      add(variable);
  for (size_t i = 0; i < s.leaves.size(); ++i) {
    s.storages.push_back(s.leaves[i].node().shared);
    if (std::any_of(graph.updates.begin(), graph.updates.end(),
                    [&](const Update& update) { return update.variable.same(s.leaves[i]); }))
      s.updated_leaves.push_back(i);
  }
  s.canonical = canonical_lengths(graph);
  name_definitions(s);
  for (size_t i = 0; i < s.leaves.size(); ++i)
    if (!s.leaves[i].type().is_known()) s.changing_leaves.push_back(i);
  // What does not depend on a call at all is done once.
  s.fixed = s.canonical.shape_checks.empty();
  for (const Expr& input : s.graph.inputs) s.fixed = s.fixed && input.type().is_known();
  for (const Expr& out : s.graph.outputs) s.fixed = s.fixed && out.type().is_known();
}

// Is the program made with probes at once?
bool has_probes(const State& s) {
  return s.options.mode == Mode::kDebug || s.options.mode == Mode::kNanGuard;
}

// Do lengths of outputs or temporaries depend on the values of integer scalars?
bool uses_values(const State& s) {
  std::set<std::string> names;
  for (const Expr& out : s.graph.outputs)
    for (const Dim& dim : out.dims()) dim.collect_names(names);
  // The arena is sized by what temporaries need; its formula is known after compiling, so every value counts here.
  for (const Node* node : topological_order(s.graph.roots()))
    for (const Type& type : node->types)
      for (const Dim& dim : type.dims) dim.collect_names(names);
  return std::any_of(names.begin(), names.end(), [](const std::string& name) { return name[0] == '@'; });
}

void take(State& s, const CompileOutcome& outcome) {
  if (!outcome.program && s.options.mode == Mode::kNanGuard)
    throw UserError(
        Message{.what = str(escaped(s.options.name), ": there is no native code to guard: ", outcome.reason)});
  if (!outcome.program) {
    warn_once(str("no native code: ", outcome.reason, "; running the reference implementation, which is slow"));
    s.options.mode = Mode::kReference;
    return;
  }
  s.program = outcome.program;
  if (has_probes(s)) s.instrumented = s.program;
  s.fixed = s.fixed && s.program->image.arena_bytes.is_known() && s.program->image.host_bytes.is_known();
  if (s.program->device) s.device = std::make_shared<DeviceCalls>(s.program->device->on());
  s.context.device = s.device.get();
}

void compile_native(State& s) {
  CompileOptions options = compile_options(s);
  options.use_cache = s.options.use_cache;
  if (has_probes(s)) options.probes = Probes::kSteps;
  PreparedProgram prepared = prepare(s.canonical, options);
  if (!s.options.background || s.options.mode != Mode::kNative || prepared.program->object ||
      cache().has_object(prepared.program->image.source))
    return take(s, finish(prepared));
  s.prepared_program = prepared.program;
  s.pending = std::async(std::launch::async, [prepared] { return finish(prepared); });
}

// ---- calls ---------------------------------------------------------------------------------------------------------

void on_reference(ThContext* context, int step, void* const* buffers) {
  State& s = *static_cast<State*>(context->host);
  try {
    run_reference_step(s, static_cast<size_t>(step), buffers);
  } catch (...) {
    s.fail(std::current_exception());
  }
}

void check_count(const State& s, size_t given) {
  if (given == s.graph.inputs.size()) return;
  throw UserError({.what = str(escaped(s.options.name), ": the number of arguments differs"),
                   .expected = str(s.graph.inputs.size(), ": ", join(s.graph.inputs, ", ", described)),
                   .got = std::to_string(given)});
}

// Another function that shares the arena may have made it larger, or have given it back.
void provide_arena(State& s) {
  if (!s.program) return;
  try {
    // Kernels of a device get addresses there of values without elements, too.
    const size_t bytes = s.device ? std::max(s.arena_bytes, size_t{1}) : s.arena_bytes;
    if (bytes > s.arena->memory.bytes()) {
      s.arena->replace(Tensor::empty(DType::kUInt8, {0}));  // there may be no room for both
      s.arena->replace(
          Tensor::empty(DType::kUInt8, {static_cast<int64_t>(bytes)}, s.device ? &s.device->on().memory : nullptr));
    }
  } catch (const UserError& error) {
    Message message = error.messages()[0];
    message.what = str(escaped(s.options.name), ": the memory for the values inside is not there");
    throw UserError(std::move(message));
  }
  s.context.arena = static_cast<char*>(const_cast<void*>(s.arena->memory.address()));
  s.arena_replaced = s.arena->replaced;
}

// Of the temporaries, whose lengths have names that no user knows.
int64_t bytes_inside(const State& s, const Lengths& lengths, const Dim& bytes) {
  try {
    return lengths.evaluate(bytes);
  } catch (const UserError&) {
    throw UserError({.what = str(escaped(s.options.name), ": the values inside are larger than any memory"),
                     .expected = "less than 2^63 bytes",
                     .hint = "look at the numbers that lengths are computed from"});
  }
}

// Lengths, checks, buffers: everything that depends on shapes. Nothing is changed where this throws.
void bind_shapes(State& s, std::span<const Tensor> inputs) {
  Lengths user, canonical;
  for (size_t i = 0; i < inputs.size(); ++i) user.bind_names(s.graph.inputs[i], inputs[i]);
  for (size_t i = 0; i < s.leaves.size(); ++i) user.bind_names(s.leaves[i], s.storages[i]->value);
  for (size_t i = 0; i < inputs.size(); ++i) user.check(s.graph.inputs[i], inputs[i]);
  for (size_t i : s.changing_leaves) user.check(s.leaves[i], s.storages[i]->value);
  check_lengths(s.canonical.shape_checks, user);
  for (size_t i = 0; i < inputs.size(); ++i) canonical.bind_names(s.canonical.graph.inputs[i], inputs[i]);
  for (size_t i = 0; i < s.leaves.size(); ++i) canonical.bind_names(s.leaves[i], s.storages[i]->value);
  s.output_shapes.clear();
  for (const Expr& out : s.graph.outputs)
    s.output_shapes.push_back(is_data_dependent(out.dims()) ? Shape{0} : user.evaluate(out.dims()));
  // A negative length has a check that says more than the memory that it would take.
  const auto is_negative = [](const Shape& shape) {
    return std::any_of(shape.begin(), shape.end(), [](int64_t length) { return length < 0; });
  };
  const int64_t arena_bytes = s.program ? bytes_inside(s, canonical, s.program->image.arena_bytes) : 0;
  if (arena_bytes < 0 || std::any_of(s.output_shapes.begin(), s.output_shapes.end(), is_negative))
    check_known_lengths(s.canonical.value_checks, canonical);
  s.arena_bytes = static_cast<size_t>(arena_bytes);
  s.host_bytes = s.device ? static_cast<size_t>(bytes_inside(s, canonical, s.program->image.host_bytes)) : 0;
  provide_arena(s);
  s.user_lengths = std::move(user);
  s.canonical_lengths = std::move(canonical);
}

bool shapes_changed(const State& s, std::span<const Tensor> inputs) {
  if (!s.bound) return true;
  for (size_t i = 0; i < inputs.size(); ++i)
    if (inputs[i].dtype() != s.last_dtypes[i] || inputs[i].shape() != s.last_shapes[i]) return true;
  for (size_t i = 0; i < s.changing_leaves.size(); ++i)
    if (s.storages[s.changing_leaves[i]]->value.shape() != s.last_shapes[inputs.size() + i]) return true;
  // The reference and whoever watches see lengths inside views too; native code tells those by itself.
  bool values_seen =
      s.options.mode != Mode::kNative || !s.program || s.observer || !s.program->image.reference_steps.empty();
  return values_seen || (!s.fixed && s.values_matter);
}

// Of calls that nobody waits for: where one of them fails, the line is named that all have.
void note_line_of_call(State& s, bool is_behind) {
  const std::source_location &now = s.called_at, &before = s.left_at;
  const bool is_same = now.line() == before.line() && std::string_view(now.file_name()) == before.file_name();
  s.left_at = !is_behind || is_same ? now : std::source_location{};
}

std::vector<Tensor> run_reference(State& s, std::span<const Tensor> inputs) {
  const std::vector<std::pair<Expr, Tensor>> bound = define_by_reference(s, inputs);
  std::vector<Expr> roots = s.graph.roots();
  std::vector<Tensor> values = evaluate_with(roots, bound, s.user_lengths);
  std::vector<Tensor> updates;
  // Values may be shared variables themselves: all are taken before the first is given.
  for (size_t u = 0; u < s.graph.updates.size(); ++u) updates.push_back(values[s.graph.outputs.size() + u].copy());
  values.resize(s.graph.outputs.size());
  for (size_t k = 0; k < values.size(); ++k) {
    s.output_shapes[k] = values[k].shape();
    Tensor out = output_buffer(s, k, inputs);
    out.assign(values[k]);
    values[k] = std::move(out);
  }
  for (size_t u = 0; u < updates.size(); ++u) s.storage_of(s.graph.updates[u].variable)->value.assign(updates[u]);
  values.resize(values.size() - s.lengths.names.size());
  return values;
}

}  // namespace

std::vector<Tensor> call_program(State& s, std::span<const Tensor> given) {
  check_count(s, given.size());
  if (s.pending.valid()) take_pending(s, false);
  // From here on: what others have left is read by this thread.
  const auto turn =
      s.device ? std::unique_lock(s.device->on().memory.turn()) : std::unique_lock<std::recursive_mutex>();
  std::vector<Tensor> copies;
  std::span<const Tensor> inputs = in_reach(s, given, copies);
  if (s.overwrites_inputs) inputs = in_own_memory(s, inputs, copies);
  for (size_t i : s.updated_leaves) note_change(*s.storages[i]);
  if (s.program && !s.kept.empty()) keep_up(s);
  if (shapes_changed(s, inputs)) {
    s.bound = false;
    bind_shapes(s, inputs);
    s.last_dtypes.clear();
    s.last_shapes.clear();
    for (const Tensor& t : inputs) {
      s.last_dtypes.push_back(t.dtype());
      s.last_shapes.push_back(t.shape());
    }
    for (size_t leaf : s.changing_leaves) s.last_shapes.push_back(s.storages[leaf]->value.shape());
    s.bound = true;
  }
  if (s.arena_replaced != s.arena->replaced) provide_arena(s);
  if (!s.program) return run_reference(s, inputs);

  size_t n = 0;
  s.args.resize(inputs.size() + s.program->image.shared_order.size() + s.program->image.constants.size() +
                s.graph.outputs.size());
  // The program writes into outputs and updated variables alone.
  auto bind = [&](const Tensor& t) { s.args[n++] = {const_cast<void*>(t.address()), t.shape().data()}; };
  s.context.host = &s;
  if (s.device) {
    s.device->begin(*s.program->device, s.host_bytes, &s.context, throw_unread);
    note_line_of_call(s, s.device->on().memory.has_left(*s.device));
  }
  for (const Tensor& t : s.device            ? s.device->send(inputs)
                         : s.fixed_arguments ? s.fixed_arguments->copies_of(inputs)
                                             : inputs)
    bind(t);
  if (s.device) move_to_device(s);
  for (size_t k : s.program->image.shared_order) {
    if (!s.device && !s.storages[k]->value.is_on_host()) [[unlikely]]
      bring_to_host(s, k);
    bind(s.storages[k]->value);
  }
  for (const Tensor& t : s.program->image.constants) bind(t);
  std::vector<Tensor> outputs;
  outputs.reserve(s.graph.outputs.size());
  for (size_t k = 0; k < s.graph.outputs.size(); ++k) outputs.push_back(output_buffer(s, k, inputs));
  for (const Tensor& t : outputs) bind(t);
  if (s.lengths.any()) begin_lengths(s, inputs);
  s.context.failure.word = 0;
  s.context.library = s.program->library.data();
  if (s.early) s.early->begin(s, outputs);
  if (s.profiler) s.profiler->begin_call();
  int rc = s.program->entry(&s.context, s.args.data());
  if (s.profiler) s.profiler->end_call();
  if (rc == 1) throw_failed_check(s);
  TH_CHECK(rc == 0, "the compiled program returned ", rc);
  if (s.lengths.any()) finish_lengths(s, outputs);
  return outputs;
}

Function::State::State() {
  context.version = TH_ABI_VERSION;
  context.parallel_for = parallel_for;
  context.call_reference = on_reference;
  context.fail = record_failure;
  context.allocate = on_allocate;
  context.output_done = on_output_done;
}

Function::State::~State() {
  if (device && device.use_count() == 1) device->on().memory.settle_later(*device);
}

void settle(const State& s) {
  if (s.device) s.device->on().memory.settle();
}

CompileOptions compile_options(const State& s) {
  CompileOptions out{.target = s.options.target ? *s.options.target : machine()};
  out.pipeline.level = s.options.level;
  out.pipeline.without = s.options.without;
  out.pipeline.extra = s.options.extra_passes;
  out.threads = s.context.threads;
  out.tune = s.options.tune;
  // Debug mode compares with what sums of the definition's terms may differ by.
  out.conv_tolerance = s.options.mode == Mode::kDebug ? 0 : s.options.conv_tolerance;
  // Whoever compares a step with its reference, or looks for what made a value, reads the arguments afterwards.
  for (size_t i = 0; i < s.inputs.size() && s.options.mode == Mode::kNative; ++i)
    if (s.inputs[i].is_mutable && s.graph.inputs[i].rank() > 0) out.mutable_inputs.insert(i);  // scalars may be lengths
  for (size_t k = 0; k < s.internal.size(); ++k)
    if (s.internal[k] && out.target.is_device()) out.internal_outputs.insert(k);
  out.early_outputs = s.options.early_outputs;
  out.candidates = s.options.candidates;
  out.candidate_lists = s.options.candidate_lists;
  out.allow_wrong_results = s.options.mode == Mode::kDebug;
  return out;
}

Tuner answered_tuner(const State& s) {
  const CompiledProgram* program = s.program ? s.program.get() : s.prepared_program.get();
  return Tuner(tuner_options(compile_options(s)), program ? program->image.choices : std::vector<kernel::Choice>());
}

void take_pending(State& s, bool wait) {
  if (!s.pending.valid()) return;
  if (!wait && s.pending.wait_for(std::chrono::seconds(0)) != std::future_status::ready) return;
  std::shared_future<CompileOutcome> pending = std::exchange(s.pending, {});
  CompileOutcome outcome;
  try {
    outcome = pending.get();
  } catch (const Interrupted&) {
    if (wait) throw;
    return;  // the user asked to stop: until the caller does, the reference goes on
  }
  s.prepared_program = nullptr;
  s.bound = false;  // the arena is the program's
  take(s, outcome);
}

void Function::State::fail(std::exception_ptr thrown) {
  failure = std::move(thrown);
  context.fail(&context, TH_NO_CHECK, 0, 0);
}

std::shared_ptr<SharedStorage> Function::State::storage_of(const Expr& leaf) const {
  for (size_t i = 0; i < leaves.size(); ++i)
    if (leaves[i].same(leaf)) return storages[i];
  TH_CHECK(false, "no storage of ", escaped(leaf.name()));
  return nullptr;
}

Function::Function(std::shared_ptr<State> state) : state_(std::move(state)) {}
Function::Function(Function&&) noexcept = default;
Function& Function::operator=(Function&&) noexcept = default;
Function::~Function() = default;

static bool have_own_dtypes(const State& s, std::span<const Tensor> inputs) {
  return inputs.size() == s.graph.inputs.size() &&
         std::equal(inputs.begin(), inputs.end(), s.graph.inputs.begin(),
                    [](const Tensor& value, const Expr& input) { return value.dtype() == input.dtype(); });
}

std::vector<Tensor> call_of(State& s, State& program, std::span<const Tensor> inputs) {
  std::vector<Tensor> completed, converted;
  if (inputs.size() < s.inputs.size()) inputs = with_own_values(s, inputs, completed);
  if (!have_own_dtypes(s, inputs)) inputs = in_own_dtypes(s, inputs, converted);
  std::vector<Tensor> out =
      program.options.mode == Mode::kDebug ? debug_call(program, inputs) : call_program(program, inputs);
  if (s.next_values > 0) take_next_values(s, out);
  return out;
}

std::vector<Tensor> Function::operator()(std::span<const Tensor> inputs) {
  State& s = state_behind(state_);
  const CallScope scope(*s.mark, name());
  return call_of(s, s, inputs);
}

void build(State& s, size_t seen_outputs) {
  EffectScope own;  // what compiling builds belongs to no body that is being built
  s.next_values = s.resized.size();
  s.overwrites_inputs = !s.graph.updates.empty();
  for (const InOptions& input : s.inputs) {
    s.next_values += input.update.has_value();
    s.overwrites_inputs |= input.is_mutable;
  }
  s.lengths.names.resize(s.graph.outputs.size() - seen_outputs - s.next_values);
  s.borrowed.resize(seen_outputs + s.next_values, false);
  // Next values stay where the next call reads them; the host may read whole numbers.
  for (size_t k = seen_outputs; k < seen_outputs + s.next_values; ++k)
    s.internal.push_back(s.graph.outputs[k].rank() > 0 || is_float(s.graph.outputs[k].dtype()));
  s.own_outputs.resize(s.graph.outputs.size());
  s.borrowed.resize(s.graph.outputs.size(), true);
  s.internal.resize(s.graph.outputs.size(), false);
  prepare(s);
  s.values_matter = uses_values(s);
  s.context.threads = thread_count(s.options.threads);
  if (s.options.target && s.options.target->replays_calls && !s.options.target->is_device())
    s.fixed_arguments.emplace();
  if (s.options.mode != Mode::kReference) compile_native(s);
  if (s.options.mode == Mode::kNanGuard) {
    s.guard = std::make_shared<NanGuard>(s);
    s.context.probe = NanGuard::probe;
  }
}

Function function(const std::vector<In>& inputs, const std::vector<Out>& outputs, const std::vector<Update>& updates,
                  const FunctionOptions& options, std::source_location where) {
  EffectScope own;  // what compiling builds belongs to no body that is being built
  auto state = std::make_shared<Function::State>();
  State& s = *state;
  s.options = options;
  for (const Out& out : outputs) {
    s.borrowed.push_back(out.options.borrow);
    s.internal.push_back(out.options.internal);
  }
  s.output_names = names_of_outputs(outputs, where);
  s.graph = function_graph(inputs, outputs, updates, options, s.resized, where);
  s.inputs = options_of_inputs(inputs, where);
  build(s, outputs.size());
  return Function(std::move(state));
}

}  // namespace thtrain
