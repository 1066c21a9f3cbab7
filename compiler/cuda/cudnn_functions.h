// What thtrain calls of cuDNN, by its legacy interface: a table as those of math_functions.h. docs/decisions/0021.
#pragma once

#include "compiler/cuda/math_functions.h"

struct cudnnContext;
struct cudnnTensorStruct;
struct cudnnFilterStruct;
struct cudnnConvolutionStruct;
struct cudnnPoolingStruct;
struct cudnnConvolutionFwdAlgoPerfStruct;
struct cudnnConvolutionBwdDataAlgoPerfStruct;
struct cudnnConvolutionBwdFilterAlgoPerfStruct;

namespace thtrain::cuda {

#define TH_CONSTANT(type, name, value) inline constexpr type name = value;
#include "compiler/cuda/cudnn_constants.inc"

/// What cuDNN says of an algorithm of a convolution: each of the three structures cudnnConvolution...AlgoPerfStruct.
struct CudnnAlgorithmFound {
  int algorithm;
  Status status;  // not 0: it does not compute that convolution
  float milliseconds;
  size_t workspace_bytes;
  int determinism, math;
  int reserved[3];
};

#define TH_REQUIRED(name, parameters) Status(*name) parameters = nullptr;
struct Cudnn {
#include "compiler/cuda/cudnn_functions.inc"
};

}  // namespace thtrain::cuda
