#include "compiler/ops/image/upsample_op.h"

#include <algorithm>
#include <cstdlib>

#include "compiler/kernel/step_builder.h"
#include "compiler/ops/error_rules.h"
#include "compiler/ops/iterations_rule.h"
#include "compiler/ops/jvp_rules.h"
#include "compiler/ops/shape/copy_loops.h"
#include "compiler/ops/shape/shape.h"

namespace thtrain {
namespace {

using kernel::Term;

constexpr int64_t kWrittenOut = 16;  // the largest ratio of which each column has its own code

struct Ratio {
  explicit Ratio(const Props& props) : ratio(props.get<int64_t>("ratio")), is_linear(props.get<bool>("linear")) {}
  int64_t shift() const { return (ratio - 1) / 2; }

  // How much of source `i` of `length` is in element `o` of the result, along one axis, in parts of `ratio`.
  int64_t parts(int64_t i, int64_t o, int64_t length) const {
    if (!is_linear) return o / ratio == i ? ratio : 0;
    const int64_t position = std::clamp<int64_t>(o - shift(), 0, (length - 1) * ratio);
    return std::max<int64_t>(ratio - std::abs(position - i * ratio), 0);
  }

  int64_t ratio;
  bool is_linear;
};

Dims wider(const Dims& x, int64_t ratio) {
  return {x[0], x[1], x[2] * Dim(ratio), x[3] * Dim(ratio)};
}

void check(const TypeArgs& args, const Dims& x) {
  args.require(is_float(args.type(0).dtype), "the values are not real floats", "float32 or float64");
  args.require(x.size() == 4, "the value is not a list of images", "4 axes: images, channels, rows, columns");
  args.require(args.props.get<int64_t>("ratio") >= 1, "the ratio is below 1", "a whole number of at least 1");
}

std::vector<Type> infer_up(const TypeArgs& args) {
  const Type& x = args.type(0);
  check(args, x.dims);
  return {{.dtype = x.dtype, .dims = wider(x.dims, Ratio(args.props).ratio)}};
}

std::vector<Type> infer_down(const TypeArgs& args) {
  const Type& y = args.type(0);
  const Dims dims = args.props.get<Dims>("dims");
  check(args, dims);
  const Dims expected = wider(dims, Ratio(args.props).ratio);
  args.require(y.rank() == expected.size(), "the value is not a list of images", "4 axes");
  for (size_t i = 0; i < expected.size(); ++i)
    args.require_equal(y.dims[i], expected[i], str("axis ", i, " has another length"));
  return {{.dtype = y.dtype, .dims = dims}};
}

// Sums over all pairs of elements that have to do with each other, in the wider dtype.
std::vector<Tensor> reference(const ReferenceArgs& args, bool is_up) {
  const Ratio r(args.node.props);
  const Tensor from = args.inputs[0].cast(DType::kFloat64);
  Tensor to = Tensor::zeros(DType::kFloat64, args.shapes[0]);
  const Shape& small = is_up ? from.shape() : to.shape();
  const double whole = static_cast<double>(r.ratio) * static_cast<double>(r.ratio);
  for_each_index((is_up ? to : from).shape(), [&](const Shape& at) {
    for (int64_t h = 0; h < small[2]; ++h)
      for (int64_t w = 0; w < small[3]; ++w) {
        const int64_t parts = r.parts(h, at[2], small[2]) * r.parts(w, at[3], small[3]);
        if (parts == 0) continue;
        const Shape source{at[0], at[1], h, w};
        to.data<double>()[to.offset(is_up ? at : source)] +=
            static_cast<double>(parts) / whole * from.data<double>()[from.offset(is_up ? source : at)];
      }
  });
  return {to.cast(args.node.types[0].dtype)};
}

// ---- kernels -------------------------------------------------------------------------------------------------------

// A part of the range is images of single channels.
class ImageLoops {
 public:
  explicit ImageLoops(kernel::StepBuilder& b)
      : b_(b), code_(b.code()), r_(b.node().props), dtype_(b.output().type.dtype) {}

  void up() {
    each_image("upsample", "out0 = in0 with more rows and columns", [&](const Term& from, const Term& to) {
      rows_ = b_.length(in().type.dims[2]);
      columns_ = b_.length(in().type.dims[3]);
      code_.loop("row", b_.length(out().type.dims[2]), [&](const Term& row) {
        const Term to_row = code_.let("to_row", to + row * stride(out(), 2));
        r_.is_linear ? linear_row(row, from, to_row) : nearest_row(row, from, to_row);
      });
    });
  }

