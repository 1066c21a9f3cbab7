// After NumPy's _core/tests/test_indexing.py: parts that are read and written, and what is refused.
//
// 222 cases. Not expressed: masks without axes (test_single_bool_index, test_scalar_array_bool,
// test_boolean_indexing_weirdness, the first of test_boolean and of test_flatiter_indexing_boolean), values that are
// written with more axes than the part (test_prepending_ones), complex indices of more axes than NumPy has; lists of
// Python's, records, bytes, objects and subclasses; floats as indices that do not compile (test_slicing_no_floats).
// x.flat is flatten(x) here. Tests of views, of reference counts, of Python's protocols and of texts of errors have no
// counterpart. Of test_multidim a third is here: three of its twelve places of the two indices.
#include <gtest/gtest.h>

#include <numeric>

#include "compiler/api.h"
#include "tests/compiler/suites/parts.h"

namespace thtrain::indexing_suite {
namespace {

using G = Given&;
using Places = std::vector<AxisIndex>;

const std::string kIndexing = "TestIndexing.", kAssigned = "TestBroadcastedAssignments.",
                  kEquivalent = "TestFancyIndexingEquivalence.", kMulti = "TestMultiIndexingAutomated.",
                  kFlat = "TestFlatiterIndexing.test_flatiter_";

/// x, and with y what setting the part and adding to it make of x.
struct Row {
  std::string name;
  Tensor x;
  Places places;
  std::optional<Tensor> y = {};
};

Tensor one(int64_t value) {
  return Tensor(value);
}

Tensor reversed(const Tensor& x) {
  return x
      .view(
          x.shape(),
          [&] {
            Shape strides = x.strides();
            strides[0] = -strides[0];
            return strides;
          }(),
          (x.dim(0) - 1) * x.strides()[0])
      .copy();
}

Tensor transposed(const Tensor& x) {
  return x.view({x.shape().rbegin(), x.shape().rend()}, {x.strides().rbegin(), x.strides().rend()}, 0).copy();
}

Tensor first(int64_t count) {
  return whole({count});
}

std::vector<SuiteCase> cases_of(const std::vector<Row>& rows) {
  std::vector<SuiteCase> out;
  for (const Row& row : rows)
    out.push_back(made_case(row.name, [row](G given) {
      const Expr x = given(row.x), part = part_of(given, x, row.places);
      if (!row.y) return All{part};
      const Expr y = given(*row.y);
      return All{part, set_subtensor(part, y), inc_subtensor(part, y)};
    }));
  return out;
}

void add_basic(std::vector<Row>& rows) {
  const std::string t = kIndexing + "test_";
  const Tensor a = whole({3}, 1), square = whole({3, 3}, 1), seven = one(7), index = first(5);
  rows.push_back({t + "none_index", a, {new_axis()}, seven});
  rows.push_back({t + "empty_tuple_index[vector]", a, {}, seven});
  rows.push_back({t + "empty_tuple_index[scalar]", one(0), {}, seven});
  rows.push_back({t + "same_kind_index_casting[vector]", first(10), {index.cast(DType::kUInt64)}, whole({5}, 20)});
  rows.push_back(
      {t + "same_kind_index_casting[matrix]", whole({5, 2}), {index.cast(DType::kUInt64)}, whole({5, 1}, 20)});
  const Tensor short_index = index.cast(DType::kUInt32);
  rows.push_back({t + "same_kind_index_casting[two]", whole({5, 5}), {short_index, short_index}, whole({5}, 20)});
  rows.push_back({t + "empty_fancy_index", a, {first(0)}, seven});
  rows.push_back({t + "ellipsis_index[whole]", square, {ellipsis()}, seven});
  rows.push_back({t + "ellipsis_index[row]", square, {0, ellipsis()}, seven});
  rows.push_back({t + "ellipsis_index[column]", square, {ellipsis(), 0}, seven});
  rows.push_back({t + "ellipsis_index[element]", square, {0, ellipsis(), 1}, seven});
  rows.push_back({t + "ellipsis_index[scalar]", one(0), {ellipsis()}, one(2)});
  rows.push_back({t + "single_int_index[0]", square, {0}, whole({3}, 20)});
  rows.push_back({t + "single_int_index[-1]", square, {-1}, whole({3}, 20)});
  rows.push_back({t + "scalar_return_type[()]", one(0), {}, one(1)});
  rows.push_back({t + "scalar_return_type[z]", first(1), {0}, one(1)});
  rows.push_back({t + "scalar_return_type[z,0d]", whole({1, 1}), {0, one(0)}, one(1)});
  rows.push_back({t + "small_regressions[int64]", first(1), {integers({0})}, one(1)});
  rows.push_back({t + "small_regressions[uint8]", first(1), {integers({0}).cast(DType::kUInt8)}, one(1)});
}

void add_masks(std::vector<Row>& rows) {
  const std::string t = kIndexing + "test_boolean_";
  const Tensor a = whole({3}, 1), square = whole({3, 3}, 1);
  rows.push_back({t + "indexing_onedim", whole({1, 3}), {bools({1}, "1")}, one(1)});
  rows.push_back({t + "assignment_needs_api",
                  first(40),
                  {bools({40}, std::string(10, '1') + std::string(30, '0'))},
                  integers(std::vector<int64_t>(10, 1))});
  rows.push_back({t + "indexing_twodim[whole]", square, {bools({3, 3}, "101010101")}, one(0)});
  rows.push_back({t + "indexing_twodim[1]", square, {bools({3}, "010")}, one(0)});
  rows.push_back({t + "indexing_twodim[0]", square, {bools({3}, "101")}, one(0)});
  rows.push_back({t + "indexing_list[rows]", a, {bools({3}, "101")}, one(0)});
  rows.push_back({t + "indexing_list[None]", a, {new_axis(), bools({3}, "101")}, one(0)});
}

void add_tensors(std::vector<Row>& rows) {
  const std::string t = kIndexing + "test_";
  const Tensor zeros = integers({0, 0, 0, 0, 0}), five = whole({5, 5}), other = whole({5, 5}, 30);
  rows.push_back({t + "reverse_strides_and_subspace_bufferinit[vector]", first(5), {zeros}, reversed(first(5))});
  rows.push_back(
      {t + "reverse_strides_and_subspace_bufferinit[rows]", whole({5, 2}), {zeros, all()}, reversed(whole({5, 2}))});
  rows.push_back({t + "reversed_strides_result_allocation", whole({10, 1}), {reversed(first(10))}, whole({10, 1})});
  rows.push_back(
      {t + "uncontiguous_subspace_assignment", whole({3, 4, 2}), {integers({0, 1})}, transposed(whole({2, 4, 2}))});
  rows.push_back({t + "trivial_fancy_not_possible", first(6), {table({2, 1}, {0, 3})}, one(-1)});
  rows.push_back({t + "array_like_values[rows]", five, {first(5), all()}, other});
  rows.push_back({t + "array_like_values[columns]", five, {all(), first(5)}, other});
  rows.push_back({t + "array_like_values[whole]", five, {ellipsis()}, other});
  const Tensor turned = transposed(whole({5, 2}));
  rows.push_back({t + "memory_order[vector]", first(10), {turned}, whole({2, 5})});
  rows.push_back({t + "memory_order[column]", whole({10, 1}), {turned, 0}, whole({2, 5})});
  Tensor strange = whole({4, 5, 2, 2});
  for (int64_t i = 0; i < strange.size(); ++i) strange.data<int64_t>()[i] /= 20;
  rows.push_back({t + "indexing_array_weird_strides[one]", first(4), {strange}, one(9)});
  rows.push_back({t + "indexing_array_weird_strides[two]", whole({4, 2}), {strange, integers({0, 0})}, one(9)});
  Tensor back = whole({4, 4});
  for (int64_t i = 0; i < 16; ++i) back.data<int64_t>()[i] = 15 - i;
  rows.push_back({t + "indexing_array_negative_strides", back, {all(), first(4)}, one(10)});
  rows.push_back({t + "nontuple_ndindex[rows]", five, {integers({0, 1})}, one(9)});
  rows.push_back({t + "nontuple_ndindex[two]", five, {integers({0, 1}), integers({0, 1})}, one(9)});
  rows.push_back({kAssigned + "test_index_is_larger", five, {table({3, 1}, {0, 1, 2}), first(3)}, integers({2, 3, 4})});
  rows.push_back({kAssigned + "test_broadcast_subspace", whole({10, 10}), {reversed(first(10))}, whole({10, 1})});
  const std::string cast = kEquivalent + "test_cast_equivalence", object = kEquivalent + "test_object_assign";
  rows.push_back({cast + "[slice]", first(5), {to(3)}, integers({2, -3, -1})});
  rows.push_back({cast + "[fancy]", first(5), {integers({0, 2, 1})}, integers({2, -1, -3})});
  rows.push_back({cast + "[subspace]", whole({1, 5}), {integers({0}), to(3)}, table({1, 3}, {2, -3, -1})});
  rows.push_back({object + "[swapped]", whole({5, 1}), {to(3), integers({0})}, whole({3, 1}, 1)});
  rows.push_back({object + "[memory_order,slice]", whole({3, 4, 5}), {to(1), ellipsis()}, whole({1, 4, 1}, 1)});
  rows.push_back({object + "[memory_order,fancy]", whole({3, 4, 5}), {integers({0}), ellipsis()}, whole({1, 4, 1}, 1)});
}

void add_flat(std::vector<Row>& rows) {
  const Tensor five = table({1, 1, 1}, {5}), flat = first(9);
  const std::string valid = "TestFloatNonIntegerArgument.test_valid_";
  const std::vector<Places> indices = {
      {integers({0})}, {integers({0, 0})}, {all(), integers({0, 0})}, {all(), 0, all()}, {all(), all(), all()}};
  for (size_t k = 0; k < indices.size(); ++k) rows.push_back({str(valid, "indexing[", k, "]"), five, indices[k]});
  const std::vector<Slice> slices = {all(),
                                     from(0),
                                     to(2),
                                     from_to(0, 2),
                                     by(2),
                                     Slice{.start = 1, .step = 2},
                                     Slice{.stop = 2, .step = 2},
                                     Slice{.start = 1, .stop = 2, .step = 2}};
  for (size_t k = 0; k < slices.size(); ++k) rows.push_back({str(valid, "slicing[", k, "]"), five, {slices[k]}});
  rows.push_back({"TestCApiAccess.test_getitem[4]", first(10), {4}});
  rows.push_back({"TestCApiAccess.test_getitem[-4]", whole({5, 2}), {-4}});
  rows.push_back({"TestCApiAccess.test_setitem[4]", first(10), {4}, one(10)});
  rows.push_back({"TestCApiAccess.test_setitem[rows]", whole({5, 2}), {4}, one(10)});
  for (const int k : {0, 4, -1}) rows.push_back({str(kFlat, "assign_single_integer[", k, "]"), flat, {k}, one(10)});
  const std::vector<Places> parts = {{all()},          {to(5)}, {from_to(5, 10)}, {by(2)}, {by(-1)},
                                     {from_to(10, 5)}, {},      {ellipsis()}};
  for (size_t k = 0; k < parts.size(); ++k)
    rows.push_back({str(kFlat, "indexing_slice_assign[", k, "]"), flat, parts[k], one(20)});
  rows.push_back({kFlat + "indexing_boolean", flat, {bools({9}, "101010101")}, one(10)});
  const std::vector<Tensor> numbers = {integers({1, 3, 5}), integers({-1, -2}), table({2, 2}, {1, 2, 3, 4}), first(0)};
  for (size_t k = 0; k < numbers.size(); ++k)
    rows.push_back({str(kFlat, "indexing_fancy[", k, "]"), flat, {numbers[k]}, one(10)});
}

TEST(IndexingSuite, ReadAndWritten) {
  std::vector<Row> rows;
  add_basic(rows);
  add_masks(rows);
  add_tensors(rows);
  add_flat(rows);
  expect_suite("indexing", "read", cases_of(rows));
}

TEST(IndexingSuite, WrittenToItself) {
  expect_suite("indexing", "written",
               {
                   {"TestIndexing.test_gh_26542",
                    [](G g) {
                      const Expr a = g(first(3));
                      return set_subtensor(a[g(integers({2, 1, 0}))], a);
                    }},
                   {"TestIndexing.test_gh_26542_2d",
                    [](G g) {
                      const Expr a = g(whole({1, 3}));
                      return set_subtensor(a[{g(integers({0, 0, 0})), g(integers({2, 1, 0}))}], a[0]);
                    }},
                   {"TestIndexing.test_gh_26542_index_overlap",
                    [](G g) {
                      const Expr a = g(first(20));
                      return set_subtensor(a[from(10)], a[to(-10)]);
                    }},
                   {"TestIndexing.test_gh_26844",
                    [](G g) {
                      const Expr a = g(first(5));
                      const Expr part = a[from(2)];
                      return set_subtensor(part, set_subtensor(part[a[to(-2)]], 3));
                    }},
                   {"TestIndexing.test_gh_26844_segfault",
                    [](G g) {
                      const Expr a = g(first(5));
                      const Expr part = a[from(2)];
                      return set_subtensor(part, set_subtensor(part[{new_axis(), a[to(-2)]}], 3));
                    }},
               });
}

TEST(IndexingSuite, Automated) {
  const Tensor x = whole({3, 1, 5, 6}), empty = whole({0, 1, 1}), thousand = one(1000);
  const Places complex = {ellipsis(),
                          0,
                          bools({1}, "1"),
                          bools({1, 5}, "10100"),
                          Slice{.start = -5, .stop = 5, .step = 2},
                          Slice{.start = 1, .stop = 1, .step = 100},
                          Slice{.start = 4, .stop = -1, .step = -2},
                          by(-3),
                          empty,
                          integers({0, -1, 0}),
                          table({3, 1}, {0, -1, 0}),
                          integers({-1, 0}).cast(DType::kInt8)};
  const Places simple = {new_axis(), -1, integers({1})}, fill = {all(), 0};
  std::vector<Row> rows;
  for (size_t i = 0; i < complex.size(); ++i)
    for (size_t j = 0; j < simple.size(); ++j)
      for (size_t k = 0; k < fill.size(); ++k)
        rows.push_back(
            {str(kMulti, "test_multidim[", i, ",", j, ",", k, "]"), x, {fill[k], complex[i], simple[j]}, thousand});
  rows.push_back({kMulti + "test_boolean[0]", x, {bools({3, 1, 5, 6}, std::string(90, '0'))}, thousand});
  rows.push_back({kMulti + "test_boolean[1]", x, {bools({3, 1, 5}, std::string(15, '0'))}, thousand});
  rows.push_back({kMulti + "test_multidim[0,0,0,0]", x, {0, 0, 0, 0}, thousand});
  const Places lines = {ellipsis(),
                        0,
                        bools({10}, "1000000000"),
                        Slice{.start = -5, .stop = 5, .step = 2},
                        Slice{.start = 1, .stop = 1, .step = 100},
                        Slice{.start = 4, .stop = -1, .step = -2},
                        by(-3),
                        empty,
                        integers({0, 1, -2}),
                        table({3, 1}, {2, 0, 1}),
                        table({2, 2}, {0, -1, 0, 1}),
                        integers({2, -1}).cast(DType::kInt8)};
  for (size_t i = 0; i < lines.size(); ++i)
    rows.push_back({str(kMulti, "test_1d[", i, "]"), first(10), {lines[i]}, thousand});
  expect_suite("indexing", "automated", cases_of(rows));
}

/// x[places], or what setting it to y makes of x.
SuiteError refused(std::string name, const Tensor& x, const Places& places, const std::optional<Tensor>& y = {}) {
  return {std::move(name), [=](G given) {
            const Expr part = part_of(given, given(x), places);
            return All{y ? set_subtensor(part, given(*y)) : part};
          }};
}

Tensor ones_but(size_t at, int64_t value) {
  std::vector<int64_t> out(20, 1);
  out[at] = value;
  return integers(out);
}

void add_wrong_indices(std::vector<SuiteError>& cases) {
  const std::string t = kIndexing + "test_", masks = t + "boolean_shape_mismatch";
  const Tensor five = table({1, 1, 1}, {5}), cube = whole({5, 4, 3}), nine = first(9), zero = number(0);
  const std::vector<Places> floats = {{zero}, {0, zero}, {all(), zero}, {number(-1.4)}};
  for (size_t k = 0; k < floats.size(); ++k)
    cases.push_back(refused(str(t, "index_no_floats[", k, "]"), five, floats[k]));
  cases.push_back(refused(t + "empty_fancy_index[float]", whole({3, 3}, 1), {count({0})}));
  cases.push_back(refused(t + "single_int_index[large]", whole({3, 3}, 1), {1 << 30}));
  cases.push_back(
      refused(masks + "[short]", cube, {AxisIndex([](G) { return Index(make_constant(bools({1}, "1"))); })}));
  cases.push_back(refused(masks + "[long]", cube, {bools({6}, "000000")}));
  cases.push_back(refused(masks + "[two]", cube, {bools({4, 4}, std::string(16, '0'))}));
  cases.push_back(refused(masks + "[:,two]", cube, {all(), bools({4, 4}, std::string(16, '0'))}));
  const Tensor pair = integers({0, 1}), three = integers({0, 1, 2});
  cases.push_back(refused(t + "broaderrors_indexing[read]", whole({5, 5}), {pair, three}));
  cases.push_back(refused(t + "broaderrors_indexing[set]", whole({5, 5}), {pair, three}, one(0)));
  for (const auto& [name, index] :
       {std::pair<std::string, Tensor>{"last", ones_but(19, 10)}, {"first", ones_but(0, 11)}}) {
    cases.push_back(refused(str(t, "trivial_fancy_out_of_bounds[", name, "]"), first(5), {index}));
    cases.push_back(refused(str(t, "trivial_fancy_out_of_bounds[", name, ",set]"), first(5), {index}, one(0)));
  }
  cases.push_back(refused(t + "small_regressions[int64,set]", first(1), {integers({1})}, one(1)));
  cases.push_back(refused(t + "small_regressions[uint8,set]", first(1), {integers({1}).cast(DType::kUInt8)}, one(1)));
  cases.push_back(refused(kMulti + "test_multidim[five]", whole({3, 1, 5, 6}), {0, 0, 0, 0, 0}));
  cases.push_back(refused(kMulti + "test_multidim[five,fancy]", whole({3, 1, 5, 6}), {0, 0, integers({1}), 0, 0}));
  const std::string fast = "TestBooleanIndexing.test_boolean_indexing_fast_path";
  cases.push_back(refused(fast + "[9]", whole({3, 3}), {bools({1, 9}, std::string(9, '0'))}));
  cases.push_back(refused(fast + "[10]", whole({3, 3}), {bools({1, 10}, std::string(10, '0'))}));
  cases.push_back(refused(fast + "[three]", whole({1, 1, 2}), {bools({1, 2, 1}, "10")}));
  cases.push_back(refused("TestNonIntegerArrayLike.test_basic", first(10), {Tensor::vector({0.5, 1.5})}));
  cases.push_back(refused("TestMultipleEllipsisError.test_basic[2]", first(10), {ellipsis(), ellipsis()}));
  cases.push_back(refused("TestMultipleEllipsisError.test_basic[3]", first(10), {ellipsis(), ellipsis(), ellipsis()}));
  cases.push_back(refused("TestCApiAccess.test_getitem[scalar]", one(0), {0}));
  for (const int k : {11, -11}) {
    cases.push_back(refused(str("TestCApiAccess.test_getitem[vector,", k, "]"), first(10), {k}));
    cases.push_back(refused(str("TestCApiAccess.test_setitem[matrix,", k, "]"), whole({10, 10}), {k}, one(0)));
  }
  cases.push_back(refused(kFlat + "indexing_boolean[long]", nine, {bools({10}, "0000000000")}));
  cases.push_back(refused(kFlat + "assign_single_integer[9]", nine, {9}, one(40)));
  cases.push_back(refused(kFlat + "indexing_not_supported_newaxis_mutlidimensional_float", nine, {1, 2}));
}

void add_wrong_values(std::vector<SuiteError>& cases) {
  const std::string t = kIndexing + "test_boolean_assignment_value_mismatch";
  cases.push_back(refused(t + "[0]", first(4), {bools({4}, "1111")}, first(0)));
  cases.push_back(refused(t + "[3]", first(4), {bools({4}, "1111")}, whole({3}, 1)));
  cases.push_back(refused(t + "[1,3]", first(1), {bools({1}, "1")}, whole({3}, 1)));
  const std::string ones = kAssigned + "test_prepend_not_one", simple = kAssigned + "test_simple_broadcasting_errors",
                    shape = kAssigned + "test_broadcast_error_reports_correct_shape";
  cases.push_back(refused(ones + "[...]", first(5), {ellipsis()}, whole({2, 1})));
  cases.push_back(refused(ones + "[fancy]", first(5), {integers({1, 2, 3})}, whole({2, 1})));
  cases.push_back(refused(ones + "[two]", first(5), {table({2, 1}, {1, 2})}, whole({2, 2, 1})));
  const Tensor column = whole({5, 1}), zero = integers({0});
  cases.push_back(refused(simple + "[...,2]", column, {ellipsis()}, whole({5, 2})));
  cases.push_back(refused(simple + "[...,0]", column, {ellipsis()}, whole({5, 0})));
  cases.push_back(refused(simple + "[columns,2]", column, {all(), zero}, whole({5, 2})));
  cases.push_back(refused(simple + "[columns,0]", column, {all(), zero}, whole({5, 0})));
  cases.push_back(refused(simple + "[rows]", column, {zero, all()}, whole({2, 1})));
  const Tensor many = whole({3, 4, 5, 6, 7}), values = whole({100, 100}), pair = integers({1, 2});
  cases.push_back(refused(shape + "[0]", many, {ellipsis(), pair, all()}, values));
  cases.push_back(refused(shape + "[1]", many, {integers({0, 1}), ellipsis(), 0}, values));
  cases.push_back(refused(shape + "[2]", many, {ellipsis(), pair, pair}, values));
}

TEST(IndexingSuite, GoldenErrors) {
  std::vector<SuiteError> cases;
  add_wrong_indices(cases);
  add_wrong_values(cases);
  expect_suite_errors("indexing", "errors", cases);
}

}  // namespace
}  // namespace thtrain::indexing_suite
