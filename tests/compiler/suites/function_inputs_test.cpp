// After PyTensor's tests/compile/function/test_types.py (Theano's test_function_module.py), test_pfunc.py and
// test_dictionary_output.py: what inputs are told, values that functions have of their own, outputs by name and some of
// them. The expected numbers are those that these tests state. See function_test.cpp.
#include "tests/compiler/suites/function_cases.h"

namespace thtrain::function_inputs_suite {
namespace {

Tensor bytes(std::initializer_list<int8_t> values) {
  return Tensor::vector<int8_t>(values);
}

Expr input(const char* name, size_t rank, DType dtype) {
  return tensor_of_rank(name, rank, dtype);
}

InOptions converted() {
  return {.allow_downcast = true};
}

TEST(FunctionSuite, Conversions) {
  expect_cases({
      {"TestPfunc.test_param_allow_downcast_int",
       [](Mode mode) {
         const Expr a = input("a", 1, DType::kInt16), b = input("b", 1, DType::kInt8), c = input("c", 0, DType::kInt8);
         Function f = function({In(a, converted()), b, c}, {a + b + c}, {}, {.mode = mode});
         const Tensor small(int8_t{1}), large(int64_t{806}), long_ones = Tensor::vector<int64_t>({1 << 20});
         return elements({f({Tensor::vector({3}), bytes({6}), small})[0], f({long_ones, bytes({1}), small})[0],
                          is_refused([&] {
                            f({bytes({3}), Tensor::vector({312}), small});
                          }),
                          is_refused([&] {
                            f({bytes({3}), bytes({6}), large});
                          })});
       },
       {10, 2, 1, 1}},
      {"TestPfunc.test_param_allow_downcast_floatX",
       [](Mode mode) {
         const Expr a = input("a", 0, DType::kFloat32), b = input("b", 0, DType::kFloat32);
         Function f = function({In(a, converted()), b}, {a + b}, {}, {.mode = mode});
         return elements({f({0, 0})[0], f({0.5, 0})[0], is_refused([&] { f({0, 0.5}); })});
       },
       {0, 0.5, 1}},
      {"TestPfunc.test_param_allow_downcast_vector_floatX",
       [](Mode mode) {
         const Expr a = input("a", 1, DType::kFloat32), b = input("b", 1, DType::kFloat32);
         Function f = function({In(a, converted()), b}, {a + b}, {}, {.mode = mode});
         const Tensor zero = Tensor::vector({0.0F});
         return elements({f({zero, zero})[0], f({vector_of({0.5}), zero})[0], is_refused([&] {
                            f({zero, vector_of({0.5})});
                          })});
       },
       {0, 0.5, 1}},
      {"TestPfunc.test_allow_input_downcast_int",
       [](Mode mode) {
         const Expr a = input("a", 1, DType::kInt8);
         Function f = function({In(a, converted())}, {a + int8_t{1}}, {}, {.mode = mode});
         Function g = function({a}, {a + int8_t{1}}, {}, {.mode = mode});
         const Tensor large = Tensor::vector({257});
         return elements({f({large})[0], is_refused([&] { g({large}); }), g({Tensor::vector({7})})[0]});
       },
       {2, 1, 8}},
      {"TestFunctionIn.test_in_allow_downcast_int",
       [](Mode mode) {
         const Expr a = input("a", 1, DType::kInt16);
         Function f = function({In(a, converted())}, {a + int16_t{1}}, {}, {.mode = mode});
         return elements(
             {f({Tensor::vector({3})})[0], f({Tensor::vector<int64_t>({(1 << 16) + 3})})[0], f({vector_of({2.9})})[0]});
       },
       {4, 4, 3}},
      {"TestFunctionIn.test_in_allow_downcast_floatX",
       [](Mode mode) {
         const Expr a = input("a", 0, DType::kFloat32), b = input("b", 0, DType::kFloat32);
         Function f = function({In(a, converted()), In(b, InOptions{.strict = true})}, {a + b}, {}, {.mode = mode});
         return elements({f({1.5, 2.0F})[0], is_refused([&] { f({1.5F, 2}); })});
       },
       {3.5, 1}},
      {"TestFunctionIn.test_in_allow_downcast_vector_floatX",
       [](Mode mode) {
         const Expr a = input("a", 1, DType::kFloat32);
         Function f = function({In(a, converted())}, {a * 2.0F}, {}, {.mode = mode});
         return elements({f({vector_of({1.5, 0})})[0], f({Tensor::vector({3, 4})})[0]});
       },
       {3, 0, 6, 8}},
      {"TestFunctionIn.test_in_strict[refused]",
       [](Mode mode) {
         const Expr a = vector("a");
         Function f = function({In(a, InOptions{.strict = true})}, {a + 1}, {}, {.mode = mode});
         return elements({f({vector_of({1})})[0], is_refused([&] { f({Tensor::vector({1})}); })});
       },
       {2, 1}},
      {"TestFunctionIn.test_in_mutable",
       [](Mode mode) {
         const Expr a = vector("a", {3});
         Function writes = function({In(a, InOptions{.is_mutable = true})}, {a * 2}, {}, {.mode = mode});
         Function reads = function({a}, {a * 2}, {}, {.mode = mode});
         const Tensor kept = vector_of({1, 2, 3});
         return elements({writes({kept.copy()})[0], reads({kept})[0], kept});
       },
       {2, 4, 6, 2, 4, 6, 1, 2, 3}},
      {"TestPfunc.test_param_mutable",
       [](Mode mode) {
         const Expr p = vector("p", {10});
         Function q = function({In(p, InOptions{.is_mutable = true})}, {p * 2}, {}, {.mode = mode});
         Function keeps = function({p}, {p * 2}, {}, {.mode = mode});
         const Tensor zeros = count({10});
         return elements({sum_of(keeps({zeros})[0]), sum_of(zeros), sum_of(q({zeros.copy()})[0])});
       },
       {90, 45, 90}},
  });
}

TEST(FunctionSuite, ValuesOfTheirOwn) {
  expect_cases({
      {"TestFunctionIn.test_in_update",
       [](Mode mode) {
         const Expr a = scalar("a");
         Function f = function({In(a, {.value = 0.0, .update = a + 1})}, {a}, {}, {.mode = mode});
         return elements({f({})[0], f({})[0], f({})[0]});
       },
       {0, 1, 2}},
      {"TestFunctionIn.test_in_update_shared",
       [](Mode mode) {
         const Shared shared(1.0, "shared");
         const Expr a = scalar("a");
         Function f = function({In(a, {.value = 0.0, .update = shared})}, {a}, {{shared, shared + 1}}, {.mode = mode});
         return elements({f({})[0], f({})[0], f({})[0], shared.get_value()});
       },
       {0, 1, 2, 4}},
      {"TestFunction.test_state_access",
       [](Mode mode) {
         const Expr a = scalar("a"), x = scalar("x"), s = scalar("s");
         const Expr sum = s + a * x;
         Function f = function({x, In(a, number(1)), In(s, {.value = 0.0, .update = sum})}, {sum}, {}, {.mode = mode});
         return elements(
             {f({3.0})[0], f({{"x", 3.0}, {"a", 2.0}})[0], f({3.0})[0], f({3.0, 1.0, 5.0})[0], f({0.0})[0]});
       },
       {3, 9, 12, 8, 8}},
      {"TestFunction.test_same_names",
       [](Mode mode) {
         const Expr a = scalar("x"), x = scalar("x"), s = scalar("x");
         Function f = function({a, x, s}, {a + x + s}, {}, {.mode = mode});
         return elements({f({1.0, 2.0, 3.0})[0], is_refused([&] { f({{"x", 1.0}}); })});
       },
       {6, 1}},
      {"TestFunction.test_naming_rule2",
       [](Mode mode) {
         const Expr a = scalar(""), x = scalar("x"), s = scalar("s");
         Function f = function({x, a, s}, {a / s + x}, {}, {.mode = mode});
         return elements({f({9.0, 2.0, 4.0})[0], f({9.0, 2.0, 2.0})[0], is_refused([&] { f({5.0}); })});
       },
       {9.5, 10, 1}},
      {"TestFunction.test_naming_rule3",
       [](Mode mode) {
         const Expr a = scalar("a"), x = scalar("x"), s = scalar("s");
         Function f = function({x, In(a, number(1)), s}, {a / s + x}, {}, {.mode = mode});
         return elements({f({9.0, 2.0, 4.0})[0], f({{"x", 9.0}, {"s", 4.0}})[0], is_refused([&] { f({{"x", 9.0}}); })});
       },
       {9.5, 9.25, 1}},
      {"TestFunction.test_naming_rule4",
       [](Mode mode) {
         const Expr x = scalar("x"), a = scalar("a"), s = scalar("s");
         Function f = function({x, In(a, number(1)), s}, {a / s + x}, {}, {.mode = mode});
         return elements({f({{"x", 5.0}, {"a", 2.0}, {"s", 4.0}})[0], is_refused([&] {
                            f({{"x", 5.0}, {"s", 4.0}, {"q", 1.0}});
                          })});
       },
       {5.5, 1}},
      {"TestFunction.test_shared_state1",
       [](Mode mode) {
         const Expr a = scalar("a");
         const Shared s(0.0, "s");
         Function f = function({a}, {s + a}, {{s, s + a}}, {.mode = mode}), g(f);
         f({1.0});
         f({2.0});
         return elements({g({4.0})[0], f({0.0})[0]});
       },
       {7, 7}},
      {"TestFunction.test_shared_state2",
       [](Mode mode) {
         const Expr a = scalar("a");
         const Shared s(0.0, "s");
         Function f = function({a}, {s + a}, {{s, s + a}}, {.mode = mode});
         Function g = function({a}, {s * a}, {{s, s - a * 2}}, {.mode = mode});
         f({1.0});
         f({2.0});
         g({4.0});
         return elements({s.get_value(), f({0.0})[0]});
       },
       {-5, -5}},
      {"TestFunction.test_shared_state_not_implicit",
       [](Mode mode) {
         const Expr a = scalar("a"), s = scalar("s");
         Function f = function({a, In(s, {.value = 0.0, .update = s + a})}, {s}, {}, {.mode = mode});
         Function g = function({a, In(s, {.value = 0.0, .update = s - a})}, {s}, {}, {.mode = mode});
         f({1.0});
         f({2.0});
         g({4.0});
         return elements({f({0.0})[0], g({0.0})[0]});
       },
       {3, -4}},
      {"TestFunction.test_doc",
       [](Mode mode) {
         const Expr a = scalar("a"), b = scalar("b");
         Function f = function({a, In(b, {.value = 1.0, .update = b * 2})}, {a * b}, {}, {.mode = mode});
         return elements({f({3.0})[0], f({3.0})[0], f({3.0, 10.0})[0], f({3.0})[0]});
       },
       {3, 6, 30, 60}},
      {"TestFunction.test_default_container[input]",
       [](Mode mode) {
         const Tensor value = vector_of({1, 2});
         const Expr a = vector("a");
         Function f = function({In(a, value)}, {a * 3}, {}, {.mode = mode}), g(f);
         return elements({f({})[0], g({})[0], g({vector_of({0})})[0], g({})[0], value});
       },
       {3, 6, 3, 6, 0, 3, 6, 1, 2}},
  });
}

TEST(FunctionSuite, OutputsByNameAndSomeOfThem) {
  expect_cases({
      {"TestDictionaryOutput.test_output_dictionary",
       [](Mode mode) {
         const Expr x = scalar("x");
         Function f = function({x}, {{"a", x}, {"c", x * 2}, {"b", x * 3}, {"1", x * 4}}, {}, {.mode = mode});
         const ByName out = f.named({10.0});
         return elements({out.at("a"), out.at("b"), out.at("1"), out.at("c")});
       },
       {10, 30, 40, 20}},
      {"TestDictionaryOutput.test_input_named_variables",
       [](Mode mode) {
         const Expr x = scalar("x"), y = scalar("y");
         Function f = function({x, y}, {{"a", x + y}, {"b", x * y}}, {}, {.mode = mode});
         const ByName given = f.named({2.0, 4.0}), by_name = f.named({{"x", 2.0}, {"y", 4.0}});
         return elements({given.at("a"), given.at("b"), by_name.at("a"), by_name.at("b")});
       },
       {6, 8, 6, 8}},
      {"TestDictionaryOutput.test_output_order_sorted",
       [](Mode mode) {
         const Expr x = scalar("x");
         Function f = function({x}, {{"1", x}, {"2", 2 * x}, {"3", 3 * x}}, {}, {.mode = mode});
         Numbers out;
         for (const auto& [name, value] : f.named({1.0})) out.push_back(value.as_double());
         return out;
       },
       {1, 2, 3}},
      {"TestDictionaryOutput.test_composing_function",
       [](Mode mode) {
         const Expr x = scalar("x"), y = scalar("y"), a = x + y, b = x * y, c = scalar("c"), d = scalar("d");
         Function f = function({x, y}, {{"a", a}, {"b", b}}, {}, {.mode = mode});
         Function g = function({c, d}, {c + d}, {}, {.mode = mode});
         const ByName out = f.named({5.0, 7.0});
         return elements(g({{"c", out.at("a")}, {"d", out.at("b")}}));
       },
       {47}},
      {"TestDictionaryOutput.test_output_list_still_works",
       [](Mode mode) {
         const Expr x = scalar("x");
         return elements(
             function({x}, {{"a", x * 3}, {"b", x * 2}, {"c", x * 4}, {"d", x}}, {}, {.mode = mode})({5.0}));
       },
       {15, 10, 20, 5}},
      {"TestDictionaryOutput.test_debug_mode_dict",
       [](Mode) {
         const Expr x = scalar("x");
         Function f = function({x}, {{"1", x}, {"2", 2 * x}, {"3", 3 * x}}, {}, {.mode = Mode::kDebug});
         const ByName out = f.named({3.0});
         return elements({out.at("1"), out.at("2"), out.at("3")});
       },
       {3, 6, 9}},
      {"TestFunction.test_partial_function",
       [](Mode mode) {
         const Expr x = scalar("x"), y = sqr(x);
         Function f = function({x}, {y + 7, y - 9, y / 14}, {}, {.mode = mode});
         std::vector<Tensor> out = f({3.0});
         for (const Tensor& one : f.only({0, 1, 2}, {3.0})) out.push_back(one);
         for (const Tensor& one : f.only({0, 2}, {4.0})) out.push_back(one);
         return elements(out);
       },
       {16, 0, 9.0 / 14, 16, 0, 9.0 / 14, 23, 16.0 / 14}},
      {"TestFunction.test_partial_function_with_output_keys",
       [](Mode mode) {
         const Expr x = scalar("x");
         Function f = function({x}, {{"a", 3 * sqr(x)}, {"b", sqr(x)}}, {}, {.mode = mode});
         return elements({f.only({"a"}, {5.0})[0], f.only({"b", "a"}, {{"x", 1.0}})[1]});
       },
       {75, 3}},
      {"TestFunction.test_partial_function_with_updates",
       [](Mode mode) {
         const Expr x = scalar("x");
         const Shared y(1.0, "y");
         Function f = function({x}, {{"a", x + 5}, {"b", x * 5}}, {{y, y + 1}}, {.mode = mode});
         Numbers out = elements({f.only({"a"}, {6.0})[0], y.get_value()});
         f.only({1}, {3.0});
         f({5.0});
         out.push_back(y.scalar());
         return out;
       },
       {11, 2, 4}},
      {"TestFunction.test_key_error",
       [](Mode mode) {
         const Expr x = scalar("x");
         Function f = function({x}, {{"a", x * 2}}, {}, {.mode = mode});
         return elements({is_refused([&] { f.only({"b"}, {1.0}); }), is_refused([&] { f.only({1}, {1.0}); })});
       },
       {1, 1}},
  });
}

}  // namespace
}  // namespace thtrain::function_inputs_suite
