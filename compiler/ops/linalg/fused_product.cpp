#include "compiler/ops/linalg/fused_product.h"

#include <algorithm>

#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/elemwise/fused.h"
#include "compiler/ops/elemwise/fused_cases.h"
#include "compiler/ops/linalg/body_elements.h"
#include "compiler/ops/linalg/linalg.h"
#include "compiler/ops/linalg/matrix_layout.h"

namespace thtrain {
namespace {

using kernel::Operand;
using kernel::StepBuilder;
using kernel::Term;

constexpr int kWidestVector = 64;

// The tiling without a chooser: it fits every processor, and every product that plain_is_possible().
GemmTiling plain_tiling(const MatrixProduct& p) {
  return {4, 2, std::min<int64_t>(p.k, 2048), false};
}

bool plain_is_possible(const MatrixProduct& p) {
  return is_possible(plain_tiling(p), p, kWidestVector, true);
}

size_t place_in(const Graph& body, const Expr& e) {
  for (size_t k = 0; k < body.inputs.size(); ++k)
    if (body.inputs[k].same(e)) return k;
  TH_CHECK(false, "a product in a loop's body whose factor is no input");
  return 0;
}

const Node& product_in(std::span<const Node* const> nodes) {
  auto at = std::find_if(nodes.begin(), nodes.end(), [](const Node* node) { return is_matrix_product(*node); });
  TH_CHECK(at != nodes.end(), "fused_product: a body without a product");
  return **at;
}

// What the body makes of each vector of the product's sums.
class BodyEpilogue : public GemmEpilogue {
 public:
  explicit BodyEpilogue(StepBuilder& b)
      : b_(b),
        body_(*b.node().bodies[0]),
        product_(product_in(topological_order(body_.outputs))),
        elements_(b, body_, product_, product_.types[0].dims,
                  [this](const Expr& input) { return is_read_by_element(input); }),
        lanes_(b.lanes_of(product_.types[0].dtype)) {}

  const Node& product() const { return product_; }
  Operand factor(size_t i) const { return b_.input(place_in(body_, product_.inputs[i])); }

  std::string name() const override { return kernel_name(elements_.nodes()); }
  std::string comment() const override { return kernel_comment(elements_.nodes(), body_.inputs, body_.outputs); }

  void write(const Term& sum, const Term& row, const Term& column, const Term& count) const override {
    BodyValues values = elements_.load({row, column}, lanes_, count);
    elements_.compute(values);  // gemm's c, and what else does not depend on the product
    values.set(product_[0], b_.code().let(identifier(product_.name.empty() ? "product" : product_.name),
                                          product_value(sum, values)));
    elements_.compute(values);
    for (size_t o = 0; o < body_.outputs.size(); ++o)
      b_.store(b_.output(o), b_.index_of(b_.output(o), {row, column}),
               kernel::splat(values.at(body_.outputs[o]), lanes_), 1, count);
  }

  void prefetch(const Term& row, const Term& column) const override {
    elements_.each_whole({row, column}, [&](const Operand& operand, const Term& at) {
      b_.prefetch(operand, at, kernel::Prefetch::kWrite);
    });
  }

 private:
  bool is_read_by_element(const Expr& input) const {
    for (const Node* node : topological_order(body_.outputs))
      for (size_t i = 0; i < node->inputs.size(); ++i)
        if (node->inputs[i].same(input) && access_of(*node, i) == Access::kElement) return true;
    return std::any_of(body_.outputs.begin(), body_.outputs.end(), [&](const Expr& e) { return e.same(input); });
  }

