// Where a value's elements lie in its buffer: strides and an offset, in elements.
#pragma once

#include <optional>
#include <span>

#include "compiler/ir/type.h"

namespace thtrain {

struct Node;

struct Layout {
  Dims strides;
  Dim offset = 0;
};

/// Row-major from the buffer's first element.
Layout row_major(const Dims& dims);
bool is_row_major(const Dims& dims, const Layout& layout);  // where it can be proved; ignores the offset

/// What a view rule sees: its node, and the layout of the input that is looked at.
struct LayoutArgs {
  const Node& node;
  const Layout& input;
};
/// The view rule of an op whose value is the input itself.
inline std::optional<Layout> same_layout(const LayoutArgs& args) {
  return args.input;
}

}  // namespace thtrain
