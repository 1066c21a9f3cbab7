// One number for each element, by the distributions of NumPy's RandomState.
#include <algorithm>

#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/index/index.h"
#include "compiler/ops/random/device_draws.h"
#include "compiler/ops/random/draw_functions.h"
#include "compiler/ops/random/draw_op.h"
#include "compiler/ops/reduce/reduce.h"
#include "compiler/ops/shape/broadcast_for.h"
#include "compiler/ops/shape/shape.h"

namespace thtrain {
namespace {

using kernel::PointerTo;
using kernel::StepBuilder;

const Op& op_of(const Distribution& of);

DType dtype_of_parameter(const Distribution& of, size_t k) {
  return of.parameters[k].is_whole ? DType::kInt64 : DType::kFloat64;
}

std::vector<Type> infer(const Distribution& of, const TypeArgs& args) {
  const Dims& dims = drawn_dims(args);
  for (size_t k = 0; k < of.count; ++k) {
    const Type& type = args.type(k + 1);
    const std::string name(of.parameters[k].name);
    args.require(type.dtype == dtype_of_parameter(of, k), str("the parameter ", name, " has another dtype"),
                 std::string(name_of(dtype_of_parameter(of, k))));
    if (type.is_scalar()) continue;
    args.require(type.rank() == dims.size(), str("the parameter ", name, " has other axes than the result"));
    for (size_t axis = 0; axis < dims.size(); ++axis)
      args.require_equal(type.dims[axis], dims[axis], str(of.name, ": the lengths of ", name, " and of the result"));
  }
  const DType dtype = args.props.get<DType>("dtype");
  args.require(of.gives_whole ? dtype == DType::kInt64 : is_float(dtype) && size_of(dtype) >= 4,
               "the numbers have another dtype", of.gives_whole ? "int64" : "float32 or float64");
  return {state_type(args), {.dtype = dtype, .dims = dims}};
}

std::vector<Tensor> reference(const Distribution& of, const ReferenceArgs& args) {
  RandomState state = random_state_of(args.inputs[0]);
  Tensor out = args.make_output(1);
  DrawParameters parameters{};
  for (size_t k = 0; k < of.count; ++k)
    parameters.locations[k] = {args.inputs[k + 1].raw(), args.inputs[k + 1].rank() == 0 ? 0 : 1};
  if (const std::optional<int64_t> unfit = parameters.first_unfit(of, out.size()))
    throw UserError({.what = unfit_what(of),
                     .expected = unfit_expected(of, std::to_string(*unfit + 1)),
                     .node = args.node.origin.text(),
                     .config = args.node.origin.config()});
  for (int64_t i = 0; i < out.size(); ++i) {
    const DrawnNumber number = of.draw(state, parameters.at(of, i).data());
    if (of.gives_whole)
      out.data<int64_t>()[i] = number.whole;
    else if (out.dtype() == DType::kFloat32)
      out.data<float>()[i] = static_cast<float>(number.real);
    else
      out.data<double>()[i] = number.real;
  }
  return {tensor_of(state), out};
}

void lower(const Distribution& of, StepBuilder& b) {
  const kernel::Operand& out = b.output(1);
  const kernel::RuntimeCheck unfit{unfit_what(of), unfit_expected(of, "{value}"), b.node().origin};
  if (b.target().is_device() && lower_device_draw(b, of, unfit)) return;
  std::array<int, 2> locations{0, 0};  // the state stands for a parameter that is not there
  std::array<Dim, 2> steps{0, 0};
  for (size_t k = 0; k < of.count; ++k) {
    locations[k] = b.input(k + 1).index;
    steps[k] = b.input(k + 1).type.is_scalar() ? 0 : 1;
  }
  b.call_library({draw_function(of, out.type.dtype),
                  {out.type.elements(), PointerTo{b.input(0).index}, PointerTo{b.output(0).index},
                   PointerTo{locations[0]}, steps[0], PointerTo{locations[1]}, steps[1], PointerTo{out.index}},
                  unfit});
}

// The same draw with standard parameters: the numbers before they were scaled and moved.
Expr standard(const Distribution& of, const Node& node) {
  const bool of_normal = of.derivative == Reparametrization::kExpOfNormal;
  const Expr zero = make_constant(Tensor(0.0)), one = make_constant(Tensor(1.0));
  std::vector<Expr> inputs{node.inputs[0]};
  if (of.derivative != Reparametrization::kScale) inputs.push_back(zero);
  inputs.push_back(one);
  const Props props{{"dims", node.types[1].dims}, {"dtype", DType::kFloat64}};
  const Op& op = of_normal ? op_of(*find_distribution("normal")) : *node.op;
  return Expr(make_node(op, std::move(inputs), props), 1);
}

std::vector<Expr> gradient(const Distribution& of, const GradientArgs& args) {
  std::vector<Expr> out(of.count + 1);
  if (!args.cotangents[1].has_value()) return out;
  const Expr g = cast(args.cotangents[1], DType::kFloat64), z = standard(of, args.node);
  const Expr of_exp = cast(args.outputs[1], DType::kFloat64) * g;
  std::vector<Expr> each;
  switch (of.derivative) {
    case Reparametrization::kBetween:
      each = {g * (1.0 - z), g * z};
      break;
    case Reparametrization::kScale:
      each = {g * z};
      break;
    case Reparametrization::kLocationScale:
      each = {g, g * z};
      break;
    case Reparametrization::kExpOfNormal:
      each = {of_exp, of_exp * z};
      break;
    case Reparametrization::kNone:
      return out;
  }
  for (size_t k = 0; k < of.count; ++k) out[k + 1] = args.input(k + 1).rank() == 0 ? sum(each[k]) : each[k];
  return out;
}

// Numbers of parameters that all distributions take: reals between 0.1 and 0.9, integers such as these.
Expr whole_parameter(const Distribution& of, size_t k, int64_t n) {
  const Expr some = arange(Operand(std::max<int64_t>(n, 1)), DType::kInt64);
  return k == 0 && of.parameters[1].is_whole ? -3 - some : some + 5;
}

std::vector<OpCase> cases(const Distribution& of) {
  auto build = [&of](DType dtype, int64_t n, bool arrays, int64_t position) {
    return [&of, dtype, n, arrays, position](const std::vector<Expr>& in) {
      std::vector<Expr> inputs{state_of_words(in[0], position)};
      for (size_t k = 0, real = 1; k < of.count; ++k) {
        const Expr parameter = of.parameters[k].is_whole ? whole_parameter(of, k, n) : in[real++];
        inputs.push_back(arrays || parameter.rank() == 0 ? parameter : parameter[Index(0)]);
      }
      const Drawn out = drawn(op_of(of), inputs, {{"dims", Dims{n}}, {"dtype", dtype}}, {});
      return std::vector{out.next, out.sample};
    };
  };
  auto inputs = [&of](const Dims& dims) {
    std::vector<Type> out{words_type()};
    for (size_t k = 0; k < of.count; ++k)
      if (!of.parameters[k].is_whole) out.push_back({.dtype = DType::kFloat64, .dims = dims});
    return out;
  };
  const DType wide = of.gives_whole ? DType::kInt64 : DType::kFloat64,
              narrow = of.gives_whole ? DType::kInt64 : DType::kFloat32;
  const bool smooth = of.derivative != Reparametrization::kNone;
  std::vector<OpCase> out{
      {.name = "numbers", .inputs = inputs({}), .build = build(wide, 700, false, 624)},
      {.name = "arrays", .inputs = inputs({41}), .build = build(wide, 41, true, 599)},
      {.name = "narrow", .inputs = inputs({}), .build = build(narrow, 333, false, 0)},
      {.name = "none", .inputs = inputs({}), .build = build(narrow, 0, false, 624)},
  };
  for (OpCase& one : out) {
    one.low = 0.1;
    one.high = 0.9;
    one.int_high = kWordsHigh;
    one.smooth = smooth;
  }
  return out;
}

Op define(std::string_view name) {
  const Distribution& of = *find_distribution(name);
  Op op{
      .name = str("mt_", name),
      .doc = str(of.name, " numbers from a state of MT19937, by NumPy's RandomState, bit for bit: ", of.formula,
                 ".\n"
                 "Shapes: the state, and parameters, each [] or as the numbers; gives the next state and the numbers, "
                 "[dims].\n"
                 "dtypes: the state uint32, whole parameters int64, others float64; gives ",
                 of.gives_whole ? "int64" : "float32 or float64",
                 ".\n"
                 "Gradient: ",
                 of.derivative == Reparametrization::kNone ? "none"
                                                           : "that of the formula for the same draw, to the parameters",
                 ".\n"
                 "Edge cases: an error unless ",
                 of.range,
                 ".\n"
                 "Source: M. Matsumoto, T. Nishimura, ACM TOMACS 8(1), 1998 (MT19937)",
                 of.source, "; NumPy's RandomState.")};
  op.infer = [&of](const TypeArgs& a) { return infer(of, a); };
  op.reference = [&of](const ReferenceArgs& a) { return reference(of, a); };
  const bool differentiable = of.derivative != Reparametrization::kNone;
  if (differentiable) op.gradient = [&of](const GradientArgs& a) { return gradient(of, a); };
  op.lower = [&of](StepBuilder& b) { lower(of, b); };
  op.connection = [differentiable](const Node&, size_t i, size_t o) { return differentiable && i > 0 && o == 1; };
  op.cases = [&of] { return cases(of); };
  return draw_op(std::move(op), 30);
}

// Numbers that are known are looked at before there is a graph.
void check_constants(const Distribution& of, const std::vector<Expr>& inputs, const std::source_location& where) {
  DrawParameters parameters{};
  std::string values;
  for (size_t k = 0; k < of.count; ++k) {
    const Tensor* value = inputs[k + 1].rank() == 0 ? constant_value(inputs[k + 1]) : nullptr;
    if (!value) return;
    parameters.locations[k] = {value->raw(), 0};
    values += str(k ? ", " : "", of.parameters[k].name, " ", value->text());
  }
  if (parameters.first_unfit(of, 1)) fail_build(where, unfit_what(of), std::string(of.range), values);
}

std::string distribution_names() {
  return join(distributions(), ", ", [](const Distribution& one) { return std::string(one.name); });
}

}  // namespace

const Op& mt_uniform_op() {
  static const Op op = define("uniform");
  return op;
}
const Op& mt_normal_op() {
  static const Op op = define("normal");
  return op;
}
const Op& mt_lognormal_op() {
  static const Op op = define("lognormal");
  return op;
}
const Op& mt_exponential_op() {
  static const Op op = define("exponential");
  return op;
}
const Op& mt_laplace_op() {
  static const Op op = define("laplace");
  return op;
}
const Op& mt_logistic_op() {
  static const Op op = define("logistic");
  return op;
}
const Op& mt_gamma_op() {
  static const Op op = define("gamma");
  return op;
}
const Op& mt_beta_op() {
  static const Op op = define("beta");
  return op;
}
const Op& mt_chisquare_op() {
  static const Op op = define("chisquare");
  return op;
}
const Op& mt_poisson_op() {
  static const Op op = define("poisson");
  return op;
}
const Op& mt_binomial_op() {
  static const Op op = define("binomial");
  return op;
}
const Op& mt_geometric_op() {
  static const Op op = define("geometric");
  return op;
}
const Op& mt_randint_op() {
  static const Op op = define("randint");
  return op;
}
const Op& mt_random_integers_op() {
  static const Op op = define("random_integers");
  return op;
}

static const Op& op_of(std::string_view name) {
  static constexpr std::pair<std::string_view, const Op& (*)()> kOps[] = {
      {"uniform", mt_uniform_op},     {"normal", mt_normal_op},
      {"lognormal", mt_lognormal_op}, {"exponential", mt_exponential_op},
      {"laplace", mt_laplace_op},     {"logistic", mt_logistic_op},
      {"gamma", mt_gamma_op},         {"beta", mt_beta_op},
      {"chisquare", mt_chisquare_op}, {"poisson", mt_poisson_op},
      {"binomial", mt_binomial_op},   {"geometric", mt_geometric_op},
      {"randint", mt_randint_op},     {"random_integers", mt_random_integers_op}};
  for (const auto& [own, op] : kOps)
    if (own == name) return op();
  TH_CHECK(false, "no op draws ", name);
  return mt_uniform_op();
}

namespace {
const Op& op_of(const Distribution& of) {
  return thtrain::op_of(of.name);
}
}  // namespace

std::string draw_function_name(const Distribution& of, DType dtype) {
  return str("mt_", of.name, dtype == DType::kFloat32 ? "_f32" : dtype == DType::kFloat64 ? "_f64" : "_i64");
}

kernel::LibraryFunction draw_function(const Distribution& of, DType dtype) {
  const char* parameters = dtype == DType::kFloat32   ? TH_TEXT_OF(TH_DRAW_PARAMETERS(float))
                           : dtype == DType::kFloat64 ? TH_TEXT_OF(TH_DRAW_PARAMETERS(double))
                                                      : TH_TEXT_OF(TH_DRAW_PARAMETERS(long));
  return {draw_function_name(of, dtype), parameters, true};
}

Drawn draw(const std::string& distribution, const Operand& state, const LengthList& size,
           const std::vector<Operand>& parameters, std::optional<DType> dtype, std::source_location where) {
  const Origin origin = Origin::here(where);
  const InheritOrigin inherit(origin);
  const Distribution* of = find_distribution(distribution);
  if (!of) fail_build(where, "draw: there is no such distribution", distribution_names(), distribution);
  if (parameters.size() != of->count)
    fail_build(where, str(distribution, ": the number of parameters differs"),
               str(of->count, ": ", of->parameters[0].name, of->count == 2 ? ", " : "", of->parameters[1].name),
               std::to_string(parameters.size()));
  std::vector<Expr> inputs{state.expr()};
  DType widest = floatX();
  for (size_t k = 0; k < of->count; ++k) {
    const DType wanted = dtype_of_parameter(*of, k);
    const Expr given = parameters[k].is_literal() ? parameters[k].for_dtype(wanted) : parameters[k].expr();
    const bool is_number = is_float(given.dtype()) ? wanted == DType::kFloat64 : !is_complex(given.dtype());
    if (!is_number)
      fail_build(where, str(distribution, ": the parameter ", of->parameters[k].name, " has another dtype"),
                 of->parameters[k].is_whole ? "integers" : "integers or floats", value_text(given));
    if (!parameters[k].is_literal() && given.dtype() == DType::kFloat64) widest = DType::kFloat64;
    inputs.push_back(cast(given, wanted));
  }
  check_constants(*of, inputs, where);
  Dims dims = size.dims;
  if (dims.empty()) {  // the shape of the parameters together
    Expr all = cast(inputs[1], DType::kFloat64);
    for (size_t k = 2; k < inputs.size(); ++k) all = all + cast(inputs[k], DType::kFloat64);
    dims = all.dims();
  }
  for (size_t k = 1; k < inputs.size(); ++k)
    if (inputs[k].rank() > 0) inputs[k] = broadcast_for(Operand(inputs[k], where), dims, distribution);
  const DType drawn_as = of->gives_whole ? DType::kInt64 : dtype.value_or(widest);
  const Drawn out = drawn(op_of(*of), std::move(inputs), {{"dims", dims}, {"dtype", drawn_as}}, where);
  return {out.next, of->gives_whole && dtype ? cast(out.sample, *dtype) : out.sample};
}

}  // namespace thtrain
