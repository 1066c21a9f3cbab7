#include "tests/support/term_interpreter.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <stdexcept>

namespace thtrain {
namespace {

using kernel::Prim;
using kernel::Term;
using kernel::TermNode;

template <class T>
double math_function(const std::string& name, T x) {
  static const std::map<std::string, T (*)(T)> functions{
      {"exp", std::exp},     {"exp2", std::exp2},   {"expm1", std::expm1}, {"log", std::log},     {"log2", std::log2},
      {"log10", std::log10}, {"log1p", std::log1p}, {"sin", std::sin},     {"cos", std::cos},     {"tan", std::tan},
      {"asin", std::asin},   {"acos", std::acos},   {"atan", std::atan},   {"sinh", std::sinh},   {"cosh", std::cosh},
      {"tanh", std::tanh},   {"asinh", std::asinh}, {"acosh", std::acosh}, {"atanh", std::atanh}, {"erf", std::erf},
      {"erfc", std::erfc},   {"cbrt", std::cbrt}};
  return functions.at(name)(x);
}

template <class T>
T float_unary(Prim prim, T x) {
  switch (prim) {
    case Prim::kInRegister:
      return x;
    case Prim::kSqrt:
      return std::sqrt(x);
    case Prim::kFabs:
      return std::fabs(x);
    case Prim::kFloor:
      return std::floor(x);
    case Prim::kCeil:
      return std::ceil(x);
    case Prim::kRint:
      return std::nearbyint(x);
    case Prim::kTrunc:
      return std::trunc(x);
    case Prim::kNegate:
      return -x;
    default:
      throw std::runtime_error("no such function of one float");
  }
}

template <class T>
T float_binary(Prim prim, T a, T b) {
  switch (prim) {
    case Prim::kAdd:
      return a + b;
    case Prim::kSub:
      return a - b;
    case Prim::kMul:
      return a * b;
    case Prim::kDiv:
      return a / b;
    case Prim::kCopySign:
      return std::copysign(a, b);
    case Prim::kScale:
      return std::ldexp(a, static_cast<int>(b));
    default:
      throw std::runtime_error("no such function of two floats");
  }
}

template <class T>
T integer_binary(Prim prim, T a, T b) {
  uint64_t x = static_cast<uint64_t>(a), y = static_cast<uint64_t>(b);
  switch (prim) {
    case Prim::kAdd:
      return static_cast<T>(x + y);
    case Prim::kSub:
      return static_cast<T>(x - y);
    case Prim::kMul:
      return static_cast<T>(x * y);
    case Prim::kBitAnd:
      return static_cast<T>(a & b);
    case Prim::kBitOr:
      return static_cast<T>(a | b);
    case Prim::kBitXor:
      return static_cast<T>(a ^ b);
    case Prim::kShiftRight:
      return static_cast<T>(a >> b);
    case Prim::kDiv:
    case Prim::kRemainder:
      if (b == 0) throw std::runtime_error("division by 0");
      if (std::is_signed_v<T> && b == static_cast<T>(-1) && a == std::numeric_limits<T>::min())
        throw std::runtime_error("the smallest integer divided by -1");
      return static_cast<T>(prim == Prim::kDiv ? a / b : a % b);
    default:
      throw std::runtime_error("no such function of two integers");
  }
}

template <class T>
bool comparison(Prim prim, T a, T b) {
  switch (prim) {
    case Prim::kLess:
      return a < b;
    case Prim::kLessEqual:
      return a <= b;
    case Prim::kGreater:
      return a > b;
    case Prim::kGreaterEqual:
      return a >= b;
    case Prim::kEqual:
      return a == b;
    default:
      return a != b;
  }
}

template <class T>
Tensor apply(const TermNode& node, const std::vector<Tensor>& args) {
  auto arg = [&](size_t i) { return *args[i].data<T>(); };
  if constexpr (is_complex_v<T>)
    throw std::runtime_error("no complex terms");
  else if (node.prim >= Prim::kLess && node.prim <= Prim::kNotEqual)
    return Tensor(comparison(node.prim, arg(0), arg(1)));
  if constexpr (std::is_same_v<T, bool>) {
    if (node.prim == Prim::kAnd) return Tensor(arg(0) && arg(1));
    if (node.prim == Prim::kOr) return Tensor(arg(0) || arg(1));
    if (node.prim == Prim::kNot) return Tensor(!arg(0));
    throw std::runtime_error("no such function of bools");
  } else if constexpr (std::is_floating_point_v<T>) {
    if (node.prim == Prim::kMath) {
      if (node.name == "pow") return Tensor(std::pow(arg(0), arg(1)));
      if (node.name == "fmod") return Tensor(std::fmod(arg(0), arg(1)));
      if (node.name == "atan2") return Tensor(std::atan2(arg(0), arg(1)));
      if (node.name == "hypot") return Tensor(std::hypot(arg(0), arg(1)));
      return Tensor(static_cast<T>(math_function<T>(node.name, arg(0))));
    }
    return Tensor(args.size() == 1 ? float_unary(node.prim, arg(0)) : float_binary(node.prim, arg(0), arg(1)));
  } else if constexpr (std::is_integral_v<T>) {
    if (node.prim == Prim::kInRegister) return Tensor(arg(0));
    if (node.prim == Prim::kNegate) return Tensor(integer_binary(Prim::kSub, T(0), arg(0)));
    if (node.prim == Prim::kBitNot) return Tensor(static_cast<T>(~arg(0)));
    return Tensor(integer_binary(node.prim, arg(0), arg(1)));
  } else {
    throw std::runtime_error("no complex terms");
  }
}

Tensor bits_as(DType dtype, const Tensor& x) {
  Tensor out = Tensor::empty(dtype, {});
  std::memcpy(out.raw(), x.raw(), size_of(dtype));
  return out;
}

}  // namespace

Tensor interpret(const Term& term, const std::map<std::string, Tensor>& variables) {
  const TermNode& node = term.node();
  if (term.lanes() != 1) throw std::runtime_error("a vector term");
  if (node.prim == Prim::kVariable) return variables.at(node.name);
  if (node.prim == Prim::kConstant)
    return is_float(node.type.dtype) ? Tensor(node.number).cast(node.type.dtype)
                                     : Tensor(node.integer).cast(node.type.dtype);
  std::vector<Tensor> args;
  for (const Term& arg : node.args) args.push_back(interpret(arg, variables));
  if (node.prim == Prim::kSelect) return *args[0].data<bool>() ? args[1] : args[2];
  if (node.prim == Prim::kBitCast) return bits_as(node.type.dtype, args[0]);
  if (node.prim == Prim::kCast) return args[0].cast(node.type.dtype);
  return visit(args[0].dtype(), [&](auto zero) { return apply<decltype(zero)>(node, args); });
}

}  // namespace thtrain
