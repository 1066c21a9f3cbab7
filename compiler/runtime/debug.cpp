#include "compiler/runtime/debug.h"

#include <algorithm>
#include <cstring>
#include <set>
#include <unordered_set>
#include <utility>

#include "compiler/ir/compare.h"
#include "compiler/ir/print.h"
#include "compiler/ops/evaluate.h"
#include "compiler/ops/shape/specify_lengths.h"
#include "compiler/runtime/function_state.h"

namespace thtrain {
namespace {

// Native maths is within a few units of roundoff of the reference; a sum of n products within about sqrt(n) more.
constexpr double kStepUlps = 512, kRewriteUlps = 4096;

std::vector<const Step*> steps_of(const Program& program) {
  std::vector<const Step*> out;
  for_each_step(program.body, [&](const Step& step) { out.push_back(&step); });
  return out;
}

// The elements of an operand, in place.
Tensor wrapped(const BufferView& view, void* pointer, const Lengths& lengths) {
  if (view.buffer < 0) return Tensor(false);
  return Tensor::wrap(view.type.dtype, lengths.evaluate(view.type.dims), lengths.evaluate(view.layout.strides), pointer,
                      nullptr);
}

// Units of roundoff of a result that whole graphs may differ by: those of the coarsest dtype that is computed with, in
// units of the result's own.
double slack(const Graph& graph, const Tensor& result) {
  if (result.dtype() != DType::kFloat64 && result.dtype() != DType::kComplex128) return kRewriteUlps;
  for (const Node* node : topological_order(graph.roots()))
    for (const Type& type : node->types)
      if (type.dtype == DType::kFloat32 || type.dtype == DType::kComplex64) return kRewriteUlps * 0x1p29;
  return kRewriteUlps;
}

// ---- rewrites ------------------------------------------------------------------------------------------------------

bool closed(const Expr& value, const std::unordered_set<const Node*>& bound) {
  for (const Expr& leaf : leaves_of(std::vector<Expr>{value}))
    if (!bound.count(&leaf.node())) return false;
  return true;
}

void check_rewrites(Function::State& s, std::span<const Tensor> inputs) {
  std::vector<Fired> fired;
  std::vector<PassRecord> records;
  const Tuner tuner(s.options.tune, s.context.threads, s.program->image.choices);
  PipelineOptions options{.level = s.options.level,
                          .without = s.options.without,
                          .extra = s.options.extra_passes,
                          .keep_graphs = true,
                          .verify = true,
                          .fired = &fired,
                          .records = &records,
                          .chooser = &tuner};
  optimize(s.canonical.graph, options);

  std::vector<std::pair<Expr, Tensor>> bound;
  std::unordered_set<const Node*> leaves;
  for (size_t i = 0; i < inputs.size(); ++i) bound.emplace_back(s.canonical.graph.inputs[i], inputs[i]);
  for (size_t i = 0; i < s.leaves.size(); ++i) bound.emplace_back(s.leaves[i], s.storages[i]->value);
  for (const auto& [leaf, value] : bound) leaves.insert(&leaf.node());

  bool any_widens = false;
  for (const Fired& rewrite : fired) {
    if (!closed(rewrite.before, leaves) || !closed(rewrite.after, leaves)) continue;
    std::vector<Expr> pair{rewrite.before, rewrite.after};
    std::vector<Tensor> values = evaluate_with(pair, bound, s.canonical_lengths);
    bool widens = rewrite.safety == Safety::kRangeChanging;  // finite in more cases than the plain form
    any_widens = any_widens || widens;
    if (std::optional<std::string> where = difference(values[1], values[0], kRewriteUlps, true, widens))
      throw UserError({.what = str("debug: the rule ", rewrite.rule, " of the pass ", rewrite.pass, " changes a value"),
                       .expected = expr_text(rewrite.before),
                       .got = str(expr_text(rewrite.after), "\ndiffers at ", *where),
                       .node = rewrite.before.node().origin.text()});
  }
  std::vector<Tensor> last = evaluate_with(s.canonical.graph.roots(), bound, s.canonical_lengths);
  for (const PassRecord& record : records) {
    std::vector<Tensor> now = evaluate_with(record.after.roots(), bound, s.canonical_lengths);
    for (size_t i = 0; i < now.size(); ++i)
      if (std::optional<std::string> where = difference(now[i], last[i], slack(s.graph, now[i]), true, any_widens))
        throw UserError(
            {.what = str("debug: the pass ", record.name, " changes ",
                         i < s.graph.outputs.size()
                             ? str("output ", i)
                             : str("the update of ", s.graph.updates[i - s.graph.outputs.size()].variable.name())),
             .got = str("differs at ", *where)});
    last = std::move(now);
  }
}

// ---- steps ---------------------------------------------------------------------------------------------------------

// Every byte that the call can reach, to see what a step changed.
class Snapshot {
 public:
  explicit Snapshot(const Function::State& s) {
    add("the arena", s.arena.raw(), s.arena.bytes());
    for (const std::shared_ptr<SharedStorage>& storage : s.storages)
      add("the shared variable " + storage->name, storage->value.raw(), storage->value.bytes());
    // The entry's arguments: inputs, shared variables, constants, outputs.
    size_t inputs = s.graph.inputs.size(), constants = inputs + s.leaves.size(),
           outputs = constants + s.program->image.constants.size();
    for (size_t i = 0; i < inputs; ++i)
      add("the input " + s.graph.inputs[i].name(), s.args[i].data, bytes_of(s.last_dtypes[i], s.last_shapes[i]));
    for (size_t i = constants; i < outputs; ++i)
      add("a constant", s.args[i].data, s.program->image.constants[i - constants].bytes());
    for (size_t i = outputs; i < s.args.size(); ++i)
      add(str("output ", i - outputs), s.args[i].data,
          bytes_of(s.graph.outputs[i - outputs].dtype(), s.output_shapes[i - outputs]));
  }
  // The first buffer that changed outside these ranges.
  std::optional<std::string> changed(const std::vector<std::pair<char*, size_t>>& allowed) const {
    for (const Part& part : parts_) {
      const char* now = part.address;
      for (size_t i = 0; i < part.before.size(); ++i) {
        if (now[i] == part.before[i]) continue;
        bool inside = std::any_of(allowed.begin(), allowed.end(), [&](const auto& range) {
          return now + i >= range.first && now + i < range.first + range.second;
        });
        if (!inside) return part.name;
      }
    }
    return std::nullopt;
  }

