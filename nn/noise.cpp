#include "nn/noise.h"

#include <algorithm>
#include <numbers>

#include "compiler/base/mrg31k3p.h"
#include "compiler/ops/elemwise/elemwise.h"

namespace thtrain {

Tensor mrg_state_of(RandomState& random, int64_t streams) {
  Mrg31k3p::State words;
  for (int32_t& word : words) word = static_cast<int32_t>(random.integer(1, Mrg31k3p::kModulus2));
  Mrg31k3p one(words);
  Tensor out = Tensor::empty(DType::kInt32, {6, streams});
  for (int64_t s = 0; s < streams; ++s) {
    for (int64_t k = 0; k < 6; ++k) out.data<int32_t>()[k * streams + s] = one.state()[static_cast<size_t>(k)];
    one.jump(kMrgSubstreamJump);
  }
  return out;
}

int64_t mrg_streams_of(const Shape& example) {
  constexpr int64_t kMost = 15360;  // as MrgRandomStreams
  return std::clamp<int64_t>(element_count(example), 1, kMost);
}

Drawn draw_bernoulli(const Expr& state, const Expr& p) {
  Drawn u = draw_mrg_uniform(state, p.dims(), p.dtype());
  return {u.next, cast(u.sample < p, p.dtype())};
}

Drawn draw_bernoulli(const Expr& state, const LengthList& size, double p, DType dtype) {
  Drawn u = draw_mrg_uniform(state, size, dtype);
  return {u.next, cast(u.sample < p, dtype)};
}

Drawn draw_standard_normal(const Expr& state, const LengthList& size, DType dtype) {
  const Drawn u = draw_mrg_uniform(state, size, dtype), v = draw_mrg_uniform(u.next, size, dtype);
  return {v.next, sqrt(-2.0 * log(u.sample)) * cos(2 * std::numbers::pi * v.sample)};
}

}  // namespace thtrain
