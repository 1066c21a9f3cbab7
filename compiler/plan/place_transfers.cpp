#include "compiler/plan/place_transfers.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>

namespace thtrain {
namespace {

using kernel::KernelCall;
using kernel::LibraryCall;
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
      if (by_kernels_[b] || is_internal(program_.buffers[b])) place(b);
    rewrite(program_.body);
    bring_inputs();
    for (size_t b = 0; b < there_.size(); ++b) {
      const Buffer& buffer = program_.buffers[b];
      const bool is_result = (buffer.kind == BufferKind::kOutput && !is_internal(buffer)) ||  //
                             (stays(buffer) && is_written_[b]);
      if (is_result && there_[b] >= 0 && !is_sent_[b] && !is_here(b))
        program_.body.items.push_back(transfer(whole(static_cast<size_t>(there_[b])), whole(b), "to the host"));
    }
  }

 private:
  using Items = std::vector<std::variant<Step, Loop, Branch>>;

  Buffer& buffer(const BufferView& view) { return program_.buffers[static_cast<size_t>(view.buffer)]; }

  // ---- what touches which buffer
  template <class Visit>
  static void for_each_written(const Step& step, Visit visit) {
    auto visit_buffer = [&](const BufferView& view) {
      if (view.buffer >= 0) visit(view);
    };
    if (const auto* call = std::get_if<KernelCall>(&step.code)) {
      for (size_t i = 0; i < call->operands.size(); ++i)
        if (call->function->buffers[i].written) visit_buffer(step.operands[static_cast<size_t>(call->operands[i])]);
      return;
    }
    const bool is_library = is_device_library(step);
    TH_CHECK(is_library || std::holds_alternative<ReferenceCall>(step.code), "a device's program calls ", step.comment);
    // A library may write its workspaces too.
    const size_t end = is_library ? step.operands.size() : step.inputs + step.outputs;
    for (size_t k = step.inputs; k < end; ++k) visit_buffer(step.operands[k]);
  }
  void note(const Step& step) {
    for_each_written(step, [&](const BufferView& view) { is_written_[static_cast<size_t>(view.buffer)] = true; });
    if (const auto* call = std::get_if<KernelCall>(&step.code))
      for (const int operand : call->operands)
        if (const int b = step.operands[static_cast<size_t>(operand)].buffer; b >= 0)
          by_kernels_[static_cast<size_t>(b)] = true;
    if (is_device_library(step))
      for (const kernel::LibraryArgument& argument : std::get<LibraryCall>(step.code).arguments)
        if (const auto* pointer = std::get_if<kernel::PointerTo>(&argument))
          by_kernels_[static_cast<size_t>(step.operands[static_cast<size_t>(pointer->operand)].buffer)] = true;
  }

  // Is it the caller's, or a variable that stays on the host?
  bool is_of_host(const Buffer& buffer) const {
    return buffer.kind == BufferKind::kInput || (buffer.kind == BufferKind::kOutput && !is_internal(buffer)) ||
           stays(buffer);
  }
  // An output that the caller wants there.
  static bool is_internal(const Buffer& buffer) { return buffer.kind == BufferKind::kOutput && buffer.on_device; }
  bool stays(const Buffer& buffer) const {
    return buffer.kind == BufferKind::kShared && program_.shared[buffer.index].node().shared->stays_on_host;
  }

