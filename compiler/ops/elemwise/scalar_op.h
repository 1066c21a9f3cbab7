// The record of an elementwise operation: types, reference, code, gradient. Everything else is made from it.
#pragma once

#include <functional>
#include <source_location>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "compiler/ir/op.h"
#include "compiler/ops/elemwise/parts.h"

namespace thtrain {

/// The dtypes that an operation computes with: each input is cast to its entry first.
struct Signature {
  std::vector<DType> inputs;
  std::vector<DType> outputs;
};

/// Computes n elements: arrays of the signature's dtypes, side by side.
using ScalarReference = std::function<void(const Signature&, std::span<const void* const> inputs,
                                           std::span<void* const> outputs, int64_t n)>;

/// What a gradient rule sees: the inputs cast as the operation saw them (builders broadcast them), and the outputs. For
/// complex values a cotangent r of z says that the loss changes by Re(r dz), so a holomorphic f has dx = dout f'(x).
struct ScalarGradientArgs {
  std::span<const Expr> inputs;
  std::span<const Expr> outputs;
  std::span<const Expr> cotangents;  // empty Exprs where an output has none
  const Props& props;

  const Expr& x() const { return inputs[0]; }
  const Expr& y() const { return inputs[1]; }
  const Expr& out() const { return outputs[0]; }
  const Expr& dout() const { return cotangents[0]; }
};

/// What floats an operation gives.
enum class Rounding {
  kRounds,
  kConverts,  // its input, rounded where the dtype does not hold it
  kExact,
};

struct ScalarOp {
  std::string name;
  std::string doc;  // Op::doc; shapes and dtypes follow from the record
  int arity = 1;
  int outputs = 1;
  /// The dtypes for these input dtypes; nullopt where the operation does not exist for them. One of the families below.
  std::function<std::optional<Signature>(std::span<const DType>, const Props&)> signature;
  ScalarReference reference;
  /// The loop language; an empty result where there is none for these dtypes (the reference is called back then).
  /// Terms have the signature's input dtypes and any number of lanes.
  std::function<std::vector<kernel::Term>(std::span<const kernel::Term>, const Signature&)> code = {};
  /// The same where an input or output of the signature is complex. Null: no code, the reference is called back.
  std::function<std::vector<Parts>(std::span<const Parts>, const Signature&)> complex_code = {};
  /// One cotangent for each input, of the broadcast shape and the output's dtype; empty: not connected. Null: no
  /// output is floating.
  /// Forward mode asks it too, with the tangent of an input instead of the cotangent, of a shape that broadcasts.
  /// So each result is the cotangent times the derivative there, or, of complex numbers, the cotangent's conjugate.
  std::function<std::vector<Expr>(const ScalarGradientArgs&)> gradient = {};
  const char* symbol = nullptr;  // of the operator in formulas: between two operands, before one; null: a call
  std::string hint = {};         // of the message for dtypes that have no signature
  bool commutative = false;
  std::function<std::optional<Dim>(const Node&, std::span<const Dim>)> symbolic = {};
  /// The input by which the derivative divides, so that it may overflow where the value does not; -1: none.
  int singular_in = -1;
  const Accumulation* accumulation = nullptr;
  const IterationsRule* iterations = nullptr;

  // What tests and fuzzers draw from.
  double low = -2, high = 2;            // where it is smooth enough for finite differences
  std::vector<double> edge_cases = {};  // besides 0, -0, inf, -inf, NaN, the largest and smallest numbers
  bool smooth = true;
  double ulps = 0;          // native against reference, float dtypes; 0: equal bits
  double complex_ulps = 0;  // of complex numbers, in units of the modulus; no less than `ulps`

