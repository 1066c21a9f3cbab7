// Indices that come from data: their checks, with the same text from the reference and from native code.
#pragma once

#include <string>

#include "compiler/kernel/nest.h"

namespace thtrain {

/// A check of an index into an axis. {value} in the texts is the index, {limit} what `limit` says.
struct IndexCheck {
  std::string what, expected;
  bool from_end = false;  // negative indices count from the end (of signed dtypes)
};

/// The position from 0 that an index names; UserError where it is outside [0, length). `shown` replaces {limit} by
/// another number than the length.
int64_t checked_position(const Node& node, const IndexCheck& check, DType dtype, int64_t index, int64_t length,
                         std::optional<int64_t> shown = {});

/// The same in a kernel: the index is a loaded term. `checked` false leaves the check out: it was made before. `node`
/// is the step's, or the one in the body of a loop that the error belongs to.
kernel::Term checked_position(kernel::StepBuilder& b, const Node& node, const IndexCheck& check, kernel::Term index,
                              kernel::Term length, bool checked = true, kernel::Term shown = {});

/// The index in a nest. `place`: of the integer; `reported`: strides of what {limit} shows, empty for the length.
kernel::Index index_at(const Node& node, const IndexCheck& check, kernel::Place place, Dim length, bool checked = true,
                       Dims reported = {});

/// A kernel that checks all indices of the step's input i, before one that writes in place. `reports_row`: the indices
/// are a vector, and {limit} is the place of the bad one.
void check_kernel(kernel::StepBuilder& b, const Node& node, size_t i, const IndexCheck& check, const Dim& length,
                  bool reports_row = false);

[[noreturn]] void fail_index(const Node& node, const IndexCheck& check, int64_t value, int64_t limit);

}  // namespace thtrain
