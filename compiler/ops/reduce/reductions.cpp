// The records of sum, prod, min, max, any and all. Everything else about them is made from these in reduce_op.cpp.
#include <cmath>
#include <limits>

#include "compiler/ops/elemwise/complex_maths.h"
#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/error_rules.h"
#include "compiler/ops/reduce/reduce.h"
#include "compiler/ops/reduce/reduce_op.h"
#include "compiler/ops/registry.h"

namespace thtrain {
namespace {

using kernel::Term;

// What the reference accumulates in: exact integers modulo 2^64, floats wide enough to round only once.
template <class T>
auto wide(T x) {
  if constexpr (std::is_same_v<T, float>)
    return static_cast<double>(x);
  else if constexpr (std::is_same_v<T, double>)
    return static_cast<long double>(x);
  else if constexpr (std::is_same_v<T, std::complex<float>>)
    return std::complex<double>(x);
  else if constexpr (std::is_same_v<T, std::complex<double>>)
    return std::complex<long double>(x);
  else
    return static_cast<uint64_t>(x);  // signed numbers wrap around by it
}

// The C++ type of sum_dtype().
template <class T>
using SumOf =
    std::conditional_t<!std::is_integral_v<T>, T,
                       std::conditional_t<std::is_unsigned_v<T> && !std::is_same_v<T, bool>, uint64_t, int64_t>>;

// A reference from fold(const T* x, int64_t n) -> result.
template <class F>
std::function<void(DType, const void*, int64_t, void*)> reference(F fold) {
  return [fold](DType element, const void* x, int64_t n, void* result) {
    visit(element, [&](auto zero) {
      using T = decltype(zero);
      auto value = fold(static_cast<const T*>(x), n);
      *static_cast<decltype(value)*>(result) = value;
    });
  };
}

std::optional<DType> sums(DType dtype) {
  return sum_dtype(dtype);
}
std::optional<DType> ordered(DType dtype) {
  return is_complex(dtype) ? std::nullopt : std::optional(dtype);
}
std::optional<DType> truth(DType) {
  return DType::kBool;
}

Expr scalar_zero_of(const Expr& like) {
  return Operand(0).for_dtype(like.dtype());
}

// Elements for each result.
int64_t reduced_elements(const ErrorArgs& a) {
  return a.inputs[0].size() / std::max<int64_t>(a.outputs[0].size(), 1);
}

// ---- sum, prod -----------------------------------------------------------------------------------------------------

// With p the product of the elements that are not 0: dx = dy p / x in a line without zeros; with one zero, dy p at the
// zero and 0 elsewhere; with more, 0.
Expr prod_gradient(const Expr& x, const Expr&, const Expr& dy, const Ints& axes) {
  Expr zero = eq(x, 0);
  Expr nonzero = switch_(zero, Operand(1).for_dtype(x.dtype()), x);
  Expr p = dy * prod(nonzero, axes, true);
  Expr zeros = sum(zero, axes, true);
  Expr at_zero = switch_(logical_and(eq(zeros, 1), zero), p, scalar_zero_of(x));
  return switch_(eq(zeros, 0), p / nonzero, at_zero);
}

// ---- min, max ------------------------------------------------------------------------------------------------------

// The extremum's neutral value: an infinity, or the last integer on the other side.
template <bool is_max>
Term extremum_identity(DType dtype) {
  return visit(dtype, [&](auto zero) {
    using T = decltype(zero);
    using Limits = std::numeric_limits<T>;
    if constexpr (is_complex_v<T>) {
      TH_CHECK(false, "complex numbers have no order");
      return Term();
    } else if constexpr (std::is_floating_point_v<T>) {
      return kernel::constant(dtype, is_max ? -Limits::infinity() : Limits::infinity());
    } else {
      return kernel::constant_int(dtype, static_cast<int64_t>(is_max ? Limits::min() : Limits::max()));
    }
  });
}

template <bool is_max>
Term extremum_combine(Term a, Term b) {
  if (is_bool(a.dtype())) return is_max ? a || b : a && b;
  return kernel::extremum(is_max, a, b);
}

template <bool is_max, bool lowest_of_none = false>
auto extremum_reference() {
  return reference([](const auto* x, int64_t n) {
    using T = std::decay_t<decltype(*x)>;
    using Limits = std::numeric_limits<T>;
    if (lowest_of_none && n == 0) return Limits::has_infinity ? T(-Limits::infinity()) : Limits::lowest();
    TH_CHECK(n > 0, "an extremum of no elements");
    T best = x[0];
    if constexpr (!is_complex_v<T>) {
      for (int64_t i = 1; i < n; ++i)
        if ((is_max ? x[i] > best : x[i] < best) || x[i] != x[i]) best = x[i];
    }
    return best;
  });
}

Expr extremum_gradient(const Expr& x, const Expr& y, const Expr& dy, const Ints&) {
  return switch_(logical_or(eq(x, y), isnan(x)), dy, scalar_zero_of(x));
}

// The extremum moves no farther than the element that moves most.
std::vector<Tensor> extremum_error(const ErrorArgs& a) {
  if (all_zero(a.errors[0])) return {a.make_error()};
  const Expr error = make_input({.dtype = DType::kFloat64, .dims = a.node.inputs[0].dims()}, "e");
  return {a.evaluate(apply(max_op(), {error}, a.node.props).node(), std::vector{a.errors[0]})[0]};
}

template <bool is_max, bool lowest_of_none = false>
Reduction extremum(const char* name, const char* doc) {
  return {.name = name,
          .doc = doc,
          .dtype = ordered,
          .identity = extremum_identity<is_max>,
          .combine = extremum_combine<is_max>,
          .lanes = is_max ? "max" : "min",
          .empty_allowed = lowest_of_none,
          .reference = extremum_reference<is_max, lowest_of_none>(),
          .gradient = extremum_gradient,
          .error = extremum_error,
          .int_low = -100,
          .int_high = 100};
}

// A record and its op, which points to it.
struct Defined {
  Reduction record;
  Op op;

