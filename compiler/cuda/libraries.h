// The libraries of CUDA: where they are, which version, what is missing and what that costs. Nothing is linked; each is
// opened at its first use.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/cuda/functions.h"

namespace thtrain::cuda {

/// The first and the last version of CUDA that the lists are of, as the driver counts: 12.4 is 12040.
inline constexpr int kOldestCuda = 12040, kNextCuda = 14000;

/// The variables of the environment that say where libraries are.
struct SearchVariables {
  std::string cuda_home = {};                                   // CUDA_HOME
  std::string virtual_environment = {}, conda = {}, home = {};  // VIRTUAL_ENV, CONDA_PREFIX, HOME
  std::string root = "/";                                       // where /usr and /usr/local are
};
SearchVariables search_variables();

/// Folders that exist, in order, after those of the dynamic linker: of CUDA_HOME, of /usr/local/cuda, and of wheels of
/// PyPI (site-packages/nvidia/*/lib) in the active environment, the user's packages and the system's.
std::vector<std::string> library_folders(const SearchVariables& variables);

/// nvcc of CUDA_HOME or of /usr/local/cuda; "" where there is none.
std::string nvcc_path(const SearchVariables& variables);

/// A library that was opened, or not.
struct Library {
  void* handle = nullptr;  // null: not found, or of no use
  std::string path = {};
  std::string version = {};               // "13.0"
  std::string trouble = {};               // why there is none: "not found", or what the linker says
  std::vector<std::string> missing = {};  // functions: "cuGetErrorName: errors have numbers instead of names"
};

/// Opens the first of these names that can be opened: by the linker's path, then in the folders.
Library open_library(const std::vector<std::string>& names, const std::vector<std::string>& folders);

struct OpenedDriver : Library {
  Driver functions = {};
};
struct OpenedNvrtc : Library {
  Nvrtc functions = {};
};
/// A library without a function that is required, or of another version of CUDA, is of no use: `trouble` says so.
OpenedDriver open_driver(const std::vector<std::string>& folders);
OpenedNvrtc open_nvrtc(const std::vector<std::string>& folders);

/// Why it has no device of that number; "" where it has one.
std::string why_no_device(const OpenedDriver& opened, int number = 0);

/// Those of this process, opened by the first call.
const OpenedDriver& driver();
const OpenedNvrtc& nvrtc();

/// For `thtrain info`: each library by its name with path and version, what is missing, and what that costs; then the
/// devices.
struct Fact {
  std::string name, text;
};
std::vector<Fact> library_facts();

/// UserError where there is no device of that number: why. The hint is `compiler.device = "emulated"`.
void require_device(int number);

}  // namespace thtrain::cuda
