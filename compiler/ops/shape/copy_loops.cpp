#include "compiler/ops/shape/copy_loops.h"

#include <algorithm>

namespace thtrain {

using kernel::LoopMark;
using kernel::StepBuilder;
using kernel::Term;

Dim grain_of(const Dim& elements) {
  const Dim worth_a_thread = 32768;
  if (!elements.is_known()) return max(floor_div(worth_a_thread, max(elements, 1)), 1);
  return std::max<int64_t>(worth_a_thread.value() / std::max<int64_t>(elements.value(), 1), 1);
}

namespace {

// One past the last axis that is no known 1.
size_t end_of_axes(const Dims& dims) {
  size_t last = dims.size();
  while (last > 0 && dims[last - 1].is(1)) --last;
  return last;
}

class Nest {
 public:
  Nest(StepBuilder& b, const Dims& dims, int lanes, const std::function<void(const Terms&, int)>& body,
       const NestOptions& options)
      : b_(b), dims_(dims), lanes_(lanes), body_(body), options_(options), index_(dims.size(), Term(0)) {
    end_ = end_of_axes(dims);
    if (options.range_axis) {
      range_axis_ = *options.range_axis;
    } else {
      range_axis_ = 0;
      while (range_axis_ < dims.size() && dims[range_axis_].is(1)) ++range_axis_;
    }
    enter_axis_ = std::min(options.enter_axis, end_);
    if (options.enter && enter_axis_ == end_) lanes_ = 1;
  }

  LoopRange write() {
    loops(0);
    if (range_axis_ >= dims_.size() || dims_[range_axis_].is(1)) return {};
    Dims others = dims_;
    others[range_axis_] = 1;
    return {dims_[range_axis_], grain_of(product(others))};
  }

 private:
  void loops(size_t axis) {
    if (options_.enter && axis == enter_axis_) options_.enter(index_);
    if (axis >= end_) return body_(index_, 1);
    if (dims_[axis].is(1)) return loops(axis + 1);
    Term begin = axis == range_axis_ ? b_.begin() : Term(0);
    Term end = axis == range_axis_ ? b_.end() : b_.length(dims_[axis]);
    std::string name = str("i", axis);
    if (axis + 1 == end_ && lanes_ > 1) {
      Term whole = b_.code().let(str("whole", axis), begin + (end - begin) / Term(lanes_) * Term(lanes_));
      b_.code().loop(name, begin, whole, lanes_, LoopMark::kSequential, [&](Term i) {
        index_[axis] = i;
        body_(index_, lanes_);
      });
      begin = whole;
    }
    b_.code().loop(name, begin, end, 1, LoopMark::kSequential, [&](Term i) {
      index_[axis] = i;
      loops(axis + 1);
    });
    index_[axis] = Term(0);
  }

  StepBuilder& b_;
  const Dims& dims_;
  int lanes_;
  const std::function<void(const Terms&, int)>& body_;
  const NestOptions& options_;
  Terms index_;
  size_t end_ = 0, range_axis_ = 0, enter_axis_ = 0;
};

}  // namespace

LoopRange element_loops(StepBuilder& b, const Dims& dims, int lanes, const std::function<void(const Terms&, int)>& body,
                        const NestOptions& options) {
  return Nest(b, dims, lanes, body, options).write();
}

kernel::Operand parts_of(const kernel::Operand& operand) {
  if (!is_complex(operand.type.dtype)) return operand;
  kernel::Operand out = operand;
  out.type.dtype = operand.type.dtype == DType::kComplex64 ? DType::kFloat32 : DType::kFloat64;
  for (Dim& stride : out.layout.strides) stride = stride * 2;
  out.layout.strides.emplace_back(1);
  out.type.dims.emplace_back(2);
  return out;
}

bool has_lanes(const kernel::Operand& operand) {
  size_t end = end_of_axes(operand.type.dims);
  if (end == 0) return false;
  const Dim& stride = operand.layout.strides[end - 1];
  return stride.is(1) || stride.is(0);
}

int lanes_for(const StepBuilder& b, std::initializer_list<const kernel::Operand*> operands) {
  int lanes = 1;
  for (const kernel::Operand* operand : operands) {
    DType dtype = operand->type.dtype;
    if (is_bool(dtype) || !has_lanes(*operand)) return 1;
    lanes = b.lanes_of(dtype);
  }
  return lanes;
}

Term load_lanes(StepBuilder& b, const kernel::Operand& operand, const Terms& index, int lanes, Term first) {
  Term at = first + b.index_of(operand, index);
  if (lanes == 1) return b.load(operand, at);
  size_t end = end_of_axes(operand.type.dims);
  bool repeated = operand.layout.strides[end - 1].is(0);
  return repeated ? kernel::splat(b.load(operand, at), lanes) : b.load(operand, at, lanes);
}

// Neighbouring axes that both operands step through as through one become one.
static void merge_axes(kernel::Operand& a, kernel::Operand& b) {
  kernel::Operand* operands[] = {&a, &b};
  for (size_t i = a.type.rank(); i-- > 1;) {
    bool together = true;
    for (const kernel::Operand* x : operands)
      together &= x->layout.strides[i - 1] == x->layout.strides[i] * x->type.dims[i];
    if (!together) continue;
    for (kernel::Operand* x : operands) {
      x->type.dims[i - 1] = x->type.dims[i - 1] * x->type.dims[i];
      x->layout.strides[i - 1] = x->layout.strides[i];
      x->type.dims.erase(x->type.dims.begin() + static_cast<std::ptrdiff_t>(i));
      x->layout.strides.erase(x->layout.strides.begin() + static_cast<std::ptrdiff_t>(i));
    }
  }
}

void copy_kernel(StepBuilder& b, size_t i, const std::string& comment) {
  kernel::Operand in = b.input(i), out = b.output();
  out.type.dims = in.type.dims;
  out.layout = row_major(in.type.dims);
  in = parts_of(in), out = parts_of(out);
  merge_axes(in, out);
  int lanes = lanes_for(b, {&in, &out});
  LoopRange over = element_loops(b, in.type.dims, lanes, [&](const Terms& index, int n) {
    b.store(out, b.index_of(out, index), load_lanes(b, in, index, n));
  });
  b.finish_kernel("copy", comment, over.range, over.grain, in.type.rank() == 1 ? lanes : 1);
}

}  // namespace thtrain
