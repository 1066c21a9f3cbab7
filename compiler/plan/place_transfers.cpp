#include "compiler/plan/place_transfers.h"

#include <algorithm>

namespace thtrain {
namespace {

using kernel::KernelCall;
using kernel::ReferenceCall;
using kernel::Transfer;

class TransferPlacer {
 public:
  explicit TransferPlacer(Program& program)
      : program_(program),
        by_kernels_(program.buffers.size()),
        is_written_(program.buffers.size()),
        there_(program.buffers.size(), -1),
        is_sent_(program.buffers.size()) {}

  void run() {
    for_each_step(program_.body, [&](const Step& step) { note(step); });
    for (size_t b = 0; b < by_kernels_.size(); ++b)
      if (by_kernels_[b]) place(b);
    rewrite(program_.body);
    bring_inputs();
    for (size_t b = 0; b < there_.size(); ++b)
      if (program_.buffers[b].kind == BufferKind::kOutput && there_[b] >= 0 && !is_sent_[b])
        program_.body.items.push_back(transfer(whole(static_cast<size_t>(there_[b])), whole(b), "to the host"));
  }

 private:
  using Items = std::vector<std::variant<Step, Loop, Branch>>;

  Buffer& buffer(const BufferView& view) { return program_.buffers[static_cast<size_t>(view.buffer)]; }

  // ---- what touches which buffer
  void note(const Step& step) {
    auto touch = [](std::vector<bool>& by, const BufferView& view) {
      if (view.buffer >= 0) by[static_cast<size_t>(view.buffer)] = true;
    };
    if (const auto* call = std::get_if<KernelCall>(&step.code)) {
      for (size_t i = 0; i < call->operands.size(); ++i) {
        const BufferView& operand = step.operands[static_cast<size_t>(call->operands[i])];
        touch(by_kernels_, operand);
        if (call->function->buffers[i].written) touch(is_written_, operand);
      }
      return;
    }
    TH_CHECK(std::holds_alternative<ReferenceCall>(step.code), "a device's program calls ", step.comment);
    for (size_t k = step.inputs; k < step.inputs + step.outputs; ++k) touch(is_written_, step.operands[k]);
  }

  // Variables and temporaries lie on the device; of what the caller has, and of constants, there is a copy.
  void place(size_t b) {
    const Buffer& buffer = program_.buffers[b];
    if (buffer.kind == BufferKind::kShared || buffer.kind == BufferKind::kTemporary) {
      program_.buffers[b].on_device = true;
      there_[b] = static_cast<int>(b);
      return;
    }
    Buffer copy = buffer;
    copy.on_device = true;
    copy.allocated = false;
    copy.name += "_there";
    if (copy.kind != BufferKind::kConstant) copy.kind = BufferKind::kTemporary;
    there_[b] = add(std::move(copy));
  }

  int add(Buffer buffer) {
    program_.buffers.push_back(std::move(buffer));
    return static_cast<int>(program_.buffers.size()) - 1;
  }

  // ---- transfers
  BufferView whole(size_t b) const {
    const Buffer& buffer = program_.buffers[b];
    Type type{.dtype = buffer.dtype, .dims = {buffer.elements}};
    if (buffer.elements.is(1)) type.dims = {};
    Layout layout = row_major(type.dims);
    return {static_cast<int>(b), std::move(type), std::move(layout)};
  }
  static Step transfer(BufferView from, BufferView to, std::string why, const Origin& origin = {}) {
    return {nullptr, std::move(why), {std::move(from), std::move(to)}, 1, 1, Transfer{}, origin};
  }
  BufferView on_host(const Type& type, std::string name, const Region& region) {
    const int b = add({.kind = BufferKind::kTemporary,
                       .dtype = type.dtype,
                       .elements = type.elements(),
                       .name = std::move(name),
                       .region = region.number});
    return {b, type, row_major(type.dims)};
  }

  // Does the host read and write it where the program has it?
  bool is_at_hand(const BufferView& view) {
    if (view.buffer < 0) return true;
    const auto b = static_cast<size_t>(view.buffer);
    const BufferKind kind = buffer(view).kind;
    return there_[b] < 0 || kind == BufferKind::kConstant || (kind == BufferKind::kInput && !is_written_[b]);
  }
  BufferView on_device(BufferView view) const {
    if (view.buffer >= 0 && there_[static_cast<size_t>(view.buffer)] >= 0)
      view.buffer = there_[static_cast<size_t>(view.buffer)];
    return view;
  }

