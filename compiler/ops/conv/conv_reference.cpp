// The definition of the three convolutions, and the error of computing them in any order.
#include "compiler/ops/conv/conv.h"
#include "compiler/ops/conv/conv_step.h"
#include "compiler/ops/error_rules.h"

namespace thtrain {

std::vector<Tensor> conv_reference(const ReferenceArgs& args) {
  const ConvGeometry g = ConvGeometry::of(args.node.props);
  Ints before;
  for (const Dim& zeros : g.before) before.push_back(zeros.is_known() ? zeros.value() : zeros.evaluate(args.length_of));
  const Tensor a = args.inputs[0].cast(DType::kFloat64).contiguous(),
               b = args.inputs[1].cast(DType::kFloat64).contiguous();
  const double *left = a.data<double>(), *right = b.data<double>();
  const Shape& shape = args.shapes[0];
  Tensor sums = Tensor::zeros(DType::kFloat64, shape);
  double* sum = sums.data<double>();
  const Op* op = args.node.op;
  if (op == &conv_op())
    for_each_conv_term(g, before, a.shape(), b.shape(), shape,
                       [&](int64_t i, int64_t j, int64_t k) { sum[k] += left[i] * right[j]; });
  else if (op == &conv_input_gradient_op())
    for_each_conv_term(g, before, shape, a.shape(), b.shape(),
                       [&](int64_t i, int64_t j, int64_t k) { sum[i] += left[j] * right[k]; });
  else
    for_each_conv_term(g, before, a.shape(), shape, b.shape(),
                       [&](int64_t i, int64_t j, int64_t k) { sum[j] += left[i] * right[k]; });
  return {sums.cast(args.node.types[0].dtype)};
}

ErrorRule conv_error() {
  return [](const ErrorArgs& args) {
    const ConvGeometry g = ConvGeometry::of(args.node.props);
    const Shape &a = args.inputs[0].shape(), &b = args.inputs[1].shape();
    auto product_of = [](const Shape& shape, size_t first) {
      int64_t out = 1;
      for (size_t i = first; i < shape.size(); ++i) out *= shape[i];
      return out;
    };
    // The products of one element: of all taps and channels (filters), or of all images and positions.
    int64_t terms = 0;
    if (args.node.op == &conv_op())
      terms = product_of(b, b.size() - g.rank() - 1);
    else if (args.node.op == &conv_input_gradient_op())
      terms = a[0] / g.groups * product_of(a, a.size() - g.rank());
    else
      terms = b[0] * product_of(b, 2);
    return multilinear_error(args, static_cast<double>(terms) + 2);
  };
}

}  // namespace thtrain
