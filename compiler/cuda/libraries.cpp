#include "compiler/cuda/libraries.h"

#include <dlfcn.h>
#include <link.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "compiler/base/error.h"
#include "compiler/cuda/cudnn_functions.h"
#include "compiler/cuda/math_functions.h"
#include "compiler/cuda/nccl.h"

namespace thtrain::cuda {
namespace {

namespace fs = std::filesystem;

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

// The folders in it, in the order of their names; those of a higher version of Python first.
std::vector<fs::path> folders_in(const fs::path& folder) {
  std::vector<fs::path> out;
  std::error_code none;
  for (fs::directory_iterator entry(folder, none), end; !none && entry != end; entry.increment(none))
    if (entry->is_directory(none)) out.push_back(entry->path());
  std::ranges::sort(out, std::greater{});
  return out;
}

std::vector<fs::path> toolkits(const SearchVariables& variables) {
  std::vector<fs::path> out;
  if (!variables.cuda_home.empty()) out.emplace_back(variables.cuda_home);
  out.push_back(fs::path(variables.root) / "usr/local/cuda");
  return out;
}

// The library's own file: the linker may have found it by its name alone.
std::string path_of(void* handle, const std::string& name) {
  link_map* map = nullptr;
  if (dlinfo(handle, RTLD_DI_LINKMAP, &map) != 0 || !map || !map->l_name[0]) return name;
  std::error_code none;
  const fs::path real = fs::canonical(map->l_name, none);
  return none ? map->l_name : real.string();
}

std::string version_text(int version) {
  return str(version / 1000, '.', version % 1000 / 10);
}

template <class Function>
void find_function(Library& library, const char* name, const char* loss, Function*& out) {
  out = reinterpret_cast<Function*>(dlsym(library.handle, name));
  if (out) return;
  if (loss)
    library.missing.push_back(str(name, ": ", loss));
  else if (library.trouble.empty())
    library.trouble = str(library.path, " has no function ", name);
}

void check_version(Library& library, const char* what, int version) {
  library.version = version_text(version);
  if (version < kOldestCuda || version >= kNextCuda)
    library.trouble = str(library.path, " is ", what, ' ', library.version, "; from ", version_text(kOldestCuda),
                          " on, and before ", version_text(kNextCuda), ", it is of use");
}

std::string fact_text(const Library& library, const std::string& loss) {
  if (!library.trouble.empty()) return str("none (", library.trouble, "): ", loss);
  std::string out = str(library.version, ", ", library.path);
  for (const std::string& missing : library.missing) out += "; without " + missing;
  return out;
}

std::string devices_text() {
  if (const std::string why = why_no_device(driver()); !why.empty()) return str("none (", why, ")");
  const Driver& d = driver().functions;
  int count = 0;
  check(d, d.cuDeviceGetCount(&count), "cuDeviceGetCount");
  std::vector<std::string> texts;
  for (int i = 0; i < count; ++i) {
    DeviceNumber device = 0;
    int major = 0, minor = 0;
    size_t bytes = 0;
    char name[256] = "device without a name";
    check(d, d.cuDeviceGet(&device, i), "cuDeviceGet");
    if (d.cuDeviceGetName) check(d, d.cuDeviceGetName(name, sizeof name, device), "cuDeviceGetName");
    check(d, d.cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device),
          "cuDeviceGetAttribute");
    check(d, d.cuDeviceGetAttribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device),
          "cuDeviceGetAttribute");
    check(d, d.cuDeviceTotalMem_v2(&bytes, device), "cuDeviceTotalMem_v2");
    texts.push_back(str(name, " (compute capability ", major, '.', minor, ", ", bytes >> 20, " MiB)"));
  }
  return join(texts, ", ");
}

}  // namespace

SearchVariables search_variables() {
  return {.cuda_home = variable("CUDA_HOME"),
          .virtual_environment = variable("VIRTUAL_ENV"),
          .conda = variable("CONDA_PREFIX"),
          .home = variable("HOME")};
}

std::vector<std::string> library_folders(const SearchVariables& variables) {
  std::vector<fs::path> candidates;
  const fs::path root = variables.root;
  for (const fs::path& toolkit : toolkits(variables))
    for (const char* folder : {"lib64", "lib"}) candidates.push_back(toolkit / folder);
  const fs::path home = variables.home.empty() ? fs::path() : fs::path(variables.home) / ".local";
  for (const fs::path& prefix :
       {fs::path(variables.virtual_environment), fs::path(variables.conda), home, root / "usr/local", root / "usr"}) {
    if (prefix.empty()) continue;
    for (const fs::path& python : folders_in(prefix / "lib"))
      if (python.filename().string().starts_with("python"))
        for (const char* packages : {"site-packages", "dist-packages"})
          for (const fs::path& wheel : folders_in(python / packages / "nvidia")) candidates.push_back(wheel / "lib");
  }
  std::vector<std::string> out;
  std::error_code none;
  for (const fs::path& folder : candidates)
    if (fs::is_directory(folder, none)) out.push_back(folder.string());
  return out;
}

std::string nvcc_path(const SearchVariables& variables) {
  std::error_code none;
  for (const fs::path& toolkit : toolkits(variables))
    if (const fs::path out = toolkit / "bin/nvcc"; fs::exists(out, none)) return out.string();
  return "";
}

