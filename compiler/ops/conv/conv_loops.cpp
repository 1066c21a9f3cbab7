// The convolutions by their definition, for any lengths, as one nest: the products of an element of the output are
// added in the order of channels (or filters, or positions and images) and taps. The same bits on every machine.
#include "compiler/kernel/schedule/schedule.h"
#include "compiler/ops/candidates.h"
#include "compiler/ops/conv/conv.h"
#include "compiler/ops/conv/conv_step.h"

namespace thtrain {
namespace {

using kernel::AxisKind;
using kernel::Location;
using kernel::Term;

// Of y[n, g, f, o] = sum over c, k of x[n, g, c, s] w[g, f, c, k], where s = o stride + k dilation - before, two are
// given and the third is made. The loops run over o, or, for the gradient of x, over s.
class ConvNest {
 public:
  explicit ConvNest(kernel::StepBuilder& b)
      : b_(b), g_(ConvGeometry::of(b.node().props)), l_(lengths_of_conv(b.node())), nest_(axes()) {
    nest_.work = 2;
  }

  void run() {
    const Op* op = b_.node().op;
    bound_positions();
    const bool is_weight = op == &conv_weight_gradient_op(), is_forward = op == &conv_op();
    const kernel::Operand &first = b_.input(0), &second = b_.input(1), &out = b_.output();
    const Location left = is_loop_over_images_ ? w_position(first) : x_position(first),
                   right = is_forward ? w_position(second) : y_position(second);
    const Term total = nest_.carried("sum", kernel::constant(out.type.dtype, 0));
    nest_.set(total, total + nest_.load("left", left) * nest_.load("right", right));
    nest_.store(is_forward ? y_position(out) : is_weight ? w_position(out) : x_position(out), nest_.last(total));
    kernel::schedule(b_, nest_, str(op->name, "_loops"), str(op->name, ", by its definition"));
  }

 private:
  std::vector<kernel::NestAxis> axes() {
    const Op* op = b_.node().op;
    const bool is_weight = op == &conv_weight_gradient_op();
    is_loop_over_images_ = op == &conv_input_gradient_op();
    const auto per_group = [&](const Dim& all) { return g_.groups == 1 ? all : floor_div(all, Dim(g_.groups)); };
    channels_ = per_group(l_.c);
    filters_ = per_group(l_.f);
    std::vector<kernel::NestAxis> out;
    const auto add = [&](size_t& first, const Dims& lengths, bool is_summed) {
      first = out.size();
      for (const Dim& length : lengths)
        out.push_back({length, is_summed ? AxisKind::kSequential : AxisKind::kParallel});
    };
    if (!is_weight) add(n_, {l_.n}, false);
    add(group_, {g_.groups}, false);
    add(f_, {filters_}, is_loop_over_images_);
    add(c_, {channels_}, !is_weight && !is_loop_over_images_);
    if (is_weight) add(k_, l_.kernel, false);
    add(position_, is_loop_over_images_ ? l_.in : l_.out, is_weight && !g_.unshared);
    if (!is_weight) add(k_, l_.kernel, true);
    if (is_weight) add(n_, {l_.n}, true);
    return out;
  }

  // Where a position of the result is not an axis, it follows from that of the image and the tap.
  void bound_positions() {
    for (size_t i = 0; i < g_.rank(); ++i) {
      const Dim stride = g_.stride[i], dilation = g_.dilation[i];
      kernel::Bound bound{.strides = Dims(nest_.axes().size(), Dim(0)), .first = 0, .length = 0};
      bound.strides[position_ + i] = is_loop_over_images_ ? Dim(1) : stride;
      bound.strides[k_ + i] = is_loop_over_images_ ? Dim(0) - dilation : dilation;
      bound.first = is_loop_over_images_ ? g_.before[i] : Dim(0) - g_.before[i];
      bound.length = is_loop_over_images_ ? l_.out[i] * stride : l_.in[i];
      const bool is_padded = !g_.before[i].is(0) || !g_.after[i].is(0);
      if (is_loop_over_images_ || is_padded) nest_.bounds.push_back(bound);
      positions_.emplace_back();
      if (!is_loop_over_images_ || g_.stride[i] == 1) continue;
      const Term at = nest_.let(
          "at", nest_.axis(position_ + i) + b_.length(g_.before[i]) - nest_.axis(k_ + i) * Term(g_.dilation[i]));
      nest_.where(at % Term(g_.stride[i]) == Term(0));
      positions_[i] = nest_.let("position", at / Term(g_.stride[i]));
    }
  }