  void down() {
    each_image("downsample", "out0 = what in0 has of each element", [&](const Term& from, const Term& to) {
      rows_ = b_.length(out().type.dims[2]);
      columns_ = b_.length(out().type.dims[3]);
      code_.loop("row", rows_, [&](const Term& row) {
        const Term to_row = code_.let("to_row", to + row * stride(out(), 2));
        code_.loop("j", columns_,
                   [&](const Term& j) { b_.store(out(), to_row + j * stride(out(), 3), kernel::constant(dtype_, 0)); });
        each_part(row, rows_, [&](const Term& wide_row, const Term& weight) {
          add_row(code_.let("from_row", from + wide_row * stride(in(), 2)), to_row, weight);
        });
      });
    });
  }

 private:
  const kernel::Operand& in() const { return b_.input(0); }
  const kernel::Operand& out() const { return b_.output(); }
  Term stride(const kernel::Operand& x, size_t axis) { return b_.length(x.layout.strides[axis]); }
  Term part(int64_t parts) const {
    return kernel::constant(dtype_, static_cast<double>(parts) / static_cast<double>(r_.ratio));
  }
  Term part(const Term& parts) const {
    return kernel::cast(parts, dtype_) / kernel::constant(dtype_, static_cast<double>(r_.ratio));
  }

  void each_image(const char* name, const char* comment, const std::function<void(const Term&, const Term&)>& body) {
    const Dims& x = in().type.dims;
    code_.loop("i", b_.begin(), b_.end(), 1, kernel::LoopMark::kSequential, [&](const Term& i) {
      const Term channels = b_.length(x[1]);
      const Term image = code_.let("image", i / channels), channel = code_.let("channel", i - image * channels);
      body(code_.let("from", image * stride(in(), 0) + channel * stride(in(), 1)),
           code_.let("to", image * stride(out(), 0) + channel * stride(out(), 1)));
    });
    b_.finish_kernel(name, comment, x[0] * x[1], grain_of(x[2] * x[3], b_.target()));
  }

  // ---- more rows and columns ---------------------------------------------------------------------------------------

  void nearest_row(const Term& row, const Term& from, const Term& to_row) {
    const Term from_row = code_.let("from_row", from + row / Term(r_.ratio) * stride(in(), 2));
    code_.loop("j", columns_, [&](const Term& j) {
      const Term x = code_.let("x", b_.load(in(), from_row + j * stride(in(), 3)));
      const Term first = code_.let("first", to_row + j * (Term(r_.ratio) * stride(out(), 3)));
      if (r_.ratio <= kWrittenOut) {
        for (int64_t s = 0; s < r_.ratio; ++s) b_.store(out(), first + Term(s) * stride(out(), 3), x);
      } else {
        code_.loop("s", r_.ratio, [&](const Term& s) { b_.store(out(), first + s * stride(out(), 3), x); });
      }
    });
  }

  // Between two rows of the image, then between columns.
  void linear_row(const Term& row, const Term& from, const Term& to_row) {
    const Term ratio = r_.ratio, last = rows_ - Term(1);
    const Term position = code_.let("position", clamped(row - Term(r_.shift()), last * ratio));
    const Term above = code_.let("above", position / ratio);
    const Term below = code_.let("below", select(above < last, above + Term(1), above));
    const Term way = code_.let("way", part(position - above * ratio));
    const Term first = code_.let("first", from + above * stride(in(), 2));
    const Term second = code_.let("second", from + below * stride(in(), 2));
    auto blended = [&](const Term& j) {
      const Term at = j * stride(in(), 3);
      return code_.let("x", between(b_.load(in(), first + at), b_.load(in(), second + at), way));
    };
    auto cells = [&](const Term& j, const Term& left, const Term& right) {
      const Term x = blended(j), before = blended(left), after = blended(right);
      const Term start = code_.let("start", to_row + j * (ratio * stride(out(), 3)));
      auto store = [&](const Term& s, const Term& value) { b_.store(out(), start + s * stride(out(), 3), value); };
      const int64_t shift = r_.shift();
      if (r_.ratio > kWrittenOut) {
        code_.loop("s", shift, [&](const Term& s) { store(s, between(x, before, part(Term(shift) - s))); });
        code_.loop("s", r_.ratio - shift, [&](const Term& s) { store(s + Term(shift), between(x, after, part(s))); });
        return;
      }
      for (int64_t s = 0; s < r_.ratio; ++s)
        store(s, s < shift ? between(x, before, part(shift - s)) : between(x, after, part(s - shift)));
    };
    const Term end = columns_ - Term(1);
    code_.if_(columns_ > Term(0), [&] { cells(0, 0, code_.let("next", select(end > Term(0), Term(1), Term(0)))); });
    code_.loop("j", 1, end, 1, kernel::LoopMark::kSequential,
               [&](const Term& j) { cells(j, j - Term(1), j + Term(1)); });
    code_.if_(end > Term(0), [&] { cells(end, end - Term(1), end); });
  }

