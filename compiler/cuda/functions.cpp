#include "compiler/cuda/functions.h"

#include <string>

#include "compiler/base/error.h"

namespace thtrain::cuda {

void check(const Driver& driver, Status status, const char* function) {
  if (status == CUDA_SUCCESS) return;
  const char *name = nullptr, *text = nullptr;
  if (driver.cuGetErrorName) driver.cuGetErrorName(status, &name);
  if (driver.cuGetErrorString) driver.cuGetErrorString(status, &text);
  throw InternalError(
      {.what = str(function, ": ", name ? name : str("error ", status), text ? str(" (", text, ")") : std::string())});
}

}  // namespace thtrain::cuda