 private:
  struct Part {
    std::string name;
    const char* address;
    std::vector<char> before;
  };
  static size_t bytes_of(DType dtype, const Shape& shape) {
    return static_cast<size_t>(element_count(shape)) * size_of(dtype);
  }
  void add(std::string name, const void* data, size_t bytes) {
    const char* address = static_cast<const char*>(data);
    parts_.push_back({std::move(name), address, std::vector<char>(address, address + bytes)});
  }
  std::vector<Part> parts_;
};

class StepChecker {
 public:
  StepChecker(Function::State& s, const std::vector<const Step*>& steps) : s_(s), steps_(steps) {}

  void operator()(const StepEvent& event) {
    const Step& step = *steps_[event.step];
    if (!event.after) {
      // Several steps may make one node: the first sees its inputs, the last its outputs.
      if (step.node == nullptr || step.node != node_) {
        inputs_.clear();
        for (size_t i = 0; i < event.inputs; ++i) inputs_.push_back(event.operands[i].copy());
        before_.emplace(s_);
      }
      node_ = step.node;
      return;
    }
    bool more = step.node && event.step + 1 < steps_.size() && steps_[event.step + 1]->node == step.node;
    if (more) return;
    node_ = nullptr;
    std::vector<Tensor> expected = step.node ? evaluate_node(*step.node, inputs_, s_.canonical_lengths) : inputs_;
    std::vector<std::pair<char*, size_t>> written;
    for (size_t o = 0; o + event.inputs < event.operands.size(); ++o) {
      const Tensor& got = event.operands[event.inputs + o];
      if (step.operands[event.inputs + o].buffer < 0) continue;
      written.emplace_back(static_cast<char*>(got.raw()), got.bytes());
      if (std::optional<std::string> where = difference(got, expected[o], kStepUlps)) fail(step, event.step, o, *where);
    }
    if (std::optional<std::string> buffer = before_->changed(written))
      throw UserError(
          {.what = str("debug: step ", event.step, " (", step.comment, ") changed ", *buffer, " outside its outputs"),
           .node = step.origin.text(),
           .config = step.origin.config()});
  }

