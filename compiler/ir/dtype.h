// Element types, their sizes, and the one promotion table.
#pragma once

#include <complex>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <type_traits>

#include "compiler/base/error.h"

namespace thtrain {

// ---- dtypes and complex numbers -------------------------------------------------------------------------------------

/// The type of an element.
enum class DType : uint8_t {
  kBool,
  kInt8,
  kInt16,
  kInt32,
  kInt64,
  kUInt8,
  kUInt16,
  kUInt32,
  kUInt64,
  kFloat32,
  kFloat64,
  kComplex64,
  kComplex128,
};

// ---- for other parts of the compiler --------------------------------------------------------------------------------

inline constexpr DType kAllDTypes[] = {DType::kBool,      DType::kInt8,    DType::kInt16,   DType::kInt32,
                                       DType::kInt64,     DType::kUInt8,   DType::kUInt16,  DType::kUInt32,
                                       DType::kUInt64,    DType::kFloat32, DType::kFloat64, DType::kComplex64,
                                       DType::kComplex128};

size_t size_of(DType dtype);            // bytes of one element
std::string_view name_of(DType dtype);  // "float32"
std::optional<DType> dtype_named(std::string_view name);

bool is_bool(DType dtype);
bool is_signed_int(DType dtype);
bool is_unsigned_int(DType dtype);
bool is_int(DType dtype);  // signed or unsigned, not bool
bool is_float(DType dtype);
bool is_complex(DType dtype);

// ---- dtypes and complex numbers -------------------------------------------------------------------------------------

/// The default floating type of constructors, of true division of integers and of a float literal with an integer:
/// that of the thread where a FloatXScope lives in it, else that of the process, which is float64 until set.
DType floatX();
/// Of the process, in all of its threads. UserError unless it is kFloat32 or kFloat64.
void set_floatX(DType dtype);

/// While it lives, floatX() of the thread that made it, whatever the process has. One thread's scopes end in the
/// opposite order. UserError as set_floatX.
class FloatXScope {
 public:
  explicit FloatXScope(DType dtype);
  ~FloatXScope();
  FloatXScope(const FloatXScope&) = delete;
  FloatXScope& operator=(const FloatXScope&) = delete;

 private:
  std::optional<DType> outer_;
};

/// The dtype of `a op b`: NumPy's within a kind; with an integer or bool a float keeps its dtype; complex with
/// float keeps the wider component. A signed integer with uint64 has none (an error asks for a cast, by the caller).
std::optional<DType> promote(DType a, DType b);

// ---- for other parts of the compiler --------------------------------------------------------------------------------

/// sum and prod of bool and integers: int64 or uint64; other dtypes stay.
DType sum_dtype(DType dtype);

/// The floating dtype that true division and the mean of `dtype` give: itself for floats and complex, else floatX.
DType to_float(DType dtype);

template <class T>
constexpr DType dtype_of() {
  if constexpr (std::is_same_v<T, bool>)
    return DType::kBool;
  else if constexpr (std::is_same_v<T, std::complex<float>>)
    return DType::kComplex64;
  else if constexpr (std::is_same_v<T, std::complex<double>>)
    return DType::kComplex128;
  else if constexpr (std::is_same_v<T, float>)
    return DType::kFloat32;
  else if constexpr (std::is_same_v<T, double>)
    return DType::kFloat64;
  else if constexpr (std::is_integral_v<T>) {
    if constexpr (std::is_signed_v<T>) {
      if constexpr (sizeof(T) == 1)
        return DType::kInt8;
      else if constexpr (sizeof(T) == 2)
        return DType::kInt16;
      else if constexpr (sizeof(T) == 4)
        return DType::kInt32;
      else
        return DType::kInt64;
    } else {
      if constexpr (sizeof(T) == 1)
        return DType::kUInt8;
      else if constexpr (sizeof(T) == 2)
        return DType::kUInt16;
      else if constexpr (sizeof(T) == 4)
        return DType::kUInt32;
      else
        return DType::kUInt64;
    }
  } else {
    static_assert(sizeof(T) == 0, "no dtype for this C++ type");
  }
}

/// visit(dtype, [](auto zero) { using T = decltype(zero); ... }): calls with a zero of the C++ type of `dtype`.
template <class F>
decltype(auto) visit(DType dtype, F&& f) {
  switch (dtype) {
    case DType::kBool:
      return f(bool{});
    case DType::kInt8:
      return f(int8_t{});
    case DType::kInt16:
      return f(int16_t{});
    case DType::kInt32:
      return f(int32_t{});
    case DType::kInt64:
      return f(int64_t{});
    case DType::kUInt8:
      return f(uint8_t{});
    case DType::kUInt16:
      return f(uint16_t{});
    case DType::kUInt32:
      return f(uint32_t{});
    case DType::kUInt64:
      return f(uint64_t{});
    case DType::kFloat32:
      return f(float{});
    case DType::kFloat64:
      return f(double{});
    case DType::kComplex64:
      return f(std::complex<float>{});
    case DType::kComplex128:
      return f(std::complex<double>{});
  }
  TH_CHECK(false, "dtype out of range");
  __builtin_unreachable();
}

template <class T>
inline constexpr bool is_complex_v = false;
template <class T>
inline constexpr bool is_complex_v<std::complex<T>> = true;

}  // namespace thtrain
