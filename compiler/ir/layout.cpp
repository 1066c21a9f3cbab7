#include "compiler/ir/layout.h"

namespace thtrain {

Layout row_major(const Dims& dims) {
  Layout out;
  out.strides.resize(dims.size(), Dim(1));
  Dim stride(1);
  for (size_t i = dims.size(); i-- > 0;) {
    out.strides[i] = stride;
    stride = stride * dims[i];
  }
  return out;
}

bool is_row_major(const Dims& dims, const Layout& layout) {
  Dim stride(1);
  for (size_t i = dims.size(); i-- > 0;) {
    if (!dims[i].is(1) && !(layout.strides[i] == stride)) return false;
    stride = stride * dims[i];
  }
  return true;
}

}  // namespace thtrain
