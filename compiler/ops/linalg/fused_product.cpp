#include "compiler/ops/linalg/fused_product.h"

#include <algorithm>

#include "compiler/kernel/schedule/schedule.h"
#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/elemwise/fused.h"
#include "compiler/ops/elemwise/fused_cases.h"
#include "compiler/ops/linalg/body_epilogue.h"
#include "compiler/ops/linalg/layer_product.h"
#include "compiler/ops/linalg/linalg.h"
#include "compiler/ops/linalg/matrix_layout.h"
#include "compiler/ops/linalg/matrix_product.h"

namespace thtrain {
namespace {

using kernel::StepBuilder;
using kernel::Term;

// The tiling without a chooser: it fits every processor, and every product that ends_with_more().
GemmTiling plain_tiling(const MatrixProduct& p) {
  return {4, 2, std::min<int64_t>(p.k, 2048), false};
}

}  // namespace

// Rows of a batch's matrices that are shorter than a vector would leave lanes of the expressions without work.
bool ends_with_more(const MatrixProduct& p) {
  const kernel::Target& widest = kernel::widest_target();
  return (!p.count || p.n >= widest.lanes_of(p.dtype)) && is_possible(plain_tiling(p), p, widest, true);
}

namespace {

bool has_known_strides(const Layout& layout) {
  return std::all_of(layout.strides.begin(), layout.strides.end(), [](const Dim& step) { return step.is_known(); });
}

// Ends with gemm's c where there is one.
class ProductEpilogue : public BodyEpilogue {
 public:
  explicit ProductEpilogue(StepBuilder& b) : BodyEpilogue(b) {}

  /// The same by the definition of the product, as a nest.
  void lower_nest(StepBuilder& b) const {
    const size_t first = first_factor(anchor());
    const kernel::Operand left = operand(first), right = operand(first + 1);
    const std::optional<MatrixProduct> known = known_product(anchor(), left.layout, right.layout);
    std::optional<kernel::DeviceTiling> tiling;
    if (known && b.chooser()) tiling = kernel::device_tiling_named(b.chooser()->choose(key_of(*known)));
    const Graph& body = *b.node().bodies[0];
    const Dims& domain = anchor().types[0].dims;
    kernel::Operand sums = b.output();
    sums.type = anchor().types[0];
    ProductNest product(left, right, sums);
    kernel::Nest& nest = product.nest;
    const auto by_element = [&](const kernel::Operand& operand) {
      kernel::Location out{operand, strides_over(domain, operand)};
      out.strides.resize(nest.axes().size(), Dim(0));  // what is summed does not move it
      return out;
    };
    BodyValues values;
    for (size_t k = 0; k < body.inputs.size(); ++k) {
      const std::string& name = body.inputs[k].name();
      if (is_read_by_element(body.inputs[k]))
        values.set(body.inputs[k],
                   load_value(nest, identifier(name.empty() ? str("x", k) : readable(name)), by_element(b.input(k))));
    }
    for (const Node* node : nodes_between(body.inputs, body.outputs)) {
      if (node == &anchor())
        values.set((*node)[0], nest.let("result", anchor_value(product.sum.re, values)));
      else
        write_node(nest, *node, values);
    }
    for (size_t o = 0; o < body.outputs.size(); ++o)
      store_value(nest, by_element(b.output(o)), values.parts(body.outputs[o]));
    schedule_product(b, nest, name(), comment(), tiling);
  }