  // ---- the program's tree
  void rewrite(Region& region) {
    Items before = std::move(region.items);
    region.items.clear();
    for (auto& item : before) {
      if (Step* step = std::get_if<Step>(&item)) {
        rewrite(region, std::move(*step));
        continue;
      }
      if (Loop* loop = std::get_if<Loop>(&item)) {
        rewrite(*loop->body);
        if (loop->until) loop->until = read(*loop->body, *loop->until, "until");
      } else {
        Branch& branch = std::get<Branch>(item);
        branch.condition = read(region, branch.condition, "condition");
        rewrite(*branch.then);
        rewrite(*branch.otherwise);
      }
      region.items.push_back(std::move(item));
    }
  }

  // A number that the entry reads, where the host has it: after a transfer at the end of the region.
  BufferView read(Region& region, const BufferView& view, std::string name) {
    if (is_at_hand(view)) return view;
    BufferView here = on_host(view.type, std::move(name), region);
    region.items.push_back(transfer(on_device(view), here, "to the host"));
    return here;
  }

  void rewrite(Region& region, Step step) {
    std::vector<LengthDefinition> late;
    for (const LengthDefinition& length : step.defines)
      if (!is_at_hand(length.value)) late.push_back(length);
    std::erase_if(step.defines, [&](const LengthDefinition& length) { return !is_at_hand(length.value); });
    const Origin origin = step.origin;
    if (std::holds_alternative<ReferenceCall>(step.code)) {
      call_back(region, std::move(step));
    } else {
      for (BufferView& operand : step.operands) operand = on_device(operand);
      region.items.push_back(std::move(step));
    }
    for (LengthDefinition& length : late) {
      const auto b = static_cast<size_t>(length.value.buffer);
      const bool is_output = program_.buffers[b].kind == BufferKind::kOutput;
      const BufferView there = on_device(length.value);
      length.value = is_output ? whole(b) : on_host(length.value.type, "length", region);
      is_sent_[b] = is_sent_[b] || is_output;
      Step copy = transfer(there, length.value, "to the host", origin);
      copy.defines.push_back(std::move(length));
      region.items.push_back(std::move(copy));
    }
  }

  // A reference computes with the host's copies: of the values, or, where their elements do not lie side by side, of
  // the whole buffers.
  void call_back(Region& region, Step step) {
    std::vector<Step> after;
    for (size_t k = 0; k < step.operands.size(); ++k) {
      BufferView& operand = step.operands[k];
      if (is_at_hand(operand)) continue;
      const bool is_input = k < step.inputs, is_dense = is_row_major(operand.type.dims, operand.layout);
      BufferView there = on_device(operand);
      BufferView here;
      if (is_dense) {
        here = operand = on_host(operand.type, buffer(operand).name, region);
      } else {
        there = whole(static_cast<size_t>(there.buffer));
        here = on_host(there.type, buffer(operand).name, region);
        operand.buffer = here.buffer;
      }
      if (is_input || !is_dense) region.items.push_back(transfer(there, here, "to the host", step.origin));
      if (!is_input) after.push_back(transfer(here, there, "to the device", step.origin));
    }
    region.items.push_back(std::move(step));
    for (Step& copy : after) region.items.push_back(std::move(copy));
  }

  // ---- inputs, before the first item that needs them
  void bring_inputs() {
    Items items = std::move(program_.body.items);
    program_.body.items.clear();
    std::vector<size_t> inputs;
    for (size_t b = 0; b < there_.size(); ++b)
      if (program_.buffers[b].kind == BufferKind::kInput && there_[b] >= 0) inputs.push_back(b);
    for (auto& item : items) {
      std::erase_if(inputs, [&](size_t b) {
        if (!mentions(item, there_[b])) return false;
        program_.body.items.push_back(transfer(whole(b), whole(static_cast<size_t>(there_[b])), "to the device"));
        return true;
      });
      program_.body.items.push_back(std::move(item));
    }
  }

  static bool mentions(const std::variant<Step, Loop, Branch>& item, int b) {
    bool out = false;
    auto look = [&](const Step& step) {
      out = out || std::ranges::any_of(step.operands, [&](const BufferView& view) { return view.buffer == b; });
    };
    if (const Step* step = std::get_if<Step>(&item)) {
      look(*step);
    } else if (const Loop* loop = std::get_if<Loop>(&item)) {
      for_each_step(*loop->body, look);
    } else {
      for_each_step(*std::get<Branch>(item).then, look);
      for_each_step(*std::get<Branch>(item).otherwise, look);
    }
    return out;
  }

  Program& program_;
  std::vector<bool> by_kernels_, is_written_;
  std::vector<int> there_;     // the buffer on the device, by those that the planner made; -1: there is none
  std::vector<bool> is_sent_;  // outputs that the host has already
};

}  // namespace

void place_transfers(Program& program) {
  TransferPlacer(program).run();
}

}  // namespace thtrain