  // alpha sum + beta c, as gemm's own kernel computes it.
  Term product_value(const Term& sum, const BodyValues& values) const {
    if (product_.op == &dot_op()) return sum;
    auto number = [&](size_t i) -> std::optional<double> {
      const Tensor* value = constant_value(product_.inputs[i]);
      return value ? std::optional(value->as_double()) : std::nullopt;
    };
    const std::optional<double> alpha = number(1), beta = number(4);
    const Term factor = values.at(product_.inputs[1]), share = values.at(product_.inputs[4]);
    if (beta == 0.0) return alpha == 1.0 ? sum : sum * factor;
    Term c = kernel::splat(values.at(product_.inputs[0]), lanes_);
    if (beta != 1.0) c = c * share;
    return alpha == 1.0 ? c + sum : fma(sum, factor, c);
  }

  StepBuilder& b_;
  const Graph& body_;
  const Node& product_;
  const BodyElements elements_;
  const int lanes_;
};

void lower(StepBuilder& b) {
  const BodyEpilogue epilogue(b);
  const size_t first = first_factor(epilogue.product());
  const Operand x = epilogue.factor(first), y = epilogue.factor(first + 1);
  std::optional<MatrixProduct> product = known_product(epilogue.product(), x.layout, y.layout);
  TH_CHECK(product && plain_is_possible(*product), "fused_product: a product that no kernel can end with more");
  GemmCall call{.product = *product, .a = x, .b = y, .c = b.output(), .epilogue = &epilogue};
  call.lda = matrix_layout(x.type.dims, x.layout)->leading.value();
  call.ldb = matrix_layout(y.type.dims, y.layout)->leading.value();
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
      {"square", {{8, 8}}, [](In x) { return std::vector{dot(x[0], x[0]) - x[0]}; }},
  };
  return out;
}

std::vector<OpCase> cases() {
  OpCase like{};
  like.bound = 64;
  std::vector<OpCase> out = fused_cases(make_fused_product, examples(), like);
  for (OpCase& row : out) row.smooth = !row.name.starts_with("one_column_more");
  return out;
}

}  // namespace

std::optional<GemmTiling> tiling_with_epilogue(const kernel::Chooser* chooser, const MatrixProduct& product) {
  if (!chooser || !plain_is_possible(product)) return std::nullopt;
  std::optional<GemmTiling> tiling = gemm_tiling_named(chooser->choose(key_of(product)));
  if (!tiling || !is_possible(*tiling, product, kWidestVector, true)) return std::nullopt;
  return tiling;
}

static bool is_for_a_tiling(const Node& node, std::span<const Layout> inputs, const kernel::Chooser& chooser) {
  if (!is_matrix_product(node)) return false;
  const size_t first = first_factor(node);
  std::optional<MatrixProduct> product = known_product(node, inputs[first], inputs[first + 1]);
  return product && tiling_with_epilogue(&chooser, *product);
}

const Epilogue& product_epilogue() {
  static const Epilogue epilogue{is_for_a_tiling, make_fused_product};
  return epilogue;
}

std::shared_ptr<const Node> make_fused_product(GraphPtr body, std::vector<Expr> inputs) {
  return make_node(fused_product_op(), std::move(inputs), {}, {std::move(body)});
}

const Op& fused_product_op() {
  static const Op op = [] {
    Op made = op_of_body("fused_product",
                         "A matrix product and the elementwise expressions before and after it, in one kernel.", lower,
                         cases);
    made.infer = [types = made.infer](const TypeArgs& a) {
      std::vector<Type> out = types(a);
      const std::vector<const Node*> nodes = topological_order(a.bodies[0]->outputs);
      const Node& product = product_in(nodes);
      const size_t first = first_factor(product);
      std::optional<MatrixProduct> known =
          known_product(product, row_major(product.inputs[first].dims()), row_major(product.inputs[first + 1].dims()));
      a.require(known && plain_is_possible(*known), "no kernel of a matrix product can end with more",
                "known lengths, at least two rows and columns");
      return out;
    };
    made.accepts_layout = [](const Node& node, size_t i, const Layout& layout) {
      return access_of(node, i) == Access::kElement || matrix_layout(node.inputs[i].dims(), layout).has_value();
    };
    return made;
  }();
  return op;
}

}  // namespace thtrain
