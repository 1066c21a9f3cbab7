// The test cases of the pooling ops: windows over small images.
#pragma once

#include <functional>

#include "compiler/ops/pool/windows.h"

namespace thtrain {

/// What an op takes: the image, what is pooled from it, or both.
enum class PoolInputs : uint8_t { kImage, kPooled, kImageAndPooled, kTwoImages };

/// The op on inputs of one case, with windows over an image of these lengths.
using PoolBuild = std::function<Expr(const std::vector<Expr>& inputs, const PoolWindows& windows, const Dims& image)>;

/// A row for each placing of windows and each floating dtype.
std::vector<OpCase> pool_cases(PoolInputs inputs, const PoolBuild& build);

}  // namespace thtrain