 private:
  [[noreturn]] void fail(const Step& step, size_t number, size_t output, const std::string& where) const {
    throw UserError({.what = str("debug: native code and reference differ in step ", number, " (", step.comment,
                                 "), output ", output),
                     .got = str("at ", where),
                     .node = step.origin.text(),
                     .config = step.origin.config()});
  }

  Function::State& s_;
  const std::vector<const Step*>& steps_;
  const Node* node_ = nullptr;
  std::vector<Tensor> inputs_;
  std::optional<Snapshot> before_;
};

void on_probe(ThContext* context, int number, int after, void* const* buffers, const long*) {
  Function::State& s = *static_cast<Function::State*>(context->host);
  if (!s.watcher || s.failure) return;
  try {
    std::vector<const Step*> steps = steps_of(*s.program->plan);
    const Step& step = *steps[static_cast<size_t>(number)];
    std::vector<Tensor> operands;
    for (size_t i = 0; i < step.operands.size(); ++i)
      operands.push_back(wrapped(step.operands[i], buffers[i], s.canonical_lengths));
    (*s.watcher)({static_cast<size_t>(number), after != 0, step.node, operands, step.inputs});
  } catch (...) {
    s.failure = std::current_exception();
    s.failed_check = -1;
    context->fail(context, -1, 0, 0);
  }
}

}  // namespace

bool uses_values(const Function::State& s) {
  std::set<std::string> names;
  for (const Expr& out : s.graph.outputs)
    for (const Dim& dim : out.dims()) dim.collect_names(names);
  // The arena is sized by what temporaries need; its formula is known after compiling, so every value counts here.
  for (const Node* node : topological_order(s.graph.roots()))
    for (const Type& type : node->types)
      for (const Dim& dim : type.dims) dim.collect_names(names);
  return std::any_of(names.begin(), names.end(), [](const std::string& name) { return name[0] == '@'; });
}

Expr same_lengths(const Expr& value, const Type& type) {
  return specify_lengths(value, type.dims);
}

void run_reference_step(Function::State& s, size_t number, void* const* buffers, const long*) {
  const std::vector<ReferenceStep>& steps = s.program->image.reference_steps;
  auto step = std::find_if(steps.begin(), steps.end(), [&](const ReferenceStep& r) { return r.number == number; });
  TH_CHECK(step != steps.end(), "step ", number, " does not run through a reference");
  auto value = [&](size_t i) {
    const ReferenceStep::Value& v = step->values[i];
    if (!v.has_elements) return Tensor(false);
    return Tensor::wrap(v.type.dtype, s.canonical_lengths.evaluate(v.type.dims),
                        s.canonical_lengths.evaluate(v.strides), buffers[i], nullptr);
  };
  std::vector<Tensor> inputs;
  for (size_t i = 0; i < step->inputs; ++i) inputs.push_back(value(i));
  std::vector<Tensor> outputs = evaluate_node(*step->node, inputs, s.canonical_lengths);
  for (size_t o = 0; o < outputs.size(); ++o)
    if (step->values[step->inputs + o].has_elements) value(step->inputs + o).assign(outputs[o]);
}

void make_watched(Function::State& s) {
  if (!s.program)
    throw UserError(Message{.what = s.options.name + ": there is no native program to watch",
                            .hint = "compile the function in native or debug mode"});
  if (s.watched) return;
  CompileOptions options;
  options.pipeline.level = s.options.level;
  options.pipeline.without = s.options.without;
  options.pipeline.extra = s.options.extra_passes;
  options.threads = s.context.threads;
  options.tune = s.options.tune;
  options.probes = true;
  CompileOutcome outcome = compile(s.canonical, options);
  if (!outcome.program) throw UserError(Message{.what = str(s.options.name, ": ", outcome.reason)});
  s.watched = outcome.program;
}

std::vector<Tensor> watched_call(
    Function::State& s, std::span<const Tensor> inputs, const std::function<void(const StepEvent&)>& callback,
    const std::function<std::vector<Tensor>(Function::State&, std::span<const Tensor>)>& call) {
  make_watched(s);
  std::shared_ptr<const CompiledProgram> usual = s.program;
  s.program = s.watched;
  s.watcher = &callback;
  auto probe = std::exchange(s.context.probe, on_probe);
  auto profiler = std::exchange(s.profiler, nullptr);
  auto restore = [&] {
    s.context.probe = probe;
    s.profiler = profiler;
    s.watcher = nullptr;
    s.program = usual;
  };
  try {
    std::vector<Tensor> out = call(s, inputs);
    restore();
    return out;
  } catch (...) {
    restore();
    throw;
  }
}

namespace {

// What the whole call should give, by the references of the graph that no pass has seen.
std::vector<Tensor> expected_results(const Function::State& s, std::span<const Tensor> inputs) {
  std::vector<std::pair<Expr, Tensor>> bound;
  for (size_t i = 0; i < inputs.size(); ++i) bound.emplace_back(s.canonical.graph.inputs[i], inputs[i]);
  for (size_t i = 0; i < s.leaves.size(); ++i) bound.emplace_back(s.leaves[i], s.storages[i]->value);
  std::vector<Tensor> out;
  for (const Tensor& value : evaluate_with(s.canonical.graph.roots(), bound, s.canonical_lengths))
    out.push_back(value.copy());
  return out;
}

// Every step was right on its own inputs: here it shows whether they came in the right order.
void check_results(const Function::State& s, const std::vector<Tensor>& outputs, const std::vector<Tensor>& expected) {
  for (size_t i = 0; i < expected.size(); ++i) {
    bool is_output = i < outputs.size();
    const Update* update = is_output ? nullptr : &s.graph.updates[i - outputs.size()];
    Tensor got = is_output ? outputs[i] : s.storage_of(update->variable)->value;
    if (std::optional<std::string> where = difference(got, expected[i], slack(s.graph, got), true, true))
      throw UserError({.what = str("debug: native code and reference differ in ",
                                   is_output ? str("output ", i) : "the update of " + update->variable.name()),
                       .got = str("at ", *where),
                       .node = (is_output ? s.graph.outputs[i] : update->value).node().origin.text()});
  }
}

}  // namespace

std::vector<Tensor> debug_call(Function& function, Function::State& s, std::span<const Tensor> inputs) {
  s.watched = s.program;  // debug programs have probes already
  std::vector<const Step*> steps = steps_of(*s.program->plan);
  StepChecker checker(s, steps);
  std::vector<Tensor> expected;
  bool first = true;
  std::vector<Tensor> outputs = function.watch(inputs, [&](const StepEvent& event) {
    if (first) {
      first = false;
      std::vector<Tensor> dense;
      for (const Tensor& t : inputs) dense.push_back(t.contiguous());
      if (!s.rewrites_checked) check_rewrites(s, dense);
      s.rewrites_checked = true;
      expected = expected_results(s, dense);
    }
    checker(event);
  });
  check_results(s, outputs, expected);
  return outputs;
}

}  // namespace thtrain