  Location at_first(const kernel::Operand& operand) const { return {operand, Dims(nest_.axes().size(), Dim(0))}; }
  void add(Location& position, size_t axis, const Dim& stride) {
    position.strides[axis] = position.strides[axis] + stride;
  }

  // Moves a position with strides `steps` of the spatial axes to the elements of the image.
  void move_in_image(Location& position, const Dim* steps) {
    for (size_t i = 0; i < g_.rank(); ++i) {
      add(position, position_ + i, is_loop_over_images_ ? steps[i] : steps[i] * Dim(g_.stride[i]));
      if (is_loop_over_images_) continue;
      add(position, k_ + i, steps[i] * Dim(g_.dilation[i]));
      position.first = position.first - b_.length(g_.before[i] * steps[i]);
    }
  }
  // And to those of the result.
  void move_in_result(Location& position, const Dim* steps) {
    for (size_t i = 0; i < g_.rank(); ++i) {
      if (static_cast<bool>(positions_[i])) {
        position = position.at(positions_[i], steps[i]);
        continue;
      }
      add(position, position_ + i, steps[i]);
      if (!is_loop_over_images_) continue;
      add(position, k_ + i, Dim(0) - steps[i] * Dim(g_.dilation[i]));
      position.first = position.first + b_.length(g_.before[i] * steps[i]);
    }
  }

  Location x_position(const kernel::Operand& x) {
    const Dims& steps = x.layout.strides;
    Location out = at_first(x);
    add(out, n_, steps[0]);
    add(out, group_, channels_ * steps[1]);
    add(out, c_, steps[1]);
    move_in_image(out, &steps[2]);
    return out;
  }
  Location y_position(const kernel::Operand& y) {
    const Dims& steps = y.layout.strides;
    Location out = at_first(y);
    add(out, n_, steps[0]);
    add(out, group_, filters_ * steps[1]);
    add(out, f_, steps[1]);
    move_in_result(out, &steps[2]);
    return out;
  }
  // Unshared filters have the positions of the result behind the filter's axis.
  Location w_position(const kernel::Operand& w) {
    const Dims& steps = w.layout.strides;
    const size_t channel = g_.unshared ? 1 + g_.rank() : 1;
    Location out = at_first(w);
    add(out, group_, filters_ * steps[0]);
    add(out, f_, steps[0]);
    if (g_.unshared) move_in_result(out, &steps[1]);
    add(out, c_, steps[channel]);
    for (size_t i = 0; i < g_.rank(); ++i) add(out, k_ + i, steps[channel + 1 + i]);
    return out;
  }

  kernel::StepBuilder& b_;
  const ConvGeometry g_;
  const ConvLengths l_;
  bool is_loop_over_images_ = false;
  Dim channels_ = 1, filters_ = 1;  // of a group
  size_t n_ = 0, group_ = 0, f_ = 0, c_ = 0, position_ = 0,
         k_ = 0;  // axes of the nest; of `position_` and `k_` the first
  kernel::Nest nest_;
  std::vector<Term> positions_;  // of the result, where they are no axes and follow from no stride
};

}  // namespace

void lower_conv_loops(kernel::StepBuilder& builder) {
  ConvNest(builder).run();
}

}  // namespace thtrain
