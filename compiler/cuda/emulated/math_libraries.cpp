#include "compiler/cuda/emulated/math_libraries.h"

namespace thtrain::cuda::emulated {

const MathLibraries& math_libraries() {
  static const MathLibraries all{cublas, cublaslt, cufft, cusolver, cusparse, cudnn};
  return all;
}

}  // namespace thtrain::cuda::emulated
