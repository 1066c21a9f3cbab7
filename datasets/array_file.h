// One array of a data set in its file: what it is, before it is decided whether its elements come into memory.
#pragma once

#include <cstdint>
#include <string>

#include "datasets/data_array.h"
#include "datasets/npy.h"

namespace thtrain {

class ArrayFile {
 public:
  enum class Format { kNpy, kIdx };  // kNpy: "x.npy", or "file.npz[name]"

  /// Reads the header only. UserError for any fault of it, and for an .npz file without the name of an array; at
  /// `where`.
  ArrayFile(const std::string& path, Format format, const ConfigPosition& where);

  /// dtype and lengths; no elements.
  const DataArray& described() const { return array_; }
  uint64_t bytes() const { return array_.raw.bytes(); }
  /// Can its rows be read from the file one by one? Not where the first axis varies fastest.
  bool can_stay() const { return why_not_.empty(); }
  /// Are they packed, so that rows are expensive which are not read in order?
  bool is_packed() const { return is_packed_; }
  /// What to do about it where they cannot.
  const std::string& why_not() const { return why_not_; }

  /// The array whose elements stay in the file; a packed one is unpacked once, to check it and to know its locations.
  DataArray in_file() const;
  /// The same with its elements in memory.
  DataArray in_memory() const;

 private:
  std::shared_ptr<const ByteSource> unpacked(std::shared_ptr<const InputFile> file) const;

  DataArray array_;
  Format format_;
  NpyHeader npy_;
  uint64_t offset_ = 0;  // of the first element, in the bytes of the array's file or entry
  bool is_packed_ = false;
  std::string why_not_;
};

}  // namespace thtrain
