// The algorithms that cuDNN has for the three convolutions.
#pragma once

#include <span>

#include "compiler/ops/conv/convolution.h"

namespace thtrain {

/// How an algorithm computes: it adds the products as they are, or transforms images and filters.
enum class CudnnMethod : uint8_t { kProducts, kFft, kFftTiles, kWinograd, kWinogradNonfused };

struct CudnnAlgorithm {
  ConvPass pass;
  int number;        // of its enumerator
  const char* name;  // of the candidate, behind "cuDNN "
  bool is_deterministic;
  CudnnMethod method;
};

/// Those of all passes that are implemented.
std::span<const CudnnAlgorithm> cudnn_algorithms();
/// Of a pass by its number; null where there is none.
const CudnnAlgorithm* cudnn_algorithm(ConvPass pass, int number);
/// Does cuDNN's documentation say that the algorithm computes such convolutions? The library itself may refuse more.
bool is_documented(const CudnnAlgorithm& algorithm, const Convolution& c);

}  // namespace thtrain
