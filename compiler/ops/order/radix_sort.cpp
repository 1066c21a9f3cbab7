#include "compiler/ops/order/radix_sort.h"

#include <algorithm>

#include "compiler/ops/order/device_sort.h"
#include "compiler/ops/order/sort_keys.h"
#include "compiler/ops/order/vector_sort.h"
#include "compiler/ops/shape/copy_loops.h"

namespace thtrain {
namespace {

using kernel::Code;
using kernel::LoopMark;
using kernel::StepBuilder;
using kernel::Term;

constexpr int64_t kDigits = 256;
// Up to here rows are sorted by insertion; radix sort begins with 256 counts for each pass.
constexpr int64_t kInsertion = 40;
constexpr int64_t kStackBytes = 192 << 10;       // of a row's records
constexpr int64_t kPart = 1 << 13, kParts = 16;  // elements of one at least; most of them in a row

class RadixSort {
 public:
  RadixSort(StepBuilder& b, const SortForm& form)
      : b_(b),
        code_(b.code()),
        form_(form),
        keys_(b.input(0).type.dtype, form.descending),
        in_(bits_of(b.input(0))),
        out_(bits_of(b.output())),
        n_(in_.type.dims.back()),
        k_(out_.type.dims.back()),
        rows_(product(Dims(in_.type.dims.begin(), in_.type.dims.end() - 1))),
        is_packed_(form.positions && keys_.bits() <= 32),
        has_indices_(form.positions && !is_packed_),
        record_(is_packed_ ? DType::kUInt64 : keys_.dtype()) {}

  void run() {
    const int64_t bytes = static_cast<int64_t>(size_of(record_)) + (has_indices_ ? 4 : 0);
    if (n_.is_known() && 2 * n_.value() * bytes <= kStackBytes) return row_by_row();
    part_by_part();
  }

 private:
  /// Records of a row, or of all rows: on the stack, or in the arena.
  struct Records {
    std::function<Term(Term at, int lanes)> load, load_index = {};
    std::function<void(Term at, Term record)> store;
    std::function<void(Term at, Term index)> store_index = {};
  };

  // ---- elements and records

  // Are so few wanted that most records need not be sorted?
  bool selects() const { return n_.is_known() && k_.is_known() && 4 * k_.value() <= n_.value(); }
  bool keeps_zeros() const { return !form_.positions && is_float(keys_.element()); }
  int64_t passes() const { return keys_.bits() / 8; }
  Term none() const { return kernel::constant_int(record_, 0); }
  Term digit_at(const Term& record, const Term& shift) {
    const Term bits = is_packed_ ? shift + Term(32) : shift;
    return kernel::cast(kernel::shift_right(record, kernel::cast(bits, record_)) & Term(kDigits - 1), DType::kInt64);
  }
  void move(const Records& records, const Term& from, const Term& to, const Term& record) {
    records.store(to, record);
    if (has_indices_) records.store_index(to, records.load_index(from, 1));
  }

