#include "compiler/libraries/library_functions.h"

#include <algorithm>
#include <cctype>
#include <mutex>

#include "compiler/base/error.h"
#include "compiler/base/escape.h"
#include "compiler/libraries/conv_fft.h"
#include "compiler/libraries/conv_patches.h"
#include "compiler/libraries/covariance_root.h"
#include "compiler/libraries/device_functions.h"
#include "compiler/libraries/fft/fft.h"
#include "compiler/libraries/lapack.h"
#include "compiler/libraries/matrix_products.h"
#include "compiler/libraries/onednn.h"
#include "compiler/libraries/onednn_conv.h"
#include "compiler/libraries/random_functions.h"
#include "compiler/libraries/sort/sort.h"

namespace thtrain {
namespace {

class Functions {
 public:
  bool add(const std::string& name, FindLibraryFunction find) {
    std::lock_guard lock(mutex_);
    return all_.try_emplace(name, std::move(find)).second;
  }
  std::optional<LibraryImplementation> find(const std::string& name) {
    FindLibraryFunction find;
    {
      std::lock_guard lock(mutex_);
      const auto at = all_.find(name);
      if (at == all_.end()) return std::nullopt;
      find = at->second;
    }
    return find();
  }

 private:
  std::mutex mutex_;
  NamedFunctions all_ = [] {
    NamedFunctions out;
    for (NamedFunctions (*of_library)() :
         {blas_functions, conv_fft_functions, conv_patches_functions, covariance_root_functions, cublas_functions,
          cublaslt_functions, cudnn_functions, cufft_functions, cusolver_functions, cusparse_functions,
          decomposition_functions, fft_functions, lapack_functions, onednn_conv_functions, onednn_functions,
          random_functions, sort_functions})
      out.merge(of_library());
    return out;
  }();
};

Functions& functions() {
  static Functions all;
  return all;
}

bool is_identifier(const std::string& name) {
  return !name.empty() && !std::isdigit(static_cast<unsigned char>(name[0])) &&
         std::all_of(name.begin(), name.end(),
                     [](char c) { return c == '_' || std::isalnum(static_cast<unsigned char>(c)); });
}

}  // namespace

void add_library_function(const std::string& name, FindLibraryFunction find) {
  if (!is_identifier(name))
    throw UserError({.what = "the name of a library function is no identifier of C", .got = escaped(name)});
  if (!functions().add(name, std::move(find)))
    throw UserError({.what = str("there is a library function ", name, " already")});
}

std::optional<LibraryImplementation> find_library_function(const std::string& name) {
  return functions().find(name);
}

std::vector<void*> library_table(const std::vector<std::string>& names) {
  std::vector<void*> out;
  for (const std::string& name : names) {
    const std::optional<LibraryImplementation> found = find_library_function(name);
    if (!found)
      throw UserError({.what = str("the library function ", escaped(name), " is not there"),
                       .hint = "install its library, or call add_library_function() before compiling"});
    if (!found->address)
      throw UserError({.what = str("the library function ", escaped(name), " has no address"),
                       .hint = "what was given to add_library_function() returned a null pointer"});
    out.push_back(found->address);
  }
  return out;
}

}  // namespace thtrain
