#include "compiler/ops/sparse/fused_csr_dot.h"

#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/elemwise/fused.h"
#include "compiler/ops/linalg/body_epilogue.h"
#include "compiler/ops/sparse/cusparse_steps.h"

namespace thtrain {
namespace {

using namespace csr_dot_parts;

bool can_end_with_elements(const Node& product) {
  const Type& x = product.inputs[kDense].type();
  return product.op == &csr_dot_op() && product.props.get<Dims>("columns").empty() && !has_addend(product) &&
         is_float(x.dtype) && x.rank() == 2 && x.dims[1].is_known() && x.dims[1].value() >= 2;
}

void lower_fused_csr_dot(kernel::StepBuilder& b) {
  BodyEpilogue epilogue(b);
  kernel::Operand out = b.output();
  out.type = epilogue.anchor().types[0];
  const CsrDotStep step{.data = epilogue.operand(kData),
                        .indices = epilogue.operand(kIndices),
                        .indptr = epilogue.operand(kIndptr),
                        .x = epilogue.operand(kDense),
                        .out = out,
                        .epilogue = &epilogue};
  check_pattern_first(b, step, step.x.type.dims[0]);
  lower_csr_dot_rows(b, step);
}

using In = const std::vector<Expr>&;

// Rows of 2, 0, 3 and 1 elements in 5 columns.
std::vector<OpCase> cases_fused_csr_dot() {
  std::vector<OpCase> out;
  const auto add = [&](const char* name, DType dtype, int64_t n, std::vector<Dims> others,
                       std::vector<Expr> (*after)(In product_and_others)) {
    OpCase row{};
    row.name = str(name, "_", name_of(dtype));
    row.inputs = {{.dtype = dtype, .dims = {6}}, {.dtype = dtype, .dims = {5, n}}};
    row.bound = 16;
    for (Dims& dims : others) row.inputs.push_back({.dtype = dtype, .dims = std::move(dims)});
    row.build = [after](In in) {
      std::vector<Expr> values{in[0], cast(make_constant(Tensor::vector<int64_t>({1, 4, 0, 1, 3, 2})), DType::kInt32),
                               cast(make_constant(Tensor::vector<int64_t>({0, 2, 2, 5, 6})), DType::kInt32)};
      values.insert(values.end(), in.begin() + 1, in.end());
      return fused_values(make_fused_csr_dot, values, [after](In all) {
        std::vector<Expr> given{csr_dot(all[kData], all[kIndices], all[kIndptr], all[kDense])};
        given.insert(given.end(), all.begin() + kDense + 1, all.end());
        return after(given);
      });
    };
    out.push_back(std::move(row));
  };
  for (const DType dtype : {DType::kFloat32, DType::kFloat64}) {
    add("layer", dtype, 37, {{37}}, [](In x) { return std::vector{tanh(x[0] + x[1])}; });
    add("two_results", dtype, 2, {{4, 1}, {4, 2}}, [](In x) {
      const Expr h = x[0] * x[1];
      return std::vector{h, sqr(h) - x[2]};
    });
    add("wide", dtype, 150, {{}}, [](In x) { return std::vector{maximum(x[0], x[1])}; });
  }
  for (OpCase& row : out) row.smooth = !row.name.starts_with("wide");
  return out;
}

}  // namespace

const Epilogue& csr_dot_epilogue() {
  static const Epilogue epilogue{
      [](const Node& node, std::span<const Layout>, const kernel::Chooser& chooser, const kernel::Target& target) {
        return can_end_with_elements(node) && !is_by_cusparse(node, &chooser, target);
      },
      make_fused_csr_dot};
  return epilogue;
}

std::shared_ptr<const Node> make_fused_csr_dot(GraphPtr body, std::vector<Expr> inputs) {
  return make_node(fused_csr_dot_op(), std::move(inputs), {}, {std::move(body)});
}

const Op& fused_csr_dot_op() {
  static const Op op = [] {
    Op made = op_of_body("fused_csr_dot",
                         "The product of a sparse and a dense matrix and the elementwise expressions after it, in one "
                         "kernel.\n"
                         "Example: tanh(A . W + b)",
                         lower_fused_csr_dot, cases_fused_csr_dot);
    made.infer = [types = made.infer](const TypeArgs& a) {
      std::vector<Type> out = types(a);
      a.require(can_end_with_elements(anchor_of(*a.bodies[0])), "no kernel of this product can end with more",
                "a sparse matrix times a matrix of floats with a known number of columns, 2 at least");
      return out;
    };
    made.accepts_layout = anchor_accepts_layout;
    return made;
  }();
  return op;
}

}  // namespace thtrain
