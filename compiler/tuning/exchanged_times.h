// Times of candidates as a file that goes from one machine to others with the same processor.
#pragma once

#include <string>
#include <string_view>

#include "compiler/tuning/machine.h"
#include "compiler/tuning/tuning_table.h"

namespace thtrain {

/// What is remembered of this machine for that many threads: a comment that names processor, instructions and threads,
/// or the device, its driver and the compiler of its kernels, the lines of TuningTable::text() of thtrain's own
/// candidates, and a comment that says how many there are. Refusals, and candidates of shared objects, are left out.
std::string exported_times(int threads, const kernel::Target& target = machine());

/// The times in such a text, which can hold nothing else. UserError, which begins with `file` and the line: it was
/// exported for another processor, other instructions or other threads; a line is none of those; a computation or a
/// candidate is not known; the end is missing; there are no times; the text is longer than 16 MiB.
TuningTable imported_times(std::string_view text, const std::string& file, int threads,
                           const kernel::Target& target = machine());

/// Does a file begin as such a text?
bool is_file_of_times(std::string_view beginning);

}  // namespace thtrain
