// What the factorizations share: types, matrices of references, and code for batches of small matrices.
#pragma once

#include <complex>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "compiler/ir/op.h"
#include "compiler/kernel/step_builder.h"
#include "compiler/ops/factor/factor.h"

namespace thtrain {

/// A matrix of a reference: of a batch [..., rows, columns], or zeros.
class Matrix {
 public:
  using Value = std::complex<double>;
  Matrix(int64_t rows, int64_t columns)
      : rows_(rows), columns_(columns), values_(static_cast<size_t>(rows * columns)) {}
  Matrix(const Tensor& batch, int64_t number);
  int64_t rows() const { return rows_; }
  int64_t columns() const { return columns_; }
  Value& operator()(int64_t i, int64_t j) { return values_[static_cast<size_t>(i * columns_ + j)]; }
  const Value& operator()(int64_t i, int64_t j) const { return values_[static_cast<size_t>(i * columns_ + j)]; }
  void exchange_rows(int64_t i, int64_t j);
  void store(Tensor& batch, int64_t number) const;

 private:
  int64_t rows_, columns_;
  std::vector<Value> values_;
};

/// How many matrices a batch has: the product of all lengths but the last two.
int64_t count_of(const Tensor& batch);
Dim count_of(const Type& batch);

// For error rules.
Matrix magnitudes_of(const Matrix& x);
Matrix product(const Matrix& a, const Matrix& b);
Matrix transposed(const Matrix& x);
/// The lower (upper) triangle, with 1 on the diagonal where `unit`; 0 elsewhere.
Matrix triangle_of(const Matrix& x, const Triangle& triangle);
/// The inverse of that triangle.
Matrix inverse_of(const Matrix& x, const Triangle& triangle);
/// Are the sums of the rows so small, at most 1/4, that twice a bound of first order is a bound?
bool has_small_rows(const Matrix& x);

/// A square matrix, or a batch of them, of floats or complex numbers.
void require_square_matrices(const TypeArgs& args, size_t input);
/// A matrix with at least as many rows as columns, or a batch of them: its type.
Type require_tall_matrices(const TypeArgs& args);
/// Rule of layouts of ops that read their matrices row by row.
bool reads_row_major(const Node& node, size_t input, const Layout& layout);
/// Cost rule of an op that factors each matrix [m, n] of its input by `thirds` / 3 multiplications and additions for
/// each of m n^2, and writes as much as it reads.
std::function<Cost(const Node&)> cost_of_factors(int64_t thirds);
/// The reference's failure: as native code fails where the check does not hold.
[[noreturn]] void fail_check(const Node& node, const kernel::RuntimeCheck& check, int64_t value, int64_t limit);
/// The node's own check: "found {value} ..." and the matrix that it is about, where there is a batch: where the rank of
/// output 0 is not that of one.
kernel::RuntimeCheck check_of(const Node& node, std::string_view what, std::string_view expected, size_t rank = 2);

/// Of a user's value: with 2 axes at least, and floating.
Expr matrices_of(const Operand& x, std::string_view builder);
/// The same, where lengths that are known are equal.
Expr square_matrices_of(const Operand& x, std::string_view builder);
/// What `solution` makes of both sides of equations: of one dtype, with the same leading axes as NumPy broadcasts them,
/// a vector on the right as one column (and as a vector again). Fails where `is_square` and the matrix is not.
Expr with_columns(const Operand& left, const Operand& right, std::string_view builder, bool is_square,
                  const std::function<Expr(const Expr& a, const Expr& b)>& solution);

/// The op's node, for operands that fit it; a failure names `called`.
Expr solve_triangle(const Expr& a, const Expr& b, const Triangle& triangle, const std::string& called);
/// Row rows[i] of x [..., n, k] as row i; rows [..., n].
Expr rows_of(const Expr& x, const Expr& rows);
/// The lower triangle with half of the diagonal.
Expr half_of_diagonal(const Expr& x);
/// The complex conjugate; of real numbers themselves.
Expr conjugate(const Expr& x);
/// The conjugate of the transpose.
Expr adjoint(const Expr& x);
/// Is x an identity matrix by its op, or a batch of them?
bool is_identity(const Expr& x);
/// Is x another value with its last two axes exchanged?
bool is_transpose_of_matrices(const Expr& x);
/// The identity with as many rows as x has, of its dtype.
Expr identity_like_rows(const Expr& x);
/// x [..., m, n] with column j times y[..., j].
Expr columns_times(const Expr& x, const Expr& y);
/// x without its diagonal, divided by y[..., j] - y[..., i].
Expr over_differences(const Expr& x, const Expr& y);
/// x, of which is known that it equals y, with y's derivatives.
Expr another_form(const Expr& x, const Expr& y);
/// Of complex columns the conjugates of the signs of their leading elements (factor/leading.h), [..., n]: 1, with the
/// derivative by which these stay positive.
Expr phases_of(const Expr& columns);

// ---- batches of small matrices: each lane of a vector has a matrix
// ---------------------------------------------------

class SmallMatrices {
 public:
  using Term = kernel::Term;
  /// The longest side: those of a vector's matrices fit the first cache.
  static constexpr int64_t kLongest = 8;
  /// Has the matrix such lengths, which are known, and elements of floats?
  static bool are(const Type& type);

  /// The elements of the matrices at hand, or other numbers of each of them, on the thread's stack.
  class Elements {
   public:
    Term at(const Term& i, const Term& j) const { return at(i * Term(columns_) + j); }
    void set(const Term& i, const Term& j, const Term& value) const { set(i * Term(columns_) + j, value); }
    Term at(const Term& i) const;
    void set(const Term& i, const Term& value) const;

   private:
    friend class SmallMatrices;
    SmallMatrices* of_;
    std::string name_;
    int64_t count_, columns_;
  };

  explicit SmallMatrices(kernel::StepBuilder& b) : b_(b) {}

  /// Ends a kernel over `count` matrices, which `body` computes, as many as there are lanes. `work`: multiply-adds of
  /// one. With a check the call fails where hold() was given a condition that does not hold; the check's value is the
  /// number of the first one.
  void run(const std::string& name, const std::string& comment, const Dim& count, int64_t work,
           const std::optional<kernel::RuntimeCheck>& check, const std::function<void()>& body);
  Elements elements(int64_t count, int64_t columns = 1);
  Elements load(const kernel::Operand& operand);
  /// As elements of the operand, converted.
  void store(const kernel::Operand& operand, const Elements& elements);
  void loop(const Term& begin, const Term& end, const std::function<void(Term)>& body);
  Term number(double value) const;
  Term number(const Term& integer) const;
  Term let(const std::string& name, Term value) { return b_.code().let(name, std::move(value)); }
  Term var(const std::string& name, Term value) { return b_.code().var(name, std::move(value)); }
  void assign(const Term& variable, Term value) { b_.code().assign(variable, std::move(value)); }
  void hold(const Term& condition, const Term& number_of_condition);
  /// `body` for all matrices at hand, where the condition holds of one.
  void if_any(const Term& condition, const std::function<void()>& body);
  /// Are all of the elements numbers? (0 of each, added.)
  Term are_finite(const Elements& elements);
  /// Column j of x: multiplied by -1 where its leading element is negative; gives 1 or -1.
  Term make_leading_positive(const Elements& x, int64_t rows, const Term& j);

 private:
  void report(const kernel::RuntimeCheck& check);

  kernel::StepBuilder& b_;
  DType dtype_ = DType::kFloat64;
  Term first_, failed_;  // the number of the first matrix; of the condition that does not hold, or 0
  int lanes_ = 1;
};

}  // namespace thtrain
