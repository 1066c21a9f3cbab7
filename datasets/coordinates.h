// Matrices from the coordinates of their elements, as files list them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "compiler/runtime/sparse_values.h"

namespace thtrain {

/// Elements in any order: values[e] in row rows[e] and column columns[e], counted from 0 and inside of the matrix.
struct Coordinates {
  std::vector<int64_t> rows = {}, columns = {};
  Tensor values = {};  // [elements]
};

/// Two elements, by their numbers, that are in one place.
struct EqualPlaces {
  size_t first, second;
};

/// The matrix in compressed rows, with int32 indices where they suffice; nothing, and `equal`, where elements share a
/// place.
std::optional<SparseTensor> csr_of(const Coordinates& elements, int64_t rows, int64_t columns, EqualPlaces& equal);

/// UserError where a file of so many bytes names more rows than it is believed to have: each takes memory, also an
/// empty one. `location` begins the message: "line 2: ".
void require_believable_rows(const std::string& path, const std::string& location, int64_t rows, uint64_t file_bytes);

}  // namespace thtrain
