// An image of the emulated device: text of C++ that defines the kernels and a table of them, as the host's compiler
// takes it, behind a line that says so.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "compiler/host/shared_object.h"

struct ThModuleKernel;  // compiler/codegen/device_text/module_abi.h
struct ThModuleLaunch;

namespace thtrain::cuda::emulated {

class Checker;

/// Of CUDA C++ without headers. With checks its kernels can tell what they read and write.
std::string image_of(std::string_view text, bool is_checked);
bool is_checked(std::string_view image);

/// Kernels that are loaded.
struct LoadedModule {
  std::shared_ptr<const SharedObject> object = {};
  std::string trouble = {};  // the image is none, or could not be compiled
  const ThModuleKernel* kernels = nullptr;
  int count = 0;
  std::string text = {};  // of CUDA C++
};
/// By the host's compiler, unless its cache has it.
LoadedModule load(std::string_view image);

/// How a kernel came to its end.
struct KernelEnd {
  std::string complaint = {};  // empty: all went well
  bool is_address = false;     // it touched, where it may not, an address of which `is_near` holds
};
/// Runs it, by several threads of the host where nobody checks; a checker, which has begun this launch, or null learns
/// what it does. `complaint` does not name it.
KernelEnd run(const LoadedModule& module, const ThModuleKernel& kernel, const ThModuleLaunch& launch,
              bool (*is_near)(const void*), Checker* checker);

}  // namespace thtrain::cuda::emulated
