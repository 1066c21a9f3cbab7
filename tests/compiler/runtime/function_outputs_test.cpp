// Outputs by their names, and calls that compute some of them.
#include <gtest/gtest.h>

#include "compiler/api.h"
#include "tests/support/datasets_support.h"
#include "tests/support/error_text.h"

namespace thtrain::function_outputs_test {
namespace {

constexpr Mode kModes[] = {Mode::kNative, Mode::kReference, Mode::kDebug, Mode::kNanGuard};

// After Theano's test_dictionary_output.py.
TEST(FunctionOutputs, ByTheirNames) {
  Expr x = scalar("x");
  for (Mode mode : kModes) {
    Function f = function({x}, {{"double", x * 2}, {"square", x * x}, named(x + 1, "next")}, {}, {.mode = mode});
    std::map<std::string, Tensor> values = f.named({3.0});
    EXPECT_EQ(values.size(), 3u);
    EXPECT_EQ(values.at("double").text(), "6");
    EXPECT_EQ(values.at("square").text(), "9");
    EXPECT_EQ(values.at("next").text(), "4");
    EXPECT_EQ(f({3.0})[1].text(), "9") << "by their numbers as before";
  }
}

// After Theano's test_output_subset in test_function_module.py: updates are those of every call.
TEST(FunctionOutputs, SomeOfThem) {
  for (Mode mode : kModes) {
    Expr x = scalar("x"), s = scalar("s");
    Shared calls(0.0, "calls");
    Function f =
        function({x, In(s, {.value = 1.0, .update = s * 2})},
                 {{"double", x * 2}, {"square", x * x * s}, {"calls", calls}}, {{calls, calls + x}}, {.mode = mode});
    std::vector<Tensor> values = f.only({"square"}, {3.0});
    ASSERT_EQ(values.size(), 1u);
    EXPECT_EQ(values[0].text(), "9");
    EXPECT_EQ(calls.scalar(), 3);
    values = f.only({"calls", 0}, {3.0});
    ASSERT_EQ(values.size(), 2u);
    EXPECT_EQ(values[0].text(), "3");
    EXPECT_EQ(values[1].text(), "6");
    EXPECT_EQ(f.only({}, {1.0}).size(), 0u) << "the updates alone";
    EXPECT_EQ(calls.scalar(), 7);
    EXPECT_EQ(f({1.0})[1].text(), "8") << "the input's update happened in each call";
    Function other(f);
    EXPECT_EQ(other.only({"square"}, {1.0})[0].text(), "16");
    EXPECT_EQ(f.only({"square"}, {1.0})[0].text(), "16");
    Shared own(100.0, "own");
    Function copy = f.copy({{calls, own}});
    EXPECT_EQ(copy.only({"calls"}, {1.0})[0].text(), "100");
    EXPECT_EQ(own.scalar(), 101);
  }
}

TEST(FunctionOutputs, OfArgumentsByName) {
  Expr x = scalar("x"), s = scalar("s");
  for (Mode mode : kModes) {
    Function f =
        function({In(s, {.value = 1.0, .update = s * 2}), x}, {{"product", s * x}, {"sum", s + x}}, {}, {.mode = mode});
    EXPECT_EQ(f.named({{"x", 3.0}}).at("product").text(), "3");
    EXPECT_EQ(f.only({"sum"}, {{"x", 3.0}})[0].text(), "5");
    EXPECT_EQ(f.only({"sum"}, {{"x", 3.0}, {"s", 7.0}})[0].text(), "10");
    const std::map<std::string, Tensor> by_name{{"x", 3.0}};
    EXPECT_EQ(f(by_name)[0].text(), "42") << "the call before gave 14";
    EXPECT_EQ(f.named(std::vector<Tensor>{2.0, 3.0}).at("sum").text(), "5");
    EXPECT_EQ(f({{"x", 1.0}})[0].text(), "4");
  }
  Function none = function({}, {{"two", zeros({}) + 2.0}});
  EXPECT_EQ(none.named({}).at("two").text(), "2");
  EXPECT_EQ(none.only({"two"}, {})[0].text(), "2");
}

TEST(FunctionOutputs, OfArgumentsByNamesThatAreNotThere) {
  Expr x = scalar("x");
  Function f = function({x, In(scalar("s"), Tensor(0.0))}, {{"y", x * 2}}, {},
                        {.name = "f", .unused_inputs = UnusedInputs::kAllowed});
  int called = 0;
  const auto at_call = [&] { return str("\n  node:     f is called at ", __FILE__, ":", called); };
  std::string got = error_text([&] { called = __LINE__, f.named({{"s", 1.0}}); });
  EXPECT_EQ(got, str("error: f: the input x is missing\n  expected: x float64[]", at_call()));
  got = error_text([&] { called = __LINE__, f.only({"y"}, {{"x", 1.0}, {"z", 1.0}}); });
  EXPECT_EQ(got, str("error: f: there is no input z\n  expected: x, s", at_call()));
}

// What is not asked for is not computed: the step that would fail is not there.
TEST(FunctionOutputs, TheOthersAreNotComputed) {
  Expr x = vector("x"), i = iscalar("i");
  Function f = function({x, i}, {{"sum", sum(x)}, {"one", take(x, i)}});
  EXPECT_EQ(f.only({"sum"}, {Tensor::vector({1.0, 2.0}), int64_t{7}})[0].text(), "3");
  EXPECT_NE(error_text([&] {
              f.only({"one"}, {Tensor::vector({1.0, 2.0}), int64_t{7}});
            }).find("the index 7"),
            std::string::npos);
}

// Outputs whose lengths the data decides, and lengths that outputs which are left out defined.
TEST(FunctionOutputs, SomeOfThoseWhoseLengthsTheDataDecides) {
  Expr x = vector("x");
  for (Mode mode : kModes) {
    const Expr positive = x[gt(x, 0)];
    Function f =
        function({x}, {{"positive", positive}, {"count", length(positive, 0)}, {"sum", sum(x)}}, {}, {.mode = mode});
    const Tensor at = Tensor::vector({1.0, -2.0, 3.0});
    EXPECT_EQ(f.only({"positive"}, {at})[0].text(), "[1, 3]");
    EXPECT_EQ(f.only({"count"}, {at})[0].text(), "2");
    EXPECT_EQ(f.only({"sum"}, {at})[0].text(), "2");
  }
}

TEST(FunctionOutputs, NamesAndNumbersThatAreNotThere) {
  Expr x = scalar("x");
  Function f = function({x}, {{"loss", x * 2}, x * 3}, {}, {.name = "f"});
  Function g = function({x}, {named(x * 2, "y"), named(x * 3, "y")}, {}, {.name = "g"});
  int called = 0;
  std::string got;
  auto at_call = [&](const char* name) { return str("\n  node:     ", name, " is called at ", __FILE__, ":", called); };
  got = error_text([&] { called = __LINE__, f.only({"los"}, {1.0}); });
  EXPECT_EQ(got, str("error: f: no output is called los\n  expected: loss, (no name)", at_call("f"),
                     "\n  hint:     did you mean loss?"));
  got = error_text([&] { called = __LINE__, f.only({"error"}, {1.0}); });
  EXPECT_EQ(got, str("error: f: no output is called error\n  expected: loss, (no name)", at_call("f"),
                     "\n  hint:     give an output a name: function({x}, {{\"loss\", loss}})"));
  for (int number : {-1, 2}) {
    got = error_text([&] { called = __LINE__, f.only({number}, {1.0}); });
    EXPECT_EQ(got, str("error: f: there is no output of this number\n  expected: a number from 0, below 2\n"
                       "  got:      ",
                       number, at_call("f")));
  }
  got = error_text([&] { called = __LINE__, f.named({1.0}); });
  EXPECT_EQ(got, str("error: f: an output has no name\n  got:      loss, (no name)", at_call("f"),
                     "\n  hint:     give it one: function({x}, {{\"loss\", loss}})"));
  got = error_text([&] { called = __LINE__, g.named({1.0}); });
  EXPECT_EQ(got, str("error: g: two outputs are called y\n  expected: names that tell the outputs apart\n"
                     "  got:      y, y",
                     at_call("g"),
                     "\n  hint:     give their numbers, or names of their own: function({x}, {{\"loss\", loss}})"));
  EXPECT_EQ(g.only({1}, {1.0})[0].text(), "3");
  got = error_text([&] { called = __LINE__, function({x}, {{"y", x * 2}, {"y", x * 3}}); });
  EXPECT_EQ(got, str("error: function: two outputs are called y\n  expected: names that tell the outputs apart",
                     "\n  node:     function is called at ", __FILE__, ":", called));
  got = error_text([&] { called = __LINE__, f.only({"loss"}, {}); });
  EXPECT_EQ(got,
            str("error: f: the number of arguments differs\n  expected: 1: x float64[]\n  got:      0", at_call("f")));
}

}  // namespace
}  // namespace thtrain::function_outputs_test
