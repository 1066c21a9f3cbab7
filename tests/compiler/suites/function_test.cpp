// After PyTensor's tests/compile/function/test_pfunc.py, test_types.py, test_function.py and
// tests/compile/test_shared.py: functions, updates, givens, shared variables, memory. Each case makes functions of its
// own, by the references and natively.
//
// The expected numbers are those that these tests state. 102 cases with function_errors_test.cpp,
// function_inputs_test.cpp and function_files_test.cpp. Not expressed:
// - an allow_input_downcast of the whole function, which each input has here: test_allow_downcast_floatX;
// - reading and writing the value that an input has between calls: what test_state_access and test_shared_state1 do
//   with it, and containers that two functions share, which shared variables are here;
// - default_update of shared variables, which random states alone have: test_default_updates, test_no_default_updates,
//   test_default_updates_expressions, _multiple, _chained, _input, _partial_graph (7);
// - values that are no arrays, in pickles and elsewhere: test_deepcopy_shared_container,
// test_pickle_class_with_functions,
//   test_strict_generic; outputs that are None: test_none; names of unpacked states: test_input_anon_unpack; sparse
//   inputs: test_sparse_input_aliasing_affecting_inplace_operations; GPUs: test_sync_update; what does not compile:
//   test_no_shared_as_input, test_key_string_requirement (9).
#include "tests/compiler/suites/function_cases.h"

