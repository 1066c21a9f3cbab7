// Indices of cases as data: each part is read, written, and both are differentiated.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "compiler/ops/index/index.h"
#include "tests/compiler/suites/suite.h"

namespace thtrain {

/// An index as it is written in x[{...}]; a tensor, and the ends of a computed slice, are inputs of the case.
class AxisIndex {
 public:
  AxisIndex(int number) : index_([number](Given&) { return Index(number); }) {}
  AxisIndex(const Slice& slice) : index_([slice](Given&) { return Index(slice); }) {}
  AxisIndex(Ellipsis) : index_([](Given&) { return Index(ellipsis()); }) {}
  AxisIndex(NewAxis) : index_([](Given&) { return Index(new_axis()); }) {}
  AxisIndex(const Tensor& tensor) : index_([tensor](Given& given) { return Index(given(tensor)); }) {}
  AxisIndex(std::function<Index(Given&)> index) : index_(std::move(index)) {}

  Index of(Given& given) const { return index_(given); }

 private:
  std::function<Index(Given&)> index_;
};

using End = std::optional<int64_t>;
/// A slice whose ends and step the call gives.
AxisIndex computed(End start, End stop = {}, End step = {});
Slice from_to(int64_t start, int64_t stop);
Slice from(int64_t start);
Slice to(int64_t stop);
Slice by(int64_t step);
Tensor table(const Shape& shape, const std::vector<int64_t>& elements);
/// x[{places...}]
Expr part_of(Given& given, const Expr& x, const std::vector<AxisIndex>& places);

/// How a part that is written is tested. Where elements are named twice, PyTensor's gradient of what is set is not the
/// derivative: kValues leaves the gradients out.
enum class Written : uint8_t { kWithGradients, kValues };

/// x is spread(shape), y is positive(its shape). The outputs: the part, the gradient of the sum of its squares, and
/// where y is given, for set_subtensor and then inc_subtensor the result and, unless only values are
/// compared, both gradients of the sum of its squares.
struct PartCase {
  std::string name;
  Shape x;
  std::vector<AxisIndex> places;
  std::optional<Shape> y = {};
  Written written = Written::kWithGradients;
};
std::vector<SuiteCase> part_cases(const std::vector<PartCase>& rows);

}  // namespace thtrain
