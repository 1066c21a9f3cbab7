// Values of sparse matrices: as arguments and results of functions, and as shared variables.
#pragma once

#include <initializer_list>
#include <optional>
#include <source_location>
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
  static SparseTensor from_dense(const Tensor& x, SparseFormat format = SparseFormat::kCsr,
                                 std::source_location where = std::source_location::current());
  /// UserError as check().
  Tensor dense(std::source_location where = std::source_location::current()) const;
  int64_t stored() const { return data.size(); }
  /// UserError, with the row, unless the parts are those of a matrix: as many indices as elements, an indptr that rises
  /// from 0 to their number, and in each row ascending indices inside of the matrix. Linear in the stored elements.
  void check(std::source_location where = std::source_location::current()) const;
  /// What check() refuses, and what is expected; nothing where the parts are those of a matrix.
  struct Fault {
    std::string what, expected;
  };
  std::optional<Fault> fault() const;
};

/// Sparse and dense inputs of a function: function(inputs_of({a, x}), {dot(a, x)}).
struct InputParts {
  InputParts(const Sparse& a, std::source_location where = std::source_location::current());
  InputParts(const Expr& x, std::source_location where = std::source_location::current());
  InputParts(In x) : inputs{std::move(x)} {}
  std::vector<In> inputs;
};
std::vector<In> inputs_of(std::initializer_list<InputParts> values);
/// The arguments for them: f(arguments_of({a_value, x_value})).
struct ArgumentParts {
  ArgumentParts(const SparseTensor& a) : arguments{a.data, a.indices, a.indptr} {}
  ArgumentParts(const Tensor& x) : arguments{x} {}
  std::vector<Tensor> arguments;
};
std::vector<Tensor> arguments_of(std::initializer_list<ArgumentParts> values);

/// A sparse matrix as a shared variable. Another value may have another number of stored elements, but has the lengths
/// and dtypes of the first. Values are checked when they are set, not by the calls that read them. A function that
/// multiplies by its transpose, as gradients do, and does not update it keeps that transpose (docs/semantics.md).
class SharedSparse {
 public:
  explicit SharedSparse(const SparseTensor& value, const std::string& name = {},
                        std::source_location where = std::source_location::current());

  const Sparse& expr() const { return expr_; }
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
