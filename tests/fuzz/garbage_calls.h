// Every public function, as a call that takes what Garbage gives.
#pragma once

#include <functional>
#include <string>
#include <tuple>
#include <vector>

#include "tests/fuzz/garbage.h"

namespace thtrain {

struct GarbageCall {
  std::string name;                                        // "dimshuffle", "Tensor.view"
  std::function<std::vector<Expr>(Garbage& garbage)> run;  // the expressions that it gives
  bool is_builder = true;                                  // does it give expressions?
};

// ---- the expressions of a result ----

inline std::vector<Expr> exprs_of(const Expr& result) {
  return {result};
}
inline std::vector<Expr> exprs_of(const std::vector<Expr>& result) {
  return result;
}
inline std::vector<Expr> exprs_of(const std::pair<Expr, Expr>& result) {
  return {result.first, result.second};
}
inline std::vector<Expr> exprs_of(const Drawn& result) {
  return {result.next, result.sample};
}
inline std::vector<Expr> exprs_of(const Repeated& result) {
  return result.state;
}
inline std::vector<Expr> exprs_of(const BatchNormalization& result) {
  return {result.output, result.mean, result.inverse_deviation};
}
template <class T>
std::vector<Expr> exprs_of(const Scanned<T>& result) {
  return exprs_of(result.outputs);
}

template <class R>
concept GivesExpressions = requires(const R& result) {
  exprs_of(result);
};

template <class R, class... A>
std::vector<Expr> run_with_garbage(const std::function<R(A...)>& function, Garbage& garbage) {
  // In braces: the arguments are drawn in their order.
  std::tuple<std::remove_cvref_t<A>...> arguments{garbage.draw<std::remove_cvref_t<A>>()...};
  auto call = [&](std::remove_cvref_t<A>&... each) -> R { return function(each...); };
  if constexpr (GivesExpressions<R>) {
    return exprs_of(std::apply(call, arguments));
  } else {
    std::apply(call, arguments);
    return {};
  }
}

/// Of a function, or a lambda: its parameters say what is drawn.
template <class F>
GarbageCall garbage_call(std::string name, F function) {
  std::function call = function;
  constexpr bool is_builder = GivesExpressions<typename decltype(call)::result_type>;
  return {std::move(name), [call](Garbage& garbage) { return run_with_garbage(call, garbage); }, is_builder};
}

/// Builders of expressions; derivatives, functions, arrays and generators; nn and trainers.
void add_builders(std::vector<GarbageCall>& calls);
void add_control(std::vector<GarbageCall>& calls);
void add_array_builders(std::vector<GarbageCall>& calls);
void add_graphs(std::vector<GarbageCall>& calls);
void add_streams(std::vector<GarbageCall>& calls);
void add_objects(std::vector<GarbageCall>& calls);
void add_sparse(std::vector<GarbageCall>& calls);
void add_models(std::vector<GarbageCall>& calls);

}  // namespace thtrain