  Term between(const Term& a, const Term& b, const Term& way) const {
    return (kernel::constant(dtype_, 1) - way) * a + way * b;
  }
  static Term clamped(const Term& x, const Term& most) {
    return select(x < Term(0), Term(0), select(x > most, most, x));
  }

  // ---- the transposed map ------------------------------------------------------------------------------------------

  // Each element of the wide axis that element i of `length` has a part in.
  void each_part(const Term& i, const Term& length, const std::function<void(const Term&, const Term&)>& body) {
    const Term ratio = r_.ratio, middle = code_.let("middle", i * ratio);
    if (!r_.is_linear)
      return code_.loop("k", middle, middle + ratio, 1, kernel::LoopMark::kSequential,
                        [&](const Term& k) { body(k, kernel::constant(dtype_, 1)); });
    const Term first = middle + Term(r_.shift() - r_.ratio + 1), end = middle + Term(r_.shift() + r_.ratio);
    const Term all = length * ratio;
    const Term from = code_.let("from", select(first < Term(0), Term(0), first));
    const Term to = code_.let("to", select(end > all, all, end));
    code_.loop("k", from, to, 1, kernel::LoopMark::kSequential, [&](const Term& k) {
      const Term away = code_.let("away", clamped(k - Term(r_.shift()), (length - Term(1)) * ratio) - middle);
      body(k, code_.let("weight", part(ratio - select(away < Term(0), Term(0) - away, away))));
    });
  }

  // Adds a row of the wide image, by its weight.
  void add_row(const Term& from_row, const Term& to_row, const Term& weight) {
    auto add = [&](const Term& j, const Term& value) {
      const Term at = code_.let("at", to_row + j * stride(out(), 3));
      b_.store(out(), at, b_.load(out(), at) + weight * value);
    };
    auto add_all = [&](const Term& j) {
      each_part(j, columns_, [&](const Term& k, const Term& share) {
        add(j, share * b_.load(in(), from_row + k * stride(in(), 3)));
      });
    };
    if (r_.ratio > kWrittenOut) return code_.loop("j", columns_, add_all);
    const int64_t shift = r_.shift(), least = r_.is_linear ? shift - r_.ratio + 1 : 0,
                  most = r_.is_linear ? shift + r_.ratio : r_.ratio;
    auto add_inner = [&](const Term& j) {
      const Term middle = j * Term(r_.ratio);
      Term total;
      for (int64_t k = least; k < most; ++k) {
        const Term y = b_.load(in(), code_.let("k", (middle + Term(k)) * stride(in(), 3)) + from_row);
        const Term share = r_.is_linear ? part(r_.ratio - std::abs(k - shift)) * y : y;
        total = static_cast<bool>(total) ? total + share : share;
      }
      add(j, total);
    };
    if (!r_.is_linear) return code_.loop("j", columns_, add_inner);
    const Term end = columns_ - Term(1);
    code_.if_(columns_ > Term(0), [&] { add_all(0); });
    code_.loop("j", 1, end, 1, kernel::LoopMark::kSequential, add_inner);
    code_.if_(end > Term(0), [&] { add_all(end); });
  }

