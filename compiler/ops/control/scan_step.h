// The step function of a loop, whatever its parameters and results are.
#pragma once

#include <concepts>
#include <functional>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "compiler/ir/graph.h"
#include "compiler/ops/operand.h"

namespace thtrain {

// ---- control --------------------------------------------------------------------------------------------------------

/// The condition that ends a scan. See scan().
struct Until {
  Expr condition;
};
inline Until until(const Operand& condition) {
  return {condition.expr()};
}

// ---- for other parts of the compiler --------------------------------------------------------------------------------

namespace step_types {

template <class T>
concept Value = std::convertible_to<T, Expr>;

// Parameters and result of a function: of a function object, by its call operator.
template <class F>
struct Signature : Signature<decltype(&F::operator())> {};
template <class R, class... A>
struct Signature<R (*)(A...)> {
  using Result = std::decay_t<R>;
  static constexpr size_t kParameters = sizeof...(A);
  static constexpr bool kTakesVector =
      (std::is_same_v<std::decay_t<A>, std::vector<Expr>> && ... && (sizeof...(A) == 1));
  static constexpr bool kTakesValues = (std::is_same_v<std::decay_t<A>, Expr> && ...);
};
template <class C, class R, class... A>
struct Signature<R (C::*)(A...) const> : Signature<R (*)(A...)> {};

template <class T>
struct Parts {  // of a result that is one value, or a vector
  using All = std::tuple<T>;
};
template <class A, class B>
struct Parts<std::pair<A, B>> {
  using All = std::tuple<A, B>;
};
template <class... T>
struct Parts<std::tuple<T...>> {
  using All = std::tuple<T...>;
};

template <class All>
struct Shape;
template <class... T>
struct Shape<std::tuple<T...>> {
  static constexpr bool kIsValid = ((Value<T> || std::is_same_v<T, std::vector<Expr>> ||
                                     std::is_same_v<T, std::vector<Update>> || std::is_same_v<T, Until>)&&...);
  static constexpr bool kGivesOne = (Value<T> || ...);
  static constexpr bool kUntilIsLast = [] {
    const bool is_until[] = {std::is_same_v<T, Until>...};
    for (size_t i = 0; i + 1 < sizeof...(T); ++i)
      if (is_until[i]) return false;
    return true;
  }();
};

}  // namespace step_types

class ScanStep {
 public:
  struct Result {
    std::vector<Expr> outputs = {};
    std::vector<Update> updates = {};
    std::optional<Expr> until = {};
  };

  template <class F>
  explicit ScanStep(const F& f) {
    using Signature = step_types::Signature<F>;
    using Shape = step_types::Shape<typename step_types::Parts<typename Signature::Result>::All>;
    static_assert(Signature::kTakesVector || Signature::kTakesValues,
                  "the parameters of a step function are of type Expr, or one std::vector<Expr>");
    static_assert(Shape::kIsValid,
                  "a step function gives an Expr, a std::vector<Expr>, a std::vector<Update>, or a pair or tuple of "
                  "one of them, updates and until(condition)");
    static_assert(Shape::kUntilIsLast, "until(condition) is the last that a step function gives");
    if constexpr (!Signature::kTakesVector) parameters_ = Signature::kParameters;
    call_ = [f](const std::vector<Expr>& arguments) {
      Result out;
      add(out, call(f, arguments, std::make_index_sequence<Signature::kParameters>()));
      return out;
    };
  }

  /// How many values it takes; none: any number.
  std::optional<size_t> parameters() const { return parameters_; }
  Result operator()(const std::vector<Expr>& arguments) const { return call_(arguments); }

  /// How a scan gives the outputs: as one Expr where the step function gives one.
  template <class F>
  static constexpr bool kGivesOne =
      step_types::Shape<typename step_types::Parts<typename step_types::Signature<F>::Result>::All>::kGivesOne;
  template <class F>
  using OutputsOf = std::conditional_t<kGivesOne<F>, Expr, std::vector<Expr>>;
  template <class F>
  static OutputsOf<F> outputs_of(std::vector<Expr> outputs) {
    if constexpr (kGivesOne<F>)
      return std::move(outputs.at(0));
    else
      return outputs;
  }

 private:
  template <class F, size_t... I>
  static auto call(const F& f, const std::vector<Expr>& arguments, std::index_sequence<I...>) {
    if constexpr (step_types::Signature<F>::kTakesVector)
      return f(arguments);
    else
      return f(arguments[I]...);
  }
  template <step_types::Value T>
  static void add(Result& out, const T& value) {
    out.outputs.push_back(value);
  }
  static void add(Result& out, const std::vector<Expr>& outputs) { out.outputs = outputs; }
  static void add(Result& out, const std::vector<Update>& updates) { out.updates = updates; }
  static void add(Result& out, const Until& end) { out.until = end.condition; }
  template <class A, class B>
  static void add(Result& out, const std::pair<A, B>& parts) {
    add(out, parts.first);
    add(out, parts.second);
  }
  template <class... T>
  static void add(Result& out, const std::tuple<T...>& parts) {
    std::apply([&](const auto&... part) { (add(out, part), ...); }, parts);
  }

  std::optional<size_t> parameters_ = {};
  std::function<Result(const std::vector<Expr>&)> call_;
};

}  // namespace thtrain
