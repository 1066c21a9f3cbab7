// After PyTensor's tests/compile/function/test_types.py and test_function.py: copies of functions, and functions that
// are pickled there and saved here. The expected numbers are those that these tests state. See function_test.cpp.
#include "tests/compiler/suites/function_cases.h"
#include "tests/support/datasets_support.h"

namespace thtrain::function_files_suite {
namespace {

Function reloaded(const Function& f) {
  TemporaryFolder folder;
  f.save(folder.path("function"));
  return load_function(folder.path("function"));
}

TEST(FunctionSuite, CopiesAndFiles) {
  expect_cases({
      {"TestFunction.test_output_keys",
       [](Mode mode) {
         const Expr x = vector("x");
         Function f = function({x}, {{"vec", sqr(x)}}, {}, {.mode = mode});
         Function g = f.copy({}, {.share_memory = true}), loaded = reloaded(f);
         const ByName o = g.named({vector_of({2, 3, 4})});
         return elements({o.at("vec"), loaded.named({vector_of({1, 5})}).at("vec")});
       },
       {4, 9, 16, 1, 25}},
      {"TestFunction.test_copy_share_memory",
       [](Mode mode) {
         const Expr x = scalar("x");
         const Shared y(1.0, "y"), z(2.0, "z");
         const Expr out = tanh((x + y + 2) / (x + z - 0.2)) * 0;
         Function f = function({x}, {out + x}, {{y, y + z}}, {.mode = mode});
         Function g = f.copy({}, {.share_memory = true});
         return elements({f({1.0})[0], g({2.0})[0], y.get_value()});
       },
       {1, 2, 5}},
      {"TestFunction.test_copy_delete_updates",
       [](Mode mode) {
         const Expr x = scalar("x");
         const Shared y(1.0, "y");
         Function f = function({x}, {x + y}, {{y, y + 10}}, {.mode = mode});
         Function still = f.copy({}, {.delete_updates = true});
         Numbers out = elements({still({4.0})[0], y.get_value()});
         f({4.0});
         out.push_back(still({4.0})[0].as_double());
         return out;
       },
       {5, 1, 15}},
      {"TestFunction.test_free",
       [](Mode mode) {
         const Expr x = matrix("x");
         Function f = function({x}, {sum(dot(tanh(x) * 0 + 1, x))}, {}, {.mode = mode});
         const Tensor ones = Tensor::matrix({{1.0, 1.0}, {1.0, 1.0}});
         const Tensor before = f({ones})[0];
         f.free();
         return elements({before, f({ones})[0]});
       },
       {8, 8}},
      {"TestPicklefunction.test_deepcopy",
       [](Mode mode) {
         const Expr a = scalar("a"), x = scalar("x"), s = scalar("s"), sum = s + a * x;
         Function f = function({x, In(a, number(1)), In(s, {.value = 0.0, .update = sum})}, {sum}, {}, {.mode = mode});
         Function g = reloaded(f);
         return elements({f({1.0, 2.0})[0], g({1.0, 2.0})[0], f({3.0})[0], g({3.0})[0], f({2.0})[0]});
       },
       {2, 2, 5, 5, 7}},
      {"TestPicklefunction.test_deepcopy_trust_input",
       [](Mode mode) {
         const Expr x = vector("x");
         Function g = reloaded(function({In(x, InOptions{.strict = true})}, {x + 1}, {}, {.mode = mode}));
         return elements({g({vector_of({1})})[0], is_refused([&] { g({Tensor::vector({1})}); })});
       },
       {2, 1}},
      {"TestPicklefunction.test_pickle",
       [](Mode mode) {
         const Expr a = scalar("a"), x = scalar("x"), s = scalar("s");
         Function g = reloaded(function({x, In(a, number(1)), In(s, {.value = 7.0, .update = s + a * x})}, {s + a * x},
                                        {}, {.mode = mode}));
         return elements({g({3.0})[0], g({{"x", 1.0}, {"a", 0.0}})[0], g({0.0})[0]});
       },
       {10, 10, 10}},
      {"TestPicklefunction.test_optimizations_preserved",
       [](Mode mode) {
         const Expr a = vector("a"), x = vector("x"), s = vector("s");
         const Shared xm(Tensor::matrix({{2.0, 1.0}, {0.0, 1.0}}), "xm"),
             sm(Tensor::matrix({{1.0, 3.0}, {2.0, 0.0}}), "sm");
         Function f = function({a, x, s}, {sum(a + x + s) + sum(dot(x, xm) * dot(s, sm))}, {}, {.mode = mode});
         Function g = reloaded(f);
         const std::vector<Tensor> given = {vector_of({1, 1}), vector_of({1, 2}), vector_of({3, 4})};
         return elements({f(given)[0], g(given)[0], number(g.info().kernels == f.info().kernels)});
       },
       {61, 61, 1}},
      {"TestPicklefunction.test_multiple_functions",
       [](Mode mode) {
         const Expr a = scalar("a"), x = scalar("x"), s = scalar("s");
         const Shared v(3.0, "v");
         Function f = reloaded(function({a, x}, {a * x + v}, {{v, v + 1}}, {.mode = mode}));
         Function g = reloaded(function({s}, {s * v}, {}, {.mode = mode}));
         Function joined = g.copy({{g.shared_variables()[0], f.shared_variables()[0]}});
         f({1.0, 1.0});
         return elements({f({2.0, 3.0})[0], g({2.0})[0], joined({2.0})[0], v.get_value()});
       },
       {10, 6, 10, 3}},
      {"TestPicklefunction.test_broken_pickle_with_shared",
       [](Mode mode) {
         const Shared b(vector_of({1, 2}), "b");
         const Expr x = vector("x", {2});
         Function f = reloaded(function({x}, {x * b}, {{b, b * 0}}, {.mode = mode}));
         f({vector_of({1, 1})});
         return elements({b.get_value(), f.shared_variables()[0].get_value()});
       },
       {1, 2, 0, 0}},
      {"test_function_dump",
       [](Mode mode) {
         const Expr v = vector("v");
         Function f = function({v}, {v + 1}, {}, {.mode = mode}), g = reloaded(f), h = reloaded(g);
         const Tensor given = vector_of({1.5, 2});
         return elements({f({given})[0], g({given})[0], h({given})[0]});
       },
       {2.5, 3, 2.5, 3, 2.5, 3}},
      {"TestFunction.test_disconnected_input[warn]",
       [](Mode mode) {
         const Expr a = scalar("a"), v = vector("v");
         testing::internal::CaptureStderr();
         Function f = function({a, v}, {v * 2}, {}, {.mode = mode, .unused_inputs = UnusedInputs::kWarned});
         const bool is_warned = testing::internal::GetCapturedStderr().starts_with("warning: function: nothing reads");
         return elements({f({1.0, vector_of({1})})[0], number(is_warned)});
       },
       {2, 1}},
  });
}

}  // namespace
}  // namespace thtrain::function_files_suite
