#include "compiler/ops/reduce/reduce_lower.h"

#include <algorithm>

#include "compiler/kernel/schedule/accumulators.h"
#include "compiler/kernel/schedule/schedule.h"

namespace thtrain {

using kernel::StepBuilder;

kernel::Accumulation accumulation_of(const Reduction& record, DType element) {
  const DType dtype = *record.dtype(element);
  return {.dtype = record.is_wide ? kernel::wide_of(dtype) : dtype,
          .identity = record.identity,
          .combine = record.combine,
          .lanes = record.lanes,
          .rounds = record.rounds};
}

kernel::RuntimeCheck no_elements_check(const Node& node) {
  return {.what = str(node.op->name, ": the maximum or minimum of no elements is undefined"),
          .expected = "at least 1 element along the reduced axes",
          .origin = node.origin};
}

void lower_by_nest(StepBuilder& b, kernel::Accumulation how, const std::string& name, const std::string& comment) {
  const kernel::Operand &in = b.input(0), &out = b.output();
  const Ints& reduced = b.node().props.get<Ints>("axes");
  const bool keepdims = b.node().props.get<bool>("keepdims");
  std::vector<kernel::NestAxis> axes;
  kernel::Place from{in, in.layout.strides}, to{out, {}};
  size_t next = 0;
  for (size_t i = 0; i < in.type.rank(); ++i) {
    const bool goes = std::find(reduced.begin(), reduced.end(), static_cast<int64_t>(i)) != reduced.end();
    axes.push_back({in.type.dims[i], goes ? kernel::AxisKind::kReduce : kernel::AxisKind::kParallel});
    to.strides.push_back(goes ? Dim(0) : out.layout.strides[next]);
    if (!goes || keepdims) ++next;
  }
  kernel::Nest nest(std::move(axes));
  const kernel::Term x = nest.load("x", std::move(from));
  const kernel::Term result = nest.reduce(name, std::move(how), x);
  // A position has its own dtype.
  nest.store(std::move(to), is_float(out.type.dtype) ? kernel::cast(result, out.type.dtype) : result);
  nest.work = 2;  // a load and an operation
  kernel::schedule(b, nest, name, comment);
}

void lower_reduction(const Reduction& record, StepBuilder& b) {
  if (is_complex(b.input(0).type.dtype)) return b.call_reference();
  kernel::Accumulation how = accumulation_of(record, b.input(0).type.dtype);
  if (!record.empty_allowed) how.no_elements = no_elements_check(b.node());
  lower_by_nest(
      b, std::move(how), record.name,
      str(record.name, " of in0 ", readable(b.input(0).type.text()), " to ", readable(b.output().type.text())));
}

}  // namespace thtrain
