#include "compiler/ops/reduce/reduce_lower.h"

#include <algorithm>

#include "compiler/kernel/schedule/accumulators.h"
#include "compiler/kernel/schedule/schedule.h"
#include "compiler/ops/elemwise/body_code.h"

namespace thtrain {

using kernel::StepBuilder;

kernel::Accumulation accumulation_of(const Reduction& record, DType element) {
  const DType dtype = *record.dtype(element);
  return {.dtype = is_complex(dtype) ? real_dtype(dtype)
                   : record.is_wide  ? kernel::wide_of(dtype)
                                     : dtype,
          .identity = record.identity,
          .combine = record.combine,
          .lanes = record.lanes,
          .rounds = record.rounds};
}

Parts reduced(kernel::Nest& nest, const std::string& name, const Reduction& record, const Parts& x, DType element,
              std::optional<kernel::RuntimeCheck> no_elements) {
  const DType result = *record.dtype(element);
  kernel::Accumulation how = accumulation_of(record, element);
  how.no_elements = std::move(no_elements);
  if (!x.is_complex()) {
    const bool is_wider = how.dtype != result;
    const kernel::Term out = nest.reduce(name, std::move(how), x.re);
    return is_wider ? nest.let(name, kernel::cast(out, result)) : out;
  }
  if (!is_complex(result)) return nest.reduce(name, std::move(how), converted(x, result).re);
  if (record.combine_complex) {
    const auto combine = record.combine_complex;
    how.combine_pairs = [combine](const kernel::TermPair& a, const kernel::TermPair& b) {
      const Parts out = combine({a.first, a.second}, {b.first, b.second});
      return kernel::TermPair{out.re, out.im};
    };
    const auto [re, im] = nest.reduce_pair(name, std::move(how), {x.re, x.im});
    return {re, im};
  }
  Parts out = nest.reduce(name + "_re", how, x.re);
  out.im = nest.reduce(name + "_im", std::move(how), x.im);
  return out;
}

kernel::RuntimeCheck no_elements_check(const Node& node) {
  return {.what = str(node.op->name, ": the maximum or minimum of no elements is undefined"),
          .expected = "at least 1 element along the reduced axes",
          .origin = node.origin};
}

namespace {

// A nest over the axes of input 0, the locations of the two, and the way from what is loaded to what is stored.
struct Plain {
  kernel::Nest nest;
  kernel::Location from, to;
};

Plain plain_nest(StepBuilder& b) {
  const kernel::Operand &in = b.input(0), &out = b.output();
  const Ints& reduced = b.node().props.get<Ints>("axes");
  const bool keepdims = b.node().props.get<bool>("keepdims");
  std::vector<kernel::NestAxis> axes;
  kernel::Location from{in, in.layout.strides}, to{out, {}};
  size_t next = 0;
  for (size_t i = 0; i < in.type.rank(); ++i) {
    const bool goes = std::find(reduced.begin(), reduced.end(), static_cast<int64_t>(i)) != reduced.end();
    axes.push_back({in.type.dims[i], goes ? kernel::AxisKind::kReduce : kernel::AxisKind::kParallel});
    to.strides.push_back(goes ? Dim(0) : out.layout.strides[next]);
    if (!goes || keepdims) ++next;
  }
  Plain made{kernel::Nest(std::move(axes)), std::move(from), std::move(to)};
  made.nest.work = 2;  // a load and an operation
  return made;
}

}  // namespace

void lower_by_nest(StepBuilder& b, kernel::Accumulation how, const std::string& name, const std::string& comment) {
  Plain made = plain_nest(b);
  const kernel::Term x = made.nest.load("x", std::move(made.from));
  made.nest.store(std::move(made.to), made.nest.reduce(name, std::move(how), x));
  kernel::schedule(b, made.nest, name, comment);
}

void lower_reduction(const Reduction& record, StepBuilder& b) {
  Plain made = plain_nest(b);
  std::optional<kernel::RuntimeCheck> check;
  if (!record.empty_allowed) check = no_elements_check(b.node());
  const Parts x = load_value(made.nest, "x", made.from);
  store_value(made.nest, made.to, reduced(made.nest, record.name, record, x, b.input(0).type.dtype, std::move(check)));
  kernel::schedule(
      b, made.nest, record.name,
      str(record.name, " of in0 ", readable(b.input(0).type.text()), " to ", readable(b.output().type.text())));
}

}  // namespace thtrain