  /// Bits of the records of a range: which some have, which all have; and is one of the elements -0?
  struct Seen {
    Term some, all, any_zero = {};
  };
  Seen see_nothing(int lanes) {
    Seen out{.some = code_.var("some", kernel::splat(none(), lanes)),
             .all = code_.var("all", kernel::splat(~none(), lanes))};
    if (keeps_zeros()) out.any_zero = code_.var("any_zero", kernel::splat(none(), lanes));
    return out;
  }
  // Vectors of records, and what is left one by one.
  void each_vector(const Term& begin, const Term& end, const std::function<void(Term at, int lanes)>& body) {
    const int lanes = b_.lanes_of(record_);
    const Term whole = lanes == 1 ? begin : code_.let("whole", begin + (end - begin) / Term(lanes) * Term(lanes));
    if (lanes > 1) code_.loop("i", begin, whole, lanes, LoopMark::kVector, [&](Term i) { body(i, lanes); });
    code_.loop("i", whole, end, 1, LoopMark::kSequential, [&](Term i) { body(i, 1); });
  }
  Seen make_records(const Records& records, const Term& first, const Term& begin, const Term& end, const Term& to) {
    const int lanes = b_.lanes_of(record_);
    const Seen of_lanes = see_nothing(lanes), rest = lanes > 1 ? see_nothing(1) : of_lanes;
    each_vector(begin, end, [&](const Term& i, int count) {
      const Seen& seen = count == 1 ? rest : of_lanes;
      const Term x = code_.let("x", b_.load(in_, first + i, count)), key = code_.let("key", keys_.of(x));
      const Term at = count == 1 ? i : code_.let("at", kernel::splat(i, count) + kernel::iota(DType::kInt64, count));
      const Term record = !is_packed_ ? key
                                      : code_.let("record", kernel::shift_left(kernel::cast(key, record_), Term(32)) |
                                                                kernel::cast(at, record_));
      records.store(to + i, record);
      if (has_indices_) records.store_index(to + i, at);
      code_.assign(seen.some, seen.some | record);
      code_.assign(seen.all, seen.all & record);
      if (!keeps_zeros()) return;
      const Term one = kernel::select(keys_.is_negative_zero(x), kernel::constant_int(record_, 1), none());
      code_.assign(seen.any_zero, seen.any_zero | one);
    });
    if (lanes == 1) return rest;
    Seen out{code_.let("some", kernel::reduce_lanes("or", of_lanes.some) | rest.some),
             code_.let("all", kernel::reduce_lanes("and", of_lanes.all) & rest.all)};
    if (rest.any_zero) out.any_zero = code_.let("any", kernel::reduce_lanes("or", of_lanes.any_zero) | rest.any_zero);
    return out;
  }
  void write(const Records& from, const Term& at, const Term& to, int lanes) {
    if (has_indices_) return b_.store(out_, to, kernel::cast(from.load_index(at, lanes), DType::kInt64));
    const Term record = code_.let("record", from.load(at, lanes));
    b_.store(out_, to,
             is_packed_ ? kernel::cast(record & kernel::constant_int(record_, 0xffffffff), DType::kInt64)
                        : keys_.element_of(record));
  }

  // The zeros of a sorted row once more, in their order and with their signs, which keys do not tell apart.
  void write_zeros(const Term& first, const Term& out, const Term& is_needed) {
    code_.if_(is_needed, [&] {
      code_.comment("zeros of both signs are equal: they come in the order in which they are given");
      const Term at = code_.var("at", out), k = b_.length(k_), last = code_.let("last", out + k);
      code_.loop("i", k, [&](Term i) {
        const Term x = code_.let("x", b_.load(out_, out + i));
        code_.assign(at, at + kernel::cast(form_.descending ? !(x <= Term(0)) : x < Term(0), DType::kInt64));
      });
      code_.loop("i", b_.length(n_), [&](Term i) {
        const Term x = code_.let("x", b_.load(in_, first + i));
        code_.if_(x == Term(0) && at < last, [&] {
          b_.store(out_, at, x);
          code_.assign(at, at + Term(1));
        });
      });
    });
  }

  // ---- one row after the other, on the stack

  Records on_stack(int64_t count) {
    const std::string records = code_.local_array("records", {record_, 1, 0}, count).node().name;
    const std::string indices =
        has_indices_ ? code_.local_array("indices", {DType::kUInt32, 1, 0}, count).node().name : "";
    const DType dtype = record_;
    Code& code = code_;
    return {.load = [=](Term at, int lanes) { return kernel::load(records, dtype, lanes, std::move(at), 1); },
            .load_index = [=](Term at,
                              int lanes) { return kernel::load(indices, DType::kUInt32, lanes, std::move(at), 1); },
            .store = [=, &code](Term at, Term record) { code.store(records, std::move(at), 1, std::move(record)); },
            .store_index =
                [=, &code](Term at, Term i) {
                  code.store(indices, std::move(at), 1, kernel::cast(std::move(i), DType::kUInt32));
                }};
  }

