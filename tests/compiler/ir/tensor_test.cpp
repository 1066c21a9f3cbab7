// Host arrays: views, copies, conversions, texts; and the types and properties that hold them.
#include "compiler/ir/tensor.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "compiler/ir/props.h"
#include "compiler/ir/type.h"
#include "tests/support/error_text.h"

namespace thtrain {
namespace {

Tensor counted() {  // 0 ... 23 as [2, 3, 4]
  std::vector<int32_t> elements(24);
  for (int i = 0; i < 24; ++i) elements[static_cast<size_t>(i)] = i;
  return Tensor::of(elements, {2, 3, 4});
}

TEST(Tensor, ViewsShareAndCopiesDoNot) {
  Tensor whole = counted();
  Tensor turned = whole.view({4, 3, 2}, {1, 4, 12}, 0), backwards = whole.view({2, 3, 4}, {12, 4, -1}, 3);
  EXPECT_FALSE(turned.is_contiguous());
  EXPECT_EQ(turned.at<int32_t>({3, 2, 1}), 23);
  EXPECT_EQ(backwards.at<int32_t>({0, 0, 0}), 3);
  EXPECT_EQ(backwards.as_int(1), 2);
  Tensor copy = turned.copy();
  EXPECT_TRUE(copy.is_contiguous());
  EXPECT_TRUE(same_bits(copy, turned));
  EXPECT_TRUE(turned.shares_memory_with(whole));
  EXPECT_FALSE(copy.shares_memory_with(whole));
  whole.at<int32_t>({1, 2, 3}) = -1;
  EXPECT_EQ(turned.at<int32_t>({3, 2, 1}), -1);
  EXPECT_EQ(copy.at<int32_t>({3, 2, 1}), 23);
}

TEST(Tensor, ContiguousIsWhatRowMajorIs) {
  Tensor whole = counted();
  EXPECT_TRUE(whole.rows(1, 1).is_contiguous());
  EXPECT_TRUE(whole.view({1, 4}, {99, 1}, 4).is_contiguous());  // a stride along a length of 1 does not matter
  EXPECT_TRUE(whole.view({0, 3}, {7, 7}, 0).is_contiguous());   // nor any where there is no element
  EXPECT_FALSE(whole.view({2, 2}, {4, 2}, 0).is_contiguous());
  EXPECT_FALSE(whole.view({3}, {0}, 0).is_contiguous());
  EXPECT_TRUE(whole.contiguous().shares_memory_with(whole));
}

TEST(Tensor, AssignAcceptsAnyLayout) {
  Tensor whole = counted(), to = Tensor::zeros(DType::kInt32, {2, 3, 4});
  to.view({4, 3, 2}, {1, 4, 12}, 0).assign(whole.view({4, 3, 2}, {1, 4, 12}, 0));
  EXPECT_TRUE(same_bits(to, whole));
  EXPECT_THROW(to.assign(whole.rows(0, 1)), UserError);
}

TEST(Tensor, Casts) {
  Tensor x = Tensor::vector({-1.5, 0.0, 300.0});
  EXPECT_EQ(x.cast(DType::kBool).text(), "[true, false, true]");
  EXPECT_EQ(x.cast(DType::kInt16).text(), "[-1, 0, 300]");
  EXPECT_EQ(x.cast(DType::kComplex64).text(), "[-1.5+0j, 0+0j, 300+0j]");
  EXPECT_TRUE(x.cast(DType::kFloat64).shares_memory_with(x));
  EXPECT_EQ(Tensor(std::complex<double>(2, -3)).cast(DType::kFloat32).as_double(), 2);
  EXPECT_EQ(Tensor(int64_t{(1LL << 53) + 1}).as_int(), (1LL << 53) + 1);
}

TEST(Tensor, Reshape) {
  Tensor whole = counted();
  EXPECT_TRUE(whole.reshape({6, 4}).shares_memory_with(whole));
  Tensor turned = whole.view({4, 3, 2}, {1, 4, 12}, 0).reshape({24});
  EXPECT_EQ(turned.as_int(1), 12);
  EXPECT_EQ(text_without_node([&] {
              whole.reshape({5, 5});
            }),
            "error: the number of elements does not fit the shape\n  expected: 25 elements for [5, 5]\n"
            "  got:      24");
}

TEST(Tensor, Texts) {
  EXPECT_EQ(counted().rows(0, 1).text(5), "[[[0, 1, 2, 3], [4, ...], ...]]");
  EXPECT_EQ(Tensor::zeros(DType::kFloat32, {0, 2}).text(), "[]");
  EXPECT_EQ(counted().type_text(), "int32[2, 3, 4]");
  EXPECT_EQ(Tensor(0.1f).text(), "0.1");
}

TEST(Tensor, BitsTellZerosAndNansApart) {
  EXPECT_FALSE(same_bits(Tensor(0.0), Tensor(-0.0)));
  double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_TRUE(same_bits(Tensor(nan), Tensor(nan)));
  EXPECT_FALSE(same_bits(Tensor(nan), Tensor(-nan)));
  EXPECT_FALSE(same_bits(Tensor::zeros(DType::kFloat32, {0, 2}), Tensor::zeros(DType::kFloat32, {2, 0})));
  EXPECT_FALSE(same_bits(Tensor(0.0f), Tensor(int32_t{0})));
}

TEST(Tensor, NewBuffersAreAligned) {
  for (int64_t n : {0, 1, 7, 100})
    EXPECT_EQ(reinterpret_cast<uintptr_t>(Tensor::empty(DType::kInt8, {n}).raw()) % 64, 0u);
}

// ---- types and properties ------------------------------------------------------------------------------------------

TEST(Type, TextsReadBack) {
  for (const char* text : {"float32[]", "bool[0]", "complex128[n, 3, floor_div(n - 1, 2) + 1]", "int8[max(a, b)]",
                           "float64[layer/x.0, 2*layer/x.1]", "token"}) {
    std::optional<Type> type = parse_type(text);
    ASSERT_TRUE(type) << text;
    EXPECT_EQ(type->text(), text);
  }
  for (const char* text : {"", "float32", "float32[", "float32[n,]", "float32[,]", "float16[2]", "float32[n m]"})
    EXPECT_FALSE(parse_type(text)) << text;
}

TEST(Props, AreSortedAndComparedByValue) {
  Props a{{"b", int64_t{1}}, {"a", 0.5}}, b{{"a", 0.5}, {"b", int64_t{1}}};
  EXPECT_EQ(a, b);
  EXPECT_EQ(a.hash(), b.hash());
  EXPECT_EQ(a.all()[0].first, "a");
  b.set("b", int64_t{2});
  EXPECT_FALSE(a == b);
  EXPECT_FALSE((Props{{"a", true}} == Props{{"a", int64_t{1}}}));
  EXPECT_FALSE((Props{{"a", 0.0}} == Props{{"a", -0.0}}));
  double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ((Props{{"a", nan}}), (Props{{"a", nan}}));
  EXPECT_EQ((Props{{"t", Tensor::vector({1.0, 2.0})}}), (Props{{"t", Tensor::vector({1.0, 2.0})}}));
  EXPECT_FALSE((Props{{"t", Tensor::vector({1.0})}} == Props{{"t", Tensor::vector({1.0f})}}));
  EXPECT_EQ(a.get_or("c", int64_t{7}), 7);
  EXPECT_THROW(a.get<int64_t>("a"), InternalError);
}

// A constant that differs after the part that its hash looks at is another constant.
TEST(Props, LongTensorsAreComparedWhole) {
  Tensor x = Tensor::zeros(DType::kFloat64, {1000}), y = x.copy();
  y.data<double>()[999] = 1;
  Props a{{"t", x}}, b{{"t", y}};
  EXPECT_EQ(a.hash(), b.hash());
  EXPECT_FALSE(a == b);
  EXPECT_NE(prop_text(x), prop_text(y));
}

// ---- mistakes of users ----

template <class T>
constexpr bool is_const = std::is_const_v<std::remove_reference_t<std::remove_pointer_t<T>>>;

TEST(Tensor, AConstOneIsNotWritable) {
  const Tensor fixed = counted();
  Tensor handle = fixed;
  static_assert(is_const<decltype(fixed.data<int32_t>())> && is_const<decltype(fixed.at<int32_t>({0, 0, 0}))>);
  static_assert(is_const<decltype(fixed.raw())> && !is_const<decltype(handle.data<int32_t>())>);
  static_assert(!std::is_invocable_v<decltype(&Tensor::assign), const Tensor&, const Tensor&>);
  handle.at<int32_t>({0, 0, 1}) = 77;
  EXPECT_EQ(fixed.at<int32_t>({0, 0, 1}), 77);
}

TEST(Tensor, ElementsThatItDoesNotHave) {
  const Tensor x = Tensor::matrix<double>({{1, 2, 3}, {4, 5, 6}}), none = Tensor::empty(DType::kFloat32, {0, 3});
  EXPECT_EQ(x.at<double>({1, 2}), 6);
  const std::string outside =
      "error: a tensor has no element of this index\n  expected: indices from 0, below the lengths of float64[2, 3]\n"
      "  got:      ";
  EXPECT_EQ(text_without_node([&] { (void)x.at<double>({2, 0}); }), outside + "[2, 0]");
  EXPECT_EQ(text_without_node([&] { (void)x.at<double>({0, -1}); }), outside + "[0, -1]");
  EXPECT_EQ(text_without_node([&] { (void)x.at<double>({0}); }),
            "error: an element of a tensor has an index for each axis\n  expected: 2 for float64[2, 3]\n"
            "  got:      [0]");
  EXPECT_EQ(text_without_node([&] { x.as_double(6); }),
            "error: a tensor has no element 6\n  expected: from 0 to 5\n  got:      element 6 of float64[2, 3]");
  EXPECT_EQ(text_without_node([&] { x.as_int(-1); }),
            "error: a tensor has no element -1\n  expected: from 0 to 5\n  got:      element -1 of float64[2, 3]");
  EXPECT_EQ(text_without_node([&] { none.as_double(); }),
            "error: a tensor has no element 0\n  expected: none: it is empty\n  got:      element 0 of float32[0, 3]");
  EXPECT_EQ(text_without_node([&] { x.dim(2); }),
            "error: a tensor has no axis 2\n  expected: an axis from 0 to 1\n  got:      axis 2 of float64[2, 3]");
}

TEST(Tensor, AnotherDtypeThanItsOwn) {
  EXPECT_EQ(text_without_node([] { Tensor::vector({1.0f}).data<double>(); }),
            "error: a tensor of float32 is read as float64\n  expected: the C++ type of float32\n"
            "  got:      float32[1]\n"
            "  hint:     cast(DType) gives a tensor of another dtype, as_double() the elements of each dtype");
}

TEST(Tensor, ShapesAndViewsThatItCannotHave) {
  const Tensor x = Tensor::matrix<double>({{1, 2, 3}, {4, 5, 6}});
  const auto negative = [](const std::string& what, const std::string& got) {
    return "error: " + what + ": a length is negative\n  expected: lengths of at least 0\n  got:      " + got;
  };
  EXPECT_EQ(text_without_node([] { Tensor::zeros(DType::kInt8, {-2, -3}); }), negative("a new tensor", "[-2, -3]"));
  EXPECT_EQ(text_without_node([&] { x.reshape({-2, -3}); }), negative("reshape", "[-2, -3]"));
  EXPECT_EQ(text_without_node([&] {
              x.view({2}, {1, 1}, 0);
            }),
            "error: view: a tensor has a stride for each axis\n  expected: 1 strides for [2]\n  got:      [1, 1]");
  const auto outside = [](const std::string& got) {
    return "error: view: it has elements outside of the tensor\n  expected: elements of float64[2, 3]\n  got:      " +
           got;
  };
  EXPECT_EQ(text_without_node([&] { x.view({7}, {1}, 0); }), outside("[7] with strides [1] from element 0"));
  EXPECT_EQ(text_without_node([&] { x.view({2}, {1}, -1); }), outside("[2] with strides [1] from element -1"));
  EXPECT_EQ(text_without_node([&] { x.view({3}, {int64_t{1} << 62}, 0); }),
            outside("[3] with strides [4611686018427387904] from element 0"));
  EXPECT_EQ(x.view({3, 2}, {-1, -3}, 5).text(), "[[6, 3], [5, 2], [4, 1]]");
  EXPECT_EQ(text_without_node([&] { x.rows(1, 2); }),
            "error: rows: a tensor has no such rows\n  expected: rows from 0, below 2\n"
            "  got:      2 rows from row 1 of float64[2, 3]");
  EXPECT_EQ(text_without_node([] {
              Tensor::matrix<double>({{1, 2}, {3, 4, 5}, {6}});
            }),
            "error: the rows of a matrix have different lengths\n  expected: 2 elements, as in the first row\n"
            "  got:      3");
}

TEST(Props, Texts) {
  EXPECT_EQ(prop_text(true), "true");
  EXPECT_EQ(prop_text(int64_t{-3}), "-3");
  EXPECT_EQ(prop_text(2.0), "2.0");
  EXPECT_EQ(prop_text(std::string("a \"b\"\\\n")), "\"a \\\"b\\\"\\\\\\n\"");
  EXPECT_EQ(prop_text(Ints{1, -1}), "[1, -1]");
  EXPECT_EQ(prop_text(DType::kUInt8), "uint8");
  EXPECT_EQ(prop_text(Dims{Dim("n"), 2 * Dim("m")}), "<n, 2*m>");
  EXPECT_EQ(prop_text(Tensor::vector({1.0f, 0.5f})), "float32[2]{1, 0.5}");
}

}  // namespace
}  // namespace thtrain
