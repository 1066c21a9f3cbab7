// How the axes of take and scatter_add lie: those before the taken axis, those of the indices, those after it.
#pragma once

#include <string>
#include <vector>

#include "compiler/ir/op.h"
#include "compiler/ops/index/checked_index.h"

namespace thtrain {

struct TakeAxes {
  size_t axis;  // of x that the indices stand for; the first of the indices' axes in the result
  size_t end;   // one past the last of them

  /// Both lists must outlive this.
  TakeAxes(const Dims& x, const Dims& indices, int64_t taken);
  /// Of take or scatter_add: input 0 is x, input 1 the indices.
  explicit TakeAxes(const Node& node);

  Dims dims() const;  // of the result
  IndexCheck check(const std::string& op) const;

  /// The part of an index into the result that is an index into the indices.
  template <class T>
  std::vector<T> index_part(const std::vector<T>& at) const {
    return std::vector<T>(at.begin() + static_cast<std::ptrdiff_t>(axis),
                          at.begin() + static_cast<std::ptrdiff_t>(end));
  }
  /// The index into x where that part names a position.
  template <class T>
  std::vector<T> with_position(const std::vector<T>& at, const T& position) const {
    std::vector<T> out(at.begin(), at.begin() + static_cast<std::ptrdiff_t>(axis));
    out.push_back(position);
    out.insert(out.end(), at.begin() + static_cast<std::ptrdiff_t>(end), at.end());
    return out;
  }
  /// Every index, by the reference: also those that no element of the result is read through.
  void check_all(const Node& node, const Tensor& indices, int64_t length) const;
  /// The index into x for an index into the result, by the reference.
  Shape source_of(const Node& node, const Shape& at, const Tensor& indices, int64_t length) const;

 private:
  const Dims* x_;
  const Dims* indices_;
};

}  // namespace thtrain
