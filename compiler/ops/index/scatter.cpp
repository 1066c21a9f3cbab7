#include "compiler/ops/index/scatter.h"

#include <algorithm>

namespace thtrain {

Elements elements_of_input(kernel::StepBuilder& b, size_t i) {
  const kernel::Operand from = parts_of(b.input(i));
  return {from.type.dims, lanes_for(b, {&from}) > 1, "", str("in", i),
          [&b, from](const Terms& index, int lanes) { return load_lanes(b, from, index, lanes); }};
}

int lanes_for(const kernel::StepBuilder& b, const kernel::Operand& target, const Elements& elements) {
  return elements.in_lanes ? lanes_for(b, {&target}) : 1;
}

}  // namespace thtrain