  Defined(Reduction r, const Op& (*self)()) : record(std::move(r)), op(define_reduction(record, self)) {}
  Defined(const Defined&) = delete;
};

}  // namespace

const Op& sum_op() {
  static const Defined defined{
      {.name = "sum",
       .doc = "The sum of x over axes.\n"
              "dtypes: integers and bool give int64 or uint64; floats and complex numbers keep their dtype.\n"
              "Gradient: dx = dy, repeated along the axes.\n"
              "Edge cases: 0 without elements. Integers wrap around. Floats are added in blocks, see reduce.h.\n"
              "Example: of [1, 2, 3]: 6",
       .dtype = sums,
       .identity = [](DType dtype) { return kernel::constant_int(dtype, 0); },
       .combine = [](Term a, Term b) { return a + b; },
       .lanes = "add",
       .rounds = true,
       .reference = reference([](const auto* x, int64_t n) {
         auto total = wide(std::decay_t<decltype(*x)>());
         for (int64_t i = 0; i < n; ++i) total += wide(x[i]);
         return static_cast<SumOf<std::decay_t<decltype(*x)>>>(total);
       }),
       .gradient = [](const Expr& x, const Expr&, const Expr& dy, const Ints&) { return repeat_like(dy, x); },
       .error = [](const ErrorArgs& a) { return multilinear_error(a, roundings_of_sum(reduced_elements(a))); },
       .ulps = 8},
      sum_op};
  return defined.op;
}

const Op& prod_op() {
  static const Defined defined{
      {.name = "prod",
       .doc = "The product of x over axes.\n"
              "dtypes: integers and bool give int64 or uint64; floats and complex numbers keep their dtype.\n"
              "Gradient: dx = dy prod(x) / x, and where x is 0: dy times the product of the others. A second "
              "derivative is right where a line has no zeros.\n"
              "Edge cases: 1 without elements. Integers wrap around.\n"
              "Example: of [2, 3, 4]: 24",
       .dtype = sums,
       .identity = [](DType dtype) { return kernel::constant_int(dtype, 1); },
       .combine = [](Term a, Term b) { return a * b; },
       .combine_complex = [](const Parts& a, const Parts& b) { return a * b; },
       .lanes = "mul",
       .is_wide = true,
       .reference = reference([](const auto* x, int64_t n) {
         auto total = wide(static_cast<std::decay_t<decltype(*x)>>(1));
         for (int64_t i = 0; i < n; ++i) total = product(total, wide(x[i]));
         return static_cast<SumOf<std::decay_t<decltype(*x)>>>(total);
       }),
       .gradient = prod_gradient,
       .error = [](const ErrorArgs& a) { return multilinear_error(a, static_cast<double>(reduced_elements(a)) + 1); },
       .ulps = 256,
       .int_low = 1},
      prod_op};
  return defined.op;
}

const Op& min_op() {
  static const Defined defined{
      extremum<false>(
          "min",
          "The least element of x over axes.\n"
          "Gradient: dx = dy at every element that equals the result (or is NaN), 0 elsewhere.\n"
          "Edge cases: NaN where one is NaN; an error without elements. Which of 0 and -0 is given is not said.\n"
          "Example: of [3, 1, 2]: 1"),
      min_op};
  return defined.op;
}

const Op& max_op() {
  static const Defined defined{
      extremum<true>(
          "max",
          "The greatest element of x over axes.\n"
          "Gradient: dx = dy at every element that equals the result (or is NaN), 0 elsewhere.\n"
          "Edge cases: NaN where one is NaN; an error without elements. Which of 0 and -0 is given is not said.\n"
          "Example: of [3, 1, 2]: 3"),
      max_op};
  return defined.op;
}

const Op& max_or_lowest_op() {
  static const Defined defined{extremum<true, true>("max_or_lowest",
                                                    "As max, and -inf without elements. The optimizer takes it for "
                                                    "log(sum(exp(x))) over lengths that only the call knows.\n"
                                                    "Gradient: that of max.\n"
                                                    "Edge cases: of integers the lowest one without elements.\n"
                                                    "Example: of no elements: -inf"),
                               max_or_lowest_op};
  return defined.op;
}

const Op& any_op() {
  static const Defined defined{{.name = "any",
                                .doc = "Is an element of x over axes true: unequal to 0.\n"
                                       "Gradient: none.\n"
                                       "Edge cases: false without elements; NaN is true.\n"
                                       "Example: of [0, 1]: 1",
                                .dtype = truth,
                                .identity = [](DType) { return kernel::constant_int(DType::kBool, 0); },
                                .combine = [](Term a, Term b) { return a || b; },
                                .lanes = "or",
                                .reference = reference([](const auto* x, int64_t n) {
                                  bool found = false;
                                  for (int64_t i = 0; i < n; ++i) found = found || x[i] != std::decay_t<decltype(*x)>();
                                  return found;
                                }),
                                .error = extremum_error,
                                .int_high = 2},
                               any_op};
  return defined.op;
}

const Op& all_op() {
  static const Defined defined{{.name = "all",
                                .doc = "Are all elements of x over axes true: unequal to 0.\n"
                                       "Gradient: none.\n"
                                       "Edge cases: true without elements; NaN is true.\n"
                                       "Example: of [0, 1]: 0",
                                .dtype = truth,
                                .identity = [](DType) { return kernel::constant_int(DType::kBool, 1); },
                                .combine = [](Term a, Term b) { return a && b; },
                                .lanes = "and",
                                .reference = reference([](const auto* x, int64_t n) {
                                  bool kept = true;
                                  for (int64_t i = 0; i < n; ++i) kept = kept && x[i] != std::decay_t<decltype(*x)>();
                                  return kept;
                                }),
                                .error = extremum_error,
                                .int_high = 2},
                               all_op};
  return defined.op;
}

const std::vector<const Op*>& reduction_ops() {
  static const std::vector<const Op*> ops = [] {
    std::vector<const Op*> out;
    for (const Op* op : all_ops())
      if (op->reduction) out.push_back(op);
    return out;
  }();
  return ops;
}

}  // namespace thtrain
