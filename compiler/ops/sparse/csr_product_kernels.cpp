// Kernels of the product of two compressed matrices, row by row (Gustavson, Two Fast Algorithms for Sparse Matrices:
// Multiplication and Permuted Transposition, ACM TOMS 4 (1978)).
#include <algorithm>

#include "compiler/ops/sparse/parts.h"

namespace thtrain {

using kernel::Code;
using kernel::LoopMark;
using kernel::StepBuilder;
using kernel::Term;

// Rows of the result are computed in so many parts at most, each with its own notes of its columns.
static constexpr int64_t kProductParts = 4;
static constexpr int64_t kBits = 64;

// An element of the left matrix meets some ten others, each of which costs as much as eight multiply-adds of vectors.
static Dim grain_of_parts(const StepBuilder& b, const ProductInputs& at) {
  const int64_t enough = std::max<int64_t>(1, b.target().grain_of_products() / (8 * 16));
  return max(Dim(kProductParts) - floor_div(b.input(at.left).type.dims[0], Dim(enough)), 1);
}

namespace {

// A kernel over parts of the rows.
class MeetingLoops {
 public:
  MeetingLoops(StepBuilder& b, const ProductInputs& at)
      : b_(b),
        code_(b.code()),
        left_(b.input(at.left)),
        left_ends_(b.input(at.left + 1)),
        right_(b.input(at.right)),
        right_ends_(b.input(at.right + 1)),
        columns_(columns_of(b.node().props)),
        at_(at) {}

  // An element of the left matrix and one of the right that meet, and the column of their product.
  using Meeting = std::function<void(const Term& left, const Term& right, const Term& column)>;
  using EachMeeting = std::function<void(const Meeting&)>;

  // `begin` prepares a part; `body` computes a row of it.
  void run(const std::function<void(const Term& part)>& begin,
           const std::function<void(const Term& part, const Term& i, const EachMeeting&)>& body) {
    require_rows(b_, left_ends_, left_.type.dims[0]);
    require_rows(b_, right_ends_, right_.type.dims[0]);
    const Term rows = b_.length(rows_of(left_ends_.type));
    code_.loop("part", b_.begin(), b_.end(), 1, LoopMark::kSequential, [&](const Term& part) {
      begin(part);
      const Term first = code_.let("first_row", part * rows / Term(kProductParts)),
                 last = code_.let("last_row", (part + Term(1)) * rows / Term(kProductParts));
      code_.loop("i", first, last, 1, LoopMark::kSequential,
                 [&](const Term& i) { body(part, i, [&](const Meeting& meeting) { each_meeting(i, meeting); }); });
    });
  }

 private:
  void each_meeting(const Term& i, const Meeting& meeting) {
    const StoredRow of_left = stored_row(b_, left_ends_, i, left_.type.dims[0]);
    code_.loop("e", of_left.begin, of_left.end, 1, LoopMark::kSequential, [&](const Term& e) {
      const Term k = stored_index(b_, left_, e, rows_of(right_ends_.type));
      const StoredRow of_right = stored_row(b_, right_ends_, k, right_.type.dims[0]);
      const Term x = at_.left > 0 ? code_.let("x", b_.load(b_.input(at_.left - 1), e)) : Term();
      code_.loop("f", of_right.begin, of_right.end, 1, LoopMark::kSequential,
                 [&](const Term& f) { meeting(x, f, stored_index(b_, right_, f, columns_)); });
    });
  }

  StepBuilder& b_;
  Code& code_;
  const kernel::Operand &left_, &left_ends_, &right_, &right_ends_;
  const Dim& columns_;
  const ProductInputs at_;
};

// A number for each column and part.
class NotesOfColumns {
 public:
  NotesOfColumns(StepBuilder& b, DType dtype, const Dim& count, const Term& first)
      : b_(b), count_(count), first_(first), notes_(b.workspace(dtype, Dim(kProductParts) * count)) {}

  void begin(const Term& part) {
    b_.code().loop("j", b_.length(count_), [&](const Term& j) { b_.store(notes_, at(part, j), first_); });
  }
  Term at(const Term& part, const Term& j) const { return part * b_.length(count_) + j; }
  Term load(const Term& place) const { return b_.load(notes_, place); }
  void store(const Term& place, const Term& value) const { b_.store(notes_, place, value); }

 private:
  StepBuilder& b_;
  const Dim count_;
  const Term first_;
  const kernel::Operand notes_;
};

// The elements of a row of the result, which must be as many as its list says.
class ResultRow {
 public:
  ResultRow(StepBuilder& b, const Term& i)
      : b_(b), i_(i), row_(stored_row(b, b.input(kOfProduct.ends), i, b.output().type.dims[0])) {
    next_ = b.code().var("next", row_.begin);
  }
  const Term& begin() const { return row_.begin; }
  const Term& next() const { return next_; }
  void add(const Term& column, const Term& value) {
    require(next_ < row_.end);
    b_.store(b_.output(1), next_, kernel::cast(column, b_.output(1).type.dtype));
    b_.store(b_.output(), next_, value);
    b_.code().assign(next_, next_ + Term(1));
  }
  void finish() const { require(next_ == row_.end); }

 private:
  void require(const Term& condition) const {
    b_.require(condition, {"csr_product: row {value} has not as many elements as its list says", "", b_.node().origin},
               i_, i_);
  }

