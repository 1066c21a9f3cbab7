// Opens CUDA's libraries of mathematics.
#include <dlfcn.h>

#include "compiler/base/error.h"
#include "compiler/cuda/cudnn_functions.h"
#include "compiler/cuda/math_functions.h"

namespace thtrain::cuda {
namespace {

struct Version {
  int major, minor;
};

// Which file it is, and the versions of it that the lists are of.
struct MathLibrary {
  const char* name;
  std::vector<std::string> files;  // the newest first
  Version oldest, next;
};

template <class Functions, class Fill>
Opened<Functions> open_math(const MathLibrary& library, const std::vector<std::string>& folders,
                            Status (*Functions::*property)(int, int*), Fill fill) {
  Opened<Functions> out{open_library(library.files, folders)};
  if (!out.handle) return out;
  fill(out);
  if (!out.trouble.empty()) return out;
  int parts[3] = {};
  for (const int part : {MAJOR_VERSION, MINOR_VERSION, PATCH_LEVEL}) (out.functions.*property)(part, &parts[part]);
  out.version = str(parts[0], '.', parts[1], '.', parts[2]);
  const auto before = [&](const Version& v) {
    return parts[0] < v.major || (parts[0] == v.major && parts[1] < v.minor);
  };
  if (before(library.oldest) || !before(library.next))
    out.trouble =
        str(out.path, " is ", library.name, ' ', out.version, "; from ", library.oldest.major, '.',
            library.oldest.minor, " on, and before ", library.next.major, '.', library.next.minor, ", it is of use");
  return out;
}

template <class Function>
void find_math(Library& library, const char* name, Function*& out) {
  out = reinterpret_cast<Function*>(dlsym(library.handle, name));
  if (!out && library.trouble.empty()) library.trouble = str(library.path, " has no function ", name);
}

std::vector<std::string> folders_of_this_machine() {
  return library_folders(search_variables());
}

}  // namespace

Opened<Cublas> open_cublas(const std::vector<std::string>& folders) {
  return open_math<Cublas>({"cuBLAS", {"libcublas.so.13", "libcublas.so.12"}, {12, 4}, {14, 0}}, folders,
                           &Cublas::cublasGetProperty, [](Opened<Cublas>& out) {
#define TH_REQUIRED(name, parameters) find_math(out, #name, out.functions.name);
#include "compiler/cuda/cublas_functions.inc"
                           });
}

Opened<CublasLt> open_cublaslt(const std::vector<std::string>& folders) {
  return open_math<CublasLt>({"cuBLASLt", {"libcublasLt.so.13", "libcublasLt.so.12"}, {12, 4}, {14, 0}}, folders,
                             &CublasLt::cublasLtGetProperty, [](Opened<CublasLt>& out) {
#define TH_REQUIRED(name, parameters) find_math(out, #name, out.functions.name);
#include "compiler/cuda/cublaslt_functions.inc"
                             });
}

Opened<Cufft> open_cufft(const std::vector<std::string>& folders) {
  return open_math<Cufft>({"cuFFT", {"libcufft.so.12", "libcufft.so.11"}, {11, 2}, {13, 0}}, folders,
                          &Cufft::cufftGetProperty, [](Opened<Cufft>& out) {
#define TH_REQUIRED(name, parameters) find_math(out, #name, out.functions.name);
#include "compiler/cuda/cufft_functions.inc"
                          });
}

Opened<Cusolver> open_cusolver(const std::vector<std::string>& folders) {
  return open_math<Cusolver>({"cuSOLVER", {"libcusolver.so.12", "libcusolver.so.11"}, {11, 6}, {13, 0}}, folders,
                             &Cusolver::cusolverGetProperty, [](Opened<Cusolver>& out) {
#define TH_REQUIRED(name, parameters) find_math(out, #name, out.functions.name);
#include "compiler/cuda/cusolver_functions.inc"
                             });
}

Opened<Cusparse> open_cusparse(const std::vector<std::string>& folders) {
  return open_math<Cusparse>({"cuSPARSE", {"libcusparse.so.12"}, {12, 3}, {13, 0}}, folders,
                             &Cusparse::cusparseGetProperty, [](Opened<Cusparse>& out) {
#define TH_REQUIRED(name, parameters) find_math(out, #name, out.functions.name);
#include "compiler/cuda/cusparse_functions.inc"
                             });
}

// An older one is opened too, to be refused by its path.
Opened<Cudnn> open_cudnn(const std::vector<std::string>& folders) {
  return open_math<Cudnn>({"cuDNN", {"libcudnn.so.9", "libcudnn.so.8"}, {9, 0}, {10, 0}}, folders,
                          &Cudnn::cudnnGetProperty, [](Opened<Cudnn>& out) {
#define TH_REQUIRED(name, parameters) find_math(out, #name, out.functions.name);
#include "compiler/cuda/cudnn_functions.inc"
                          });
}

const MathLibraries& math_libraries() {
  static const MathLibraries own{[]() -> const Opened<Cublas>& {
                                   static const Opened<Cublas> once = open_cublas(folders_of_this_machine());
                                   return once;
                                 },
                                 []() -> const Opened<CublasLt>& {
                                   static const Opened<CublasLt> once = open_cublaslt(folders_of_this_machine());
                                   return once;
                                 },
                                 []() -> const Opened<Cufft>& {
                                   static const Opened<Cufft> once = open_cufft(folders_of_this_machine());
                                   return once;
                                 },
                                 []() -> const Opened<Cusolver>& {
                                   static const Opened<Cusolver> once = open_cusolver(folders_of_this_machine());
                                   return once;
                                 },
                                 []() -> const Opened<Cusparse>& {
                                   static const Opened<Cusparse> once = open_cusparse(folders_of_this_machine());
                                   return once;
                                 },
                                 []() -> const Opened<Cudnn>& {
                                   static const Opened<Cudnn> once = open_cudnn(folders_of_this_machine());
                                   return once;
                                 }};
  return own;
}

void check_math(Status status, const char* function) {
  if (status != 0) throw InternalError({.what = str(function, ": status ", status)});
}

}  // namespace thtrain::cuda