  // Variables and temporaries lie on the device; of what the host keeps, and of constants, there is a copy.
  void place(size_t b) {
    const Buffer& buffer = program_.buffers[b];
    if (buffer.kind != BufferKind::kConstant && !is_of_host(buffer)) {
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
    const Buffer& of = buffer(view);
    return there_[b] < 0 || of.kind == BufferKind::kConstant ||
           ((of.kind == BufferKind::kInput || stays(of)) && !is_written_[b]);
  }
  BufferView on_device(BufferView view) const {
    if (view.buffer >= 0 && there_[static_cast<size_t>(view.buffer)] >= 0)
      view.buffer = there_[static_cast<size_t>(view.buffer)];
    return view;
  }

  // ---- what the host has a copy of
  struct Copy {
    BufferView there, here;
  };
  const BufferView* copy_of(const BufferView& there) const {
    for (const Copy& copy : copies_)
      if (is_one_location(copy.there, there) && copy.there.type == there.type) return &copy.here;
    return nullptr;
  }
  // The device's buffer changes.
  void forget(int there) {
    std::erase_if(copies_, [&](const Copy& copy) { return copy.there.buffer == there; });
  }
  void forget_written(const Region& region) {
    for_each_step(region, [&](const Step& step) {
      for_each_written(step, [&](const BufferView& view) { forget(on_device(view).buffer); });
    });
  }
  // Does the host have the whole of an output, as it lies on the device?
  bool is_here(size_t b) const {
    return std::ranges::any_of(copies_, [&](const Copy& copy) {
      return copy.there.buffer == there_[b] && copy.here.buffer == static_cast<int>(b) &&
             copy.there.layout.offset.is(0) && copy.there.type.elements() == program_.buffers[b].elements;
    });
  }
  // Where the host reads it: in a copy that it has, or one that is made at the end of the region.
  BufferView read_here(Region& region, const BufferView& there, const std::string& name, const Origin& origin) {
    if (const BufferView* known = copy_of(there)) return *known;
    BufferView here = on_host(there.type, name, region);
    region.items.push_back(transfer(there, here, "to the host", origin));
    copies_.push_back({there, here});
    return here;
  }
  // Of an operand of a reference: the value, or, where its elements do not lie side by side, the whole buffer.
  BufferView read_by_reference(const BufferView& operand) const {
    const BufferView there = on_device(operand);
    return is_row_major(operand.type.dims, operand.layout) ? there : whole(static_cast<size_t>(there.buffer));
  }

  // What references in the loop read and nothing in it changes is copied before the loop.
  void hoist(Region& region, const Loop& loop) {
    std::set<std::string> lengths = {loop.index};
    std::set<int> written;
    for_each_step(*loop.body, [&](const Step& step) {
      for (const LengthDefinition& length : step.defines) lengths.insert(length.name);
      for_each_written(step, [&](const BufferView& view) { written.insert(view.buffer); });
    });
    hoist(region, *loop.body, loop.body->number, std::move(lengths), written);
  }
  void hoist(Region& to, const Region& from, size_t first_inside, std::set<std::string> lengths,
             const std::set<int>& written) {
    for (const auto& item : from.items) {
      if (const Loop* loop = std::get_if<Loop>(&item)) {
        lengths.insert(loop->index);
        hoist(to, *loop->body, first_inside, lengths, written);
      }
      const Step* step = std::get_if<Step>(&item);
      if (!step || !std::holds_alternative<ReferenceCall>(step->code)) continue;
      for (size_t k = 0; k < step->inputs; ++k) {
        const BufferView& operand = step->operands[k];
        if (is_at_hand(operand) || written.contains(operand.buffer) || buffer(operand).region >= first_inside) continue;
        std::set<std::string> names;
        for (const Dims& dims : {operand.type.dims, operand.layout.strides, Dims{operand.layout.offset}})
          for (const Dim& dim : dims) dim.collect_names(names);
        if (std::ranges::none_of(names, [&](const std::string& name) { return lengths.contains(name); }))
          read_here(to, read_by_reference(operand), buffer(operand).name, step->origin);
      }
    }
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
      // A copy that is made inside lives no longer than an iteration, or a side.
      if (Loop* loop = std::get_if<Loop>(&item)) {
        forget_written(*loop->body);
        hoist(region, *loop);
        const std::vector<Copy> before_loop = copies_;
        rewrite(*loop->body);
        if (loop->until) loop->until = read(*loop->body, *loop->until, "until");
        copies_ = before_loop;
      } else {
        Branch& branch = std::get<Branch>(item);
        branch.condition = read(region, branch.condition, "condition");
        const std::vector<Copy> before_branch = copies_;
        forget_written(*branch.then);
        forget_written(*branch.otherwise);
        const std::vector<Copy> behind = std::exchange(copies_, before_branch);
        rewrite(*branch.then);
        copies_ = before_branch;
        rewrite(*branch.otherwise);
        copies_ = behind;
      }
      region.items.push_back(std::move(item));
    }
  }

