// Values of sparse matrices: as arguments and results of functions, and as shared variables.
#pragma once

#include <string>
#include <vector>

#include "compiler/ops/sparse/sparse.h"
#include "compiler/runtime/in_out.h"

namespace thtrain {

// ---- sparse matrices
// -------------------------------------------------------------------------------------------------

/// The value of a Sparse: its parts, as SciPy has them.
struct SparseTensor {
  SparseFormat format = SparseFormat::kCsr;
  Tensor data, indices, indptr;
  int64_t rows = 0, columns = 0;

  /// The elements that are not 0. UserError unless x is a matrix.
  static SparseTensor from_dense(const Tensor& x, SparseFormat format = SparseFormat::kCsr);
  Tensor dense() const;
  int64_t stored() const { return data.size(); }
  /// UserError, with the row, unless the parts are those of a matrix: as many indices as elements, an indptr that rises
  /// from 0 to their number, and in each row ascending indices inside of the matrix. Linear in the stored elements.
  void check(std::source_location where = std::source_location::current()) const;
};

/// The inputs of a function of sparse and dense values: function(inputs_of(a, x), {dot(a, x)}).
template <class... Values>
std::vector<In> inputs_of(const Values&... values) {
  std::vector<In> out;
  const auto add = [&](const auto& value) {
    if constexpr (std::is_same_v<std::remove_cvref_t<decltype(value)>, Sparse>)
      for (const Expr& part : value.parts()) out.emplace_back(part);
    else
      out.emplace_back(value);
  };
  (add(values), ...);
  return out;
}
/// The arguments for it: f(arguments_of(a_value, x_value)).
template <class... Values>
std::vector<Tensor> arguments_of(const Values&... values) {
  std::vector<Tensor> out;
  const auto add = [&](const auto& value) {
    if constexpr (std::is_same_v<std::remove_cvref_t<decltype(value)>, SparseTensor>)
      out.insert(out.end(), {value.data, value.indices, value.indptr});
    else
      out.push_back(value);
  };
  (add(values), ...);
  return out;
}

/// A sparse matrix as a shared variable. Another value may have another number of stored elements, but has the lengths
/// and dtypes of the first. Values are checked when they are set, not by the calls that read them.
class SharedSparse {
 public:
  explicit SharedSparse(const SparseTensor& value, const std::string& name = {},
                        std::source_location where = std::source_location::current());

  const Sparse& expr() const { return expr_; }
  operator const Sparse&() const { return expr_; }
  SparseTensor get_value() const;
  /// UserError where the value is no matrix (SparseTensor::check), or of another format, shape or dtype.
  void set_value(const SparseTensor& value, std::source_location where = std::source_location::current()) const;
  /// The stored elements as a variable: what updates change. The pattern stays then.
  const Shared& data() const { return data_; }

 private:
  Shared data_, indices_, indptr_;
  Sparse expr_;
};

}  // namespace thtrain
