#include "compiler/runtime/occupancy.h"

#include "compiler/codegen/emit.h"
#include "compiler/cuda/cubin.h"
#include "compiler/cuda/device_program.h"
#include "compiler/cuda/libraries.h"

namespace thtrain {

Occupancy occupancy_of(const Explanation& explanation) {
  constexpr int kShown = 90;
  const kernel::Target& target = explanation.plan->target;
  Occupancy out;
  if (!target.is_device()) return out;
  if (!cuda::nvrtc().trouble.empty()) return {.trouble = "NVRTC is not installed"};
  const Source source = emit_cpp(*explanation.plan);
  if (source.text.kernels.empty()) return out;
  const cuda::CubinCompiler compiler = cuda::cubin_compiler();
  out.capability = target.is_emulated() ? kShown : device_of(target).device.compute_capability();
  out.compiler = compiler.version;
  const std::vector<std::string> texts = {device_text(source.text)};
  const std::map<std::string, cuda::KernelResources> resources =
      cuda::kernel_resources(cuda::cached_cubins(compiler, texts, out.capability).front());
  for (size_t i = 0; i < source.text.kernels.size(); ++i) {
    const std::string& name = source.text.kernels[i].name;
    const cuda::KernelResources& needs = resources.at(name);
    const int threads = source.threads[i], blocks = cuda::resident_blocks(needs, threads, out.capability);
    out.kernels.push_back(
        {name, threads, needs, blocks, int64_t{100} * threads * blocks / cuda::resident_threads(out.capability)});
  }
  return out;
}

std::string occupancy_text(const Explanation& explanation) {
  const Occupancy all = occupancy_of(explanation);
  if (!all.trouble.empty()) return str("// registers and occupancy: not known, ", all.trouble, "\n");
  if (all.kernels.empty()) return {};
  std::string out = str("// kernels for sm_", all.capability, " by ", all.compiler, ":\n");
  for (const KernelOccupancy& of : all.kernels)
    out += str("//   ", of.kernel, ": ", of.threads, " threads, ", of.needs.registers, " registers, ", of.needs.shared,
               " shared bytes, ", of.needs.local, " local bytes; ", of.blocks, of.blocks == 1 ? " block" : " blocks",
               " of a multiprocessor, ", of.share, " % of its threads\n");
  return out;
}

}  // namespace thtrain