  // A number that the entry reads, where the host has it.
  BufferView read(Region& region, const BufferView& view, const std::string& name) {
    return is_at_hand(view) ? view : read_here(region, on_device(view), name, {});
  }

  void rewrite(Region& region, Step step) {
    if (std::holds_alternative<ReferenceCall>(step.code)) return call_back(region, std::move(step));
    std::vector<LengthDefinition> late;
    for (const LengthDefinition& length : step.defines)
      if (!is_at_hand(length.value)) late.push_back(length);
    std::erase_if(step.defines, [&](const LengthDefinition& length) { return !is_at_hand(length.value); });
    const Origin origin = step.origin;
    for_each_written(step, [&](const BufferView& view) { forget(on_device(view).buffer); });
    for (BufferView& operand : step.operands) operand = on_device(operand);
    region.items.push_back(std::move(step));
    for (LengthDefinition& length : late) {
      const auto b = static_cast<size_t>(length.value.buffer);
      const bool is_output = program_.buffers[b].kind == BufferKind::kOutput && !is_internal(program_.buffers[b]);
      const BufferView there = on_device(length.value);
      length.value = is_output ? whole(b) : on_host(length.value.type, "length", region);
      is_sent_[b] = is_sent_[b] || is_output;
      Step copy = transfer(there, length.value, "to the host", origin);
      copy.defines.push_back(std::move(length));
      region.items.push_back(std::move(copy));
    }
  }

  // A reference computes with the host's copies. What it computes of an output is there already.
  void call_back(Region& region, Step step) {
    std::vector<Step> after;
    for (size_t k = 0; k < step.operands.size(); ++k) {
      BufferView& operand = step.operands[k];
      if (is_at_hand(operand)) continue;
      const BufferView before = operand, there = read_by_reference(operand);
      const bool is_dense = is_row_major(operand.type.dims, operand.layout);
      if (k < step.inputs) {
        const BufferView here = read_here(region, there, buffer(before).name, step.origin);
        if (is_dense)
          operand = here;
        else
          operand.buffer = here.buffer;
        continue;
      }
      if (is_dense && !is_of_host(buffer(before))) {
        operand = on_host(operand.type, buffer(before).name, region);
      } else if (!is_dense) {  // with the elements around it, of which another result may be
        const auto same =
            std::ranges::find_if(after, [&](const Step& copy) { return copy.operands[1].buffer == there.buffer; });
        const bool is_first = same == after.end();
        const BufferView here = is_first ? on_host(there.type, buffer(before).name, region) : same->operands[0];
        if (is_first) region.items.push_back(transfer(there, here, "to the host", step.origin));
        operand.buffer = here.buffer;
        if (is_first) after.push_back(transfer(here, there, "to the device", step.origin));
      }
      if (is_dense) after.push_back(transfer(operand, there, "to the device", step.origin));
      for (LengthDefinition& length : step.defines)
        if (is_one_location(length.value, before)) length.value = operand;
    }
    region.items.push_back(std::move(step));
    for (const Step& copy : after) forget(copy.operands[1].buffer);
    for (Step& copy : after) {
      copies_.push_back({copy.operands[1], copy.operands[0]});
      region.items.push_back(std::move(copy));
    }
  }

  // ---- inputs and variables of the host, before the first item that needs them
  void bring_inputs() {
    Items items = std::move(program_.body.items);
    program_.body.items.clear();
    std::vector<size_t> inputs;
    for (size_t b = 0; b < there_.size(); ++b)
      if ((program_.buffers[b].kind == BufferKind::kInput || stays(program_.buffers[b])) && there_[b] >= 0)
        inputs.push_back(b);
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
  std::vector<Copy> copies_;   // that equal what lies on the device, at this step
};

}  // namespace

void place_transfers(Program& program) {
  TransferPlacer(program).run();
}

}  // namespace thtrain
