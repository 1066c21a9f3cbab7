#include "compiler/runtime/debug.h"

#include <algorithm>
#include <cstring>

#include "compiler/base/escape.h"
#include "compiler/ir/effects.h"
#include "compiler/ops/bounded.h"
#include "compiler/ops/candidates.h"
#include "compiler/ops/evaluate.h"
#include "compiler/runtime/debug_rewrites.h"
#include "compiler/runtime/function_state.h"
#include "compiler/tuning/machine.h"

namespace thtrain {
namespace {

// Calls row(begin, end) for the bytes of the elements of a tensor that lie side by side.
template <class Row>
void for_each_row(const Tensor& tensor, Row row) {
  const auto* begin = static_cast<const char*>(tensor.raw());
  if (tensor.size() == 0) return;
  if (tensor.is_contiguous()) return row(begin, begin + tensor.bytes());
  const size_t size = size_of(tensor.dtype()), rank = tensor.shape().size();
  const bool has_rows = tensor.strides().back() == 1;
  const int64_t length = has_rows ? tensor.shape().back() : 1;
  Shape position(rank, 0);
  for (int64_t i = 0; i < tensor.size() / length; ++i) {
    int64_t offset = 0;
    for (size_t axis = 0; axis < rank; ++axis) offset += position[axis] * tensor.strides()[axis];
    const char* first = begin + offset * static_cast<int64_t>(size);
    row(first, first + static_cast<size_t>(length) * size);
    for (size_t axis = rank - has_rows; axis-- > 0;) {
      if (++position[axis] < tensor.shape()[axis]) break;
      position[axis] = 0;
    }
  }
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
    add("the arena", s.arena->memory);
    if (s.device)
      for (const Tensor& memory : s.device->memory()) add("memory that the arena has beside it", memory);
    for (const std::shared_ptr<SharedStorage>& storage : s.storages)
      add("the shared variable " + storage->name, storage->value);
    // The entry's arguments: inputs, shared variables, constants, outputs.
    size_t inputs = s.graph.inputs.size(), constants = inputs + s.program->image.shared_order.size(),
           outputs = constants + s.program->image.constants.size(), end = outputs + s.graph.outputs.size();
    for (size_t i = 0; i < inputs; ++i)
      add("the input " + s.graph.inputs[i].name(), s.args[i].data, bytes_of(s.last_dtypes[i], s.last_shapes[i]));
    for (size_t i = constants; i < outputs; ++i) add("a constant", s.program->image.constants[i - constants]);
    for (size_t i = outputs; i < end; ++i)
      add(str("output ", i - outputs), s.args[i].data,
          bytes_of(s.graph.outputs[i - outputs].dtype(), s.output_shapes[i - outputs]),
          s.device && s.internal[i - outputs] ? &s.device->on().memory : nullptr);
    for (const Tensor& t : s.lengths.temporaries) add("an allocated temporary", t);
  }
  // What is there now is no change. `address`: of its first element, of which a device's are copies.
  void accept(const Tensor& written, const void* address) {
    for_each_row(written, [&](const char* from_begin, const char* from_end) {
      const char* const first = static_cast<const char*>(written.raw());
      const char *begin = static_cast<const char*>(address) + (from_begin - first),
                 *end = begin + (from_end - from_begin);
      for (Part& part : parts_) {
        const char *from = std::max(begin, part.address), *to = std::min(end, part.address + part.before.size());
        if (from < to)
          std::copy(from_begin + (from - begin), from_begin + (to - begin),
                    part.before.begin() + (from - part.address));
      }
    });
  }
  // The first buffer that changed.
  std::optional<std::string> changed() const {
    for (const Part& part : parts_)
      if (part.now() != part.before) return part.name;
    return std::nullopt;
  }

 private:
  struct Part {
    std::string name;
    const char* address;
    const AddressSpace* space;
    std::vector<char> before;

    std::vector<char> now() const {
      std::vector<char> out(before.size());
      if (out.empty()) return out;
      if (space)
        space->read(out.data(), address, out.size());
      else
        std::memcpy(out.data(), address, out.size());
      return out;
    }
  };
  static size_t bytes_of(DType dtype, const Shape& shape) {
    return static_cast<size_t>(element_count(shape)) * size_of(dtype);
  }
  void add(std::string name, const void* data, size_t bytes) { add(std::move(name), data, bytes, nullptr); }
  void add(std::string name, const Tensor& memory) {
    add(std::move(name), memory.address(), memory.bytes(), memory.is_on_host() ? nullptr : memory.space());
  }
  void add(std::string name, const void* data, size_t bytes, const AddressSpace* space) {
    Part part{std::move(name), static_cast<const char*>(data), space, std::vector<char>(bytes)};
    part.before = part.now();
    parts_.push_back(std::move(part));
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
    for (size_t o = 0; o < step.outputs; ++o) {
      const Tensor& got = event.operands[event.inputs + o];
      if (step.operands[event.inputs + o].buffer < 0) continue;
      before_->accept(got, event.addresses[event.inputs + o]);
      const Bounded native{got, expected[o].error};
      if (std::optional<std::string> where = beyond_bounds(native, expected[o])) fail(step, event.step, o, *where);
    }
    for (size_t k = step.inputs + step.outputs; k < event.operands.size(); ++k)
      before_->accept(event.operands[k], event.addresses[k]);
    if (std::optional<std::string> buffer = before_->changed())
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

}  // namespace

std::vector<Tensor> debug_call(Function::State& s, std::span<const Tensor> inputs) {
  EffectScope own;  // what the checks build belongs to no body that is being built
  std::vector<const Step*> steps = steps_of(*s.program->plan);
  StepChecker checker(s, steps);
  std::optional<ExpectedResults> expected;
  auto before_first_step = [&] {
    std::vector<Tensor> dense;
    for (const Tensor& t : inputs) dense.push_back(t.on_host().contiguous());
    define_by_reference(s, dense);
    if (!s.rewrites) s.rewrites = std::make_shared<const CheckedRewrites>(check_rewrites(s, dense));
    expected.emplace(s, dense);
  };
  std::vector<Tensor> outputs = watched_call(s, inputs, [&](const StepEvent& event) {
    if (!expected) before_first_step();
    checker(event);
  });
  if (!expected) before_first_step();  // a program without steps
  std::vector<Tensor> on_host;
  for (const Tensor& output : outputs) on_host.push_back(output.on_host());
  expected->check(s, on_host);
  return outputs;
}

}  // namespace thtrain