  void row_by_row() {
    const int64_t n = n_.value();
    const bool inserts = n <= kInsertion;
    if (n > 0) {
      const Records records = on_stack(inserts ? n + 1 : 2 * n);
      if (!inserts) counts_ = code_.local_array("counts", {DType::kUInt32, 1, 0}, passes() * kDigits).node().name;
      code_.loop("row", b_.begin(), b_.end(), 1, LoopMark::kSequential, [&](Term row) {
        const Term first = code_.let("first", row * Term(n)), out = code_.let("out", row * b_.length(k_));
        inserts ? insert(records, first, out) : distribute(records, first, out);
      });
    }
    b_.finish_kernel(name(), comment(inserts ? "by insertion" : "radix sort by digits of 8 bits"), rows_,
                     grain_of(n_ * Dim(passes()), b_.target()));
  }

  // The record before the first one is the least that there is.
  void insert(const Records& records, const Term& first, const Term& out) {
    records.store(0, none());
    const Term n = b_.length(n_);
    const Seen seen = make_records(records, first, 0, n, 1);
    code_.loop("i", 1, n, 1, LoopMark::kSequential, [&](Term i) {
      const Term now = code_.let("now", records.load(i + Term(1), 1)), at = code_.var("at", i);
      const Term index = has_indices_ ? code_.let("index", records.load_index(i + Term(1), 1)) : Term();
      code_.while_(records.load(at, 1) > now, [&] {
        move(records, at, at + Term(1), records.load(at, 1));
        code_.assign(at, at - Term(1));
      });
      records.store(at + Term(1), now);
      if (has_indices_) records.store_index(at + Term(1), index);
    });
    each_vector(0, b_.length(k_), [&](const Term& i, int lanes) { write(records, i + Term(1), out + i, lanes); });
    if (keeps_zeros()) write_zeros(first, out, seen.any_zero != none());
  }

  void distribute(const Records& records, const Term& first, const Term& out) {
    const Term no_count = kernel::constant_int(DType::kUInt32, 0), n = b_.length(n_);
    const Seen seen = make_records(records, first, 0, n, 0);
    const Term varying = code_.let("varying", seen.some ^ seen.all);
    const Term left = selects() ? select_first(records, seen) : n;
    clear_counts(passes());
    code_.loop("i", left, [&](Term i) {
      const Term now = code_.let("record", records.load(i, 1));
      for (int64_t pass = 0; pass < passes(); ++pass)
        count(code_.let("at", digit_at(now, pass * 8) + Term(pass * kDigits)));
    });
    const Term from = code_.var("from", 0);
    for (int64_t pass = 0; pass < passes(); ++pass) {
      const Term shift = pass * 8, base = pass * kDigits;
      code_.if_(digit_at(varying, shift) != Term(0), [&] {
        const Term sum = code_.var("sum", no_count);
        code_.loop("digit", base, base + Term(kDigits), 1, LoopMark::kSequential, [&](Term digit) {
          const Term more = code_.let("more", counted(digit));
          code_.store(counts_, digit, 1, sum);
          code_.assign(sum, sum + more);
        });
        const Term to = code_.let("to", n - from);
        code_.loop("i", left, [&](Term i) {
          const Term now = code_.let("record", records.load(from + i, 1));
          const Term at = code_.let("at", base + digit_at(now, shift));
          const Term where = code_.let("where", counted(at));
          code_.store(counts_, at, 1, where + Term(1));
          move(records, from + i, to + kernel::cast(where, DType::kInt64), now);
        });
        code_.assign(from, to);
      });
    }
    each_vector(0, b_.length(k_), [&](const Term& i, int count) { write(records, from + i, out + i, count); });
    if (keeps_zeros()) write_zeros(first, out, seen.any_zero != none());
  }

