#include "tests/compiler/suites/parts.h"

#include "compiler/api.h"

namespace thtrain {

AxisIndex computed(End start, End stop, End step) {
  return AxisIndex([=](Given& given) {
    const auto end = [&](End number) {
      return number ? std::optional<Operand>(given(Tensor(*number))) : std::optional<Operand>();
    };
    return Index(Slice{.start = end(start), .stop = end(stop), .step = end(step)});
  });
}

Slice from_to(int64_t start, int64_t stop) {
  return {.start = start, .stop = stop};
}

Slice from(int64_t start) {
  return {.start = start};
}

Slice to(int64_t stop) {
  return {.stop = stop};
}

Slice by(int64_t step) {
  return {.step = step};
}

Tensor table(const Shape& shape, const std::vector<int64_t>& elements) {
  return Tensor::of(elements, shape);
}

Expr part_of(Given& given, const Expr& x, const std::vector<AxisIndex>& places) {
  std::vector<Index> indices;
  for (const AxisIndex& place : places) indices.push_back(place.of(given));
  return subtensor(x, indices);
}

std::vector<SuiteCase> part_cases(const std::vector<PartCase>& rows) {
  std::vector<SuiteCase> out;
  for (const PartCase& row : rows)
    out.push_back(made_case(row.name, [row](Given& given) {
      const Expr x = given(spread(row.x)), part = part_of(given, x, row.places);
      All outputs{part, grad(sum(sqr(part)), x)};
      if (!row.y) return outputs;
      const Expr y = given(positive(*row.y));
      for (const bool is_set : {true, false}) {
        outputs.push_back(is_set ? set_subtensor(part, y) : inc_subtensor(part, y));
        if (row.written == Written::kValues) continue;
        const All gradients = grad(sum(sqr(outputs.back())), {x, y});
        outputs.insert(outputs.end(), gradients.begin(), gradients.end());
      }
      return outputs;
    }));
  return out;
}

}  // namespace thtrain
