#include "compiler/ops/unbroadcast.h"

#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/reduce/reduce.h"
#include "compiler/ops/shape/shape.h"

namespace thtrain {

Expr unbroadcast(const Expr& cotangent, const Expr& like) {
  Expr out = cotangent;
  size_t lead = out.rank() - like.rank();
  std::vector<int64_t> added, stretched;
  for (size_t i = 0; i < lead; ++i) added.push_back(static_cast<int64_t>(i));
  for (size_t i = 0; i < like.rank(); ++i)
    if (like.dims()[i].is(1) && !out.dims()[lead + i].is(1)) stretched.push_back(static_cast<int64_t>(i));
  if (!added.empty()) out = sum(out, added, false);
  if (!stretched.empty()) out = sum(out, stretched, true);
  if (is_complex(out.dtype()) && !is_complex(like.dtype())) out = real(out);
  out = cast(out, like.dtype());
  return out.dims() == like.dims() ? out : broadcast_to(out, like.dims());  // another name for an equal length
}

}  // namespace thtrain
