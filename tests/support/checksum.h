// CRC-32 of an array's bytes, which pins them in a line.
#pragma once

#include <zlib.h>

#include <cstdint>

#include "compiler/ir/tensor.h"

namespace thtrain {

inline uint32_t checksum(const Tensor& array) {
  return static_cast<uint32_t>(crc32_z(0, static_cast<const Bytef*>(array.raw()), array.bytes()));
}

}  // namespace thtrain