  void clear_counts(int64_t passes) {
    const int lanes = b_.lanes_of(DType::kUInt32);
    const Term none = kernel::splat(kernel::constant_int(DType::kUInt32, 0), lanes);
    code_.loop("i", 0, passes * kDigits, lanes, LoopMark::kVector, [&](Term i) { code_.store(counts_, i, 1, none); });
  }

  // Moves the records to the front that are not above a limit, the first k and few others; how many they are. The limit
  // is found by halving: digits of floats are too coarse, their highest bits being those of the exponent.
  Term select_first(const Records& records, const Seen& seen) {
    code_.comment("a limit that the first records do not exceed, and few others");
    const Term n = b_.length(n_), k = b_.length(k_), enough = code_.let("enough", k + k / Term(4));
    const Term low = code_.var("low", seen.all), high = code_.var("high", seen.some), found = code_.var("found", n);
    code_.while_(found > enough && low < high, [&] {
      const Term middle = code_.let("middle", low + kernel::shift_right(high - low, kernel::constant_int(record_, 1)));
      const Term count = code_.let("count", count_up_to(records, middle));
      const Term is_limit = code_.let("is_limit", count >= k);
      code_.assign(found, kernel::select(is_limit, count, found));
      code_.assign(low, kernel::select(is_limit, low, middle + kernel::constant_int(record_, 1)));
      code_.assign(high, kernel::select(is_limit, middle, high));
    });
    const Term left = code_.var("left", 0);
    code_.loop("i", n, [&](Term i) {
      const Term now = code_.let("record", records.load(i, 1));
      move(records, i, left, now);
      code_.assign(left, left + kernel::cast(now <= high, DType::kInt64));
    });
    return left;
  }

  Term count_up_to(const Records& records, const Term& limit) {
    const int lanes = b_.lanes_of(record_);
    const Term one = kernel::constant_int(record_, 1), in_lanes = code_.var("in_lanes", kernel::splat(none(), lanes));
    const Term rest = lanes > 1 ? code_.var("rest", none()) : in_lanes;
    each_vector(0, b_.length(n_), [&](const Term& i, int count) {
      const Term& sum = count == 1 ? rest : in_lanes;
      code_.assign(sum, sum + kernel::select(records.load(i, count) <= kernel::splat(limit, count),
                                             kernel::splat(one, count), kernel::splat(none(), count)));
    });
    return kernel::cast(lanes > 1 ? kernel::reduce_lanes("add", in_lanes) + rest : rest, DType::kInt64);
  }

  Term counted(const Term& at) { return kernel::load(counts_, DType::kUInt32, 1, at, 1); }
  void count(const Term& at) { code_.store(counts_, at, 1, counted(at) + Term(1)); }

  // ---- parts of rows, in the arena

  Records in_arena() {
    const Dim count = rows_ * n_ * Dim(2);
    const kernel::Operand records = b_.workspace(record_, count);
    const kernel::Operand indices = has_indices_ ? b_.workspace(DType::kUInt32, count) : records;
    StepBuilder& b = b_;
    return {
        .load = [=, &b](Term at, int lanes) { return b.load(records, std::move(at), lanes); },
        .load_index = [=, &b](Term at, int lanes) { return b.load(indices, std::move(at), lanes); },
        .store = [=, &b](Term at, Term record) { b.store(records, std::move(at), std::move(record)); },
        .store_index =
            [=, &b](Term at, Term i) { b.store(indices, std::move(at), kernel::cast(std::move(i), DType::kUInt32)); }};
  }

