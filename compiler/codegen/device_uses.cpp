#include "compiler/codegen/device_uses.h"

#include <algorithm>
#include <map>

#include "compiler/codegen/code_lines.h"

namespace thtrain {

std::string ranges_text(const Program& program) {
  // The host's arena lies behind any device's, and what has a range of its own behind both.
  constexpr int64_t kHost = int64_t{1} << 60, kOwn = int64_t{1} << 61;
  int64_t own = kOwn;
  std::map<std::string, int64_t> slots;  // parts of the arena whose size a call decides are shared whole
  std::string list;
  for (const Buffer& buffer : program.buffers) {
    int64_t begin = own, bytes = 1;
    if (buffer.kind == BufferKind::kTemporary && buffer.arena_bytes > 0) {
      begin = buffer.arena_offset.value() + (buffer.on_device ? 0 : kHost);
      bytes = buffer.arena_bytes;
    } else if (buffer.kind == BufferKind::kTemporary && !buffer.allocated) {
      begin = slots.try_emplace(str(buffer.on_device, buffer.arena_offset.text()), own).first->second;
    }
    own += begin == own;
    list += str(list.empty() ? "" : ", ", "{", begin, ", ", begin + bytes, "}");
  }
  if (list.empty()) return {};
  return lines_of(str("static const long ranges[][2] = {", list, "};"), 2, 4) +
         str("  ctx->device->buffers(ctx, ranges, ", program.buffers.size(), ");\n");
}

int buffer_on_device(const Program& program, const Expr& variable) {
  for (size_t b = 0; b < program.buffers.size(); ++b) {
    const Buffer& buffer = program.buffers[b];
    if (buffer.kind == BufferKind::kShared && buffer.on_device && program.shared[buffer.index].same(variable))
      return static_cast<int>(b);
  }
  return -1;
}

// Buffers, and whether they are written.
static std::string uses_text(const std::vector<std::pair<int, bool>>& uses) {
  std::string out;
  std::vector<std::pair<int, bool>> seen;
  for (const std::pair<int, bool>& use : uses) {
    if (use.first < 0 || std::ranges::count(seen, use)) continue;
    seen.push_back(use);
    out += str(out.empty() ? "" : ", ", use.second ? "~" : "", use.first);
  }
  return out.empty() ? "0" : out;  // a list of none has no length that a template could find
}

std::string uses_of(const Step& step, const kernel::KernelCall& call) {
  std::vector<std::pair<int, bool>> uses;
  for (size_t i = 0; i < call.operands.size(); ++i)
    uses.emplace_back(step.operands[static_cast<size_t>(call.operands[i])].buffer, call.function->buffers[i].written);
  return uses_text(uses);
}

// Outputs and workspaces may be written.
std::string uses_of(const Step& step, const kernel::LibraryCall& call) {
  std::vector<std::pair<int, bool>> uses;
  for (const kernel::LibraryArgument& argument : call.arguments)
    if (const auto* pointer = std::get_if<kernel::PointerTo>(&argument)) {
      const auto k = static_cast<size_t>(pointer->operand);
      uses.emplace_back(step.operands[k].buffer, k >= step.inputs);
    }
  return uses_text(uses);
}

}  // namespace thtrain