namespace thtrain::function_suite {
namespace {

TEST(FunctionSuite, ArgumentsAndResults) {
  expect_cases({
      {"TestPfunc.test_doc",
       [](Mode mode) {
         const Expr a = iscalar("a");
         const Shared b(int64_t{1}, "b");
         Function f1 = function({a}, {a + b}, {}, {.mode = mode});
         Function f2 = function({In(a, Tensor(int64_t{44}))}, {a + b}, {{b, b + 1}}, {.mode = mode});
         const Tensor three(int64_t{3});
         std::vector<Tensor> out{f1({three})[0], f2({three})[0], f2({three})[0]};
         b.set_value(Tensor(int64_t{0}));
         out.push_back(f1({three})[0]);
         return elements(out);
       },
       {4, 4, 5, 3}},
      {"TestPfunc.test_default_container",
       [](Mode mode) {
         const Expr a = vector("a");
         Function f = function({In(a, vector_of({0, 0, 0}))}, {a}, {}, {.mode = mode});
         const std::vector<Tensor> none;
         return elements({f(none)[0], f({vector_of({3, 4, 5})})[0], f(none)[0]});
       },
       {0, 0, 0, 3, 4, 5, 0, 0, 0}},
      {"TestPfunc.test_default_scalar_container",
       [](Mode mode) {
         const Expr x = scalar("x");
         Function f = function({In(x, number(5))}, {x}, {}, {.mode = mode});
         const std::vector<Tensor> none;
         return elements({f(none)[0], f({number(1)})[0], f({number(-1)})[0], f(none)[0]});
       },
       {5, 1, -1, 5}},
      {"TestFunction.test_empty",
       [](Mode mode) { return elements(function({}, {}, {}, {.mode = mode})(std::vector<Tensor>{})); },
       {}},
      {"TestFunction.test_input_anon_singleton",
       [](Mode mode) {
         const Expr x = scalar("x"), s = scalar("s");
         Function f = function({s, x}, {x + s}, {}, {.mode = mode});
         return elements({f({number(2), number(3)})[0], f({number(2), number(3)})[0]});
       },
       {5, 5}},
      {"TestFunction.test_naming_rule0",
       [](Mode mode) {
         const Expr x = scalar("x"), s = scalar("s");
         Function f = function({x, s}, {x / s}, {}, {.mode = mode});
         using ByName = std::map<std::string, Tensor>;
         return elements({f({number(1), number(2)})[0], f(ByName{{"s", number(2)}, {"x", number(1)}})[0],
                          f(ByName{{"x", number(2)}, {"s", number(1)}})[0]});
       },
       {0.5, 0.5, 2}},
      {"TestFunction.test_naming_rule1",
       [](Mode mode) {
         const Expr a = scalar(""), s = scalar("s");
         Function f = function({a, s}, {a / s}, {}, {.mode = mode});
         return elements(f({number(1), number(2)}));
       },
       {0.5}},
      {"TestFunction.test_default_values",
       [](Mode mode) {
         const Expr a = scalar("a"), b = scalar("b");
         Function f = function({In(a, number(1)), In(b, number(4))}, {a * b}, {}, {.mode = mode});
         using ByName = std::map<std::string, Tensor>;
         return elements({f(std::vector<Tensor>{})[0], f({number(2)})[0], f({number(2), number(3)})[0],
                          f(ByName{{"b", number(5)}})[0]});
       },
       {4, 8, 6, 5}},
      {"TestFunction.test_constant_output",
       [](Mode mode) {
         Function f = function({}, {make_constant(number(4))}, {}, {.mode = mode});
         const std::vector<Tensor> none;
         Tensor out = f(none)[0];
         *out.data<double>() = 3;
         return elements({out, f(none)[0]});
       },
       {3, 4}},
      {"TestFunction.test_borrow_input",
       [](Mode mode) {
         const Expr a = matrix("a");
         const Tensor value = Tensor::matrix({{1.0, 2.0}, {3.0, 4.0}});
         Function f = function({a}, {a + 1, a * 2}, {}, {.mode = mode});
         const Tensor sum = f({value})[0];
         return elements({sum, value});
       },
       {2, 3, 4, 5, 1, 2, 3, 4}},
      {"TestFunction.test_borrow_output",
       [](Mode mode) {
         const Expr a = vector("a");
         Function f = function({a}, {a + 1}, {}, {.mode = mode});
         const Tensor first = f({vector_of({0, 1})})[0], second = f({vector_of({5, 6})})[0];
         return elements({first, second});
       },
       {1, 2, 6, 7}},
      {"TestFunction.test_borrow_output[borrowed]",
       [](Mode mode) {
         const Expr a = vector("a", {2});
         Function f = function({a}, {Out(a + 1, true)}, {}, {.mode = mode});
         const Tensor first = f({vector_of({0, 1})})[0], second = f({vector_of({5, 6})})[0];
         return elements({first, second});
       },
       {6, 7, 6, 7}},
      {"TestFunction.test_check_for_aliased_inputs",
       [](Mode mode) {
         const Expr a = vector("a"), b = vector("b");
         const Tensor both = vector_of({1, 2, 3});
         return elements({function({a, b}, {a + b}, {}, {.mode = mode})({both, both})[0], both});
       },
       {2, 4, 6, 1, 2, 3}},
      {"TestFunction.test_weird_names",
       [](Mode mode) {
         const Expr x = scalar("a b/c[0]");
         return elements(function({x}, {x + 1}, {}, {.mode = mode})({number(1)}));
       },
       {2}},
      {"TestFunction.test_disconnected_input[ignore]",
       [](Mode mode) {
         const Expr a = scalar("a"), v = vector("v");
         return elements(function({a, v}, {v * 2}, {}, {.mode = mode, .unused_inputs = UnusedInputs::kAllowed})(
             {number(1), vector_of({1})}));
       },
       {2}},
      {"TestFunctionIn.test_in_strict",
       [](Mode mode) {
         const Expr a = vector("a");
         return elements(function({a}, {a + 1}, {}, {.mode = mode})({Tensor::vector({1, 2})}));
       },
       {2, 3}},
  });
}

TEST(FunctionSuite, UpdatesAndGivens) {
  expect_cases({
      {"TestPfunc.test_update",
       [](Mode mode) {
         const Shared x(int64_t{0}, "x");
         Function inc = function({}, {}, {{x, x + 1}}, {.mode = mode});
         Numbers out;
         for (int k = 0; k < 3; ++k) {
           inc(std::vector<Tensor>{});
           out.push_back(x.get_value().as_double());
         }
         x.set_value(Tensor(int64_t{-1}));
         inc(std::vector<Tensor>{});
         out.push_back(x.get_value().as_double());
         return out;
       },
       {1, 2, 3, 0}},
      {"TestPfunc.test_update[argument]",
       [](Mode mode) {
         const Shared x(int64_t{0}, "x");
         const Expr y = iscalar("y");
         Function inc = function({y}, {}, {{x, x + y}}, {.mode = mode});
         inc({Tensor(int64_t{1})});
         inc({Tensor(int64_t{7})});
         return elements({x.get_value()});
       },
       {8}},
      {"TestPfunc.test_update[input]",
       [](Mode mode) {
         const Shared x(int64_t{0}, "x");
         const Expr y = iscalar("y");
         Function give = function({y}, {}, {{x, y}}, {.mode = mode});
         give({Tensor(int64_t{1})});
         give({Tensor(int64_t{7})});
         return elements({x.get_value()});
       },
       {7}},
      {"TestPfunc.test_update_same",
       [](Mode mode) {
         const Shared a(1.0, "a"), b(Tensor::matrix({{1.0, 2.0}, {3.0, 4.0}}), "b");
         Function f = function({}, {}, {{a, a}, {b, b}}, {.mode = mode});
         f(std::vector<Tensor>{});
         return elements({a.get_value(), b.get_value()});
       },
       {1, 1, 2, 3, 4}},
      {"TestPfunc.test_update_equiv",
       [](Mode mode) {
         const Shared a(1.0, "a"), b(3.0, "b");
         Function f = function({}, {}, {{a, a}, {b, 2 * b - b}}, {.mode = mode});
         f(std::vector<Tensor>{});
         return elements({a.get_value(), b.get_value()});
       },
       {1, 3}},
      {"TestPfunc.test_shared",
       [](Mode mode) {
         const Shared w(Tensor::matrix({{1.0, 2.0}, {3.0, 4.0}}), "w");
         const Expr x = matrix("x", {2, 2});
         Function f = function({x}, {w * x}, {}, {.mode = mode});
         const Tensor ones = Tensor::matrix({{1.0, 1.0}, {1.0, 1.0}});
         const Tensor first = f({ones})[0];
         w.set_value(Tensor::matrix({{0.0, 0.0}, {0.0, 5.0}}));
         return elements({first, f({ones})[0]});
       },
       {1, 2, 3, 4, 0, 0, 0, 5}},
      {"TestPfunc.test_shared_mutable",
       [](Mode mode) {
         const Tensor five = count({5});
         const Shared b(five, "b");
         Function f = function({}, {}, {{b, b * 2}}, {.mode = mode});
         f(std::vector<Tensor>{});
         return elements({b.get_value(), five});
       },
       {0, 2, 4, 6, 8, 0, 1, 2, 3, 4}},
      {"TestPfunc.test_givens",
       [](Mode mode) {
         const Shared x(int64_t{0}, "x");
         const Expr y = iscalar("y");
         Function f = function({}, {x * 6}, {}, {.mode = mode, .givens = {{x, make_constant(Tensor(int64_t{7}))}}});
         const Tensor first = f(std::vector<Tensor>{})[0];
         Function g = function({y}, {x * 6}, {}, {.mode = mode, .givens = {{x, y + 1}}});
         return elements({first, g({Tensor(int64_t{1})})[0], x.get_value()});
       },
       {42, 12, 0}},
      {"TestPfunc.test_givens_replaces_shared_variable",
       [](Mode mode) {
         const Shared a(1.0, "a"), c(10.0, "c");
         const Expr b = a + 1, d = b * 2;
         return elements(function({}, {d}, {}, {.mode = mode, .givens = {{a, c.expr()}}})(std::vector<Tensor>{}));
       },
       {22}},
      {"TestPfunc.test_givens_replaces_shared_variable2",
       [](Mode mode) {
         const Shared a(1.0, "a");
         const Expr b = a + 10;
         Function f = function({}, {b}, {}, {.mode = mode, .givens = {{a, a + 10}}});
         return elements({f(std::vector<Tensor>{})[0], a.get_value()});
       },
       {21, 1}},
      {"TestFunction.test_givens_input_var",
       [](Mode mode) {
         const Expr x = scalar("x"), y = x * 2;
         Function f = function({x}, {y}, {}, {.mode = mode, .givens = {{x, x + 1}}});
         return elements(f({number(3)}));
       },
       {8}},
      {"test_empty_givens_updates",
       [](Mode mode) {
         const Expr x = scalar("x");
         return elements(function({x}, {x * 2}, std::vector<Update>{}, {.mode = mode, .givens = {}})({number(2)}));
       },
       {4}},
      {"TestPfunc.test_clone0",
       [](Mode mode) {
         const Shared x(vector_of({4, 4, 4}), "x"), y(vector_of({4, 4, 4}), "y"), z(vector_of({2, 2, 2}), "z");
         Function f = function({}, {x + y + z}, {{x, x - y}, {y, y * 2}, {z, z + 1}}, {.mode = mode});
         const Tensor out = f(std::vector<Tensor>{})[0];
         return elements({out, x.get_value(), y.get_value(), z.get_value()});
       },
       {10, 10, 10, 0, 0, 0, 8, 8, 8, 3, 3, 3}},
      {"TestFunction.test_shared_state0",
       [](Mode mode) {
         const Expr a = scalar("a");
         const Shared s(0.0, "s");
         Function f = function({a}, {s + a}, {{s, s + a}}, {.mode = mode});
         Function g = function({a}, {s - a}, {{s, s - a}}, {.mode = mode});
         f({number(1)});
         f({number(2)});
         g({number(4)});
         return elements({s.get_value(), f({number(0)})[0]});
       },
       {-1, -1}},
      {"TestFunction.test_copy",
       [](Mode mode) {
         const Expr x = scalar("x"), a = scalar("a");
         const Shared s(1.0, "s");
         Function f = function({x, a}, {x / a + s}, {{s, s + a * x}}, {.mode = mode});
         Function g = f.copy({});
         const Tensor first = f({number(1), number(2)})[0], second = g({number(2), number(1)})[0];
         return elements({first, second, s.get_value()});
       },
       {1.5, 5, 5}},
      {"TestFunction.test_swap_SharedVariable",
       [](Mode mode) {
         const Expr x = scalar("x");
         const Shared a(1.0, "a"), b(10.0, "b");
         Function f = function({x}, {x * a}, {{a, a + x}}, {.mode = mode});
         Function g = f.copy({{a, b}});
         const Tensor first = g({number(2)})[0], second = f({number(3)})[0];
         return elements({first, second, a.get_value(), b.get_value()});
       },
       {20, 3, 4, 12}},
      {"TestFunction.test_swap_SharedVariable_with_given",
       [](Mode mode) {
         const Expr x = scalar("x"), y = scalar("y");
         const Shared train(vector_of({1, 2, 3}), "train"), test(vector_of({4, 5, 6}), "test");
         Function f = function({y}, {sum(train) * x}, {}, {.mode = mode, .givens = {{x, y * 2}}});
         Function g = f.copy({{train, test}});
         return elements({f({number(1)})[0], g({number(1)})[0]});
       },
       {12, 30}},
  });
}

TEST(FunctionSuite, MemoryAndSharedVariables) {
  expect_cases({
      {"TestAliasingRules.test_shared_constructor_copies",
       [](Mode mode) {
         Tensor value = vector_of({0, 1});
         const Shared s(value, "s");
         value.data<double>()[0] = 9;
         return elements({s.get_value(), function({}, {s + 0}, {}, {.mode = mode})(std::vector<Tensor>{})[0]});
       },
       {0, 1, 0, 1}},
      {"TestAliasingRules.test_potential_output_aliasing_induced_by_updates",
       [](Mode mode) {
         const Shared a(Tensor::matrix({{0.0, 0.0}, {0.0, 0.0}}), "a"),
             b(Tensor::matrix({{1.0, 1.0}, {1.0, 1.0}}), "b");
         const Expr c = matrix("c", {2, 2});
         Function f = function({c}, {Out(a), Out(b + 0)}, {{a, b}, {b, c}}, {.mode = mode});
         const Tensor given = Tensor::matrix({{2.0, 2.0}, {2.0, 2.0}});
         const std::vector<Tensor> out = f({given});
         const bool alias = out[0].shares_memory_with(a.get_value(true)) ||
                            out[1].shares_memory_with(a.get_value(true)) || b.get_value(true).shares_memory_with(given);
         return elements({out[0], a.get_value(), b.get_value(), number(alias)});
       },
       {0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 0}},
      {"TestAliasingRules.test_no_aliasing_0",
       [](Mode mode) {
         const Shared a(vector_of({0, 1, 2}), "a"), b(vector_of({3, 4, 5}), "b");
         Function f = function({}, {}, {{a, b + 0}, {b, a + 0}}, {.mode = mode});
         f(std::vector<Tensor>{});
         return elements(
             {a.get_value(), b.get_value(), number(a.get_value(true).shares_memory_with(b.get_value(true)))});
       },
       {3, 4, 5, 0, 1, 2, 0}},
      {"TestAliasingRules.test_no_aliasing_1",
       [](Mode mode) {
         const Shared a(vector_of({0, 1, 2}), "a"), b(vector_of({3, 4, 5}), "b");
         Function f = function({}, {}, {{a, b}}, {.mode = mode});
         f(std::vector<Tensor>{});
         return elements(
             {a.get_value(), b.get_value(), number(a.get_value(true).shares_memory_with(b.get_value(true)))});
       },
       {3, 4, 5, 3, 4, 5, 0}},
      {"TestAliasingRules.test_no_aliasing_2",
       [](Mode mode) {
         const Shared a(vector_of({0, 1, 2}), "a"), b(vector_of({3, 4, 5}), "b");
         Function f = function({}, {}, {{a, b}, {b, a}}, {.mode = mode});
         f(std::vector<Tensor>{});
         return elements(
             {a.get_value(), b.get_value(), number(a.get_value(true).shares_memory_with(b.get_value(true)))});
       },
       {3, 4, 5, 0, 1, 2, 0}},
      {"TestAliasingRules.test_no_aliasing_2b",
       [](Mode mode) {
         const Shared a(vector_of({0, 1, 2}), "a"), b(vector_of({3, 4, 5}), "b");
         const Slice back{.step = -1};
         Function f = function({}, {}, {{a, b[back]}, {b, a[back]}}, {.mode = mode});
         f(std::vector<Tensor>{});
         return elements({a.get_value(), b.get_value()});
       },
       {5, 4, 3, 2, 1, 0}},
      {"TestAliasingRules.test_input_aliasing_affecting_inplace_operations",
       [](Mode mode) {
         const Expr x = vector("x", {2}), y = vector("y", {2}), m = matrix("m", {2, 2}), n = matrix("n", {2, 2});
         Function f = function({x, y, m, n}, {dot(x * 2, m) + dot(y * 3, n)}, {}, {.mode = mode});
         const Tensor v = vector_of({1, 2}), w = Tensor::matrix({{1.0, 0.0}, {0.0, 1.0}});
         return elements({f({v, v, w, w})[0], v, w});
       },
       {5, 10, 1, 2, 1, 0, 0, 1}},
      {"TestAliasingRules.test_partial_input_aliasing_affecting_inplace_operations",
       [](Mode mode) {
         const Expr x = vector("x", {2}), y = vector("y", {2});
         Function f = function({x, y}, {x * 2 + y * 3}, {}, {.mode = mode});
         const Tensor all = vector_of({1, 2, 3});
         return elements({f({all.rows(0, 2), all.rows(1, 2)})[0], all});
       },
       {8, 13, 1, 2, 3}},
      {"TestSharedVariable.test_ctors",
       [](Mode) {
         Numbers out;
         for (const Shared& s : {Shared(int64_t{7}), Shared(int8_t{7}), Shared(7.0), Shared(7.0F)})
           out.push_back(static_cast<double>(s.type().dtype));
         return out;
       },
       {static_cast<double>(DType::kInt64), static_cast<double>(DType::kInt8), static_cast<double>(DType::kFloat64),
        static_cast<double>(DType::kFloat32)}},
      {"TestSharedVariable.test_use_numpy_strict_false",
       [](Mode) {
         const Shared u(vector_of({1, 2, 3}), "u");
         u.set_value(Tensor::vector({3, 4, 5}));
         return elements({u.get_value()});
       },
       {3, 4, 5}},
  });
}

}  // namespace
}  // namespace thtrain::function_suite