  struct Part {
    Term number, row, first, begin, end;  // of all parts; its row, the row's first element; its own in the row
  };
  // A kernel over all parts, with the statements for one.
  void each_part(const std::string& what, const std::string& comment, const std::function<void(const Part&)>& body) {
    code_.loop("part", b_.begin(), b_.end(), 1, LoopMark::kSequential, [&](Term number) {
      const Term parts = b_.length(parts_), size = b_.length(part_), n = b_.length(n_);
      const Term row = code_.let("row", number / parts);
      const Term begin = code_.let("begin_of_part", (number - row * parts) * size);
      const Term end = code_.let("end_of_part", kernel::select(begin + size < n, begin + size, n));
      body({number, row, code_.let("first", row * n), begin, end});
    });
    b_.finish_kernel(name() + "_" + what, comment, rows_ * parts_, 1);
  }
  void each_row(const std::string& what, const std::string& comment, const std::function<void(Term row)>& body) {
    code_.loop("row", b_.begin(), b_.end(), 1, LoopMark::kSequential, body);
    b_.finish_kernel(name() + "_" + what, comment, rows_, grain_of(Dim(kDigits) * parts_, b_.target()));
  }
  // Where the records of a row are before a pass: those passes that moved them went from one half to the other.
  Term source(const Term& row, int64_t pass) {
    const Term bits = code_.let("varying", b_.load(varying_, row));
    Term moves = Term(0);
    for (int64_t before = 0; before < pass; ++before)
      moves = moves + kernel::cast(digit_at(bits, before * 8) != Term(0), DType::kInt64);
    return code_.let("from", (row * Term(2) + (moves & Term(1))) * b_.length(n_));
  }
  Term varies(const Term& row, int64_t pass) { return digit_at(b_.load(varying_, row), pass * 8) != Term(0); }

  void part_by_part() {
    const Dim most =
        rows_.is_known() ? Dim(std::max<int64_t>(kParts / std::max<int64_t>(rows_.value(), 1), 1)) : kParts;
    parts_ = max(min(floor_div(n_, Dim(kPart)), most), Dim(1));
    part_ = floor_div(n_ + parts_ - Dim(1), parts_);
    records_ = in_arena();
    some_ = b_.workspace(record_, rows_ * parts_);
    all_ = b_.workspace(record_, rows_ * parts_);
    varying_ = b_.workspace(record_, rows_);
    if (keeps_zeros()) zeros_ = b_.workspace(record_, rows_ * parts_);
    in_parts_ = b_.workspace(DType::kUInt32, rows_ * parts_ * Dim(kDigits));
    make_records_of_parts();
    find_varying();
    for (int64_t pass = 0; pass < passes(); ++pass) move_by_digit(pass);
    each_part("write", "out0 = the sorted records", [&](const Part& part) {
      const Term from = source(part.row, passes());
      const Term k = b_.length(k_), out = code_.let("out", part.row * k);
      each_vector(part.begin, kernel::select(part.end < k, part.end, k),
                  [&](const Term& i, int lanes) { write(records_, from + i, out + i, lanes); });
    });
    if (keeps_zeros()) write_zeros_of_rows();
  }

  void make_records_of_parts() {
    each_part("keys", "records of in0, and which bits of them vary", [&](const Part& part) {
      const Seen seen = make_records(records_, part.first, part.begin, part.end, part.first * Term(2));
      b_.store(some_, part.number, seen.some);
      b_.store(all_, part.number, seen.all);
      if (seen.any_zero) b_.store(zeros_, part.number, seen.any_zero);
    });
  }

  void find_varying() {
    each_row("bits", "the bits that vary in a row", [&](Term row) {
      const Term some = code_.var("some", none()), all = code_.var("all", ~none()), parts = b_.length(parts_);
      code_.loop("part", row * parts, (row + Term(1)) * parts, 1, LoopMark::kSequential, [&](Term part) {
        code_.assign(some, some | b_.load(some_, part));
        code_.assign(all, all & b_.load(all_, part));
      });
      b_.store(varying_, row, some ^ all);
    });
  }

