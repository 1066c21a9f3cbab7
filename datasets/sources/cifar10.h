// CIFAR-10's binary records: a byte for the class, then 3 x 32 x 32 bytes, the red, the green and the blue plane.
//
// A. Krizhevsky, "Learning multiple layers of features from tiny images", 2009;
// https://www.cs.toronto.edu/~kriz/cifar.html, "binary version".
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "datasets/data_config.h"

namespace thtrain {

struct Cifar10 {
  Tensor images;                                 // uint8 [n, 3, 32, 32]; lengths only where they stayed in the file
  Tensor labels;                                 // uint8 [n], 0 to 9
  std::shared_ptr<const RowSource> source = {};  // of images that stayed in the file
};

/// The records of a file, with or without gzip. Images of more than `most_bytes` stay in the file. UserError: no
/// records, a part of one at the end, a class above 9, and as ByteStream.
Cifar10 read_cifar10(const std::string& path, uint64_t most_bytes = std::numeric_limits<uint64_t>::max());

struct Cifar10Config : SetFiles {
  static constexpr std::string_view kName = "cifar10";
  Cifar10Config() { scale = kPixelScale; }
  void fill(DatasetOptions& out) const override;
  static void describe(Fields<Cifar10Config>& f);
};

}  // namespace thtrain
