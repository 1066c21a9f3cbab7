#include "compiler/codegen/output_steps.h"

#include "compiler/base/str.h"

namespace thtrain {

std::string outputs_done_behind(const Program& program, const RegionItem& item) {
  std::vector<const RegionItem*> last(program.graph.outputs.size());
  for (const RegionItem& one : program.body.items)
    for_each_step(one, [&](const Step& step) {
      for (size_t k = step.inputs; k < step.inputs + step.outputs; ++k) {
        if (step.operands[k].buffer < 0) continue;
        const Buffer& buffer = program.buffers[static_cast<size_t>(step.operands[k].buffer)];
        if (buffer.kind == BufferKind::kOutput) last[buffer.index] = &one;
      }
    });
  std::string out;
  for (size_t k = 0; k < last.size() && !program.target.is_device(); ++k)
    if (last[k] == &item) out += str("ctx->output_done(ctx, ", k, "); ");
  return out.empty() ? out : out + "if (ctx->failure.word) return 1;";
}

}  // namespace thtrain
