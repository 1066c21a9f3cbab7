// What tells whether a data file is still the one that it was, without reading all of it.
#pragma once

#include <string>

#include "datasets/data_array.h"

namespace thtrain {

/// "1048704 bytes, modified 2026-01-31 12:00:00.123456789, samples 6f3a...": the size of the file, when it was last
/// written to (UTC), and a hash of its first and last 4 KiB and of 62 blocks of 4 KiB between them. `path` may end in
/// the name of an array: "data.npz[x]". Where it names no file (data that a program made), `path` itself. UserError
/// where the file cannot be read.
std::string data_fingerprint(const std::string& path);

/// Of an array that stays in its files: of one file as above; of several, and of a folder, "PATH, 160 files 6f3a...",
/// the path of the first or of the folder, and a hash of the paths, sizes and times of modification of all.
std::string data_fingerprint(const DataArray& array);

}  // namespace thtrain
