// The promotion table against NumPy's, and what belongs to it.
#include "compiler/ir/dtype.h"

#include <gtest/gtest.h>

#include <sstream>
#include <thread>

#include "compiler/base/str.h"

namespace thtrain {
namespace {

// numpy.result_type of every pair, NumPy 1.24.2.
constexpr const char* kNumpy = R"(
      b1  i1  i2  i4  i8  u1  u2  u4  u8  f4  f8  c8 c16
 b1   b1  i1  i2  i4  i8  u1  u2  u4  u8  f4  f8  c8 c16
 i1   i1  i1  i2  i4  i8  i2  i4  i8  f8  f4  f8  c8 c16
 i2   i2  i2  i2  i4  i8  i2  i4  i8  f8  f4  f8  c8 c16
 i4   i4  i4  i4  i4  i8  i4  i4  i8  f8  f8  f8 c16 c16
 i8   i8  i8  i8  i8  i8  i8  i8  i8  f8  f8  f8 c16 c16
 u1   u1  i2  i2  i4  i8  u1  u2  u4  u8  f4  f8  c8 c16
 u2   u2  i4  i4  i4  i8  u2  u2  u4  u8  f4  f8  c8 c16
 u4   u4  i8  i8  i8  i8  u4  u4  u4  u8  f8  f8 c16 c16
 u8   u8  f8  f8  f8  f8  u8  u8  u8  u8  f8  f8 c16 c16
 f4   f4  f4  f4  f8  f8  f4  f4  f8  f8  f4  f8  c8 c16
 f8   f8  f8  f8  f8  f8  f8  f8  f8  f8  f8  f8 c16 c16
 c8   c8  c8  c8 c16 c16  c8  c8 c16 c16  c8 c16  c8 c16
c16  c16 c16 c16 c16 c16 c16 c16 c16 c16 c16 c16 c16 c16
)";

DType short_named(const std::string& text) {
  char kind = text[0];
  int bytes = std::stoi(text.substr(1));
  if (kind == 'b') return DType::kBool;
  std::string name = str(kind == 'i' ? "int" : kind == 'u' ? "uint" : kind == 'f' ? "float" : "complex", bytes * 8);
  return *dtype_named(name);
}

bool is_whole(DType dtype) {
  return is_bool(dtype) || is_int(dtype);
}

TEST(DType, PromotionIsNumpysWithinAKind) {
  std::istringstream table(kNumpy);
  std::string word;
  for (size_t i = 0; i < 13; ++i) table >> word;
  size_t differ = 0;
  for (DType a : kAllDTypes) {
    table >> word;
    ASSERT_EQ(short_named(word), a);
    for (DType b : kAllDTypes) {
      table >> word;
      DType numpy = short_named(word);
      std::optional<DType> want = numpy;
      // The three ways in which it is not NumPy's: nothing becomes float64 unasked.
      if (is_whole(a) && is_whole(b) && is_float(numpy))
        want = std::nullopt;  // a signed integer with uint64: the user says which
      else if (is_whole(a) && !is_whole(b))
        want = b;
      else if (is_whole(b) && !is_whole(a))
        want = a;
      differ += want != numpy;
      EXPECT_EQ(promote(a, b), want) << name_of(a) << " with " << name_of(b);
    }
  }
  // 4 signed integers with uint64, and int32, int64, uint32 and uint64 with float32 and complex64: each both ways.
  EXPECT_EQ(differ, 2u * (4 + 4 * 2));
}

TEST(DType, PromotionDoesNotCareForTheOrder) {
  for (DType a : kAllDTypes)
    for (DType b : kAllDTypes) {
      EXPECT_EQ(promote(a, b), promote(b, a));
      for (DType c : kAllDTypes) {
        std::optional<DType> ab = promote(a, b), bc = promote(b, c);
        if (!ab || !bc || !promote(a, c)) continue;  // some pair needs a cast
        EXPECT_EQ(promote(*ab, c), promote(a, *bc)) << name_of(a) << " " << name_of(b) << " " << name_of(c);
      }
    }
}

TEST(DType, NamesReadBack) {
  for (DType dtype : kAllDTypes) {
    EXPECT_EQ(dtype_named(name_of(dtype)), dtype);
    visit(dtype, [&](auto zero) {
      EXPECT_EQ(dtype_of<decltype(zero)>(), dtype);
      EXPECT_EQ(sizeof zero, size_of(dtype));
    });
  }
  EXPECT_FALSE(dtype_named("float16"));
  EXPECT_FALSE(dtype_named("Float32"));
}

TEST(DType, SumsAndMeans) {
  EXPECT_EQ(sum_dtype(DType::kBool), DType::kInt64);
  EXPECT_EQ(sum_dtype(DType::kInt8), DType::kInt64);
  EXPECT_EQ(sum_dtype(DType::kUInt8), DType::kUInt64);
  EXPECT_EQ(sum_dtype(DType::kFloat32), DType::kFloat32);
  EXPECT_EQ(to_float(DType::kComplex64), DType::kComplex64);
  EXPECT_EQ(to_float(DType::kFloat32), DType::kFloat32);
  EXPECT_EQ(to_float(DType::kInt32), floatX());
}

TEST(DType, FloatXIsAFloat) {
  DType before = floatX();
  set_floatX(DType::kFloat32);
  EXPECT_EQ(to_float(DType::kInt8), DType::kFloat32);
  set_floatX(before);
  EXPECT_THROW(set_floatX(DType::kInt32), UserError);
  EXPECT_THROW(set_floatX(DType::kComplex64), UserError);
}

TEST(DType, FloatXIsThatOfTheProcessInEveryThread) {
  DType seen = DType::kBool;
  auto look = [&] { std::thread([&] { seen = to_float(DType::kInt32); }).join(); };
  set_floatX(DType::kFloat32);
  look();
  set_floatX(DType::kFloat64);
  EXPECT_EQ(seen, DType::kFloat32);
  look();
  EXPECT_EQ(seen, DType::kFloat64);
}

TEST(DType, AThreadMayHaveItsOwnFloatX) {
  DType seen = DType::kBool;
  {
    FloatXScope own(DType::kFloat32);
    EXPECT_EQ(floatX(), DType::kFloat32);
    std::thread([&] { seen = floatX(); }).join();
    EXPECT_EQ(seen, DType::kFloat64);
    {
      FloatXScope inner(DType::kFloat64);
      EXPECT_EQ(floatX(), DType::kFloat64);
    }
    set_floatX(DType::kFloat64);
    EXPECT_EQ(floatX(), DType::kFloat32);
    EXPECT_THROW(FloatXScope(DType::kInt32), UserError);
  }
  EXPECT_EQ(floatX(), DType::kFloat64);
}

}  // namespace
}  // namespace thtrain