  /// What the errors e of the inputs x become in y = f(x), its rounding apart. Null: the largest change among corners
  /// x +- e, which bounds what is monotone in each input, or has its extremes there.
  double (*spread)(const double* x, const double* e, double y) = nullptr;
  /// The size of the terms that y = f(x) is a sum of, where they may cancel: roundings are relative to them. Null: |y|.
  double (*terms)(double x) = nullptr;
  std::source_location defined_at = std::source_location::current();
  bool spreads_moduli = false;  // `spread` holds for the moduli of complex numbers too
  Rounding rounding = Rounding::kRounds;
};

// Kinds of dtypes.
inline constexpr unsigned kBools = 1, kInts = 2, kFloats = 4, kComplexes = 8;
inline constexpr unsigned kReals = kInts | kFloats, kNumbers = kReals | kComplexes, kAll = kBools | kNumbers;
inline unsigned kind_of(DType dtype) {
  return is_bool(dtype) ? kBools : is_int(dtype) ? kInts : is_float(dtype) ? kFloats : kComplexes;
}

// Families of signatures: all inputs are cast to one dtype, of one of the kinds.
using SignatureRule = std::function<std::optional<Signature>(std::span<const DType>, const Props&)>;
std::optional<DType> promote_all(std::span<const DType> dtypes);
/// add: the promoted dtype gives itself; bools become int64 where `kinds` has none.
SignatureRule same_as_promoted(unsigned kinds);
/// exp: as above, and integers and bools become floatX.
SignatureRule floats_to_same(unsigned kinds = kFloats | kComplexes);
/// less: compared in the promoted dtype.
SignatureRule promoted_to_bool(unsigned kinds);

// References from a C++ function of the signature's input types, made for the kinds named.
template <unsigned kinds, class T>
constexpr bool accepts() {
  if constexpr (std::is_same_v<T, bool>)
    return (kinds & kBools) != 0;
  else if constexpr (std::is_integral_v<T>)
    return (kinds & kInts) != 0;
  else if constexpr (std::is_floating_point_v<T>)
    return (kinds & kFloats) != 0;
  else
    return (kinds & kComplexes) != 0;
}

/// reference1<kFloats>([](auto x) { return std::exp(x); }): a function of one type T; reference2 and reference3 take
/// two and three arguments of it. The result's type must be that of the signature's output.
template <unsigned kinds, size_t arity, class F>
ScalarReference reference_of(F f) {
  return [f](const Signature& s, std::span<const void* const> in, std::span<void* const> out, int64_t n) {
    visit(s.inputs[0], [&](auto zero) {
      using T = decltype(zero);
      if constexpr (accepts<kinds, T>()) {
        auto apply = [&]<size_t... k>(std::index_sequence<k...>) {
          using R = decltype(f((static_cast<void>(k), T())...));
          TH_CHECK(dtype_of<R>() == s.outputs[0], "the reference gives ", name_of(dtype_of<R>()));
          R* y = static_cast<R*>(out[0]);
          for (int64_t i = 0; i < n; ++i) y[i] = f(static_cast<const T*>(in[k])[i]...);
        };
        apply(std::make_index_sequence<arity>());
      } else {
        TH_CHECK(false, "no reference for ", name_of(s.inputs[0]));
      }
    });
  };
}
template <unsigned kinds, class F>
ScalarReference reference1(F f) {
  return reference_of<kinds, 1>(f);
}
template <unsigned kinds, class F>
ScalarReference reference2(F f) {
  return reference_of<kinds, 2>(f);
}
template <unsigned kinds, class F>
ScalarReference reference3(F f) {
  return reference_of<kinds, 3>(f);
}

/// The code of a record for any dtypes; empty where there is none.
std::vector<Parts> code_of(const ScalarOp& record, std::span<const Parts> inputs, const Signature& signature);

/// The Op of a record; both live as long as the program.
const Op& define_elementwise(const ScalarOp& record);

/// Applies an elementwise op: inputs broadcast by NumPy's rules over known lengths of 1. Where floatX decides the dtype
/// of an input, the graph gets a cast.
Expr elementwise(const Op& op, std::vector<Expr> inputs, Props props, std::source_location where);

/// All records, in the order of op_list.inc.
const std::vector<const ScalarOp*>& scalar_ops();

}  // namespace thtrain
