#include "compiler/ops/conv/geometry.h"

#include <vector>

#include "compiler/base/str.h"
#include "compiler/ops/conv/conv.h"

namespace thtrain {

ConvGeometry ConvGeometry::of(const Props& props) {
  return {.stride = props.get<Ints>("stride"),
          .dilation = props.get<Ints>("dilation"),
          .before = props.get<Dims>("before"),
          .after = props.get<Dims>("after"),
          .groups = props.get<int64_t>("groups"),
          .unshared = props.get_or<bool>("unshared", false)};
}

void ConvGeometry::add_to(Props& props) const {
  props.set("stride", stride);
  props.set("dilation", dilation);
  props.set("before", before);
  props.set("after", after);
  props.set("groups", groups);
  if (unshared) props.set("unshared", true);
}

Dim ConvGeometry::output_length(size_t axis, const Dim& input, const Dim& kernel) const {
  return floor_div(input + before[axis] + after[axis] - span(axis, kernel), Dim(stride[axis])) + Dim(1);
}

Dims ConvLengths::of_x() const {
  Dims out = {n, c};
  out.insert(out.end(), in.begin(), in.end());
  return out;
}

Dims ConvLengths::of_y() const {
  Dims dims = {n, f};
  dims.insert(dims.end(), out.begin(), out.end());
  return dims;
}

Dims ConvLengths::of_w(const ConvGeometry& geometry) const {
  Dims dims = {f};
  if (geometry.unshared) dims.insert(dims.end(), out.begin(), out.end());
  dims.push_back(geometry.groups == 1 ? c : floor_div(c, Dim(geometry.groups)));
  dims.insert(dims.end(), kernel.begin(), kernel.end());
  return dims;
}

Dims last(const Dims& dims, size_t count) {
  if (dims.size() < count) return Dims(count, 1);  // the type rule says what is wrong
  return {dims.end() - static_cast<ptrdiff_t>(count), dims.end()};
}

namespace {

// By the lengths that are there, unchecked.
ConvLengths from_forward(const ConvGeometry& g, const Dims& x, const Dims& w) {
  ConvLengths l{.n = x[0], .c = x[1], .f = w[0], .in = last(x, g.rank()), .kernel = last(w, g.rank()), .out = {}};
  for (size_t axis = 0; axis < g.rank(); ++axis) l.out.push_back(g.output_length(axis, l.in[axis], l.kernel[axis]));
  return l;
}

ConvLengths from_input_gradient(const ConvGeometry& g, const Dims& w, const Dims& dy, const Dims& lengths) {
  const Dim c = w[w.size() - g.rank() - 1] * Dim(g.groups);
  return {.n = dy[0], .c = c, .f = dy[1], .in = lengths, .kernel = last(w, g.rank()), .out = last(dy, g.rank())};
}

ConvLengths from_weight_gradient(const ConvGeometry& g, const Dims& x, const Dims& dy, const Dims& lengths) {
  return {.n = x[0], .c = x[1], .f = dy[1], .in = last(x, g.rank()), .kernel = lengths, .out = last(dy, g.rank())};
}

std::string axis_name(size_t axis, size_t rank) {
  return str("spatial axis ", axis, " of ", rank);
}

void check_numbers(const TypeArgs& args, const ConvGeometry& g) {
  const size_t rank = g.rank();
  args.require(rank >= 1 && rank <= 3, "there are one to three spatial axes");
  args.require(g.dilation.size() == rank && g.before.size() == rank && g.after.size() == rank,
               "a stride, a dilation and a padding for each spatial axis are missing");
  for (size_t axis = 0; axis < rank; ++axis) {
    args.require(g.stride[axis] >= 1, str("the stride of ", axis_name(axis, rank), " is ", g.stride[axis]),
                 "strides of at least 1");
    args.require(g.dilation[axis] >= 1, str("the dilation of ", axis_name(axis, rank), " is ", g.dilation[axis]),
                 "dilations of at least 1");
    for (const Dim& zeros : {g.before[axis], g.after[axis]})
      args.require(!zeros.is_known() || zeros.value() >= 0,
                   str("the padding of ", axis_name(axis, rank), " is ", zeros.text()), "zeros to add, at least 0");
  }
  args.require(g.groups >= 1, str("there are ", g.groups, " groups"), "at least 1");
}

void check_operand(const TypeArgs& args, const ConvGeometry& g, const Type& type, std::string_view what, size_t rank) {
  args.require(is_float(type.dtype) && type.dtype == args.type(0).dtype, "the operands must have one floating dtype");
  args.require(type.rank() == rank, str(what, " must have rank ", rank, " with ", g.rank(), " spatial axes"));
}

void check_groups(const TypeArgs& args, const ConvGeometry& g, const Dim& length, std::string_view what) {
  if (g.groups > 1 && length.is_known() && length.value() % g.groups != 0)
    args.fail(str("the ", length.value(), " ", what, " do not divide by the groups"), str("a multiple of ", g.groups));
  if (g.groups > 1 && !length.is_known())
    args.require_equal(floor_div(length, Dim(g.groups)) * Dim(g.groups), length,
                       str("the ", what, " do not divide by the ", g.groups, " groups"));
}

// Everything that the lengths themselves must hold.
void check_lengths(const TypeArgs& args, const ConvGeometry& g, const ConvLengths& l) {
  check_groups(args, g, l.c, "channels of the image");
  check_groups(args, g, l.f, "filters");
  for (size_t axis = 0; axis < g.rank(); ++axis) {
    const Dim span = g.span(axis, l.kernel[axis]), padded = l.in[axis] + g.before[axis] + g.after[axis];
    args.require(!l.kernel[axis].is(0), str("the filter has length 0 in ", axis_name(axis, g.rank())));
    const std::string what = str("the filter is larger than the image in ", axis_name(axis, g.rank()));
    if (padded.is_known() && span.is_known()) {
      if (padded.value() < span.value())
        args.fail(what, str("at most ", padded.value(), " elements, which the image has with its padding"),
                  str("the filter spans ", span.value()));
    } else {
      args.require_equal(max(padded, span), padded, what);
    }
  }
}

void check_forward(const TypeArgs& args, const ConvGeometry& g, const ConvLengths& l, const Dims& w) {
  args.require_equal(w[w.size() - g.rank() - 1] * Dim(g.groups), l.c,
                     g.groups == 1 ? "channels of image and filters differ"
                                   : str("channels of the image and ", g.groups, " times those of the filters differ"));
  if (g.unshared)
    for (size_t axis = 0; axis < g.rank(); ++axis)
      args.require_equal(w[axis + 1], l.out[axis], "unshared filters are not as many as positions");
}

void check_output(const TypeArgs& args, const ConvGeometry& g, const ConvLengths& l) {
  for (size_t axis = 0; axis < g.rank(); ++axis)
    args.require_equal(
        l.out[axis], g.output_length(axis, l.in[axis], l.kernel[axis]),
        str("the gradient of the result does not have the result's length in ", axis_name(axis, g.rank())));
}

size_t weight_rank(const ConvGeometry& g) {
  return g.unshared ? 2 * g.rank() + 2 : g.rank() + 2;
}

const Dims& lengths_property(const TypeArgs& args, const ConvGeometry& g) {
  const Dims& lengths = args.props.get<Dims>("lengths");
  args.require(lengths.size() == g.rank(), "a length for each spatial axis is missing");
  return lengths;
}

}  // namespace

ConvLengths conv_lengths(const TypeArgs& args, const Type& x, const Type& w) {
  const ConvGeometry g = ConvGeometry::of(args.props);
  check_numbers(args, g);
  check_operand(args, g, x, "the image", g.rank() + 2);
  check_operand(args, g, w, "the filters", weight_rank(g));
  const ConvLengths l = from_forward(g, x.dims, w.dims);
  check_lengths(args, g, l);
  check_forward(args, g, l, w.dims);
  return l;
}

ConvLengths conv_input_lengths(const TypeArgs& args, const Type& w, const Type& dy) {
  const ConvGeometry g = ConvGeometry::of(args.props);
  check_numbers(args, g);
  check_operand(args, g, w, "the filters", weight_rank(g));
  check_operand(args, g, dy, "the gradient of the result", g.rank() + 2);
  const ConvLengths l = from_input_gradient(g, w.dims, dy.dims, lengths_property(args, g));
  args.require_equal(w.dims[0], l.f, "filters and channels of the result differ");
  check_lengths(args, g, l);
  check_output(args, g, l);
  if (g.unshared) check_forward(args, g, l, w.dims);
  return l;
}

ConvLengths conv_weight_lengths(const TypeArgs& args, const Type& x, const Type& dy) {
  const ConvGeometry g = ConvGeometry::of(args.props);
  check_numbers(args, g);
  check_operand(args, g, x, "the image", g.rank() + 2);
  check_operand(args, g, dy, "the gradient of the result", g.rank() + 2);
  const ConvLengths l = from_weight_gradient(g, x.dims, dy.dims, lengths_property(args, g));
  args.require_equal(x.dims[0], dy.dims[0], "images and results are not as many");
  check_lengths(args, g, l);
  check_output(args, g, l);
  return l;
}

ConvLengths lengths_of_conv(const Node& node) {
  const ConvGeometry g = ConvGeometry::of(node.props);
  const Dims &a = node.inputs[0].dims(), &b = node.inputs[1].dims();
  if (node.op == &conv_op()) return from_forward(g, a, b);
  const Dims& lengths = node.props.get<Dims>("lengths");
  return node.op == &conv_input_gradient_op() ? from_input_gradient(g, a, b, lengths)
                                              : from_weight_gradient(g, a, b, lengths);
}

void for_each_conv_term(const ConvGeometry& g, const Ints& before, const Shape& x, const Shape& w, const Shape& y,
                        const std::function<void(int64_t, int64_t, int64_t)>& term) {
  const size_t rank = g.rank();
  // Lengths of three spatial axes, the first ones 1 where there are fewer.
  struct Axis {
    int64_t in = 1, kernel = 1, out = 1, stride = 1, dilation = 1, before = 0;
  } axes[3];
  for (size_t i = 0; i < rank; ++i)
    axes[3 - rank + i] = {x[2 + i], w[w.size() - rank + i], y[2 + i], g.stride[i], g.dilation[i], before[i]};
  const auto& [d, h, v] = axes;
  const int64_t n = x[0], c = x[1], f = y[1], of_group = c / g.groups, filters = f / g.groups;
  const int64_t positions = d.out * h.out * v.out;
  struct Location {
    int64_t d, h, v;
  };
  std::vector<Location> taps;  // what each reads, from what the first one does
  for (int64_t kd = 0; kd < d.kernel; ++kd)
    for (int64_t kh = 0; kh < h.kernel; ++kh)
      for (int64_t kv = 0; kv < v.kernel; ++kv) taps.push_back({kd * d.dilation, kh * h.dilation, kv * v.dilation});
  auto is_inside = [](const Axis& axis, int64_t i) { return i >= 0 && i < axis.in; };
  for (int64_t image = 0; image < n; ++image)
    for (int64_t filter = 0; filter < f; ++filter)
      for (int64_t position = 0; position < positions; ++position) {
        const Location first{position / (h.out * v.out) * d.stride - d.before,
                             position / v.out % h.out * h.stride - h.before, position % v.out * v.stride - v.before};
        const int64_t to = (image * f + filter) * positions + position;
        int64_t at_w = (g.unshared ? filter * positions + position : filter) * of_group * std::ssize(taps);
        for (int64_t channel = 0; channel < of_group; ++channel) {
          const int64_t at_c = image * c + filter / filters * of_group + channel;
          for (const Location& tap : taps) {
            const int64_t id = first.d + tap.d, ih = first.h + tap.h, iv = first.v + tap.v, at = at_w++;
            if (is_inside(d, id) && is_inside(h, ih) && is_inside(v, iv))
              term(((at_c * d.in + id) * h.in + ih) * v.in + iv, at, to);
          }
        }
      }
}

Cost conv_cost(const Node& node) {
  const ConvGeometry g = ConvGeometry::of(node.props);
  const ConvLengths l = lengths_of_conv(node);
  const Dim size(static_cast<int64_t>(size_of(node.types[0].dtype)));
  const Dim terms = product(l.of_y()) * floor_div(l.c, Dim(g.groups)) * product(l.kernel);
  return {Dim(2) * terms, size * (product(l.of_x()) + product(l.of_w(g)) + product(l.of_y()))};
}

}  // namespace thtrain
