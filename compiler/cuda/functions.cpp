#include "compiler/cuda/functions.h"

#include "compiler/base/error.h"

namespace thtrain::cuda {

std::string status_text(const Driver& driver, Status status, const char* function) {
  const char *name = nullptr, *text = nullptr;
  if (driver.cuGetErrorName) driver.cuGetErrorName(status, &name);
  if (driver.cuGetErrorString) driver.cuGetErrorString(status, &text);
  return str(function, ": ", name ? name : str("error ", status), text ? str(" (", text, ")") : std::string());
}

void check(const Driver& driver, Status status, const char* function) {
  if (status != CUDA_SUCCESS) throw InternalError({.what = status_text(driver, status, function)});
}

}  // namespace thtrain::cuda
