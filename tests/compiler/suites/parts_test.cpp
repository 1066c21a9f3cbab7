// After PyTensor's tests/tensor/test_subtensor.py and test_inc_subtensor.py: several indices at once, read, written and
// differentiated. What subtensor_*_test.cpp writes with other operations is written here in one index.
//
// Not expressed: a mask without axes (test_boolean_scalar_raises, an error in PyTensor), slices as inputs, and PyTensor
// has no writing through new axes. Tests of static shapes, of text and of graphs' identity have no counterpart.
#include "tests/compiler/suites/parts.h"

#include <gtest/gtest.h>

#include "compiler/api.h"

namespace thtrain::parts_suite {
namespace {

using G = Given&;
using Row = std::pair<std::vector<AxisIndex>, Shape>;

const std::string kAdvanced = "TestAdvancedSubtensor.", kInfer = "TestInferShape.", kSubtensor = "TestSubtensor.";

Shape without_first(const Shape& shape, size_t dropped) {
  return {shape.begin() + static_cast<int64_t>(dropped), shape.end()};
}

Written values_if(bool only) {
  return only ? Written::kValues : Written::kWithGradients;
}

std::vector<AxisIndex> joined(std::vector<AxisIndex> first, const std::vector<AxisIndex>& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

void add_advanced(std::vector<PartCase>& rows) {
  const Shape four = {2, 3, 4, 3};
  const Tensor m = table({2, 2}, {0, 1, 3, 2});
  const std::string a = kAdvanced;
  rows.push_back({a + "test_adv_subtensor_w_int_and_matrix[writes]", four, {0, all(), m, all()}, Shape{2, 2, 3, 3}});
  rows.push_back(
      {a + "test_adv_subtensor_w_none_and_matrix[writes]", four, {all(), new_axis(), all(), m, all()}, Shape{2, 2, 3}});
  rows.push_back({a + "test_adv_subtensor_w_slice_and_matrix[writes]",
                  four,
                  {all(), from_to(0, 1), m, all()},
                  Shape{2, 1, 2, 2, 3}});
  rows.push_back({a + "test_adv_subtensor_w_matrix_and_int[writes]", four, {all(), all(), m, 0}, Shape{3, 2, 2}});
  rows.push_back(
      {a + "test_adv_subtensor_w_matrix_and_none[writes]", four, {all(), all(), m, new_axis(), all()}, Shape{1, 3}});
  const std::vector<int64_t> twice = {3, 3, 1, 1, 2, 2, 0, 0}, back = {3, 3, 1, 1, 2, 2, 0, 0, -1, -2, -3, -4};
  const std::vector<std::pair<Shape, std::vector<int64_t>>> lists = {
      {{4, 5}, {2, 3}}, {{2, 4, 3}, {0, 3}}, {{2, 4, 3}, twice}, {{2, 4, 3}, back}, {{3, 4, 2, 2}, back}};
  for (size_t k = 0; k < lists.size(); ++k)
    rows.push_back(
        {str(a, "test_index_w_int_and_vec[direct,", k, "]"), lists[k].first, {0, integers(lists[k].second)}});
  const Tensor square = table({2, 2}, {0, 1, 2, 3});
  const std::vector<Row> added = {{{0, integers({1, 3, 2}), 1}, {3, 2}},
                                  {{integers({1, 2, 3})}, {3, 4, 2, 2}},
                                  {{integers({0, 1, 2}), 0, integers({0, 1, 0})}, {3, 2}},
                                  {{square, square}, {2, 2, 2, 2}}};
  for (size_t k = 0; k < added.size(); ++k)
    for (size_t dropped = 0; dropped <= added[k].second.size(); ++dropped)
      rows.push_back({str(a, "test_advinc_subtensor[", k, ",", dropped, "]"),
                      {4, 4, 2, 2},
                      added[k].first,
                      without_first(added[k].second, dropped),
                      values_if(dropped > 0)});
  rows.push_back({a + "test_adv_grouped[two]",
                  {3, 7, 4},
                  {all(), table({3, 4}, {6, 0, 3, 1, 5, 2, 2, 4, 0, 0, 6, 3}), integers({0, 1, 2, 3})},
                  Shape{3, 4},
                  Written::kValues});
  rows.push_back({a + "test_grad[numbers]", {5, 5}, {integers({1, 3}), integers({2, 4})}, Shape{2}});
  rows.push_back({a + "test_grad[mask]", {2, 2}, {bools({2, 2}, "1001")}, Shape{2}});
  rows.push_back({a + "test_grad[row]", {1, 3}, {integers({0, 0}), integers({2, 1})}, Shape{2}});
  rows.push_back({a + "test_adv_sub_3d[writes]",
                  {3, 2, 2},
                  {table({2, 2}, {0, 1, 0, 2}), table({2, 1}, {0, 1}), table({1, 2}, {0, 1})},
                  Shape{2, 2}});
  rows.push_back({a + "test_adv_sub_slice[computed]", {3, 3}, {computed(1, 3)}, Shape{2, 3}});
}

void add_inferred(std::vector<PartCase>& rows) {
  const std::vector<Row> matrix = {{{from_to(2, 4)}, {1, 4}}, {{2}, {4}}, {{2, 3}, {}}, {{from_to(1, 3), 2}, {}}};
  for (size_t k = 0; k < matrix.size(); ++k)
    rows.push_back({str(kInfer, "test_IncSubtensor[matrix,", k, "]"),
                    {5, 4},
                    matrix[k].first,
                    matrix[k].second,
                    values_if(k > 0)});
  const std::vector<Row> four = {{{all(), from_to(2, 4), all(), all()}, {1, 1, 1, 5}},
                                 {{2, from_to(2, 4), 1}, {1, 5}},
                                 {{0, 1, all(), 4}, {2}},
                                 {{from_to(1, 3), 1, all(), from_to(2, 4)}, {}}};
  for (size_t k = 0; k < four.size(); ++k)
    rows.push_back({str(kInfer, "test_IncSubtensor[tensor4,", k, "]"),
                    {3, 4, 2, 5},
                    four[k].first,
                    four[k].second,
                    values_if(k > 1)});
  using Lists = std::vector<std::pair<std::vector<int64_t>, Shape>>;
  const Lists lists = {{{2, 3}, {1, 4}}, {{1, 3, 2}, {4}}, {{0, 3, 0}, {}}, {{2, 3}, {2, 4}}};
  const std::string one = kInfer + "test_AdvancedIncSubtensor1";
  for (size_t k = 0; k < lists.size(); ++k)
    rows.push_back(
        {str(one, "[matrix,", k, "]"), {5, 4}, {integers(lists[k].first)}, lists[k].second, values_if(k > 0)});
  const Lists of_four = {
      {{2, 3}, {1, 1, 1, 3}}, {{1, 3, 2}, {3}}, {{0, 3, 0}, {}}, {{2, 3}, {2, 1, 1, 3}}, {{1, 2, 1}, {3}}};
  for (size_t k = 0; k < of_four.size(); ++k)
    rows.push_back({str(one, "[tensor4,", k, "]"),
                    {4, 2, 2, 3},
                    {integers(of_four[k].first)},
                    of_four[k].second,
                    Written::kValues});
  const Tensor a = integers({1, 3, 2}), b = integers({0, 3, 3});
  rows.push_back({kInfer + "test_AdvancedIncSubtensor", {5, 4}, {a, b}, Shape{3}});
  rows.push_back({kInfer + "test_AdvancedSubtensor[0]", {5, 4}, {a, b}});
  rows.push_back({kInfer + "test_AdvancedSubtensor[1]", {5, 4}, {a, from_to(1, 3)}, Shape{3, 2}});
  rows.push_back({kInfer + "test_AdvancedSubtensor[2]", {5, 4}, {from_to(1, 3), a}, Shape{2, 3}});
}

void add_masks(std::vector<PartCase>& rows) {
  const std::string test = kInfer + "test_AdvancedSubtensor_bool";
  const auto add = [&](const char* variant, const std::vector<AxisIndex>& places, const Shape& y) {
    rows.push_back({test + variant, {2, 3}, places, y});
  };
  const Tensor whole_mask = bools({2, 3}, "011010");
  add("[both]", {bools({2}, "11"), bools({3}, "101")}, {2});
  add("[rows]", {bools({2}, "01")}, {1, 3});
  add("[columns]", {all(), bools({3}, "101")}, {2, 2});
  add("[none,1:]", {bools({2}, "00"), from(1)}, {2});
  add("[all,0]", {bools({2}, "11"), 0}, {2});
  add("[whole]", {whole_mask}, {3});
  add("[None,whole,None]", {new_axis(), whole_mask, new_axis()}, {3, 1});
  add("[5:,columns]", {from(5), bools({3}, "011")}, {1});
  const Shape five = {3, 2, 3, 3, 2};
  const Tensor pair = bools({2, 3}, "010101");
  rows.push_back({test + "_mixed[0]", five, {from(1), pair, 0, from(1)}, Shape{2, 3, 1}});
  rows.push_back({test + "_mixed[1]", five, {from(1), pair, from(1), 0}, Shape{3, 2, 2}});
  rows.push_back({test + "_mixed[2]",
                  five,
                  {from(1), bools({2}, "11"), from(1), new_axis(), table({4, 1}, {0, 2, 1, 0})},
                  Shape{2, 1, 2},
                  Written::kValues});
}

void add_lengths(std::vector<PartCase>& rows) {
  rows.push_back({kInfer + "test_advanced_subtensor_constant_slice",
                  {4, 5},
                  {from(1), table({2, 3}, {0, 4, 1, 3, 2, 0})},
                  Shape{2, 3},
                  Written::kValues});
  const Tensor i = table({2, 1, 1}, {0, 1}), j = table({1, 1, 1}, {0}), list = integers({1, 3, 2});
  const Tensor one = Tensor(int64_t{1});
  const std::vector<std::pair<Shape, std::vector<AxisIndex>>> meshes = {
      {{3, 2, 2}, {all()}},
      {{3, 2, 2}, {2}},
      {{3, 2, 2}, {i}},
      {{3, 2, 2}, {i, j}},
      {{3, 2, 2}, {i, j, all()}},
      {{3, 2, 2}, {all(), i}},
      {{3, 2, 2}, {all(), new_axis(), j}},
      {{3, 2, 2}, {one, all(), new_axis()}},
      {{3, 2, 2}, {all(), new_axis(), one}},
      {{3, 2, 2}, {i, all(), j}},
      {{3, 2, 2, 2}, {i, all(), j, all()}},
      {{3, 2, 2}, {i, new_axis(), j}},
      {{5, 4}, {list, from_to(1, 3)}},
      {{5, 4}, {from_to(1, 3), list}},
      {{3, 4, 2}, {all(), integers({1, 2, 3}), all()}}};
  for (size_t k = 0; k < meshes.size(); ++k)
    rows.push_back(
        {str("test_indexed_result_shape[", k, "]"), meshes[k].first, meshes[k].second, Shape{}, Written::kValues});
  const std::vector<std::vector<End>> slices = {{2, 4, {}}, {2, {}, {}}, {1, 4, {}},  {2, 2, {}},  {1, 10, {}},
                                                {1, 10, 2}, {-1, 4, {}}, {-6, 4, {}}, {1, -2, {}}, {1, -1, {}}};
  for (size_t k = 0; k < slices.size(); ++k)
    rows.push_back({str("test_get_vector_length[computed,", k, "]"),
                    {4},
                    {computed(slices[k][0], slices[k][1], slices[k][2])},
                    Shape{},
                    values_if(k > 0)});
  const std::string shapes = "test_subtensor_static_shapes";
  rows.push_back({shapes + "[2]", {13}, {from(-1)}, Shape{1}});
  rows.push_back({shapes + "[3]", {5, 7}, {by(2), Slice{.start = -1, .stop = 1, .step = -1}}, Shape{3, 5}});
  rows.push_back({shapes + "[3,computed]", {5, 7}, {computed({}, {}, 2), computed(-1, 1, -1)}, Shape{3, 5}});
}

TEST(PartsSuite, Mixed) {
  std::vector<PartCase> rows;
  add_advanced(rows);
  add_inferred(rows);
  add_masks(rows);
  add_lengths(rows);
  std::vector<SuiteCase> cases = part_cases(rows);
  cases.push_back({kInfer + "test_AdvancedSubtensor_bool[isinf]", [](G g) {
                     const Expr x = g(spread({3, 4})), part = x[logical_not(isinf(1 / x))];
                     return All{part, grad(sum(sqr(part)), x)};
                   }});
  expect_suite("parts", "mixed", cases);
}

void add_boolean(std::vector<PartCase>& rows) {
  const std::string test = kSubtensor + "test_boolean";
  const Tensor columns = bools({3}, "101"), pair = bools({2, 3}, "000111");
  rows.push_back({test + "[0th,columns]", {2, 3}, {integers({0}), columns}, Shape{2}});
  rows.push_back({test + "[0,columns]", {2, 3}, {0, columns}, Shape{2}});
  rows.push_back({test + "[1:,columns,None]", {2, 3}, {from(1), columns, new_axis()}, Shape{1, 2, 1}});
  rows.push_back({test + "[None,1:,columns]", {2, 3}, {new_axis(), from(1), columns}, Shape{2}});
  const std::vector<std::tuple<const char*, std::vector<AxisIndex>, Shape>> fours = {{"", {}, {3, 4, 2}},
                                                                                     {",1", {ellipsis(), 1}, {4}},
                                                                                     {",0,1", {ellipsis(), 0, 1}, {3}},
                                                                                     {",1:", {from(1)}, {3, 3, 2}},
                                                                                     {",None", {new_axis()}, {4, 2}}};
  for (const auto& [variant, others, y] : fours)
    rows.push_back({str(test, "[four", variant, ",direct]"), {2, 3, 4, 2}, joined({pair}, others), y});
  rows.push_back(
      {test + "[:,three]", {3, 2, 3, 4}, {all(), bools({2, 3}, "110010"), integers({0, 2, 1})}, Shape{3, 3}});
  rows.push_back({test + "[0d,mask]", {3, 4}, {1, bools({4}, "0110")}, Shape{}});
}

void add_axes(std::vector<PartCase>& rows) {
  const std::vector<std::vector<AxisIndex>> ellipses = {{ellipsis()},
                                                        {ellipsis(), 1},
                                                        {1, ellipsis()},
                                                        {ellipsis(), 1, 2, 1},
                                                        {1, ellipsis(), 2, 1},
                                                        {1, 2, 1, ellipsis()},
                                                        {ellipsis(), integers({0, 2, 1})},
                                                        {new_axis(), ellipsis()},
                                                        {ellipsis(), new_axis(), integers({1, 2})}};
  for (size_t k = 0; k < ellipses.size(); ++k)
    rows.push_back({str(kSubtensor, "test_ellipsis[", k, ",direct]"), {2, 3, 3}, ellipses[k]});
  for (size_t k = 0; k < ellipses.size(); ++k)
    if (k != 7) rows[rows.size() - ellipses.size() + k].y = Shape{};
  const std::string test = kSubtensor + "test_newaxis";
  for (int k = 0; k < 4; ++k) {
    std::vector<AxisIndex> places(3, all());
    places.insert(places.begin() + k, new_axis());
    rows.push_back({str(test, "[", k, ",direct]"), {2, 3, 2}, places});
  }
  rows.push_back({test + "[number]", {}, {new_axis()}});
  rows.push_back({test + "[between]", {2, 3}, {new_axis(), 1, new_axis(), by(-1), new_axis()}});
}

void add_computed(std::vector<PartCase>& rows) {
  const std::string t = kSubtensor, inc = "TestIncSubtensor.";
  rows.push_back({t + "test_slice_symbol[computed]", {5, 4}, {computed({}, 1), new_axis(), all()}});
  rows.push_back({t + "test_ok_strided[computed]", {5}, {computed(1, 4, 2)}, Shape{2}});
  rows.push_back({t + "test_ok_range_finite[computed,back]", {5, 3}, {computed(4, 0, -2), 1}, Shape{2}});
  rows.push_back({t + "test_ok_rows_finite[computed]", {4, 3}, {computed(1, 3), computed({}, {}, -1)}, Shape{2, 3}});
  rows.push_back({t + "test_grad_2d_inc_set_subtensor[computed]", {3, 3}, {computed({}, 2), computed(1)}, Shape{2, 2}});
  rows.push_back({inc + "test_grad_inc_set[leading]", {1, 6}, {all(), from_to(1, 3)}, Shape{2}});
  rows.push_back({inc + "test_simple_2d[computed]", {3, 4}, {all(), computed({}, 2)}, Shape{}});
  rows.push_back({inc + "test_simple_3d[computed,element]", {3, 3, 4}, {all(), 2, computed({}, 2)}, Shape{}});
  rows.push_back({inc + "test_simple_3d[computed,rows]", {3, 3, 4}, {all(), computed({}, 2)}, Shape{}});
  for (const Shape& data : {Shape{10}, Shape{4, 3}, Shape{1, 2, 3}, Shape{4, 2, 3, 2}}) {
    const Tensor index = data[0] == 1 ? integers({0}) : integers({3, 1});
    for (size_t dropped = 0; dropped <= data.size(); ++dropped) {
      Shape y = without_first(data, dropped);
      if (dropped == 0) y[0] = index.size();
      rows.push_back({str(t, "test_advanced1_inc_and_set[written,", data.size(), ",", dropped, "]"),
                      data,
                      {index},
                      y,
                      values_if(dropped > 0)});
    }
  }
  const std::string last = t + "test_adv1_inc_sub_notlastdim";
  rows.push_back({last + "[written]", {3, 5}, {all(), integers({1, 3, 0})}, Shape{}});
  rows.push_back({last + "_2didx[written]", {3, 7}, {all(), table({3, 2}, {1, 3, 0, 2, 6, 4})}, Shape{}});
  for (int rank = 1; rank <= 2; ++rank) {
    const Tensor index = rank == 1 ? integers({1, 3, 0}) : table({2, 2}, {1, 3, 0, 4});
    Shape broadcast(index.rank() + 1, 1), full = {3};
    broadcast[0] = 3;
    full.insert(full.end(), index.shape().begin(), index.shape().end());
    rows.push_back({str(last, "_1_2dval_broadcast[written,", rank, "]"), {3, 5}, {all(), index}, broadcast});
    rows.push_back({str(last, "_1_2dval_no_broadcast[written,", rank, "]"), {3, 5}, {all(), index}, full});
  }
}

Expr written(bool is_set, const Expr& part, const Operand& y) {
  return is_set ? set_subtensor(part, y) : inc_subtensor(part, y);
}

void add_conditions(std::vector<SuiteCase>& cases) {
  for (const bool is_set : {true, false}) {
    const char* kind = is_set ? "set" : "inc";
    cases.push_back(made_case(str(kSubtensor, "test_boolean[condition,", kind, "]"), [is_set](G g) {
      const Expr x = g(count({2, 3})), part = x[x > 2], twice = written(is_set, part, part * 2);
      return All{written(is_set, part, 1), twice, grad(sum(sqr(twice)), x)};
    }));
    cases.push_back(made_case(str(kSubtensor, "test_boolean[conditions,", kind, "]"), [is_set](G g) {
      const Expr x = g(count({2, 3})), rows = x[x[{all(), 0}] > 2];
      return All{written(is_set, x[{x[{all(), 0}] > 2, x[0] > 1}], 5), written(is_set, rows[{all(), from(1)}], 7)};
    }));
  }
}

void add_others(std::vector<SuiteCase>& cases) {
  cases.push_back({"TestIncSubtensor1.test_1d_set_adv_selection", [](G g) {
                     const Expr v = g(Tensor::vector({0.5, 0.75, 0.125})), part = v[g(integers({1, 2}))];
                     return set_subtensor(part, part);
                   }});
  cases.push_back({"TestIncSubtensor.test_grad_broadcastable_specialization", [](G g) {
                     const Expr x = g(spread({2}));
                     return grad(sum(set_subtensor(zeros_like(x)[from(1)], exp(x[from(1)]))), x);
                   }});
  const std::vector<Tensor> indices = {Tensor(int64_t{1}), integers({0, 2, -1, 7, -9}), table({2, 2}, {0, 11, -2, 2})};
  for (const OutOfRange mode : {OutOfRange::kClipped, OutOfRange::kWrapped})
    for (size_t k = 0; k < indices.size(); ++k) {
      const std::string start = str("TestTake.test_take[", mode == OutOfRange::kClipped ? "clip," : "wrap,", k, ",");
      for (const int64_t axis : {0, 1, 2, -1})
        if (k < 2 || axis == 1)
          cases.push_back(made_case(str(start, axis, "]"), [=, index = indices[k]](G g) {
            return All{take(g(count({3, 4, 5})), g(index), axis, mode)};
          }));
      cases.push_back(made_case(start + "None]", [=, index = indices[k]](G g) {
        return All{take(flatten(g(count({3, 4, 5}))), g(index), 0, mode)};
      }));
    }
}

TEST(PartsSuite, Parts) {
  std::vector<PartCase> rows;
  add_boolean(rows);
  add_axes(rows);
  add_computed(rows);
  std::vector<SuiteCase> cases = part_cases(rows);
  add_conditions(cases);
  add_others(cases);
  expect_suite("parts", "parts", cases);
}

TEST(PartsSuite, ComputedEndsAndSteps) {
  const std::vector<End> ends = {-8, -4, -1, 0, 2, 5}, none = {{}};
  std::vector<SuiteCase> cases;
  const std::vector<std::tuple<const char*, bool, bool>> forms = {{"all_symbolic", true, true},
                                                                  {"start_None", false, true},
                                                                  {"stop_None", true, false},
                                                                  {"start_stop_None", false, false}};
  for (const auto& [form, has_start, has_stop] : forms)
    for (const int64_t step : {-6, -3, -1, 2, 5})
      cases.push_back(made_case(str("TestGetCanonicalFormSlice.test_", form, "[computed,", step, "]"),
                                [=, starts = has_start ? ends : none, stops = has_stop ? ends : none](G g) {
                                  const Expr x = g(count({5}));
                                  std::vector<Operand> parts;
                                  for (const End start : starts)
                                    for (const End stop : stops)
                                      parts.emplace_back(part_of(g, x, {computed(start, stop, step)}));
                                  return All{join(0, parts)};
                                }));
  expect_suite("parts", "computed", cases);
}

TEST(PartsSuite, Batched) {
  const std::string one = "test_vectorize_subtensor_without_batch_indices", more = "test_vectorize_adv_subtensor";
  const Tensor pairs = table({4, 2}, {0, 2, 1, 1, 2, 0, -1, 1}), first = integers({0, 2}), second = integers({1, 1});
  const auto each_x = [](const char* variant, const Shape& shape, const Tensor& index,
                         const std::function<Expr(const Expr&, const Expr&)>& step) {
    return made_case(str("test_vectorize_adv_subtensor", variant), [=](G g) {
      const Expr i = g(index);
      return All{vmap([&](const Expr& x) { return step(x, i); }, {g(spread(shape))})};
    });
  };
  const auto both = [&pairs](const char* variant, const Shape& shape,
                             const std::function<Expr(const Expr&, const Expr&)>& step) {
    return made_case(str("test_vectorize_adv_subtensor", variant), [=](G g) {
      return All{vmap([&](const Expr& x, const Expr& i) { return step(x, i); }, {g(spread(shape)), g(pairs)})};
    });
  };
  expect_suite("parts", "batched",
               {
                   made_case(one + "[x]",
                             [](G g) {
                               const Expr i = g(Tensor(int64_t{1}));
                               return All{vmap([&](const Expr& x) { return x[i]; }, {g(spread({4, 3, 2}))})};
                             }),
                   made_case(one + "[x,start]",
                             [](G g) {
                               return All{vmap([](const Expr& x, const Expr& i) { return x[i]; },
                                               {g(spread({4, 3, 2})), g(integers({0, 2, 1, 2}))})};
                             }),
                   made_case(more + "[core]",
                             [first](G g) {
                               return All{g(spread({2, 3, 2}))[{all(), g(first)}]};
                             }),
                   each_x("[x,:,idx]", {4, 2, 3, 2}, first,
                          [](const Expr& x, const Expr& i) {
                            return x[{all(), i}];
                          }),
                   each_x("[x,idx,None]", {4, 2, 3, 2}, second,
                          [](const Expr& x, const Expr& i) {
                            return x[{i, new_axis()}];
                          }),
                   each_x("[x,:,idx,None]", {4, 2, 3, 2}, first,
                          [](const Expr& x, const Expr& i) {
                            return x[{all(), i, new_axis()}];
                          }),
                   each_x("[x,:,idx,idx]", {4, 2, 3, 3, 2}, first,
                          [](const Expr& x, const Expr& i) {
                            return x[{all(), i, i}];
                          }),
                   each_x("[x,:,idx,:,idx]", {4, 2, 3, 2, 3}, first,
                          [](const Expr& x, const Expr& i) {
                            return x[{all(), i, all(), i}];
                          }),
                   made_case(more + "[idx]",
                             [pairs](G g) {
                               const Expr x = g(spread({3}));
                               return All{vmap([&](const Expr& i) { return x[i]; }, {g(pairs)})};
                             }),
                   both("[x,idx]", {4, 3}, [](const Expr& x, const Expr& i) { return x[i]; }),
                   both("[x,:,idx,both]", {4, 2, 3, 2},
                        [](const Expr& x, const Expr& i) {
                          return x[{all(), i}];
                        }),
               });
}

}  // namespace
}  // namespace thtrain::parts_suite
