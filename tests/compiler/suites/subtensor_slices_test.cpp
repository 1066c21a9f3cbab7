// After PyTensor's tests/tensor/test_subtensor.py and test_inc_subtensor.py: slices, writes and their gradients.
//
// 252 cases in the three files subtensor_*_test.cpp; parts_test.cpp has several indices at once. Not expressed:
// test_err_subslice, which does not compile; test_long_too_big, for Python's integers; slices as inputs, slicetype of
// test_adv_sub_slice: their ends are inputs here.
// Tests of one graph's identity, of text and of infer_shape have no counterpart, and are not counted.
#include <gtest/gtest.h>

#include "compiler/api.h"
#include "tests/compiler/suites/suite.h"

namespace thtrain::subtensor_slices_suite {
namespace {

using G = Given&;
using Ends = std::vector<std::optional<int64_t>>;

const std::vector<int64_t> kEnds = {-8, -5, -4, -1, 0, 1, 4, 5, 8};

Slice from_to(int64_t start, int64_t stop) {
  return {.start = start, .stop = stop};
}

Slice to(int64_t stop) {
  return {.stop = stop};
}

Slice from(int64_t start) {
  return {.start = start};
}

/// "[None]" or "[-3]"
std::string bracketed(const std::optional<int64_t>& number) {
  return number ? str("[", *number, "]") : "[None]";
}

/// Each x[start:stop:step]; with `are_inputs` the ends are values that the call gives.
All slices_of(G g, const Expr& x, const Ends& starts, const Ends& stops, const Ends& steps, bool are_inputs) {
  const auto end = [&](const std::optional<int64_t>& number) -> std::optional<Operand> {
    if (!number) return std::nullopt;
    return are_inputs ? Operand(g(Tensor(*number))) : Operand(*number);
  };
  All out;
  for (const auto& start : starts)
    for (const auto& stop : stops)
      for (const auto& step : steps)
        out.push_back(x[Slice{
            .start = end(start), .stop = end(stop), .step = step ? std::optional<Operand>(*step) : std::nullopt}]);
  return out;
}

Expr lengths_of(const All& parts) {
  std::vector<Operand> out;
  for (const Expr& part : parts) out.push_back(length(part, 0));
  return stack(out);
}

TEST(SubtensorSuite, Slices) {
  std::vector<SuiteCase> cases = {
      {"TestSubtensor.test_ok_range_finite", [](G g) { return g(count({3}))[from_to(0, 2)]; }},
      {"TestSubtensor.test_ok_range_finite_2[3]",
       [](G g) {
         return g(count({3, 4}))[{from_to(0, 2), 3}];
       }},
      {"TestSubtensor.test_ok_range_finite_2[-1]",
       [](G g) {
         return g(count({3, 4}))[{from_to(0, 2), -1}];
       }},
      {"TestSubtensor.test_ok_range_finite_2[-4]",
       [](G g) {
         return g(count({3, 4}))[{from_to(0, 2), -4}];
       }},
      {"TestSubtensor.test_0_dims", [](G g) { return subtensor(g(number(3)), {}); }},
      {"TestSubtensor.test_ok_elem", [](G g) { return g(count({1}, 5))[0]; }},
      {"TestSubtensor.test_ok_range_infinite", [](G g) { return g(count({3}))[from(1)]; }},
      {"TestSubtensor.test_ok_strided", [](G g) { return g(count({5}))[Slice{.start = 1, .stop = 4, .step = 2}]; }},
      {"TestSubtensor.test_ok_elem_2",
       [](G g) {
         return g(count({2, 3}))[{0, 2}];
       }},
      {"TestSubtensor.test_ok_row",
       [](G g) {
         return g(count({2, 3}))[1];
       }},
      {"TestSubtensor.test_ok_col",
       [](G g) {
         return g(count({2, 3}))[{all(), 0}];
       }},
      {"TestSubtensor.test_ok_rows_finite",
       [](G g) {
         return g(count({4, 3}))[{from_to(1, 3), 0}];
       }},
      {"TestSubtensor.test_ok_cols_infinite",
       [](G g) {
         return g(count({4, 3}))[{1, from(2)}];
       }},
      {"TestSubtensor.test_ok_strided_2",
       [](G g) {
         return g(count({4, 5}))[{Slice{.start = 1, .stop = 4, .step = 2}, Slice{.start = 1, .stop = 5, .step = 2}}];
       }},
      {"TestSubtensor.test_ok_mat",
       [](G g) {
         return g(count({2, 3, 4}))[{0, 0, 0}];
       }},
      {"TestSubtensor.test_long",
       [](G g) { return g(count({12}))[Slice{.start = int64_t{1}, .stop = int64_t{7}, .step = int64_t{2}}]; }},
      {"TestSubtensor.test_slice_symbol",
       [](G g) {
         const Expr x = g(count({5, 4})), y = g(count({1, 2, 3}));
         return expand_dims(x[Slice{.stop = length(y, 0)}], {1});
       }},
      {"TestSubtensor.test_ellipsis[0]",
       [](G g) {
         return subtensor(g(count({2, 3, 4})), {});
       }},
      {"TestSubtensor.test_ellipsis[1]",
       [](G g) {
         return g(count({2, 3, 4}))[{all(), all(), 1}];
       }},
      {"TestSubtensor.test_ellipsis[2]",
       [](G g) {
         return g(count({2, 3, 4}))[{1, all(), all()}];
       }},
      {"TestSubtensor.test_ellipsis[3]",
       [](G g) {
         return g(count({2, 3, 4}))[{1, 2, 3}];
       }},
      {"TestSubtensor.test_ellipsis[4]",
       [](G g) {
         return g(count({2, 3, 4}))[1][{2, 3}];
       }},
      {"TestSubtensor.test_ellipsis[5]",
       [](G g) {
         return g(count({2, 3, 4}))[{1, 2}][3];
       }},
      {"TestSubtensor.test_ellipsis[6]",
       [](G g) {
         return take(g(count({2, 3, 4})), g(integers({0, 2, 3})), -1);
       }},
      {"TestSubtensor.test_ellipsis[7]",
       [](G g) {
         return expand_dims(g(count({2, 3, 4})), {0});
       }},
      {"TestSubtensor.test_ellipsis[8]",
       [](G g) {
         return expand_dims(take(g(count({2, 3, 4})), g(integers({1, 2})), -1), {2});
       }},
      {"TestSubtensor.test_newaxis[0]",
       [](G g) {
         return expand_dims(g(count({2, 3, 4})), {0});
       }},
      {"TestSubtensor.test_newaxis[1]",
       [](G g) {
         return expand_dims(g(count({2, 3, 4})), {1});
       }},
      {"TestSubtensor.test_newaxis[2]",
       [](G g) {
         return expand_dims(g(count({2, 3, 4})), {2});
       }},
      {"TestSubtensor.test_newaxis[3]",
       [](G g) {
         return expand_dims(g(count({2, 3, 4})), {-1});
       }},
      {"TestSubtensor.test_newaxis[flat]",
       [](G g) {
         return expand_dims(flatten(g(count({2, 3, 4}))), {0, 2});
       }},
      {"TestSubtensor.test_newaxis[scalar]", [](G g) { return expand_dims(g(number(-2)), {0}); }},
      {"test_flip[0]",
       [](G g) {
         return g(count({3, 4}))[Slice{.step = -1}];
       }},
      {"test_flip[1]",
       [](G g) {
         return g(count({3, 4}))[{all(), Slice{.step = -1}}];
       }},
      {"test_flip[all]",
       [](G g) {
         return g(count({3, 4}))[{Slice{.step = -1}, Slice{.step = -1}}];
       }},
      {"test_slice_at_axis[0]",
       [](G g) {
         return slice_axis(g(count({3, 4, 2})), 0, 1, 1);
       }},
      {"test_slice_at_axis[1]",
       [](G g) {
         return slice_axis(g(count({3, 4, 2})), 1, 1, 2);
       }},
      {"test_slice_at_axis[2]",
       [](G g) {
         return slice_axis(g(count({3, 4, 2})), 2, 0, 1);
       }},
      {"TestSubtensor.test_adv_sub_slice",
       [](G g) {
         return g(count({3, 3}))[Slice{.start = g(Tensor(int64_t{1})), .stop = g(Tensor(int64_t{3}))}];
       }},
      {"test_pprint_Subtensor[s]",
       [](G g) {
         return All{g(count({6}))[from_to(1, 4)], g(count({6, 6}))[{Slice{.start = 1, .stop = 4, .step = 2}, from(3)}]};
       }},
  };
  const Ends few = {{}, -8, -5, -1, 0, 1, 5, 8};
  for (const auto& start : few)
    cases.push_back(made_case("TestSubtensor.test_shape_i_const" + bracketed(start), [start, few](G g) {
      return All{lengths_of(slices_of(g, g(count({5})), {start}, few, {{}, -3, -1, 2}, false))};
    }));
  const Ends ends(kEnds.begin(), kEnds.end());
  for (const int64_t step : {-3, -1, 2, 5})
    cases.push_back(made_case("TestSubtensor.test_shape_i_scalar" + bracketed(step), [step, ends](G g) {
      return All{lengths_of(slices_of(g, g(count({5})), ends, ends, {step}, true))};
    }));
  expect_suite("subtensor", "slices", cases);
}

/// Each form of slice is one function of its ends, with an output for each step.
TEST(SubtensorSuite, SlicesOfEveryEndAndStep) {
  const std::vector<int64_t> none = {0}, ends(kEnds.begin(), kEnds.end()), steps = {-6, -3, -1, 2, 5};
  const std::vector<std::tuple<std::string, bool, bool, bool>> forms = {
      {"all_symbolic", true, true, true},      {"start_None", false, true, true},
      {"stop_None", true, false, true},        {"step_None", true, true, false},
      {"start_stop_None", false, false, true}, {"stop_step_None", true, false, false},
      {"start_step_None", false, true, false}};
  for (const auto& [name, has_start, has_stop, has_step] : forms) {
    const Expr x = vector("x"), start = iscalar("start"), stop = iscalar("stop");
    std::vector<Out> parts;
    for (const int64_t step : has_step ? steps : none) {
      Slice slice;
      if (has_start) slice.start = start;
      if (has_stop) slice.stop = stop;
      if (has_step) slice.step = step;
      parts.push_back(x[slice]);
    }
    for (const Mode mode : {Mode::kReference, Mode::kNative}) {
      Function f = function({x, start, stop}, parts, {}, {.mode = mode, .unused_inputs = UnusedInputs::kAllowed});
      std::vector<std::vector<double>> elements(parts.size());
      for (const int64_t from : has_start ? ends : none)
        for (const int64_t to : has_stop ? ends : none) {
          const std::vector<Tensor> got = f({count({5}), Tensor(from), Tensor(to)});
          for (size_t k = 0; k < got.size(); ++k)
            for (int64_t i = 0; i < got[k].size(); ++i) elements[k].push_back(got[k].contiguous().as_double(i));
        }
      for (size_t k = 0; k < elements.size(); ++k)
        expect_suite_value(
            "subtensor", "canonical",
            str("TestGetCanonicalFormSlice.test_", name, bracketed(has_step ? std::optional(steps[k]) : std::nullopt)),
            Tensor::of(elements[k], {static_cast<int64_t>(elements[k].size())}));
    }
  }
}

using Write = Expr (*)(const Expr& part, const Operand& y);

Expr increased(const Expr& part, const Operand& y) {
  return inc_subtensor(part, y);
}

Expr replaced(const Expr& part, const Operand& y) {
  return set_subtensor(part, y);
}

const std::pair<std::string, Write> kWrites[] = {{"inc", increased}, {"set", replaced}};

All value_and_gradients(const Expr& t, const Expr& cost, const All& wrt) {
  All out = grad(cost, wrt);
  out.insert(out.begin(), t);
  return out;
}

TEST(SubtensorSuite, Gradients) {
  std::vector<SuiteCase> cases = {
      {"TestSubtensor.test_grad_1d",
       [](G g) {
         const Expr x = g(positive({2, 3}));
         return grad(sum(exp(x[{from(0), 0}])), x);
       }},
      {"TestSubtensor.test_grad_0d",
       [](G g) {
         const Expr x = g(positive({2, 3}));
         return grad(sum(exp(x[{1, 0}])), x);
       }},
      {"TestSubtensor.test_grad_advanced_inc_subtensor[0]",
       [](G g) {
         const Expr a = g(count({6})), b = g(spread({2}, 2));
         return grad(sum(a[from_to(2, 4)] + b), All{a, b});
       }},
      {"TestSubtensor.test_grad_advanced_inc_subtensor[1]",
       [](G g) {
         const Expr a = g(count({3, 2})), b = g(spread({1, 2}, 2));
         return grad(sum(a[{from_to(1, 2), all()}] + b), All{a, b});
       }},
      {"TestSubtensor.test_grad_advanced_inc_subtensor[2]",
       [](G g) {
         const Expr a = g(count({3, 2})), b = g(spread({}, 2));
         return grad(sum(a[{2, 1}] + b), All{a, b});
       }},
  };
  const std::vector<std::tuple<std::string, Shape, Shape>> shapes = {{"(2,3),(2,2)", {2, 3}, {2, 2}},
                                                                     {"(3,2),(2,2)", {3, 2}, {2, 2}},
                                                                     {"(3,2),(1,2)", {3, 2}, {1, 2}},
                                                                     {"(3,2),(2,)", {3, 2}, {2}}};
  const std::vector<std::tuple<Shape, Shape, std::vector<Index>>> parts = {
      {{6}, {2}, {from_to(2, 4)}}, {{3, 2}, {1, 2}, {from_to(1, 2), all()}}, {{3, 2}, {}, {2, 1}}, {{3, 2}, {}, {2}}};
  for (const auto& [kind, write] : kWrites) {
    for (const auto& [name, of_n, of_m] : shapes)
      cases.push_back(made_case(str("TestSubtensor.test_grad_2d_inc_set_subtensor[", kind, ",", name, "]"),
                                [write = write, of_n = of_n, of_m = of_m](G g) {
                                  const Expr n = g(spread(of_n)), m = g(spread(of_m, 1));
                                  const Expr t = write(n[{to(2), to(2)}], m);
                                  return value_and_gradients(t, sum(sqr(t)), {n, m});
                                }));
    for (size_t k = 0; k < parts.size(); ++k)
      cases.push_back(made_case(str("TestIncSubtensor.test_grad_inc_set[", kind, ",", k, "]"),
                                [write = write, part = parts[k]](G g) {
                                  const auto& [of_a, of_b, index] = part;
                                  const Expr a = g(count(of_a)), b = g(spread(of_b, 2));
                                  const Expr t = write(subtensor(a, index), b);
                                  return value_and_gradients(t, sum(pow(t, 3)), {a, b});
                                }));
  }
  expect_suite("subtensor", "gradients", cases);
}

TEST(SubtensorSuite, Writes) {
  std::vector<SuiteCase> cases = {{"TestSubtensor.test_inc_and_set_subtensor", [](G g) {
                                     const Expr x = g(Tensor::of(std::vector<double>(81, 1), {9, 9}));
                                     return set_subtensor(x[{from(1), from(1)}], 0);
                                   }}};
  const auto ones = [](const Shape& shape) {
    return Tensor::of(std::vector<double>(static_cast<size_t>(element_count(shape)), 1), shape);
  };
  for (const auto& [kind, write] : kWrites) {
    cases.push_back(made_case("TestIncSubtensor.test_simple_2d[" + kind + "]", [write = write, ones](G g) {
      const Slice some{.stop = g(Tensor(int64_t{2}))};
      return All{write(g(ones({5, 5}))[{all(), some}], g(number(2.25)))};
    }));
    cases.push_back(made_case("TestIncSubtensor.test_simple_3d[" + kind + ",element]", [write = write, ones](G g) {
      const Slice some{.stop = g(Tensor(int64_t{2}))};
      return All{write(g(ones({5, 3, 4}))[{all(), 2, some}], g(number(2.25)))};
    }));
    cases.push_back(made_case("TestIncSubtensor.test_simple_3d[" + kind + ",rows]", [write = write, ones](G g) {
      const Slice some{.stop = g(Tensor(int64_t{2}))};
      return All{write(g(ones({5, 3, 4}))[{all(), some}], g(number(2.25)))};
    }));
    cases.push_back(made_case("TestIncSubtensor.test_wrong_broadcast[" + kind + ",all]", [write = write](G g) {
      return All{write(g(spread({3, 1}))[all()], g(spread({1}, 3)))};
    }));
    cases.push_back(made_case("TestIncSubtensor.test_wrong_broadcast[" + kind + ",row]", [write = write](G g) {
      return All{write(g(spread({3, 1}))[0], g(spread({1}, 3)))};
    }));
  }
  const std::vector<std::pair<Shape, std::vector<int64_t>>> data = {
      {{10}, {3, 1, 3}}, {{4, 5}, {3, 1, 3}}, {{1, 2, 3}, {0, 0}}, {{4, 5, 6, 7}, {3, 1, 3}}};
  const auto tuple_text = [](const Shape& shape) {
    std::string out;
    for (const int64_t n : shape) out += str(out.empty() ? "" : ",", n);
    return "(" + out + (shape.size() == 1 ? ",)" : ")");
  };
  for (const auto& [shape, index] : data)
    for (size_t first = 0; first <= shape.size() + 1; ++first) {
      const bool is_one = first > shape.size();
      const Shape of_y = is_one ? Shape{1} : Shape(shape.begin() + static_cast<std::ptrdiff_t>(first), shape.end());
      Shape given = of_y;
      if (first == 0) given[0] = static_cast<int64_t>(index.size());
      cases.push_back(
          made_case(str("TestSubtensor.test_advanced1_inc_and_set[inc,", tuple_text(shape), ",", tuple_text(of_y), "]"),
                    [shape = shape, index = index, given](G g) {
                      return All{inc_subtensor(g(count(shape))[g(integers(index))], g(positive(given)))};
                    }));
    }
  expect_suite("subtensor", "writes", cases);
}

}  // namespace
}  // namespace thtrain::subtensor_slices_suite
