#include "compiler/cuda/emulated/module.h"

#include <dlfcn.h>
#include <signal.h>
#include <ucontext.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <mutex>

#include "compiler/base/error.h"
#include "compiler/base/run_program.h"
#include "compiler/codegen/device_text/module_abi.h"
#include "compiler/codegen/embedded_text.h"
#include "compiler/cuda/emulated/checker.h"
#include "compiler/cuda/emulated/stacks.h"
#include "compiler/cuda/emulated/workers.h"
#include "compiler/host/cache.h"

namespace thtrain::cuda::emulated {
namespace {

constexpr std::string_view kMark = "// Kernels for the emulated device of thtrain.\n",
                           kChecked = "#define TH_CHECKED\n", kText = "\n#line 1 \"kernels.cu\"\n",
                           kEndOfText = "\n#line 1 \"table\"\n";

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

// "__shared__ float a[8];" becomes "__shared__ float a[8 + TH_BEHIND]; th_shared("a", a);".
std::string with_told_arrays(std::string text) {
  constexpr std::string_view kShared = "__shared__ ";
  for (size_t at = text.find(kShared); at != std::string::npos; at = text.find(kShared, at)) {
    at += kShared.size();
    const size_t bracket = text.find('[', at), space = text.rfind(' ', bracket), end = text.find(';', bracket);
    const std::string name = text.substr(space + 1, bracket - space - 1);
    text.insert(end + 1, str(" th_shared(\"", name, "\", ", name, ");"));
    text.insert(text.find(']', bracket), " + TH_BEHIND");
  }
  return text;
}

std::string_view text_of_line(std::string_view text, size_t line) {
  for (; line > 1; --line) text.remove_prefix(std::min(text.find('\n'), text.size() - 1) + 1);
  text = text.substr(0, text.find('\n'));
  text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  return text;
}

/// "line 7 `out0[i] = 1;`" of an address in a module's kernels, by the program that reads line tables.
std::string line_of(const LoadedModule& module, const void* address) {
  Dl_info info{};
  if (!dladdr(address, &info)) return "somewhere";
  // A call returns behind it.
  char offset[32];
  std::snprintf(offset, sizeof offset, "%tx",
                static_cast<const char*>(address) - static_cast<const char*>(info.dli_fbase) - 1);
  const Finished found = run_program({.words = {"addr2line", "-e", module.object->path(), offset}});
  const size_t colon = found.output.rfind(':');
  if (found.exit_code != 0 || colon == std::string::npos) return "somewhere";
  const size_t line = std::strtoul(found.output.c_str() + colon + 1, nullptr, 10);
  return str("line ", line, " `", text_of_line(module.text, line), "`");
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
  ~FaultHandler() { sigaction(SIGSEGV, &before, nullptr); }
  FaultHandler(const FaultHandler&) = delete;
  FaultHandler& operator=(const FaultHandler&) = delete;
};

// ---- a thread of the host

enum class Ending { kRight, kWrong, kFault };

class Runner {
 public:
  Runner(const LoadedModule& module, const ThModuleKernel& kernel)
      : kernel_(kernel),
        run_(
            reinterpret_cast<bool (*)(const ThModuleKernel*, ThModuleLaunch*)>(module.object->symbol("th_run_kernel"))),
        abandon_(reinterpret_cast<void (*)()>(module.object->symbol("th_abandon_kernel"))) {}

  Ending run(ThModuleLaunch& launch) const {
    ucontext_t here;
    has_faulted = false;
    getcontext(&here);  // a fault comes back to this line
    Ending out = Ending::kFault;
    if (has_faulted) {
      abandon_();
    } else {
      landing = &here;
      out = run_(&kernel_, &launch) ? Ending::kRight : Ending::kWrong;
    }
    landing = nullptr;
    return out;
  }

 private:
  const ThModuleKernel& kernel_;
  bool (*run_)(const ThModuleKernel*, ThModuleLaunch*);
  void (*abandon_)();
};

std::string meeting_complaint(const ThModuleLaunch& w) {
  const std::string who = str("thread ", w.thread, " of block ", w.block);
  if (w.wait_line == 0) return str("line ", w.line, ": ", who, " takes from lane ", w.lane, ", which gives nothing");
  if (w.thread == w.waiting) return str(who, " waits in line ", w.line, " with a mask that leaves it out");
  return str(who, w.line == 0 ? " has ended" : str(" waits in line ", w.line), ", and thread ", w.waiting,
             " waits in line ", w.wait_line);
}

}  // namespace

std::string image_of(std::string_view text, bool is_checked) {
  const std::vector<std::string> names = kernel_names(text);
  std::string out = str(kMark, is_checked ? kChecked : "", embedded::module_abi_h, embedded::emulated_cuda_h,
                        is_checked ? embedded::emulated_checks_h : "", embedded::emulated_module_h, kText,
                        is_checked ? with_told_arrays(std::string(text)) : text, kEndOfText,
                        "extern \"C\" const ThModuleKernel* th_table(int* count) {\n  *count = ", names.size(),
                        ";\n  static const ThModuleKernel table[] = {");
  for (const std::string& name : names) out += str("th_entry(\"", name, "\", ", name, "), ");
  return out + "{}};\n  return table;\n}\n";
}

bool is_checked(std::string_view image) {
  return image.substr(std::min(kMark.size(), image.size())).starts_with(kChecked);
}

LoadedModule load(std::string_view image) {
  LoadedModule out;
  if (!image.starts_with(kMark)) {
    out.trouble = "the image is none of the emulated device";
    return out;
  }
  try {
    LoadedObject loaded = cache().load_object(CompileInput(image, is_checked(image)), "th_table");
    out.object = std::move(loaded.object);
    out.trouble = std::move(loaded.reason);
  } catch (const Error& error) {
    out.trouble = error.what();
  }
  const size_t text = image.find(kText) + kText.size();
  out.text = image.substr(text, image.find(kEndOfText, text) - text);
  if (out.object)
    out.kernels = reinterpret_cast<const ThModuleKernel* (*)(int*)>(out.object->symbol("th_table"))(&out.count);
  return out;
}

KernelEnd run(const LoadedModule& module, const ThModuleKernel& kernel, const ThModuleLaunch& launch,
              bool (*is_near)(const void*), Checker* checker) {
  const Runner runner{module, kernel};
  const FaultHandler handler;
  ThChecks checks{};
  if (checker) checks = checker->hooks();
  long next = 0, first = std::numeric_limits<long>::max();
  std::mutex mutex;
  KernelEnd out;
  // What is said is of the first block, in the order of this launch, that is wrong.
  const auto share = [&] {
    ThModuleLaunch own = launch;
    own.kernel = kernel.kernel;
    own.checks = checker ? &checks : nullptr;
    own.share = share_of(launch.threads, next);
    near_device = is_near;
    const Ending ending = runner.run(own);
    if (ending == Ending::kRight) return;
    __atomic_store_n(&next, launch.blocks, __ATOMIC_RELAXED);
    const std::lock_guard lock(mutex);
    if (own.share.position >= first) return;
    first = own.share.position;
    out = {"reads or writes outside of the memory that it was given", true};
    if (ending == Ending::kFault) return;
    const std::string found = checker ? checker->complaint([&](const void* at) { return line_of(module, at); }) : "";
    out = {found.empty() ? meeting_complaint(own) : found, false};
  };
  if (checker || launch.blocks == 1)
    share();
  else
    workers().run(share);
  return out;
}

}  // namespace thtrain::cuda::emulated