Library open_library(const std::vector<std::string>& names, const std::vector<std::string>& folders) {
  Library out;
  std::error_code none;
  auto open = [&](const std::string& name) {
    out.handle = dlopen(name.c_str(), RTLD_LAZY | RTLD_LOCAL);
    if (out.handle) out.path = path_of(out.handle, name);
    return out.handle != nullptr;
  };
  for (const std::string& name : names)
    if (open(name)) return out;
  for (const std::string& folder : folders)
    for (const std::string& name : names) {
      const std::string path = str(folder, '/', name);
      if (!fs::exists(path, none)) continue;
      if (open(path)) {
        out.trouble.clear();
        return out;
      }
      if (const char* text = dlerror(); text && out.trouble.empty()) out.trouble = text;
    }
  if (out.trouble.empty()) out.trouble = "not found";
  return out;
}

OpenedDriver open_driver(const std::vector<std::string>& folders) {
  OpenedDriver out{open_library({"libcuda.so.1"}, folders)};
  if (!out.handle) return out;
  Driver& d = out.functions;
#define TH_REQUIRED(name, parameters) find_function(out, #name, nullptr, d.name);
#define TH_OPTIONAL(name, parameters, loss) find_function(out, #name, loss, d.name);
#include "compiler/cuda/driver_functions.inc"
  int version = 0;
  if (out.trouble.empty()) check(d, d.cuDriverGetVersion(&version), "cuDriverGetVersion");
  if (out.trouble.empty()) check_version(out, "a driver of CUDA", version);
  return out;
}

OpenedNvrtc open_nvrtc(const std::vector<std::string>& folders) {
  OpenedNvrtc out{open_library({"libnvrtc.so.13", "libnvrtc.so.12"}, folders)};
  if (!out.handle) return out;
  Nvrtc& n = out.functions;
#define TH_REQUIRED(name, parameters) find_function(out, #name, nullptr, n.name);
#define TH_OPTIONAL(name, parameters, loss) find_function(out, #name, loss, n.name);
#include "compiler/cuda/nvrtc_functions.inc"
  int major = 0, minor = 0;
  if (out.trouble.empty() && n.nvrtcVersion(&major, &minor) != 0) out.trouble = out.path + " does not tell its version";
  if (out.trouble.empty()) check_version(out, "NVRTC of CUDA", 1000 * major + 10 * minor);
  return out;
}

const OpenedDriver& driver() {
  static const OpenedDriver once = open_driver(library_folders(search_variables()));
  return once;
}

const OpenedNvrtc& nvrtc() {
  static const OpenedNvrtc once = open_nvrtc(library_folders(search_variables()));
  return once;
}

std::vector<Fact> library_facts() {
  const std::vector<std::string> folders = library_folders(search_variables());
  const std::string nvcc = nvcc_path(search_variables());
  std::vector<Fact> out{
      {"CUDA driver",
       fact_text(driver(), "no CUDA device can be used; compiler.device = \"emulated\" runs CUDA kernels on the host")},
      {"NVRTC", fact_text(nvrtc(), nvcc.empty() ? "no kernel for CUDA devices can be compiled"
                                                : str("kernels are compiled by ", nvcc, ", which takes longer"))},
      {"cuBLAS", fact_text(math_libraries().cublas(), "matrix products are kernels of thtrain's own")},
      {"cuBLASLt", fact_text(math_libraries().cublaslt(), "biases are added by kernels of thtrain's own")},
      {"cuFFT", fact_text(math_libraries().cufft(), "transforms of Fourier are kernels of thtrain's own")},
      {"cuSOLVER",
       fact_text(math_libraries().cusolver(), "qr, eigh and svd of matrices larger than 8x8 run on the host")},
      {"cuSPARSE", fact_text(math_libraries().cusparse(), "products of sparse matrices are kernels of thtrain's own")},
      {"cuDNN", fact_text(math_libraries().cudnn(), "convolutions are kernels of thtrain's own")}};
  out.push_back({"NCCL", fact_text(nccl(), "several processes do not train on devices")});
  out.push_back({"CUDA devices", devices_text()});
  return out;
}

std::string why_no_device(const OpenedDriver& opened, int number) {
  if (!opened.trouble.empty()) return str("the driver (libcuda.so.1): ", opened.trouble);
  const Driver& d = opened.functions;
  int count = 0;
  if (const Status status = d.cuInit(0); status != CUDA_SUCCESS) return status_text(d, status, "cuInit");
  if (const Status status = d.cuDeviceGetCount(&count); status != CUDA_SUCCESS)
    return status_text(d, status, "cuDeviceGetCount");
  return count > number ? "" : str("driver ", opened.version, " finds ", count == 0 ? "none" : std::to_string(count));
}

void require_device(int number) {
  const std::string why = why_no_device(driver(), number);
  if (why.empty()) return;
  throw UserError({.what = number == 0 ? "there is no CUDA device" : str("there is no CUDA device ", number),
                   .expected = "a device of NVIDIA and its driver, of CUDA 12.4 to 13",
                   .got = why,
                   .hint = "compiler.device = \"emulated\" runs the same kernels on the host, slowly"});
}

}  // namespace thtrain::cuda
