#include "compiler/runtime/occupancy.h"

#include "compiler/codegen/emit.h"
#include "compiler/cuda/cubin.h"
#include "compiler/cuda/device_program.h"
#include "compiler/cuda/kernel_resources.h"
#include "compiler/cuda/libraries.h"

namespace thtrain {

std::string occupancy_text(const Explanation& explanation) {
  constexpr int kShown = 90;
  const kernel::Target& target = explanation.plan->target;
  if (!target.is_device()) return {};
  if (!cuda::nvrtc().trouble.empty()) return "// registers and occupancy: not known, NVRTC is not installed\n";
  const int capability = target.is_emulated() ? kShown : device_of(target).device.compute_capability();
  const Source source = emit_cpp(*explanation.plan);
  if (source.text.kernels.empty()) return {};
  const cuda::CubinCompiler compiler = cuda::cubin_compiler();
  const std::vector<std::string> texts = {device_text(source.text)};
  const std::map<std::string, cuda::KernelResources> resources =
      cuda::kernel_resources(cuda::cached_cubins(compiler, texts, capability).front());
  std::string out = str("// kernels for sm_", capability, " by ", compiler.version, ":\n");
  for (size_t i = 0; i < source.text.kernels.size(); ++i) {
    const std::string& name = source.text.kernels[i].name;
    const cuda::KernelResources& of = resources.at(name);
    const int threads = source.threads[i], blocks = cuda::resident_blocks(of, threads, capability);
    out += str("//   ", name, ": ", threads, " threads, ", of.registers, " registers, ", of.shared, " shared bytes, ",
               of.local, " local bytes; ", blocks, blocks == 1 ? " block" : " blocks", " of a multiprocessor, ",
               100 * threads * blocks / cuda::resident_threads(capability), " % of its threads\n");
  }
  return out;
}

}  // namespace thtrain
