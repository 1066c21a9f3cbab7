// The emulated driver's modules and launches.
#include <algorithm>
#include <cstring>

#include "compiler/base/str.h"
#include "compiler/codegen/device_text/module_abi.h"
#include "compiler/cuda/emulated/machine.h"

namespace thtrain::cuda::emulated {
namespace {

bool is_near_any(const void* address) {
  return std::ranges::any_of(machine()->contexts,
                             [&](const CUctx_st& c) { return c.memory && c.memory->is_near(address); });
}

Status load_module(CUmod_st** out, const void* image) {
  return in_context([&](Machine& m, CUctx_st& context) {
    if (const Status status = refused_in_capture(m, "a module that is loaded"); status != CUDA_SUCCESS) return status;
    auto loaded = std::make_unique<CUmod_st>();
    loaded->context = &context;
    loaded->loaded = load(static_cast<const char*>(image));
    if (context.checker && !is_checked(static_cast<const char*>(image)))
      return refuse(CUDA_ERROR_INVALID_IMAGE, "kernels of the image do not tell what they read and write");
    if (!loaded->loaded.object) return refuse(CUDA_ERROR_INVALID_IMAGE, loaded->loaded.trouble);
    for (int i = 0; i < loaded->loaded.count; ++i)
      loaded->functions[loaded->loaded.kernels[i].name] = {loaded.get(), &loaded->loaded.kernels[i]};
    *out = loaded.get();
    m.modules[*out] = std::move(loaded);
    return CUDA_SUCCESS;
  });
}

Status unload_module(CUmod_st* handle) {
  return in_context([&](Machine& m, CUctx_st& context) {
    if (!found(m.modules, handle, context)) return no_handle("module");
    if (const Status status = refused_in_capture(m, "a module that is unloaded"); status != CUDA_SUCCESS) return status;
    drain(m, context);
    m.modules.erase(handle);
    return CUDA_SUCCESS;
  });
}

Status get_function(CUfunc_st** out, CUmod_st* handle, const char* name) {
  return in_context([&](Machine& m, CUctx_st& context) {
    CUmod_st* module = found(m.modules, handle, context);
    if (!module) return no_handle("module");
    const auto function = module->functions.find(name);
    if (function == module->functions.end())
      return refuse(CUDA_ERROR_NOT_FOUND, str("the module has no kernel ", name));
    *out = &function->second;
    return CUDA_SUCCESS;
  });
}

/// The arguments of a launch, by value; pointers lead to where kernels find the memory.
struct Arguments {
  std::vector<std::string> values;
  std::vector<PointerParameter> pointers;
  std::string trouble;
};

Arguments arguments_of(const ThModuleKernel& kernel, void** parameters, const CUctx_st& context) {
  Arguments out;
  Memory& memory = *context.memory;
  for (int i = 0; i < kernel.parameter_count; ++i) {
    const ThParameter& parameter = kernel.parameters[i];
    if (!parameters || !parameters[i]) {
      out.trouble = str("parameter ", i, " of ", kernel.name, " is not given");
      return out;
    }
    std::string value(static_cast<const char*>(parameters[i]), static_cast<size_t>(parameter.bytes));
    DeviceAddress address = 0;
    if (parameter.is_pointer) std::memcpy(&address, value.data(), sizeof address);
    if (address != 0) {
      if (!memory.holds(address, 0))
        out.trouble = str("parameter ", i, " of ", kernel.name, " is no address of the device");
      const char* reached = context.checker ? memory.window(out.pointers.size(), address) : memory.reached(address);
      out.pointers.push_back({i, address, reached});
      std::memcpy(value.data(), &reached, sizeof reached);
    }
    out.values.push_back(std::move(value));
  }
  return out;
}

void run_launch(CUctx_st& context, const CUfunc_st& function, const Arguments& arguments, unsigned blocks,
                unsigned threads) {
  std::vector<void*> parameters;
  for (const std::string& value : arguments.values) parameters.push_back(const_cast<char*>(value.data()));
  ThModuleLaunch launch{};
  launch.parameters = parameters.data();
  launch.blocks = blocks;
  launch.threads = static_cast<int>(threads);
  if (context.checker)
    context.checker->begin(arguments.pointers, launch.threads, reinterpret_cast<const void*>(function.kernel->kernel));
  const KernelEnd end = run(function.module->loaded, *function.kernel, launch, is_near_any, context.checker.get());
  if (end.complaint.empty()) return;
  context.status = end.is_address ? CUDA_ERROR_ILLEGAL_ADDRESS : CUDA_ERROR_LAUNCH_FAILED;
  context.complaint = str("kernel ", function.kernel->name, ": ", end.complaint);
}

Status launch_kernel(CUfunc_st* function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                     unsigned block_y, unsigned block_z, unsigned shared_bytes, CUstream_st* stream, void** parameters,
                     void** extra) {
  return in_context([&](Machine& m, CUctx_st& context) {
    std::function<void()> run;
    const Status status = kernel_launch(
        context, {function, grid_x, grid_y, grid_z, block_x, block_y, block_z, shared_bytes, parameters, extra}, run);
    return status == CUDA_SUCCESS ? enqueue(m, context, stream, std::move(run)) : status;
  });
}

}  // namespace

Status kernel_launch(CUctx_st& context, const KernelNode& p, std::function<void()>& run) {
  const bool is_known = std::ranges::any_of(machine()->modules, [&](const auto& module) {
    return module.second->context == &context &&
           std::ranges::any_of(module.second->functions, [&](const auto& f) { return &f.second == p.kernel; });
  });
  if (!is_known) return no_handle("kernel");
  if (p.grid_y != 1 || p.grid_z != 1 || p.block_y != 1 || p.block_z != 1 || p.shared_bytes != 0 || p.extra)
    return refuse(CUDA_ERROR_INVALID_VALUE, "a launch has one dimension, and no shared memory of its own");
  if (p.blocks == 0 || p.blocks > kMostBlocks || p.threads == 0 || p.threads > kMostThreads)
    return refuse(CUDA_ERROR_INVALID_VALUE, str(p.blocks, " blocks of ", p.threads, " threads"));
  Arguments arguments = arguments_of(*p.kernel->kernel, p.parameters, context);
  if (!arguments.trouble.empty()) return refuse(CUDA_ERROR_INVALID_VALUE, arguments.trouble);
  run = [&context, function = p.kernel, arguments = std::move(arguments), blocks = p.blocks, threads = p.threads] {
    run_launch(context, *function, arguments, blocks, threads);
  };
  return CUDA_SUCCESS;
}

void add_kernels(Driver& driver) {
  driver.cuModuleLoadData = load_module;
  driver.cuModuleUnload = unload_module;
  driver.cuModuleGetFunction = get_function;
  driver.cuLaunchKernel = launch_kernel;
}

}  // namespace thtrain::cuda::emulated
