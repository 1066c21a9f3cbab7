#include "compiler/cuda/emulated/module.h"

#include <signal.h>
#include <ucontext.h>

#include "compiler/base/error.h"
#include "compiler/codegen/device_text/module_abi.h"
#include "compiler/codegen/embedded_text.h"
#include "compiler/host/cache.h"

namespace thtrain::cuda::emulated {
namespace {

constexpr std::string_view kMark = "// Kernels for the emulated device of thtrain.\n";

// "k0_add" of `extern "C" __global__ void k0_add(`.
std::vector<std::string> kernel_names(std::string_view text) {
  constexpr std::string_view kBegin = "__global__ void ";
  std::vector<std::string> out;
  for (size_t at = text.find(kBegin); at != std::string_view::npos; at = text.find(kBegin, at)) {
    at += kBegin.size();
    out.emplace_back(text.substr(at, text.find('(', at) - at));
  }
  return out;
}

// ---- a kernel that touches what is not its own

// What the handler of a thread that runs a kernel goes back to.
thread_local ucontext_t* landing = nullptr;
thread_local bool (*near_device)(const void*) = nullptr;
thread_local volatile bool has_faulted = false;
struct sigaction before;

void on_fault(int signal, siginfo_t* info, void*) {
  if (landing && near_device(info->si_addr)) {
    has_faulted = true;
    setcontext(landing);
  }
  sigaction(signal, &before, nullptr);  // not ours: it comes again, to who handled it before
}

class FaultHandler {
 public:
  FaultHandler() {
    struct sigaction action = {};
    action.sa_sigaction = on_fault;
    action.sa_flags = SA_SIGINFO | SA_NODEFER;
    sigaction(SIGSEGV, &action, &before);
  }
  ~FaultHandler() {
    landing = nullptr;
    sigaction(SIGSEGV, &before, nullptr);
  }
  FaultHandler(const FaultHandler&) = delete;
  FaultHandler& operator=(const FaultHandler&) = delete;
};

}  // namespace

std::string image_of(std::string_view text) {
  const std::vector<std::string> names = kernel_names(text);
  std::string out = str(kMark, embedded::emulated_cuda_h, embedded::module_abi_h, embedded::emulated_module_h, "\n",
                        text, "\nextern \"C\" const ThModuleKernel* th_table(int* count) {\n  *count = ", names.size(),
                        ";\n  static const ThModuleKernel table[] = {");
  for (const std::string& name : names) out += str("th_entry(\"", name, "\", ", name, "), ");
  return out + "{}};\n  return table;\n}\n";
}

LoadedModule load(std::string_view image) {
  LoadedModule out;
  if (!image.starts_with(kMark)) {
    out.trouble = "the image is none of the emulated device";
    return out;
  }
  try {
    LoadedObject loaded = cache().load_object(image, "th_table");
    out.object = std::move(loaded.object);
    out.trouble = std::move(loaded.reason);
  } catch (const Error& error) {
    out.trouble = error.what();
  }
  if (out.object)
    out.kernels = reinterpret_cast<const ThModuleKernel* (*)(int*)>(out.object->symbol("th_table"))(&out.count);
  return out;
}

KernelEnd run(const LoadedModule& module, const ThModuleKernel& kernel, ThModuleLaunch& launch,
              bool (*is_near)(const void*)) {
  const auto run_kernel =
      reinterpret_cast<bool (*)(const ThModuleKernel*, ThModuleLaunch*)>(module.object->symbol("th_run_kernel"));
  const auto abandon = reinterpret_cast<void (*)()>(module.object->symbol("th_abandon_kernel"));
  const FaultHandler handler;
  ucontext_t here;
  near_device = is_near;
  has_faulted = false;
  launch.kernel = kernel.kernel;
  getcontext(&here);  // a fault comes back to this line
  if (has_faulted) {
    abandon();
    return {"reads or writes outside of the memory that it was given", true};
  }
  landing = &here;
  if (run_kernel(&kernel, &launch)) return {};
  return {str("thread ", launch.wrong_thread, " of block ", launch.wrong_block, " is not where the others wait"),
          false};
}

}  // namespace thtrain::cuda::emulated
