// CUDA's libraries of mathematics for the emulated device: the functions of math_functions.h by their documented
// conventions, computed by the references of ops. Their work is done in the order of the stream that they were told,
// with what else is asked of it. They refuse what the libraries refuse, by their statuses, and besides
//   - a call without a stream or a workspace that was set after it, which the libraries would choose themselves;
//   - arrays that do not lie within one allocation of the current device.
// What is computed of numbers that nobody has written counts as not written.
#pragma once

#include "compiler/cuda/math_functions.h"

namespace thtrain::cuda::emulated {

const MathLibraries& math_libraries();

// Each by itself; the version is "emulated".
const Opened<Cublas>& cublas();
const Opened<CublasLt>& cublaslt();
const Opened<Cufft>& cufft();
const Opened<Cusolver>& cusolver();
const Opened<Cusparse>& cusparse();
const Opened<Cudnn>& cudnn();

}  // namespace thtrain::cuda::emulated
