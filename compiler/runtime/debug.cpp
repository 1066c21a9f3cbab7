#include "compiler/runtime/debug.h"

#include <algorithm>
#include <cstring>
#include <set>
#include <utility>

#include "compiler/base/escape.h"
#include "compiler/ir/effects.h"
#include "compiler/ops/bounded.h"
#include "compiler/ops/candidates.h"
#include "compiler/ops/evaluate.h"
#include "compiler/runtime/debug_rewrites.h"
#include "compiler/runtime/function_state.h"

namespace thtrain {
namespace {

// Bytes from `begin` to before `end`.
struct Range {
  const char *begin, *end;
};

// Adds where the elements of a tensor lie.
void add_ranges(const Tensor& tensor, std::vector<Range>& ranges) {
  const auto* begin = static_cast<const char*>(tensor.raw());
  if (tensor.size() == 0) return;
  if (tensor.is_contiguous()) return ranges.push_back({begin, begin + tensor.bytes()});
  const size_t size = size_of(tensor.dtype()), rank = tensor.shape().size();
  const bool has_rows = tensor.strides().back() == 1;
  const int64_t length = has_rows ? tensor.shape().back() : 1;
  Shape position(rank, 0);
  for (int64_t i = 0; i < tensor.size() / length; ++i) {
    int64_t offset = 0;
    for (size_t axis = 0; axis < rank; ++axis) offset += position[axis] * tensor.strides()[axis];
    const char* row = begin + offset * static_cast<int64_t>(size);
    ranges.push_back({row, row + static_cast<size_t>(length) * size});
    for (size_t axis = rank - has_rows; axis-- > 0;) {
      if (++position[axis] < tensor.shape()[axis]) break;
      position[axis] = 0;
    }
  }
}

// The same bytes in order, as ranges that do not touch each other.
std::vector<Range> joined(std::vector<Range> ranges) {
  std::sort(ranges.begin(), ranges.end(), [](const Range& a, const Range& b) { return a.begin < b.begin; });
  std::vector<Range> out;
  for (const Range& range : ranges)
    if (!out.empty() && range.begin <= out.back().end)
      out.back().end = std::max(out.back().end, range.end);
    else
      out.push_back(range);
  return out;
}

std::vector<const Step*> steps_of(const Program& program) {
  std::vector<const Step*> out;
  for_each_step(program.body, [&](const Step& step) { out.push_back(&step); });
  return out;
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
    size_t inputs = s.graph.inputs.size(), constants = inputs + s.program->image.shared_order.size(),
           outputs = constants + s.program->image.constants.size(), end = outputs + s.graph.outputs.size();
    for (size_t i = 0; i < inputs; ++i)
      add("the input " + s.graph.inputs[i].name(), s.args[i].data, bytes_of(s.last_dtypes[i], s.last_shapes[i]));
    for (size_t i = constants; i < outputs; ++i)
      add("a constant", s.args[i].data, s.program->image.constants[i - constants].bytes());
    for (size_t i = outputs; i < end; ++i)
      add(str("output ", i - outputs), s.args[i].data,
          bytes_of(s.graph.outputs[i - outputs].dtype(), s.output_shapes[i - outputs]));
    for (const Tensor& t : s.lengths.temporaries) add("an allocated temporary", t.raw(), t.bytes());
  }
  // The first buffer that changed outside these ranges.
  std::optional<std::string> changed(std::vector<Range> allowed) const {
    allowed = joined(std::move(allowed));
    for (const Part& part : parts_) {
      const char* now = part.address;
      if (part.before.empty() || std::memcmp(now, part.before.data(), part.before.size()) == 0) continue;
      for (size_t i = 0; i < part.before.size(); ++i) {
        if (now[i] == part.before[i]) continue;
        const auto after = std::upper_bound(allowed.begin(), allowed.end(), now + i,
                                            [](const char* at, const Range& range) { return at < range.begin; });
        if (after == allowed.begin() || now + i >= std::prev(after)->end) return part.name;
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
    std::vector<Bounded> expected;
    for (const Tensor& input : inputs_) expected.push_back(exactly(input));
    if (step.node) expected = bounded_node(*step.node, expected, s_.canonical_lengths, Infinities::kSame);
    std::vector<Range> written;
    for (size_t o = 0; o < step.outputs; ++o) {
      const Tensor& got = event.operands[event.inputs + o];
      if (step.operands[event.inputs + o].buffer < 0) continue;
      add_ranges(got, written);
      const Bounded native{got, expected[o].error};
      if (std::optional<std::string> where = beyond_bounds(native, expected[o])) fail(step, event.step, o, *where);
    }
    for (const Tensor& workspace : event.operands.subspan(step.inputs + step.outputs)) add_ranges(workspace, written);
    if (std::optional<std::string> buffer = before_->changed(written))
      raise(step, {.what = str("debug: step ", event.step, " (", step.comment, ") changed ", *buffer,
                               " outside its outputs", by_candidate(step)),
                   .node = step.origin.text(),
                   .config = step.origin.config()});
  }

 private:
  static std::string by_candidate(const Step& step) {
    return step.candidate.empty() ? "" : str(", which the candidate ", escaped(step.candidate), " computes");
  }

  [[noreturn]] void fail(const Step& step, size_t number, size_t output, const std::string& where) const {
    raise(step, {.what = str("debug: native code and reference differ in step ", number, " (", step.comment,
                             "), output ", output, by_candidate(step)),
                 .got = str("at ", where),
                 .node = step.origin.text(),
                 .config = step.origin.config()});
  }

  // The fault of thtrain, but for candidates of the user's.
  [[noreturn]] void raise(const Step& step, Message message) const {
    for (const kernel::Choice& choice : s_.program->image.choices) {
      if (step.candidate.empty() || choice.candidate != step.candidate) continue;
      const std::optional<Candidate> candidate = find_candidate(choice.key, choice.candidate, s_.program->plan->target);
      if (!candidate || !candidate->is_added) continue;
      message.hint = candidate->file.empty() ? "that candidate was added by add_candidates()"
                                             : str("that candidate is of ", candidate->file);
      throw UserError(std::move(message));
    }
    throw InternalError(std::move(message));
  }

  Function::State& s_;
  const std::vector<const Step*>& steps_;
  const Node* node_ = nullptr;
  std::vector<Tensor> inputs_;
  std::optional<Snapshot> before_;
};

void on_probe(ThContext* context, int number, int after, void* const* buffers, const long*) {
  Function::State& s = *static_cast<Function::State*>(context->host);
  if (!s.observer || s.failure) return;
  try {
    std::vector<const Step*> steps = steps_of(*s.program->plan);
    const Step& step = *steps[static_cast<size_t>(number)];
    read_lengths(s);
    std::vector<Tensor> operands;
    for (size_t i = 0; i < step.operands.size(); ++i)
      operands.push_back(operand_of(step, i, buffers, s.canonical_lengths));
    (*s.observer)({static_cast<size_t>(number), after != 0, step.node, operands, step.inputs, step.outputs});
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

Tensor operand_of(const Step& step, size_t k, void* const* buffers, const Lengths& lengths) {
  const BufferView& view = step.operands[k];
  if (view.buffer < 0) return Tensor(false);
  return Tensor::wrap(view.type.dtype, lengths.evaluate(view.type.dims), lengths.evaluate(view.layout.strides),
                      buffers[k], nullptr);
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
  read_lengths(s);
  std::vector<Tensor> inputs;
  // References read dense elements, whatever layout the op accepts.
  for (size_t i = 0; i < step->inputs; ++i) inputs.push_back(value(i).contiguous());
  std::vector<Tensor> outputs = evaluate_node(*step->node, inputs, s.canonical_lengths);
  for (size_t o = 0; o < outputs.size(); ++o)
    if (step->values[step->inputs + o].has_elements) value(step->inputs + o).assign(outputs[o]);
}

void instrument(Function::State& s) {
  if (!s.program)
    throw UserError(Message{.what = s.options.name + ": there is no native program to watch",
                            .hint = "compile the function in native or debug mode"});
  if (s.instrumented) return;
  CompileOptions options = compile_options(s);
  options.probes = true;
  CompileOutcome outcome = compile(s.canonical, options);
  if (!outcome.program) throw UserError(Message{.what = str(s.options.name, ": ", outcome.reason)});
  s.instrumented = outcome.program;
}

std::vector<Tensor> instrumented_call(
    Function::State& s, std::span<const Tensor> inputs, const std::function<void(const StepEvent&)>& callback,
    const std::function<std::vector<Tensor>(Function::State&, std::span<const Tensor>)>& call) {
  instrument(s);
  std::shared_ptr<const CompiledProgram> usual = s.program;
  s.program = s.instrumented;
  s.observer = &callback;
  auto probe = std::exchange(s.context.probe, on_probe);
  auto profiler = std::exchange(s.profiler, nullptr);
  auto restore = [&] {
    s.context.probe = probe;
    s.profiler = profiler;
    s.observer = nullptr;
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

std::vector<Tensor> debug_call(Function::State& s, std::span<const Tensor> inputs) {
  EffectScope own;  // what the checks build belongs to no body that is being built
  std::vector<const Step*> steps = steps_of(*s.program->plan);
  StepChecker checker(s, steps);
  std::optional<ExpectedResults> expected;
  auto before_first_step = [&] {
    std::vector<Tensor> dense;
    for (const Tensor& t : inputs) dense.push_back(t.contiguous());
    define_by_reference(s, dense);
    if (!s.rewrites) s.rewrites = std::make_shared<const CheckedRewrites>(check_rewrites(s, dense));
    expected.emplace(s, dense);
  };
  std::vector<Tensor> outputs = watched_call(s, inputs, [&](const StepEvent& event) {
    if (!expected) before_first_step();
    checker(event);
  });
  if (!expected) before_first_step();  // a program without steps
  expected->check(s, outputs);
  return outputs;
}

}  // namespace thtrain
