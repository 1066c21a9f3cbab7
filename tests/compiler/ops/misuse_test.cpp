// Empty expressions in every argument of every builder are errors with a location, and expressions are no bools.
#include <gtest/gtest.h>

#include <type_traits>

#include "compiler/api.h"
#include "compiler/ops/control/if_else.h"
#include "compiler/ops/control/repeat.h"
#include "compiler/ops/registry.h"
#include "tests/support/error_text.h"
#include "tests/support/op_case_runner.h"

namespace thtrain {
namespace {

bool is_about_an_empty_one(const std::string& text) {
  return text.find(" is an empty expression\n") != std::string::npos;
}

// The cases of all ops, each with one of its inputs left out.
TEST(Misuse, EmptyExpressionInEveryInputOfEveryCase) {
  size_t tried = 0;
  for (const Op* op : all_ops()) {
    if (!op->cases) continue;
    for (const OpCase& c : op->cases()) {
      const CaseInputs in = make_inputs(c, "", 1);
      for (size_t i = 0; i < in.variables.size(); ++i) {
        std::vector<Expr> inputs = in.variables;
        inputs[i] = Expr();
        const std::string text = text_without_node([&] { c.build(inputs); });
        EXPECT_TRUE(is_about_an_empty_one(text)) << op->name << " " << c.name << ", input " << i << ": " << text;
        ++tried;
      }
    }
  }
  EXPECT_GT(tried, 500u);
}

struct Misuse {
  std::string name;
  std::function<void()> run;
};

const Expr none;

std::vector<Misuse> misuses() {
  const Expr x = vector("x"), m = matrix("m"), i = iscalar("i");
  auto body = [](const std::vector<Expr>& state) { return state; };
  auto gives_none = [=](const std::vector<Expr>&) { return std::vector<Expr>{none}; };
  return {
      {"plus", [=] { none + 1; }},
      {"plus, on the right", [=] { 1 + none; }},
      {"of two", [=] { x* none; }},
      {"negated", [=] { -none; }},
      {"compared", [=] { none < x; }},
      {"exp", [=] { exp(none); }},
      {"clip", [=] { clip(x, none, 1); }},
      {"switch_", [=] { switch_(none, x, x); }},
      {"where", [=] { where(none, x, x); }},
      {"plus-equals",
       [=] {
         Expr y = x;
         y += none;
       }},
      {"transposed", [=] { none.T(); }},
      {"logsumexp", [=] { logsumexp(none); }},
      {"one_hot", [=] { one_hot(none, 3); }},
      {"cast", [=] { cast(none, DType::kFloat32); }},
      {"sum", [=] { sum(none); }},
      {"var", [=] { var(none); }},
      {"argmax", [=] { argmax(none); }},
      {"dot", [=] { dot(m, none); }},
      {"outer", [=] { outer(none, x); }},
      {"inverse", [=] { inverse(none); }},
      {"softmax", [=] { softmax(none); }},
      {"cross-entropy", [=] { categorical_crossentropy(m, none); }},
      {"logits", [=] { binary_crossentropy_logits(none, x); }},
      {"reshape",
       [=] {
         reshape(none, {2, 3});
       }},
      {"a length",
       [=] {
         reshape(x, {none, 3});
       }},
      {"zeros", [=] { zeros({none}); }},
      {"zeros_like", [=] { zeros_like(none); }},
      {"full", [=] { full({2}, none); }},
      {"arange", [=] { arange(none); }},
      {"eye", [=] { eye(none); }},
      {"length", [=] { length(none, 0); }},
      {"shape", [=] { shape(none); }},
      {"join",
       [=] {
         join(0, {x, none});
       }},
      {"stack", [=] { stack({none}); }},
      {"split",
       [=] {
         split(none, {1, 2});
       }},
      {"broadcast_like", [=] { broadcast_like(x, none); }},
      {"subtensor", [=] { subtensor(none, {1}); }},
      {"an index", [=] { subtensor(x, {none}); }},
      {"a start", [=] { subtensor(x, {Slice{.start = none}}); }},
      {"[]", [=] { none[0]; }},
      {"[] of several",
       [=] {
         none[{0, 1}];
       }},
      {"[none]", [=] { x[none]; }},
      {"rows", [=] { rows(m, none, 2); }},
      {"take", [=] { take(m, none); }},
      {"take_along_axis", [=] { take_along_axis(m, none, 0); }},
      {"sort", [=] { sort(none); }},
      {"argtopk", [=] { argtopk(none, 2); }},
      {"a number of elements", [=] { topk(x, none); }},
      {"searchsorted", [=] { searchsorted(x, none); }},
      {"bincount", [=] { bincount(none); }},
      {"histogram, its edges", [=] { histogram(x, none); }},
      {"unique", [=] { unique(none); }},
      {"cumprod", [=] { cumprod(none); }},
      {"pick_rows", [=] { pick_rows(m, none); }},
      {"set_subtensor", [=] { set_subtensor(none, 1); }},
      {"set to nothing", [=] { set_subtensor(x[0], none); }},
      {"inc_subtensor", [=] { inc_subtensor(none, x); }},
      {"print", [=] { print(none, "here"); }},
      {"check", [=] { check(x, none, "must hold"); }},
      {"repeat", [=] { repeat(2, {none}, body); }},
      {"repeat, a result", [=] { repeat(2, {x}, gives_none); }},
      {"if_else",
       [=] {
         if_else(
             none, [=] { return x; }, [=] { return x; });
       }},
      {"if_else, a result",
       [=] {
         if_else(
             lt(sum(x), 1), [=] { return x; }, [=] { return none; });
       }},
      {"named", [=] { named(none, "n"); }},
      {"type", [=] { none.type(); }},
      {"dtype", [=] { none.dtype(); }},
      {"rank", [=] { none.rank(); }},
      {"dims", [=] { none.dims(); }},
      {"name", [=] { none.name(); }},
      {"expr_text", [=] { expr_text(none); }},
      {"graph_text",
       [=] {
         graph_text({{x}, {none}, {}});
       }},
      {"is_shared", [=] { is_shared(none); }},
      {"constant_number", [=] { constant_number(none); }},
      {"symbolic_value", [=] { symbolic_value(none); }},
      {"apply",
       [=] {
         apply(dot_op(), {m, none});
       }},
      {"grad", [=] { grad(none, x); }},
      {"grad to nothing", [=] { grad(sum(x), none); }},
      {"grad, one of several",
       [=] {
         grad(sum(x), std::vector<Expr>{x, none});
       }},
      {"grad, disconnected", [=] { grad(none, x, {.disconnected = Disconnected::kZero}); }},
      {"grad, constant", [=] { grad(sum(x), x, {.consider_constant = {none}}); }},
      {"grad, known",
       [=] {
         grad(none, x, {.known_grads = {{none, x}}});
       }},
      {"grad, known to be nothing",
       [=] {
         grad(none, x, {.known_grads = {{x, none}}});
       }},
      {"In", [=] { In{none}; }},
      {"Out", [=] { Out{none}; }},
      {"function, inputs", [=] { function({none}, {x}); }},
      {"function, outputs", [=] { function({x}, {none}); }},
      {"function, updated",
       [=] {
         function({x}, {x}, {{none, x}});
       }},
      {"function, update",
       [=] {
         function({x}, {x}, {{Shared(1.0), none}});
       }},
      {"function, given from",
       [=] {
         function({x}, {x}, {}, {.givens = {{none, x}}});
       }},
      {"function, given to",
       [=] {
         function({x}, {x}, {}, {.givens = {{x, none}}});
       }},
  };
}

TEST(Misuse, EmptyExpressionInEveryBuilder) {
  for (const Misuse& misuse : misuses()) {
    const std::string text = text_without_node(misuse.run);
    EXPECT_TRUE(is_about_an_empty_one(text)) << misuse.name << ": " << text;
  }
}

TEST(Misuse, TextAndPlaceOfTheErrorOfAnEmptyExpression) {
  try {
    exp(Expr());
    FAIL();
  } catch (const UserError& error) {
    const std::string file = error.messages()[0].node;
    EXPECT_NE(file.find("compiler/ops/misuse_test.cpp:"), std::string::npos) << file;
  }
  EXPECT_EQ(text_without_node([] { exp(Expr()); }),
            "error: an operand is an empty expression\n"
            "  expected: an expression that was built before\n"
            "  got:      Expr(), which has no value\n"
            "  hint:     Expr::has_value() tells whether there is one");
  // Where the caller's line is known, it is in the message.
  for (const Misuse& misuse : misuses()) {
    if (misuse.name.starts_with("function") || misuse.name.starts_with("grad") || misuse.name == "Out") {
      try {
        misuse.run();
      } catch (const UserError& error) {
        EXPECT_NE(error.messages()[0].node.find("misuse_test.cpp:"), std::string::npos) << misuse.name;
      }
    }
  }
}

// What must not compile is tried by a compiler too (tests/misuse): templates such as std::max are not asked here.
template <class T>
concept DecidesAnIf = requires(const T& x) {
  x ? 1 : 0;
};
template <class T>
concept HasAnd = requires(const T& x) {
  x&& x;
}
|| requires(const T& x) {
  x && true;
};
template <class T>
concept HasOr = requires(const T& x) {
  x || x;
}
|| requires(const T& x) {
  true || x;
};
template <class T>
concept HasNot = requires(const T& x) {
  !x;
};
template <class T>
concept HasEqual = requires(const T& x) {
  x == x;
};

static_assert(!std::is_constructible_v<bool, Expr> && !std::is_constructible_v<bool, Shared>);
static_assert(!DecidesAnIf<Expr> && !HasAnd<Expr> && !HasOr<Expr> && !HasNot<Expr> && !HasEqual<Expr>);
static_assert(!DecidesAnIf<Shared> && !HasAnd<Shared> && !HasOr<Shared> && !HasNot<Shared>);
static_assert(DecidesAnIf<bool> && HasAnd<bool> && HasOr<bool> && HasNot<bool> && HasEqual<bool>);

// keepdims is a bool and nothing else, ddof is a Ddof.
static_assert(std::is_convertible_v<bool, KeepDims> && !std::is_convertible_v<int, KeepDims>);
static_assert(!std::is_convertible_v<int, Ddof> && !std::is_convertible_v<bool, Ddof>);
static_assert(std::is_constructible_v<Ddof, int> && !std::is_constructible_v<Ddof, bool>);

TEST(Misuse, TheThirdArgumentOfVarIsKeepdimsAsThatOfSum) {
  Expr x = tensor("x", {3, 4}, DType::kFloat64);
  EXPECT_EQ(var(x, 0, true).type().text(), "float64[1, 4]");
  EXPECT_EQ(sum(x, 0, true).type().text(), "float64[1, 4]");
  EXPECT_EQ(thtrain::std(x, 0, true, Ddof(1)).type().text(), "float64[1, 4]");
}

}  // namespace
}  // namespace thtrain
