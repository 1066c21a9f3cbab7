// Arguments of another dtype, names of every kind; the values of inputs; functions that were moved from.
#include <gtest/gtest.h>

#include <functional>

#include "compiler/api.h"
#include "compiler/ir/parse.h"
#include "compiler/ops/registry.h"
#include "tests/support/datasets_support.h"
#include "tests/support/error_text.h"

namespace thtrain {
namespace {

TEST(FunctionArguments, IntegersThatAnInputHoldsExactly) {
  for (Mode mode : {Mode::kNative, Mode::kReference, Mode::kDebug}) {
    Expr x = vector("x");
    Function f = function({x}, {x * 2}, {}, {.mode = mode});
    EXPECT_EQ(f({Tensor::vector({1, 2})})[0].text(), "[2, 4]");
    EXPECT_EQ(f({Tensor::vector({1.5, 2.0})})[0].text(), "[3, 4]");
    EXPECT_EQ(f({Tensor::vector<int64_t>({int64_t{1} << 53})})[0].as_double(), 0x1p54);
    EXPECT_EQ(f({Tensor::vector<uint8_t>({255})})[0].as_double(), 510);
  }
  Expr i = ivector("i"), b = tensor("b", {2}, DType::kInt8), h = tensor("h", {1}, DType::kFloat32),
       u = tensor("u", {1}, DType::kUInt64);
  EXPECT_EQ(function({i}, {i + 1})({Tensor::vector({1, 2})})[0].type_text(), "int64[2]");
  EXPECT_EQ(function({b}, {b})({Tensor::vector({-128, 127})})[0].text(), "[-128, 127]");
  EXPECT_EQ(function({h}, {h})({Tensor::vector({1 << 24})})[0].as_double(), 0x1p24);
  EXPECT_EQ(function({u}, {u})({Tensor::vector({7})})[0].type_text(), "uint64[1]");
  EXPECT_EQ(function({In(h, Tensor::vector({3}))}, {h})({})[0].text(), "[3]");  // a default value too
  // A variable's value too; its type is that of its first value.
  Shared w(Tensor::vector({1.0, 2.0}), "w");
  w.set_value(Tensor::vector({3, 4}));
  EXPECT_EQ(w.get_value().text(), "[3, 4]");
}

TEST(FunctionArguments, WhatAnInputDoesNotHoldIsRefused) {
  Expr x = vector("x"), h = tensor("h", {1}, DType::kFloat32), b = tensor("b", {1}, DType::kInt8),
       u = tensor("u", {1}, DType::kUInt64), i = ivector("i"), t = tensor("t", {1}, DType::kBool);
  auto refused = [](const Expr& input, const Tensor& value) {
    Function f = function({input}, {input}, {}, {.mode = Mode::kReference});
    const std::string text = text_without_node([&] { f({value}); });
    return text == str("error: ", input.name(), ": the dtype differs\n  expected: ", readable(input.type().text()),
                       "\n  got:      ", value.type_text());
  };
  EXPECT_TRUE(refused(x, Tensor::vector<int64_t>({(int64_t{1} << 53) + 1})));
  EXPECT_TRUE(refused(x, Tensor::vector({1.0F, 2.0F})));  // floats are never converted
  EXPECT_TRUE(refused(h, Tensor::vector({1.0})));
  EXPECT_TRUE(refused(h, Tensor::vector({(1 << 24) + 1})));
  EXPECT_TRUE(refused(b, Tensor::vector({128})));
  EXPECT_TRUE(refused(u, Tensor::vector({-1})));
  EXPECT_TRUE(refused(i, Tensor::vector({1.0})));
  EXPECT_TRUE(refused(i, Tensor::vector<uint64_t>({uint64_t{1} << 63})));
  EXPECT_TRUE(refused(t, Tensor::vector({1})));
}

TEST(FunctionArguments, ErrorsNameTheFunctionAndTheLineOfTheCall) {
  const int built = __LINE__ + 1;
  Expr x = vector("x");
  Function f = function({x}, {x * 2}, {}, {.name = "twice"});
  const std::vector<Tensor> wrong{Tensor::vector({1.0F})};
  auto node_of = [](const std::function<void()>& call) {
    try {
      call();
    } catch (const UserError& error) {
      return error.messages()[0].node;
    }
    return std::string("no error");
  };
  const std::string leaf = str("built at ", __FILE__, ":", built), called = str("twice is called at ", __FILE__, ":");
  EXPECT_EQ(node_of([&] { f({Tensor::vector({1.0F})}); }), str(leaf, "; ", called, __LINE__));
  EXPECT_EQ(node_of([&] { f(wrong); }), str(leaf, "; ", called, __LINE__));
  EXPECT_EQ(node_of([&] { f(std::map<std::string, Tensor>{{"x", wrong[0]}}); }), str(leaf, "; ", called, __LINE__));
  EXPECT_EQ(node_of([&] { f(std::map<std::string, Tensor>{}); }), str(called, __LINE__));
  EXPECT_EQ(node_of([&] { f({}); }), str(called, __LINE__));
  EXPECT_EQ(node_of([&] { f(std::span<const Tensor>(wrong)); }), leaf) << "a program that calls for others";
}

// C++ numbers are scalars of their dtypes.
TEST(FunctionArguments, NumbersAreScalars) {
  Expr x = vector("x"), rate = scalar("rate"), n = iscalar("n"), h = tensor("h", {}, DType::kFloat32);
  Function f = function({x, rate, n}, {x * rate + n});
  const Tensor ones = Tensor::vector({1.0, 1.0});
  EXPECT_EQ(f({ones, 0.5, 3})[0].text(), "[3.5, 3.5]");
  EXPECT_EQ(f({ones, 2, 3})[0].text(), "[5, 5]") << "an integer that the input holds";
  EXPECT_EQ(f({{"x", ones}, {"rate", 0.5}, {"n", 3}})[0].text(), "[3.5, 3.5]");
  EXPECT_EQ(function({h}, {h})({0.1F})[0].type_text(), "float32[]");
  EXPECT_EQ(function({In(rate, 2.0)}, {rate})({})[0].text(), "2");
  EXPECT_EQ(text_without_node([&] { function({h}, {h})({0.1}); }),
            "error: h: the dtype differs\n  expected: float32[]\n  got:      float64[]");
}

const char* const kNames[] = {"a b\"\n*/}{", "\\",   "x\\", "//", "R\"(", "?\?/", "%d {value}", "gr\u00fc\u00df",
                              "\u202e",      "\xff", "int", "1",  "",     " ",    "\r",         "a~1",
                              "@i"};

// The C++ text, its comments, checks, and everything that explains a program.
TEST(FunctionArguments, NamesOfEveryKindCompile) {
  for (const std::string name : kNames) {
    SCOPED_TRACE(name);
    Scope scope(name);
    Expr x = vector(name), i = iscalar(name);
    Shared w(Tensor::vector({1.0, 2.0}), name);
    Expr y = named(tanh(x * w), name);
    Function f =
        function({x, i}, {named(softmax(y), name), take(y, i), y}, {{w, w + y}}, {.name = name, .use_cache = false});
    ASSERT_TRUE(f.is_native());
    f({Tensor::vector({0.0, 1.0}), Tensor(int64_t{1})});
    const Explanation about = f.explain();
    for (const std::string* text : {&about.graph, &about.canonical, &about.fused, &about.program}) {
      EXPECT_EQ(text->find("\n*/"), std::string::npos) << *text;
      EXPECT_EQ(text->find('\r'), std::string::npos) << *text;
    }
    EXPECT_EQ(graph_text(parse_graph(about.graph, find_op)), about.graph);
    const std::string error = text_without_node([&] { f({Tensor::vector({0.0, 1.0}), Tensor(int64_t{5})}); });
    EXPECT_NE(error.find("take: the index 5 is outside axis 0"), std::string::npos) << error;
  }
}

TEST(FunctionArguments, TwoInputsOfOneName) {
  Expr a = scalar("a"), b = scalar("a"), c = scalar("c");
  Function f = function({a, b, In(c, Tensor(1.0))}, {a - b + c}, {}, {.name = "f"});
  for (const std::map<std::string, Tensor>& given :
       {std::map<std::string, Tensor>{{"a", Tensor(1.0)}}, {{"a", Tensor(1.0)}, {"x", Tensor(2.0)}}})
    EXPECT_EQ(without_call(error_text([&] { f(given); })),
              "error: f: two inputs are called a\n"
              "  expected: names that tell the inputs apart\n"
              "  got:      a float64[], a float64[], c float64[]\n"
              "  hint:     give the arguments in the order of the inputs");
  EXPECT_EQ(f({Tensor(5.0), Tensor(2.0)})[0].text(), "4");
}

TEST(FunctionArguments, AValueOfAnotherTypeThanItsInput) {
  const int built = __LINE__ + 1;
  Expr a = scalar("a"), x = vector("x", {2});
  auto text = [&](const char* expected, const char* got, int called, const char* hint) {
    return str("error: function: the value of an input has another type\n  expected: ", expected, "\n  got:      ", got,
               "\n", "  node:     built at ", __FILE__, ":", built, "; function is called at ", __FILE__, ":", called,
               hint);
  };
  const char* cast = "\n  hint:     cast the value to the input's dtype";
  int called = 0;
  std::string got;
  got = error_text([&] { called = __LINE__, function({In(a, 3.0F)}, {a * 2.0}); });
  EXPECT_EQ(got, text("a float64[]", "float32[]", called, cast));
  got = error_text([&] { called = __LINE__, function({In(a, Tensor::vector({1.0}))}, {a * 2.0}); });
  EXPECT_EQ(got, text("a float64[]", "float64[1]", called, ""));
  got = error_text([&] { called = __LINE__, function({In(x, Tensor::vector({1.0}))}, {x * 2.0}); });
  EXPECT_EQ(got, text("x float64[2]", "float64[1]", called, ""));
  // Integers are converted, as those of a call are.
  EXPECT_EQ(function({In(a, 3)}, {a * 2.5})({})[0].text(), "7.5");
  EXPECT_EQ(function({In(a, Tensor(3.0))}, {a * 2.5})({3})[0].text(), "7.5");
}

TEST(Function, OneThatWasMovedFromIsAnError) {
  Expr x = scalar("x");
  Function f = function({x}, {x * 2}), g = std::move(f);
  int called = 0;
  std::string got;
  const std::string what = "error: a function is used that was moved from",
                    hint = "\n  hint:     use the function that it was moved to, or move a copy";
  auto at_call = [&] { return str(what, "\n  node:     it is called at ", __FILE__, ":", called, hint); };
  got = error_text([&] { called = __LINE__, f({Tensor(1.0)}); });
  EXPECT_EQ(got, at_call());
  got = error_text([&] { called = __LINE__, f(std::map<std::string, Tensor>{{"x", Tensor(1.0)}}); });
  EXPECT_EQ(got, at_call());
  const std::vector<std::function<void()>> others = {[&] { f(std::span<const Tensor>()); },
                                                     [&] { Function copy(f); },
                                                     [&] { f.copy({}); },
                                                     [&] { f.info(); },
                                                     [&] { f.is_native(); },
                                                     [&] { f.is_compiling(); },
                                                     [&] { f.wait(); },
                                                     [&] { f.free(); },
                                                     [&] { f.identity(); },
                                                     [&] { f.name(); },
                                                     [&] { f.explain(); },
                                                     [&] { f.watch({}, {}); },
                                                     [&] { f.start_profile(); },
                                                     [&] { f.profile(); }};
  for (const std::function<void()>& use : others) EXPECT_EQ(error_text(use), what + hint);
  EXPECT_EQ(g({Tensor(1.0)})[0].text(), "2");
}

}  // namespace
}  // namespace thtrain
