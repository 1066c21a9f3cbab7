// Arguments that no one should give: empty expressions, other dtypes and ranks than are asked for, lengths below 0,
// axes that are not there, numbers that are no numbers; and among them good ones, or each call would end with the
// first.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "compiler/api.h"

namespace thtrain {

class Garbage {
 public:
  explicit Garbage(uint64_t seed) : random_(seed), rank_(below(6)) {
    for (int64_t& length : lengths_) length = 1 + static_cast<int64_t>(below(4));
  }

  size_t below(size_t n) { return random_() % n; }
  bool one_in(size_t n) { return below(n) == 0; }

  /// An argument of the type T.
  template <class T>
  T draw() {
    T out{};
    fill(out);
    return out;
  }
  /// Was a number given that is too large for what is computed of it?
  bool is_huge() const { return is_huge_; }

 private:
  template <class T>
  static constexpr bool is_enum_like = std::is_enum_v<T>;

  template <class T>
  requires std::is_enum_v<T>
  void fill(T& out) { out = static_cast<T>(below(count_of(out))); }
  template <class T>
  requires(std::is_integral_v<T> && !std::is_same_v<T, bool>) void fill(T& out) { out = static_cast<T>(integer()); }
  template <class T>
  requires std::is_floating_point_v<T>
  void fill(T& out) { out = static_cast<T>(number()); }
  template <class T>
  void fill(std::optional<T>& out) {
    if (one_in(2)) out = draw<T>();
  }
  template <class T>
  void fill(std::vector<T>& out) {
    for (size_t n = below(4); n > 0; --n) out.push_back(draw<T>());
  }
  template <class A, class B>
  void fill(std::pair<A, B>& out) {
    fill(out.first);
    fill(out.second);
  }
  void fill(bool& out) { out = one_in(2); }
  void fill(std::string& out);
  void fill(Expr& out);
  void fill(Tensor& out);
  void fill(Dim& out);
  void fill(Dims& out);
  void fill(LengthList& out);
  void fill(Slice& out);
  void fill(Axes& out);
  void fill(std::source_location& out) { out = std::source_location::current(); }
  void fill(Update& out);
  void fill(ConvPadding& out);
  void fill(ConvOptions& out);
  void fill(PoolOptions& out);
  void fill(UpsamplingRatio& out);
  void fill(LocalResponse& out);
  void fill(RunningMoments& out);
  void fill(JvpOptions& out);
  void fill(GradOptions& out);
  void fill(ScanOptions& out);
  void fill(FunctionOptions& out);
  void fill(Sparse& out);
  void fill(SparseTensor& out);

  static size_t count_of(DType) { return std::size(kAllDTypes); }
  static size_t count_of(Negative) { return 2; }
  static size_t count_of(OutOfRange) { return 3; }
  static size_t count_of(NeighbourMode) { return 5; }
  static size_t count_of(PadMode) { return 4; }
  static size_t count_of(PoolMode) { return 4; }
  static size_t count_of(Disconnected) { return 4; }
  static size_t count_of(NullGradients) { return 3; }
  static size_t count_of(SparseFormat) { return 2; }
  static size_t count_of(FftNorm) { return 3; }

  int64_t integer();
  double number();
  DType dtype();
  Expr leaf();
  Expr made_of(const Expr& x);

  std::mt19937_64 random_;
  // What most arrays of the case have, so that they fit each other.
  size_t rank_;
  std::array<int64_t, 6> lengths_{};
  bool is_huge_ = false;
};

// What has no default value.
template <>
Operand Garbage::draw<Operand>();
template <>
Length Garbage::draw<Length>();
template <>
Index Garbage::draw<Index>();
template <>
KeepDims Garbage::draw<KeepDims>();
template <>
Ddof Garbage::draw<Ddof>();
template <>
Shared Garbage::draw<Shared>();
template <>
In Garbage::draw<In>();
template <>
Out Garbage::draw<Out>();
template <>
ScanSequence Garbage::draw<ScanSequence>();
template <>
ScanOutput Garbage::draw<ScanOutput>();

}  // namespace thtrain
