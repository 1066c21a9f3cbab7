// NumPy's .npz files: named arrays in one zip archive, as numpy.savez and numpy.savez_compressed write them.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "compiler/ir/tensor.h"
#include "datasets/npy.h"
#include "datasets/zip.h"

namespace thtrain {

/// An open .npz file; arrays are read when they are asked for. Names may hold '/': "hidden/W".
class NpzFile {
 public:
  /// Reads the directory. UserError: as for .npy files, and: not a zip archive, truncated, two arrays of one name.
  explicit NpzFile(const std::string& path);

  /// The arrays in the order of the file. Entries that are not .npy files are left out.
  const std::vector<std::string>& names() const { return names_; }
  bool contains(const std::string& name) const { return entries_.contains(name); }
  /// Is it deflated?
  bool is_packed(const std::string& name) const { return entry_of(name).method != 0; }
  /// Bytes of its .npy file, unpacked, as the archive claims.
  uint64_t size(const std::string& name) const { return entry_of(name).size; }
  /// Its header alone. UserError as read().
  NpyHeader header(const std::string& name) const;
  /// The bytes of its .npy file at any location. UserError as read().
  ZipReader::Bytes bytes(const std::string& name) const { return zip_.bytes(entry_of(name)); }
  /// Row-major, in this machine's byte order. UserError: no such name, a damaged entry (the CRC is checked), any error
  /// of .npy files ("weights.npz[hidden/W]: ...").
  Tensor read(const std::string& name) const;

 private:
  const ZipEntry& entry_of(const std::string& name) const;

  ZipReader zip_;
  std::vector<std::string> names_;
  std::map<std::string, size_t> entries_;
};

/// "data.npz[train_x]" is the array `name` in the file `file`; any other path is a file, and `name` is empty.
struct ArrayPath {
  explicit ArrayPath(const std::string& path);
  std::string file, name;
};

/// All arrays. UserError as NpzFile.
std::map<std::string, Tensor> read_npz(const std::string& path);

/// Stored entries in the given order; equal arrays give equal bytes. Atomic, and `check` as of AtomicFile. UserError if
/// it cannot be written.
void write_npz(const std::string& path, const std::vector<std::pair<std::string, Tensor>>& arrays,
               const std::function<void()>& check = {});

}  // namespace thtrain