  void move_by_digit(int64_t pass) {
    const Term shift = pass * 8;
    const std::string of = str("digit ", pass);
    each_part("count", "how often each value of " + of + " comes in a part", [&](const Part& part) {
      code_.if_(varies(part.row, pass), [&] {
        const Term from = source(part.row, pass), base = code_.let("base", part.number * Term(kDigits));
        const Term none = kernel::constant_int(DType::kUInt32, 0);
        code_.loop("i", kDigits, [&](Term i) { b_.store(in_parts_, base + i, none); });
        code_.loop("i", part.begin, part.end, 1, LoopMark::kSequential, [&](Term i) {
          const Term at = code_.let("at", base + digit_at(records_.load(from + i, 1), shift));
          b_.store(in_parts_, at, b_.load(in_parts_, at) + Term(1));
        });
      });
    });
    each_row("offsets", "where the records of each part and value of " + of + " go", [&](Term row) {
      code_.if_(varies(row, pass), [&] {
        const Term sum = code_.var("sum", kernel::constant_int(DType::kUInt32, 0)), parts = b_.length(parts_);
        code_.loop("digit", kDigits, [&](Term digit) {
          code_.loop("part", row * parts, (row + Term(1)) * parts, 1, LoopMark::kSequential, [&](Term part) {
            const Term at = code_.let("at", part * Term(kDigits) + digit);
            const Term more = code_.let("more", b_.load(in_parts_, at));
            b_.store(in_parts_, at, sum);
            code_.assign(sum, sum + more);
          });
        });
      });
    });
    each_part("move", "records in the order of " + of, [&](const Part& part) {
      code_.if_(varies(part.row, pass), [&] {
        const Term from = source(part.row, pass), base = code_.let("base", part.number * Term(kDigits));
        const Term to = code_.let("to", (part.first * Term(4) + b_.length(n_)) - from);
        code_.loop("i", part.begin, part.end, 1, LoopMark::kSequential, [&](Term i) {
          const Term now = code_.let("record", records_.load(from + i, 1));
          const Term at = code_.let("at", base + digit_at(now, shift));
          const Term where = code_.let("where", b_.load(in_parts_, at));
          b_.store(in_parts_, at, where + Term(1));
          move(records_, from + i, to + kernel::cast(where, DType::kInt64), now);
        });
      });
    });
  }

  void write_zeros_of_rows() {
    each_row("zeros", "zeros of both signs in the order in which they are given", [&](Term row) {
      const Term any_zero = code_.var("any_zero", none()), parts = b_.length(parts_);
      code_.loop("part", row * parts, (row + Term(1)) * parts, 1, LoopMark::kSequential,
                 [&](Term part) { code_.assign(any_zero, any_zero | b_.load(zeros_, part)); });
      write_zeros(code_.let("first", row * b_.length(n_)), code_.let("out", row * b_.length(k_)), any_zero != none());
    });
  }

  std::string name() const { return form_.positions ? "argsort" : "sort"; }
  std::string comment(const std::string& how) const {
    return str(form_.positions ? "out0 = the positions of" : "out0 =", " the elements of each row of in0, ",
               form_.descending ? "the greatest" : "the least", " first: ", how);
  }

  StepBuilder& b_;
  Code& code_;
  SortForm form_;
  SortKeys keys_;
  kernel::Operand in_, out_;
  Dim n_, k_, rows_;  // elements of a row, how many are wanted of it
  bool is_packed_;    // a record is a key and, below it, an index of 32 bits
  bool has_indices_;
  DType record_;
  std::string counts_;
  Dim parts_, part_;  // of a row; elements of one
  Records records_;
  kernel::Operand some_, all_, varying_, zeros_, in_parts_;
};

}  // namespace

void lower_sort(StepBuilder& b, const SortForm& form) {
  if (b.target().is_device()) return lower_device_sort(b, form);
  if (!form.positions && has_vector_sort(b.target(), b.input(0).type.dtype)) return lower_vector_sort(b, form);
  RadixSort(b, form).run();
}

}  // namespace thtrain
