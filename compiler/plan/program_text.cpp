// A program as text: buffers, arena, steps with what they read and write.
#include <filesystem>

#include "compiler/base/escape.h"
#include "compiler/plan/program.h"
#include "compiler/plan/step_roles.h"

namespace thtrain {
namespace {

std::string view_text(const Program& program, const BufferView& view) {
  if (view.buffer < 0) return "token";
  const Buffer& buffer = program.buffers[static_cast<size_t>(view.buffer)];
  std::string name = str(buffer.name.empty() ? "value" : escaped(buffer.name), "#", view.buffer);
  if (view.layout.offset.is(0) && is_row_major(view.type.dims, view.layout))
    return str(name, " ", readable(view.type.text()));
  return str(name, "[offset ", readable(view.layout.offset.text()), ", strides ",
             readable(dims_text(view.layout.strides)), "] ", readable(view.type.text()));
}

std::string call_text(const Step& step) {
  if (const auto* call = std::get_if<kernel::KernelCall>(&step.code); call && call->function->is_of_device())
    return str("kernel ", call->function->name, ", blocks: ", readable(call->blocks.text()), " of ",
               call->function->threads, call->function->threads == 1 ? " thread, " : " threads, ", call->schedule);
  if (const auto* call = std::get_if<kernel::KernelCall>(&step.code))
    return str("kernel ", call->function->name, " over ", readable(call->range.text()),
               call->grain.is(0) ? "" : str(", threads from ", readable(call->grain.text())),
               call->schedule.empty() ? "" : ", " + call->schedule);
  if (const auto* call = std::get_if<kernel::LibraryCall>(&step.code)) return text_of(step, *call);
  return std::holds_alternative<kernel::Transfer>(step.code) ? "a transfer" : "a call of the reference";
}

// "steps: 3 kernels; on the host: sort, print; transfers: 2 to the device, 1 to the host"
std::string places_text(const Program& program) {
  size_t kernels = 0, libraries = 0, in = 0, out = 0;
  std::vector<std::string> of_host;
  for_each_step(program.body, [&](const Step& step) {
    if (std::holds_alternative<kernel::KernelCall>(step.code))
      ++kernels;
    else if (is_device_library(step))
      ++libraries;
    else if (!std::holds_alternative<kernel::Transfer>(step.code))
      of_host.emplace_back(step.node->op->name);
    else
      ++(program.buffers[static_cast<size_t>(step.operands[1].buffer)].on_device ? in : out);
  });
  return str("steps: ", kernels, kernels == 1 ? " kernel" : " kernels",
             libraries == 0 ? "" : str(", ", libraries, libraries == 1 ? " call" : " calls", " of libraries"),
             "; on the host: ", of_host.empty() ? "none" : join(of_host, ", "), "; transfers: ", in, " to the device, ",
             out, " to the host\n");
}

void print(const Program& program, const std::vector<Roles>& roles, const Region& region, int depth, size_t& number,
           std::string& out) {
  std::string indent(static_cast<size_t>(depth) * 2, ' ');
  for (const auto& item : region.items) {
    if (const Step* step = std::get_if<Step>(&item)) {
      out += str(indent, number, ": ", step->comment, "  -- ", call_text(*step), "  # ", text_of(roles[number]), "\n");
      ++number;
      for (size_t i = 0; i < step->operands.size(); ++i) {
        const bool is_output = i < step->inputs + step->outputs;
        const char* what = i < step->inputs ? "reads  " : is_output ? "writes " : "uses   ";
        out += str(indent, "     ", what, view_text(program, step->operands[i]), "\n");
      }
      for (const LengthDefinition& length : step->defines)
        out += str(indent, "     defines ", readable(length.name), " from ", view_text(program, length.value),
                   length.bound ? ", at most " + readable(length.bound->text()) : ", without a bound", "\n");
    } else if (const Loop* loop = std::get_if<Loop>(&item)) {
      out += str(indent, "loop ", readable(loop->index), " from 0 to ", readable(loop->count.text()), " - 1",
                 loop->until ? str(", until ", view_text(program, *loop->until)) : "", ": ", loop->comment, "\n");
      print(program, roles, *loop->body, depth + 1, number, out);
    } else {
      const Branch& branch = std::get<Branch>(item);
      out += str(indent, "if ", view_text(program, branch.condition), ": ", branch.comment, "\n");
      print(program, roles, *branch.then, depth + 1, number, out);
      out += indent + "else\n";
      print(program, roles, *branch.otherwise, depth + 1, number, out);
    }
  }
}

}  // namespace

std::string text_of(const Step& step, const kernel::LibraryCall& call) {
  if (step.candidate_file.empty()) return call.function.name;
  const std::string file = std::filesystem::path(step.candidate_file).filename().string();
  return str("candidate ", escaped(step.candidate), " of ", escaped(file));
}

std::string program_text(const Program& program) {
  std::string out;
  const char* kinds[] = {"input", "shared", "constant", "output", "temporary"};
  for (size_t b = 0; b < program.buffers.size(); ++b) {
    const Buffer& buffer = program.buffers[b];
    out += str("buffer ", buffer.name.empty() ? "value" : escaped(buffer.name), "#", b, ": ",
               kinds[static_cast<size_t>(buffer.kind)], " of ", readable(buffer.elements.text()), " ",
               name_of(buffer.dtype));
    if (buffer.allocated)
      out += ", allocated once its lengths are known";
    else if (buffer.kind == BufferKind::kTemporary)
      out += str(" at byte ", readable(buffer.arena_offset.text()));
    if (program.target.is_device()) out += buffer.on_device ? ", on the device" : ", on the host";
    if (buffer.kind == BufferKind::kShared && program.shared_written[buffer.index]) out += ", updated";
    out += "\n";
  }
  auto bytes = [](const Dim& dim) {
    return dim.is_known() ? bytes_text(static_cast<double>(dim.value())) : readable(dim.text()) + " bytes";
  };
  out += str("arena: ", bytes(program.memory.arena_bytes), "; live at the peak: ", bytes(program.memory.lower_bound),
             program.memory.host_bytes.is(0) ? "" : "; on the host: " + bytes(program.memory.host_bytes), "\n");
  if (program.target.is_device()) out += places_text(program);
  size_t number = 0;
  print(program, step_roles(program), program.body, 0, number, out);
  return out;
}

}  // namespace thtrain
