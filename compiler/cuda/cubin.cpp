#include "compiler/cuda/cubin.h"

#include <stdlib.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <future>
#include <optional>
#include <sstream>

#include "compiler/base/content_hash.h"
#include "compiler/base/error.h"
#include "compiler/base/run_program.h"
#include "compiler/cuda/libraries.h"
#include "compiler/host/cache.h"
#include "compiler/host/cpu.h"

namespace thtrain::cuda {
namespace {

// A program of NVRTC, which is destroyed with this.
class NvrtcProgram {
 public:
  NvrtcProgram(const Nvrtc& nvrtc, std::string_view text) : nvrtc_(nvrtc) {
    require(nvrtc_.nvrtcCreateProgram(&program_, std::string(text).c_str(), "kernels.cu", 0, nullptr, nullptr),
            "nvrtcCreateProgram");
  }
  ~NvrtcProgram() { nvrtc_.nvrtcDestroyProgram(&program_); }
  NvrtcProgram(const NvrtcProgram&) = delete;
  NvrtcProgram& operator=(const NvrtcProgram&) = delete;

  void compile(const std::vector<std::string>& options) {
    std::vector<const char*> words;
    for (const std::string& option : options) words.push_back(option.c_str());
    require(nvrtc_.nvrtcCompileProgram(program_, static_cast<int>(words.size()), words.data()), "nvrtcCompileProgram");
  }

  std::string cubin() {
    size_t bytes = 0;
    require(nvrtc_.nvrtcGetCUBINSize(program_, &bytes), "nvrtcGetCUBINSize");
    std::string out(bytes, '\0');
    require(nvrtc_.nvrtcGetCUBIN(program_, out.data()), "nvrtcGetCUBIN");
    return out;
  }

 private:
  void require(Status status, const char* function) const {
    if (status != 0) throw InternalError({.what = str(function, ": error ", status), .got = log()});
  }
  std::string log() const {
    size_t bytes = 0;
    if (!nvrtc_.nvrtcGetProgramLogSize || !nvrtc_.nvrtcGetProgramLog || !program_) return "";
    if (nvrtc_.nvrtcGetProgramLogSize(program_, &bytes) != 0 || bytes == 0) return "";
    std::string out(bytes, '\0');
    nvrtc_.nvrtcGetProgramLog(program_, out.data());
    return out.substr(0, out.find('\0'));
  }

  const Nvrtc& nvrtc_;
  _nvrtcProgram* program_ = nullptr;
};

}  // namespace

std::vector<std::string> cubin_options(int compute_capability) {
  return {str("--gpu-architecture=sm_", compute_capability), "--fmad=false", "--ftz=false", "--prec-div=true",
          "--prec-sqrt=true"};
}

std::string compile_cubin(const Nvrtc& nvrtc, std::string_view text, int compute_capability) {
  NvrtcProgram program(nvrtc, text);
  program.compile(cubin_options(compute_capability));
  return program.cubin();
}

std::string compile_cubin(const std::string& nvcc, std::string_view text, int compute_capability,
                          const std::string& folder) {
  const std::string source = folder + "/kernels.cu", output = folder + "/kernels.cubin";
  std::ofstream(source) << text;
  std::vector<std::string> words = cubin_options(compute_capability);
  words.insert(words.begin(), {nvcc, "--cubin", "-o", output, source});
  const Finished finished = run_program({.words = words, .environment = {{"LC_ALL", "C"}}});
  if (finished.exit_code != 0)
    throw InternalError({.what = str(nvcc, " does not compile ", source), .got = finished.trouble + finished.output});
  std::ostringstream out;
  out << std::ifstream(output, std::ios::binary).rdbuf();
  return out.str();
}

// A folder of this process's own, which goes with this.
class TemporaryFolder {
 public:
  TemporaryFolder() : path_((std::filesystem::temp_directory_path() / "thtrain-XXXXXX").string()) {
    if (!mkdtemp(path_.data())) throw UserError({.what = str("no folder can be made in ", path_)});
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

CubinCompiler cubin_compiler() {
  const OpenedNvrtc& opened = nvrtc();
  if (opened.trouble.empty())
    return {str("NVRTC ", opened.version), [&opened](const std::string& text, int compute_capability) {
              return compile_cubin(opened.functions, text, compute_capability);
            }};
  const std::string nvcc = nvcc_path(search_variables());
  if (nvcc.empty())
    throw UserError({.what = "nothing compiles kernels for CUDA devices",
                     .expected = "NVRTC (libnvrtc.so.13 or .12) or nvcc, of CUDA 12.4 to 13",
                     .got = str("NVRTC: ", opened.trouble, "; no nvcc in CUDA_HOME and /usr/local/cuda"),
                     .hint = "pip install nvidia-cuda-nvrtc, or install a CUDA toolkit"});
  return {run_program({.words = {nvcc, "--version"}, .environment = {{"LC_ALL", "C"}}}).output,
          [nvcc](const std::string& text, int compute_capability) {
            const TemporaryFolder folder;
            return compile_cubin(nvcc, text, compute_capability, folder.path());
          }};
}

std::vector<std::string> cached_cubins(const CubinCompiler& compiler, std::span<const std::string> texts,
                                       int compute_capability) {
  std::vector<std::string> out(texts.size()), keys;
  std::vector<size_t> missing;
  for (size_t i = 0; i < texts.size(); ++i) {
    keys.push_back(content_hash({"cubin", texts[i], join(cubin_options(compute_capability), " "), compiler.version}));
    if (std::optional<std::string> known = cache().load_program(keys[i]))
      out[i] = std::move(*known);
    else
      missing.push_back(i);
  }
  std::atomic<size_t> next = 0;
  auto work = [&] {
    for (size_t k = next++; k < missing.size(); k = next++) {
      const size_t i = missing[k];
      out[i] = compiler.compile(texts[i], compute_capability);
      cache().store_program(keys[i], out[i]);
    }
  };
  const size_t workers = std::min<size_t>(missing.size(), static_cast<size_t>(cpu().cores));
  std::vector<std::future<void>> others;
  for (size_t i = 1; i < workers; ++i) others.push_back(std::async(std::launch::async, work));
  work();
  for (std::future<void>& other : others) other.get();
  return out;
}

}  // namespace thtrain::cuda