 private:
  // alpha sum + beta c, as gemm's own kernel computes it.
  Term anchor_value(const Term& sum, const BodyValues& values) const override {
    const Node& product = anchor();
    if (product.op != &gemm_op()) return sum;
    auto number = [&](size_t i) -> std::optional<double> {
      const Tensor* value = constant_value(product.inputs[i]);
      return value ? std::optional(value->as_double()) : std::nullopt;
    };
    const std::optional<double> alpha = number(1), beta = number(4);
    const Term factor = values.at(product.inputs[1]), share = values.at(product.inputs[4]);
    if (beta == 0.0) return alpha == 1.0 ? sum : sum * factor;
    Term c = kernel::splat(values.at(product.inputs[0]), lanes_);
    if (beta != 1.0) c = c * share;
    return alpha == 1.0 ? c + sum : fma(sum, factor, c);
  }
};

void lower_fused_product(StepBuilder& b) {
  ProductEpilogue epilogue(b);
  if (b.target().is_device() && lower_by_cublaslt(b)) return;
  if (b.target().is_device()) return epilogue.lower_nest(b);
  const size_t first = first_factor(epilogue.anchor());
  const kernel::Operand x = epilogue.operand(first), y = epilogue.operand(first + 1);
  std::optional<MatrixProduct> product = known_product(epilogue.anchor(), x.layout, y.layout);
  TH_CHECK(product && ends_with_more(*product), "fused_product: a product that no kernel can end with more");
  GemmCall call{.product = *product, .a = x, .b = y, .c = b.output(), .epilogue = &epilogue};
  call.lda = matrix_layout(x.type.dims, x.layout)->leading.value();
  call.ldb = matrix_layout(y.type.dims, y.layout)->leading.value();
  for (size_t i = 0; i + 2 < x.type.rank(); ++i)
    call.batch.push_back({x.type.dims[i], x.layout.strides[i], y.layout.strides[i], 0});
  lower_gemm(b, call, tiling_with_epilogue(b.chooser(), *product).value_or(plain_tiling(*product)));
}

using In = const std::vector<Expr>&;

// Products by dot and gemm, with what comes before and after; outputs that are the product and that are not.
const std::vector<FusedExample>& examples() {
  static const std::vector<FusedExample> out{
      {"layer", {{7, 5}, {5, 21}, {21}}, [](In x) { return std::vector{tanh(dot(x[0], x[1]) + x[2])}; }},
      {"long", {{2, 2050}, {2050, 3}, {2, 1}}, [](In x) { return std::vector{dot(x[0], x[1]) * x[2]}; }},
      {"one_column_more", {{9, 6}, {6, 33}, {}}, [](In x) { return std::vector{maximum(dot(x[0], x[1]), x[2])}; }},
      {"momentum",
       {{13, 34}, {}, {13, 6}, {6, 34}, {}, {13, 34}},
       [](In x) {
         Expr v = apply(gemm_op(), {x[0], x[1], x[2], x[3], x[4]});
         return std::vector{v, x[5] + v};
       }},
      {"before",
       {{4, 18}, {4, 18}, {4, 9}, {9, 18}},
       [](In x) {
         Expr one = make_constant(Tensor(1.0).cast(x[0].dtype()));
         return std::vector{apply(gemm_op(), {x[0] * x[1], one, x[2], x[3], one}), x[0] - x[1]};
       }},
      {"batch",
       {{3, 7, 5}, {3, 5, 37}, {37}, {3, 1, 37}},
       [](In x) { return std::vector{tanh(matmul(x[0], x[1]) + x[2]) * x[3]}; }},
      {"batch_of_batches",
       {{2, 3, 9, 4}, {2, 3, 4, 16}, {2, 3, 9, 16}},
       [](In x) { return std::vector{matmul(x[0], x[1]) - x[2]}; }},
      {"square", {{8, 8}}, [](In x) { return std::vector{dot(x[0], x[0]) - x[0]}; }},
  };
  return out;
}

std::vector<OpCase> cases_fused_product() {
  OpCase like{};
  like.bound = 64;
  std::vector<OpCase> out = fused_cases(make_fused_product, examples(), like);
  for (OpCase& row : out) row.smooth = !row.name.starts_with("one_column_more");
  return out;
}

}  // namespace

std::optional<GemmTiling> tiling_with_epilogue(const kernel::Chooser* chooser, const MatrixProduct& product) {
  if (!chooser || !ends_with_more(product)) return std::nullopt;
  std::optional<GemmTiling> tiling = gemm_tiling_named(chooser->choose(key_of(product)));
  if (!tiling || !is_possible(*tiling, product, kernel::widest_target(), true)) return std::nullopt;
  return tiling;
}

// On a device the nest of the product ends with more, on a processor a tiling.
static bool can_end_with_more(const Node& node, std::span<const Layout> inputs, const kernel::Chooser& chooser,
                              const kernel::Target& target) {
  const bool is_batch = node.op == &batched_dot_op();
  if (is_batch ? target.is_device() : !is_matrix_product(node)) return false;
  const size_t first = first_factor(node);
  if (is_batch && !(is_float(node.types[0].dtype) && has_known_strides(inputs[0]) && has_known_strides(inputs[1])))
    return false;
  std::optional<MatrixProduct> product = known_product(node, inputs[first], inputs[first + 1]);
  if (target.is_device()) return product && ends_with_more(*product) && is_by_loops(chooser.choose(key_of(*product)));
  return product && tiling_with_epilogue(&chooser, *product);
}

const Epilogue& product_epilogue() {
  static const Epilogue epilogue{can_end_with_more, make_fused_product};
  return epilogue;
}

std::shared_ptr<const Node> make_fused_product(GraphPtr body, std::vector<Expr> inputs) {
  return make_node(fused_product_op(), std::move(inputs), {}, {std::move(body)});
}

const Op& fused_product_op() {
  static const Op op = [] {
    Op made = op_of_body("fused_product",
                         "A matrix product and the elementwise expressions before and after it, in one kernel.\n"
                         "Example: tanh(x . W + b)",
                         lower_fused_product, cases_fused_product);
    made.infer = [types = made.infer](const TypeArgs& a) {
      std::vector<Type> out = types(a);
      const Node& product = anchor_of(*a.bodies[0]);
      const size_t first = first_factor(product);
      std::optional<MatrixProduct> known =
          known_product(product, row_major(product.inputs[first].dims()), row_major(product.inputs[first + 1].dims()));
      a.require(known && ends_with_more(*known), "no kernel of a matrix product can end with more",
                "known lengths, at least two rows and columns");
      return out;
    };
    made.accepts_layout = anchor_accepts_layout;
    return made;
  }();
  return op;
}

}  // namespace thtrain
