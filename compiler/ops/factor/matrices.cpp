#include "compiler/ops/factor/matrices.h"

#include <algorithm>

#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/factor/leading.h"
#include "compiler/ops/index/index.h"
#include "compiler/ops/linalg/batch.h"
#include "compiler/ops/linalg/linalg.h"
#include "compiler/ops/operand.h"
#include "compiler/ops/reduce/reduce.h"
#include "compiler/ops/shape/broadcast_for.h"
#include "compiler/ops/shape/shape.h"

namespace thtrain {

using kernel::LoopMark;
using kernel::Term;

Matrix::Matrix(const Tensor& batch, int64_t number) : Matrix(batch.dim(batch.rank() - 2), batch.dim(batch.rank() - 1)) {
  const auto size = static_cast<int64_t>(values_.size());
  visit(batch.dtype(), [&](auto zero) {
    using T = decltype(zero);
    const T* const elements = batch.data<T>() + number * size;
    for (int64_t i = 0; i < size; ++i) {
      if constexpr (is_complex_v<T>)
        values_[static_cast<size_t>(i)] = Value(elements[i]);
      else
        values_[static_cast<size_t>(i)] = static_cast<double>(elements[i]);
    }
  });
}

void Matrix::exchange_rows(int64_t i, int64_t j) {
  for (int64_t k = 0; k < columns_; ++k) std::swap((*this)(i, k), (*this)(j, k));
}

void Matrix::store(Tensor& batch, int64_t number) const {
  const auto size = static_cast<int64_t>(values_.size());
  visit(batch.dtype(), [&](auto zero) {
    using T = decltype(zero);
    T* const elements = batch.data<T>() + number * size;
    for (int64_t i = 0; i < size; ++i) {
      const Value& value = values_[static_cast<size_t>(i)];
      if constexpr (is_complex_v<T>)
        elements[i] = T(value);
      else
        elements[i] = static_cast<T>(value.real());
    }
  });
}

Matrix magnitudes_of(const Matrix& x) {
  Matrix out(x.rows(), x.columns());
  for (int64_t i = 0; i < x.rows(); ++i)
    for (int64_t j = 0; j < x.columns(); ++j) out(i, j) = std::abs(x(i, j));
  return out;
}

Matrix product(const Matrix& a, const Matrix& b) {
  Matrix out(a.rows(), b.columns());
  for (int64_t i = 0; i < a.rows(); ++i)
    for (int64_t k = 0; k < a.columns(); ++k)
      for (int64_t j = 0; j < b.columns(); ++j) out(i, j) += a(i, k) * b(k, j);
  return out;
}

Matrix transposed(const Matrix& x) {
  Matrix out(x.columns(), x.rows());
  for (int64_t i = 0; i < x.rows(); ++i)
    for (int64_t j = 0; j < x.columns(); ++j) out(j, i) = x(i, j);
  return out;
}

Matrix triangle_of(const Matrix& x, const Triangle& triangle) {
  Matrix out(x.rows(), x.columns());
  for (int64_t i = 0; i < x.rows(); ++i)
    for (int64_t j = 0; j < x.columns(); ++j)
      if (triangle.lower ? j <= i : j >= i) out(i, j) = i == j && triangle.unit ? 1.0 : x(i, j);
  return out;
}

Matrix inverse_of(const Matrix& x, const Triangle& triangle) {
  const int64_t n = x.rows();
  const Matrix t = triangle_of(x, triangle);
  Matrix out(n, n);
  for (int64_t column = 0; column < n; ++column)
    for (int64_t step = 0; step < n; ++step) {
      const int64_t i = triangle.lower ? step : n - 1 - step;
      Matrix::Value sum = i == column ? 1.0 : 0.0;
      for (int64_t k = 0; k < n; ++k)
        if (k != i) sum -= t(i, k) * out(k, column);
      out(i, column) = sum / t(i, i);
    }
  return out;
}

bool has_small_rows(const Matrix& x) {
  for (int64_t i = 0; i < x.rows(); ++i) {
    double sum = 0;
    for (int64_t j = 0; j < x.columns(); ++j) sum += std::abs(x(i, j));
    if (!(sum <= 0.25)) return false;
  }
  return true;
}

int64_t count_of(const Tensor& batch) {
  int64_t out = 1;
  for (size_t i = 0; i + 2 < batch.rank(); ++i) out *= batch.dim(i);
  return out;
}

Dim count_of(const Type& batch) {
  return product(Dims(batch.dims.begin(), batch.dims.end() - 2));
}

void require_square_matrices(const TypeArgs& args, size_t input) {
  const Type& type = args.type(input);
  args.require(type.rank() >= 2 && (is_float(type.dtype) || is_complex(type.dtype)),
               "the input is no matrix of floats or complex numbers");
  args.require_equal(type.dims.back(), type.dims[type.rank() - 2], "rows and columns differ");
}

Type require_tall_matrices(const TypeArgs& args) {
  const Type& type = args.type(0);
  args.require(type.rank() >= 2 && (is_float(type.dtype) || is_complex(type.dtype)),
               "the input is no matrix of floats or complex numbers");
  const Dim &m = type.dims[type.rank() - 2], &n = type.dims.back();
  args.require_equal(max(m, n), m, "more columns than rows, of lengths that were not known");
  return type;
}

bool reads_row_major(const Node& node, size_t input, const Layout& layout) {
  return is_row_major(node.inputs[input].dims(), layout);
}

std::function<Cost(const Node&)> cost_of_factors(int64_t thirds) {
  return [thirds](const Node& node) {
    const Type& type = node.inputs[0].type();
    const Dim size = type.elements() * type.dims.back();
    const auto bytes = static_cast<int64_t>(size_of(type.dtype) + size_of(node.types[0].dtype));
    return Cost{thirds % 3 == 0 ? Dim(thirds / 3) * size : floor_div(Dim(thirds) * size, Dim(3)),
                Dim(bytes) * type.elements()};
  };
}

static std::string filled(std::string text, int64_t value, int64_t limit) {
  for (const auto& [name, number] : {std::pair("{value}", value), std::pair("{limit}", limit)})
    if (const size_t at = text.find(name); at != std::string::npos)
      text.replace(at, std::string_view(name).size(), std::to_string(number));
  return text;
}

void fail_check(const Node& node, const kernel::RuntimeCheck& check, int64_t value, int64_t limit) {
  throw UserError({.what = check.what,
                   .expected = filled(check.expected, value, limit),
                   .node = node.origin.text(),
                   .config = node.origin.config()});
}

kernel::RuntimeCheck check_of(const Node& node, std::string_view what, std::string_view expected, size_t rank) {
  return {str(name_in_errors(*node.op, node.props), ": ", what),
          str(expected, node.types[0].rank() == rank ? "" : ", in matrix {limit} of the batch"), node.origin};
}

static Expr matrices_of(const Operand& operand, std::string_view builder, std::string_view lengths) {
  const Expr x = operand.expr();
  if (x.rank() < 2)
    fail_build(operand.where(), str(builder, ": no matrix"), str("a matrix, or a batch of them, [..., ", lengths, "]"),
               value_text(x));
  return is_float(x.dtype()) || is_complex(x.dtype()) ? x : cast(operand, floatX());
}

Expr matrices_of(const Operand& operand, std::string_view builder) {
  return matrices_of(operand, builder, "m, n");
}

Expr square_matrices_of(const Operand& operand, std::string_view builder) {
  const Expr x = matrices_of(operand, builder, "n, n");
  const Dim &rows = x.dims()[x.rank() - 2], &columns = x.dims().back();
  if (rows.is_known() && columns.is_known() && rows != columns)
    fail_build(operand.where(), str(builder, ": rows and columns differ"), str(columns.text(), " == ", rows.text()),
               value_text(operand.expr()));
  return x;
}

// Both with the same leading axes, as NumPy broadcasts them.
static void broadcast_batches(Expr& a, Expr& b, std::string_view builder, const std::source_location& where) {
  const Dims batch = batch_of(a, b, builder, where);
  for (Expr* x : {&a, &b}) {
    Dims lengths = batch;
    lengths.insert(lengths.end(), x->dims().end() - 2, x->dims().end());
    *x = broadcast_for(*x, lengths, std::string(builder));
  }
}

Expr with_columns(const Operand& left, const Operand& right, std::string_view builder, bool is_square,
                  const std::function<Expr(const Expr& a, const Expr& b)>& solution) {
  const std::source_location where = left.where();
  const Origin origin = Origin::here(where);
  InheritOrigin inherit(origin);
  std::vector<Expr> x = resolve({&left, &right});
  Expr a = is_square ? square_matrices_of({x[0], where}, builder) : matrices_of({x[0], where}, builder), &b = x[1];
  if (b.rank() == 0)
    fail_build(where, str(builder, ": the right-hand side is a scalar"), "a vector, or a matrix of columns",
               value_text(b));
  const std::optional<DType> dtype = promote(a.dtype(), b.dtype());
  for (Expr* e : {&a, &b})
    if (dtype && e->dtype() != *dtype) *e = cast({*e, where}, *dtype);
  const bool is_vector = b.rank() == 1;
  if (is_vector) b = expand_dims(b, {1});
  const Dim &rows = a.dims()[a.rank() - 2], &of_b = b.dims()[b.rank() - 2];
  if (rows.is_known() && of_b.is_known() && rows != of_b)
    fail_build(where, str(builder, ": the right-hand side has another number of rows than the matrix"),
               str(rows.text(), " rows"), str("left ", value_text(x[0]), ", right ", value_text(x[1])));
  broadcast_batches(a, b, builder, where);
  const Expr out = solution(a, b);
  return is_vector ? squeeze(out, {-1}) : out;
}

Expr rows_of(const Expr& x, const Expr& rows) {
  if (x.rank() == 2) return take(x, rows);
  return take_along_axis(x, broadcast_to(expand_dims(rows, {-1}), x.dims()), -2);
}

Expr half_of_diagonal(const Expr& x) {
  return (tril(x) + tril(x, -1)) * 0.5;
}

Expr conjugate(const Expr& x) {
  return is_complex(x.dtype()) ? conj(x) : x;
}

Expr adjoint(const Expr& x) {
  return conjugate(matrix_transpose(x));
}

Expr identity_like_rows(const Expr& x) {
  return eye(x.dims()[x.rank() - 2], {}, 0, x.dtype());
}

Expr columns_times(const Expr& x, const Expr& y) {
  return x * expand_dims(y, {-2});
}

Expr over_differences(const Expr& x, const Expr& y) {
  const Expr ones = eye(y.dims().back(), {}, 0, y.dtype()), of_rows = expand_dims(y, {-1});
  return x * (1.0 - ones) / (expand_dims(y, {-2}) - of_rows + ones);
}

Expr phases_of(const Expr& columns) {
  const Expr size = abs(columns), is_large = ge(size, kLeadingPart * max(size, -2, true));
  const Expr leading = take_along_axis(columns, argmax(cast(is_large, DType::kInt64), -2, true), -2);
  return squeeze(conj(sign(leading)), {-2});
}

// ---- small matrices ------------------------------------------------------------------------------------------------

bool SmallMatrices::are(const Type& type) {
  const auto is_short = [](const Dim& length) {
    return length.is_known() && length.value() >= 1 && length.value() <= kLongest;
  };
  return is_float(type.dtype) && is_short(type.dims.back()) && is_short(type.dims[type.rank() - 2]);
}

Term SmallMatrices::Elements::at(const Term& i) const {
  return of_->let("x", kernel::load(name_, of_->dtype_, of_->lanes_, i * Term(of_->lanes_), 1));
}

void SmallMatrices::Elements::set(const Term& i, const Term& value) const {
  of_->b_.code().store(name_, i * Term(of_->lanes_), 1, value);
}

void SmallMatrices::run(const std::string& name, const std::string& comment, const Dim& count, int64_t work,
                        const std::optional<kernel::RuntimeCheck>& check, const std::function<void()>& body) {
  kernel::Code& code = b_.code();
  dtype_ = b_.output().type.dtype;
  const auto several = [&](const Term& begin, const Term& end, int lanes) {
    lanes_ = lanes;
    code.loop("m", begin, end, lanes, lanes > 1 ? LoopMark::kVector : LoopMark::kSequential, [&](Term m) {
      first_ = std::move(m);
      if (check) failed_ = code.var("failed", number(0));
      body();
      if (check) report(*check);
    });
  };
  const int lanes = b_.lanes_of(dtype_);
  Term whole = b_.begin();
  if (lanes > 1) {
    whole = code.let("whole", b_.begin() + (b_.end() - b_.begin()) / Term(lanes) * Term(lanes));
    several(b_.begin(), whole, lanes);
  }
  several(whole, b_.end(), 1);
  const int64_t grain = std::max<int64_t>(1, b_.target().grain_of_products() / (2 * std::max<int64_t>(1, work)));
  b_.finish_kernel(name, comment, count, grain, lanes);
}

SmallMatrices::Elements SmallMatrices::elements(int64_t count, int64_t columns) {
  Elements out;
  out.of_ = this;
  out.name_ = b_.code().local_array("elements", {dtype_, 1, 0}, count * lanes_).node().name;
  out.count_ = count;
  out.columns_ = columns;
  return out;
}

SmallMatrices::Elements SmallMatrices::load(const kernel::Operand& operand) {
  const Dims& dims = operand.type.dims;
  const int64_t columns = dims.back().value(), count = columns * dims[dims.size() - 2].value();
  const Elements out = elements(count, columns);
  loop(0, count, [&](const Term& i) { out.set(i, b_.load(operand, first_ * Term(count) + i, lanes_, count)); });
  return out;
}

void SmallMatrices::store(const kernel::Operand& operand, const Elements& elements) {
  const int64_t count = elements.count_;
  loop(0, count, [&](const Term& i) {
    const Term x = elements.at(i);
    b_.store(operand, first_ * Term(count) + i,
             x.dtype() == operand.type.dtype ? x : kernel::cast(x, operand.type.dtype), count);
  });
}

void SmallMatrices::loop(const Term& begin, const Term& end, const std::function<void(Term)>& body) {
  b_.code().loop("i", begin, end, 1, LoopMark::kSequential, body);
}

Term SmallMatrices::number(double value) const {
  const Term out = kernel::constant(dtype_, value);
  return lanes_ == 1 ? out : kernel::splat(out, lanes_);
}

Term SmallMatrices::number(const Term& integer) const {
  const Term out = kernel::cast(integer, dtype_);
  return lanes_ == 1 ? out : kernel::splat(out, lanes_);
}

void SmallMatrices::hold(const Term& condition, const Term& number_of_condition) {
  assign(failed_, kernel::select(condition || failed_ != number(0), failed_, number(number_of_condition)));
}

void SmallMatrices::if_any(const Term& condition, const std::function<void()>& body) {
  if (lanes_ == 1) return b_.code().if_(condition, body);
  const Term any = let("any", kernel::reduce_lanes("max", kernel::select(condition, number(1), number(0))));
  b_.code().if_(any != kernel::constant(dtype_, 0), body);
}

Term SmallMatrices::are_finite(const Elements& elements) {
  const Term sum = var("differences", number(0));
  loop(0, elements.count_, [&](const Term& i) {
    const Term x = elements.at(i);
    assign(sum, sum + (x - x));
  });
  return let("are_finite", sum == number(0));
}

Term SmallMatrices::make_leading_positive(const Elements& x, int64_t rows, const Term& j) {
  const Term largest = var("largest", number(0)), leading = var("leading", number(0));
  loop(0, rows, [&](const Term& i) {
    const Term size = let("size", fabs(x.at(i, j)));
    assign(largest, kernel::select(size > largest, size, largest));
  });
  const Term limit = let("limit", largest * number(kLeadingPart));
  loop(0, rows, [&](const Term& i) {
    const Term element = x.at(Term(rows - 1) - i, j);
    assign(leading, kernel::select(fabs(element) >= limit, element, leading));
  });
  const Term sign = let("sign", kernel::select(leading < number(0), number(-1), number(1)));
  loop(0, rows, [&](const Term& i) { x.set(i, j, sign * x.at(i, j)); });
  return sign;
}

void SmallMatrices::report(const kernel::RuntimeCheck& check) {
  kernel::Code& code = b_.code();
  const Term none = kernel::constant(dtype_, 0);
  const auto require = [&](const Term& failed, const Term& matrix) {
    b_.require(failed == none, check, kernel::cast(failed, DType::kInt64), matrix);
  };
  if (lanes_ == 1) return require(failed_, first_);
  const Term any = code.let("any", kernel::reduce_lanes("max", failed_));
  code.if_(any != none, [&] {
    const Elements failed = elements(1);
    failed.set(0, failed_);
    loop(0, lanes_, [&](const Term& lane) {
      require(code.let("failed_here", kernel::load(failed.name_, dtype_, 1, lane, 1)), first_ + lane);
    });
  });
}

}  // namespace thtrain