  kernel::StepBuilder& b_;
  kernel::Code& code_;
  Ratio r_;
  DType dtype_;
  Term rows_, columns_;  // of the smaller images
};

// ---- records -------------------------------------------------------------------------------------------------------

struct UpsampleExample {
  const char* name;
  DType dtype;
  Dims x;
  int64_t ratio;
};

std::vector<UpsampleExample> upsample_examples() {
  return {{"twice", DType::kFloat64, {2, 2, 3, 4}, 2},       {"thrice", DType::kFloat64, {1, 2, 2, 3}, 3},
          {"wide", DType::kFloat32, {2, 3, 5, 21}, 2},       {"four_times", DType::kFloat32, {1, 2, 4, 9}, 4},
          {"one_column", DType::kFloat64, {2, 1, 3, 1}, 2},  {"one_element", DType::kFloat64, {1, 2, 1, 1}, 3},
          {"many_times", DType::kFloat64, {1, 1, 2, 3}, 18}, {"nothing", DType::kFloat32, {0, 2, 3, 3}, 2}};
}

std::vector<OpCase> cases(bool is_up) {
  std::vector<OpCase> out;
  for (const UpsampleExample& e : upsample_examples())
    for (bool is_linear : {false, true})
      out.push_back({.name = str(e.name, is_linear ? "_linear" : "_nearest"),
                     .inputs = {{.dtype = e.dtype, .dims = is_up ? e.x : wider(e.x, e.ratio)}},
                     .build =
                         [=](const std::vector<Expr>& in) {
                           return std::vector{is_up ? upsampled(in[0], e.ratio, is_linear)
                                                    : downsampled(in[0], e.x, e.ratio, is_linear)};
                         },
                     .bound = 16});
  return out;
}

std::vector<Tensor> error(const ErrorArgs& args) {
  const double ratio = static_cast<double>(Ratio(args.node.props).ratio);
  return multilinear_error(args, 4 * ratio * ratio + 8);
}

// The images of all iterations are one list.
Expr of_all_iterations(const Node& node, const Dim& iterations, std::span<const Expr> inputs,
                       const std::vector<bool>&) {
  const auto merged = [&](Dims lengths) {
    lengths[0] = iterations * lengths[0];
    return lengths;
  };
  Props props = node.props;
  if (props.has("dims")) props.set("dims", merged(props.get<Dims>("dims")));
  const Expr all = apply(*node.op, {reshape(inputs[0], merged(node.inputs[0].dims()))}, std::move(props));
  Dims lengths = node.types[0].dims;
  lengths.insert(lengths.begin(), iterations);
  return reshape(all, lengths);
}

constexpr IterationsRule kImagesOfIterations{.all = of_all_iterations};

Cost cost(const Node& node) {
  const Dim in = node.inputs[0].type().elements(), out = node.types[0].elements();
  return {Dim(8) * max(in, out), (in + out) * Dim(static_cast<int64_t>(size_of(node.types[0].dtype)))};
}

}  // namespace

const Op& upsample_op() {
  static const Op op{
      .name = "upsample",
      .doc =
          "y[n, c, i, j] with ratio times as many rows and columns. Not linear: x[n, c, i / ratio, j / ratio], rounded "
          "down. Linear: between the two neighbours of row (i - floor((ratio - 1) / 2)) / ratio, and of the columns.\n"
          "Shapes: x [N, C, H, W], y [N, C, H ratio, W ratio].\n"
          "dtypes: float32 or float64.\n"
          "Gradient: downsample of the cotangent.\n"
          "Edge cases: beyond the first and the last row, and column, these are repeated.\n"
          "Example: [1, 2] twice as long: [1, 1, 2, 2]",
      .infer = infer_up,
      .reference = [](const ReferenceArgs& args) { return reference(args, true); },
      .error = error,
      .gradient =
          [](const GradientArgs& args) {
            const Ratio r(args.node.props);
            return std::vector{downsampled(args.cotangent(), args.input(0).dims(), r.ratio, r.is_linear)};
          },
      .jvp = linear_jvp,
      .lower = [](kernel::StepBuilder& b) { ImageLoops(b).up(); },
      .iterations = &kImagesOfIterations,
      .cost = cost,
      .cases = [] { return cases(true); }};
  return op;
}

const Op& downsample_op() {
  static const Op op{
      .name = "downsample",
      .doc =
          "x[n, c, h, w] = the sum of y over the elements that upsample makes of x[n, c, h, w], by its part in them.\n"
          "Shapes: x has the lengths dims [N, C, H, W], y [N, C, H ratio, W ratio].\n"
          "dtypes: float32 or float64.\n"
          "Gradient: upsample of the cotangent.\n"
          "Edge cases: as of upsample.\n"
          "Example: [1, 1, 2, 2]: [2, 4]",
      .infer = infer_down,
      .reference = [](const ReferenceArgs& args) { return reference(args, false); },
      .error = error,
      .gradient =
          [](const GradientArgs& args) {
            const Ratio r(args.node.props);
            return std::vector{upsampled(args.cotangent(), r.ratio, r.is_linear)};
          },
      .jvp = linear_jvp,
      .lower = [](kernel::StepBuilder& b) { ImageLoops(b).down(); },
      .iterations = &kImagesOfIterations,
      .cost = cost,
      .cases = [] { return cases(false); }};
  return op;
}

Expr upsampled(const Expr& x, int64_t ratio, bool is_linear) {
  return apply(upsample_op(), {x}, {{"ratio", ratio}, {"linear", is_linear}});
}

Expr downsampled(const Expr& y, const Dims& dims, int64_t ratio, bool is_linear) {
  return apply(downsample_op(), {y}, {{"ratio", ratio}, {"linear", is_linear}, {"dims", dims}});
}

}  // namespace thtrain
