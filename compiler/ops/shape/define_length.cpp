// Numbers that the graph computes, as lengths.
#include "compiler/ir/lengths.h"
#include "compiler/kernel/schedule/schedule.h"
#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/shape/shape.h"

namespace thtrain {
namespace {

std::string name_of_length(const Node& node) {
  return node.props.get<Dims>("name").at(0).text();
}

std::optional<Dim> bound_of(const Node& node) {
  const Dims& bound = node.props.get<Dims>("bound");
  return bound.empty() ? std::nullopt : std::optional<Dim>(bound[0]);
}

std::string what(const Node& node, const std::string& value) {
  return str("the length ", readable(name_of_length(node)), " is ", value);
}
std::string expected(const Node& node, const std::string& limit) {
  return bound_of(node) ? str("from 0 to ", limit) : "at least 0";
}

std::vector<Type> infer_define_length(const TypeArgs& args) {
  args.require(args.type(0).is_scalar() && args.type(0).dtype == DType::kInt64, "a length is an int64 scalar");
  const Dims &name = args.props.get<Dims>("name"), &bound = args.props.get<Dims>("bound");
  args.require(name.size() == 1 && name[0].text().starts_with('#'), "one name is given", "a name that begins with #");
  args.require(bound.size() <= 1, "several bounds are given", "one or none");
  return {{.dtype = DType::kInt64}};
}

std::vector<Tensor> reference_define_length(const ReferenceArgs& args) {
  const int64_t n = args.inputs[0].as_int();
  const std::optional<Dim> bound = bound_of(args.node);
  const int64_t limit = bound ? bound->evaluate(args.length_of) : 0;
  if (n < 0 || (bound && n > limit))
    throw UserError({.what = what(args.node, std::to_string(n)),
                     .expected = expected(args.node, std::to_string(limit)),
                     .node = args.node.origin.text(),
                     .config = args.node.origin.config()});
  return {Tensor(n)};
}

void lower_define_length(kernel::StepBuilder& b) {
  const Node& node = b.node();
  kernel::Nest nest{Dims()};
  const kernel::Term n = nest.load("n", kernel::placed(b.input(0)));
  const std::optional<Dim> bound = bound_of(node);
  const kernel::Term limit = bound ? b.length(*bound) : kernel::Term(0);
  kernel::Term fits = n >= kernel::Term(0);
  if (bound) fits = fits && n <= limit;
  nest.require(fits, {what(node, "{value}"), expected(node, "{limit}"), node.origin}, n, limit);
  nest.store(kernel::placed(b.output()), n);
  kernel::schedule(b, nest, "define_length", "a number as a length");
}

std::vector<OpCase> cases_define_length() {
  auto defined = [](std::optional<Dim> bound) {
    return [bound](const std::vector<Expr>& in) {
      return std::vector{apply(define_length_op(), {in[0]},
                               {{"name", Dims{Dim::defined(bound ? "#bounded~0" : "#n~0", nullptr)}},
                                {"bound", bound ? Dims{*bound} : Dims{}}})};
    };
  };
  return {{.name = "any", .inputs = {{.dtype = DType::kInt64}}, .build = defined({})},
          {.name = "bounded", .inputs = {{.dtype = DType::kInt64}}, .build = defined(Dim(4))}};
}

}  // namespace

const Op& define_length_op() {
  static const Op op{.name = "define_length",
                     .doc =
                         "The int64 scalar n itself, which is the value of the length `name` from then on; steps on "
                         "values of that length run later. A call computes it before all that has the length.\n"
                         "Shapes: n and y [].\n"
                         "dtypes: int64.\n"
                         "Gradient: none.\n"
                         "Edge cases: an error where it is negative, or above `bound`, where there is one.\n"
                         "Example: the count of true elements",
                     .infer = infer_define_length,
                     .reference = reference_define_length,
                     .lower = lower_define_length,
                     .foldable = false,
                     .defines = [](const Node& node) -> std::vector<DefinedLength> {
                       return {{.name = name_of_length(node), .bound = bound_of(node)}};
                     },
                     .cases = cases_define_length};
  return op;
}

Expr define_length(const Expr& n, const Expr& of, const std::optional<Dim>& bound, const std::source_location& where,
                   std::string_view key) {
  const Node& named_after = of.node();
  const std::string shown = of.name().empty() ? named_after.op->name : in_length_name(of.name());
  const std::string output = of.output() == 0 ? "" : str(".", of.output());
  const std::string by_key = key.empty() ? "" : str("~", std::hash<std::string_view>()(key));
  const Dim name = Dim::defined(str("#", shown, "~", named_after.serial, output, by_key), nullptr);
  return apply(define_length_op(), {cast(n, DType::kInt64)},
               {{"name", Dims{name}}, {"bound", bound ? Dims{*bound} : Dims{}}}, where);
}

Dim defined_length(const Expr& defined) {
  return Dim::defined(name_of_length(defined.node()), defined.node_ptr());
}

Dim computed_length(const Operand& operand) {
  const Expr n = operand.expr();
  if (!n.type().is_scalar() || !is_int(n.dtype()))
    fail_build(operand.where(), "a length is not an integer scalar", "an integer without axes", value_text(n));
  if (std::optional<Dim> known = symbolic_value(n)) return *known;
  return defined_length(define_length(n, n, {}, operand.where()));
}

}  // namespace thtrain