  StepBuilder& b_;
  const Term i_;
  const StoredRow row_;
  Term next_;
};

}  // namespace

static Term plus_product(const Term& sum, const Term& x, const Term& y) {
  return is_float(sum.dtype()) ? fma(x, y, sum) : sum + x * y;
}

// A column is noted with the row that it was seen in.
void lower_product_counts(StepBuilder& b) {
  Code& code = b.code();
  const kernel::Operand& out = b.output();
  NotesOfColumns rows(b, DType::kInt64, columns_of(b.node().props), -1);
  MeetingLoops(b, kOfCounts)
      .run([&](const Term& part) { rows.begin(part); },
           [&](const Term& part, const Term& i, const MeetingLoops::EachMeeting& each_meeting) {
             const Term count = code.var("count", 0);
             each_meeting([&](const Term&, const Term&, const Term& column) {
               const Term place = code.let("place", rows.at(part, column));
               code.assign(count, count + kernel::select(rows.load(place) == i, Term(0), Term(1)));
               rows.store(place, i);
             });
             b.store(out, i + Term(1), count);
           });
  b.finish_kernel("csr_product_rows", "out0 = how many elements each row of the product has", Dim(kProductParts),
                  grain_of_parts(b, kOfCounts));
  const Term sum = code.var("sum", 0);
  b.store(out, 0, Term(0));
  code.loop("i", b.length(rows_of(out.type)), [&](const Term& i) {
    code.assign(sum, sum + b.load(out, i + Term(1)));
    b.store(out, i + Term(1), sum);
  });
  b.finish_kernel("csr_product_ends", "out0 = where the rows end", 1);
}

// A column is noted with the place of its element: those of rows before are before this row's.
void lower_product(StepBuilder& b) {
  Code& code = b.code();
  const kernel::Operand &right = b.input(3), &data = b.output(0);
  NotesOfColumns places(b, DType::kInt64, columns_of(b.node().props), -1);
  require_rows(b, b.input(kOfProduct.ends), data.type.dims[0]);
  MeetingLoops(b, kOfProduct)
      .run([&](const Term& part) { places.begin(part); },
           [&](const Term& part, const Term& i, const MeetingLoops::EachMeeting& each_meeting) {
             ResultRow row(b, i);
             each_meeting([&](const Term& x, const Term& f, const Term& column) {
               const Term y = code.let("y", b.load(right, f)), place = code.let("place", places.at(part, column)),
                          noted = code.let("noted", places.load(place));
               code.if_(
                   noted >= row.begin(), [&] { b.store(data, noted, plus_product(b.load(data, noted), x, y)); },
                   [&] {
                     places.store(place, row.next());
                     row.add(column, x * y);
                   });
             });
             row.finish();
           });
  b.finish_kernel("csr_product", "out0, out1 = the elements of a product, row by row", Dim(kProductParts),
                  grain_of_parts(b, kOfProduct));
}

// Which of 64 columns is the lowest bit: a power of two as a float has its number in the exponent.
static Term number_of(const Term& bit) {
  const Term exponent = shift_right(kernel::bit_cast(kernel::cast(bit, DType::kFloat64), DType::kInt64), Term(52));
  return (exponent & Term(2047)) - Term(1023);
}

// Sums of all columns, and a bit for each that a row has. First the words that are not 0 are listed, without a branch
// for each, then their columns.
void lower_sorted_product(StepBuilder& b) {
  Code& code = b.code();
  const kernel::Operand &right = b.input(3), &data = b.output(0);
  const DType dtype = data.type.dtype;
  const Dim& columns = columns_of(b.node().props);
  const Dim words = floor_div(columns + Dim(kBits - 1), Dim(kBits));
  const Term zero = is_float(dtype) ? kernel::constant(dtype, 0) : kernel::constant_int(dtype, 0);
  NotesOfColumns sums(b, dtype, columns, zero), bits(b, DType::kInt64, words, 0),
      list(b, DType::kInt64, words + Dim(1), 0);
  require_rows(b, b.input(kOfProduct.ends), data.type.dims[0]);
  const auto each_column = [&](const Term& part, const std::function<void(const Term& column)>& body) {
    const Term count = code.var("count", 0);
    code.loop("word", b.length(words), [&](const Term& word) {
      list.store(list.at(part, count), word);
      code.assign(count, count + kernel::select(bits.load(bits.at(part, word)) == Term(0), Term(0), Term(1)));
    });
    code.loop("listed", count, [&](const Term& listed) {
      const Term word = code.let("at", list.load(list.at(part, listed))),
                 left = code.var("left", bits.load(bits.at(part, word)));
      bits.store(bits.at(part, word), 0);
      code.while_(left != Term(0), [&] {
        body(code.let("column", word * Term(kBits) + number_of(left & (Term(0) - left))));
        code.assign(left, left & (left - Term(1)));
      });
    });
  };
  MeetingLoops(b, kOfProduct)
      .run(
          [&](const Term& part) {
            sums.begin(part);
            bits.begin(part);
          },
          [&](const Term& part, const Term& i, const MeetingLoops::EachMeeting& each_meeting) {
            ResultRow row(b, i);
            each_meeting([&](const Term& x, const Term& f, const Term& column) {
              const Term at = code.let("place", sums.at(part, column)),
                         word = code.let("word", bits.at(part, shift_right(column, Term(6))));
              sums.store(at, plus_product(sums.load(at), x, b.load(right, f)));
              bits.store(word, bits.load(word) | shift_left(Term(1), column & Term(kBits - 1)));
            });
            each_column(part, [&](const Term& column) {
              const Term at = code.let("place", sums.at(part, column));
              row.add(column, sums.load(at));
              sums.store(at, zero);
            });
            row.finish();
          });
  b.finish_kernel("csr_product_sorted", "out0, out1 = the elements of a product, each row sorted", Dim(kProductParts),
                  grain_of_parts(b, kOfProduct));
}

}  // namespace thtrain
