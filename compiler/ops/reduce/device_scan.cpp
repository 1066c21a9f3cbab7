#include "compiler/ops/reduce/device_scan.h"

#include "compiler/kernel/schedule/accumulators.h"
#include "compiler/kernel/schedule/device.h"

namespace thtrain {
namespace {

using kernel::LoopMark;
using kernel::Term;

constexpr int kThreads = kernel::kDeviceThreads;      // of a block, which combine a chunk at a time
constexpr int64_t kPartOfLine = 16 * kThreads;        // elements of a part: some chunks
constexpr int64_t kShortLine = 64, kFewBlocks = 512;  // what a thread takes; lines that are cut into parts
constexpr int64_t kFewThreads = 1 << 12;              // lines across which threads are not worth a thread each

class DeviceScan {
 public:
  DeviceScan(kernel::StepBuilder& b, size_t axis, const std::string& name, const CombineRuns& combine)
      : b_(b),
        code_(b.code()),
        name_(name),
        combine_(combine),
        x_(b.input(0)),
        out_(b.output()),
        n_(out_.type.dims[axis]),
        steps_{x_.layout.strides[axis], out_.layout.strides[axis]},
        dtype_(out_.type.dtype),
        width_(kernel::kPieceBytes / static_cast<int64_t>(size_of(dtype_))) {
    for (size_t i = 0; i < out_.type.rank(); ++i)
      if (i != axis) lines_.push_back({out_.type.dims[i], {x_.layout.strides[i], out_.layout.strides[i]}});
    lines_ = kernel::collapse(lines_);
    count_ = kernel::product_of(lines_);
    const bool are_many = count_.is_known() && count_.value() >= kFewBlocks;
    is_cut_ = !are_many && !(n_.is_known() && n_.value() < 4 * kPartOfLine);
    if (is_cut_) parts_ = kernel::blocks_for(n_, kPartOfLine);
  }

  bool is_worth_it() const {
    if (is_complex(dtype_) || is_bool(dtype_) || (n_.is_known() && n_.value() < kShortLine) || count_.is(0))
      return false;
    return steps_[0].is(1) || (count_.is_known() && count_.value() < kFewThreads);
  }

  void run() {
    if (is_cut_) totals_ = b_.workspace(dtype_, count_ * parts_);
    scan_parts();
    if (!is_cut_) return;
    scan_totals();
    add_totals();
  }

 private:
  /// Elements of a line: `first` is the one at 0.
  struct Line {
    const kernel::Operand& operand;
    Term first;
    Dim step;
  };
  Line line_of(const kernel::Operand& operand, size_t track, const std::vector<Term>& at) const {
    return {operand, at[track], steps_[track]};
  }
  Line totals_of(const Term& line) { return {totals_, code_.let("first", line * b_.length(parts_)), 1}; }

  void scan_parts() {
    const std::string sums = shared();
    const Term line = is_cut_ ? code_.let("line", b_.block() / b_.length(parts_)) : b_.block();
    const Term part = is_cut_ ? code_.let("part", b_.block() % b_.length(parts_)) : Term(0);
    const std::vector<Term> at = kernel::unravelled(b_, lines_, {0, 0}, line);
    const Term n = b_.length(n_), first = is_cut_ ? code_.let("first", part * Term(kPartOfLine)) : Term(0),
               end = is_cut_ ? code_.let("end", first + Term(kPartOfLine)) : n,
               last = is_cut_ ? code_.let("last", kernel::select(end < n, end, n)) : n;
    const auto keep = [&](const Term& all) { b_.store(totals_, line * b_.length(parts_) + part, all); };
    chunks(sums, line_of(x_, 0, at), line_of(out_, 1, at), first, last,
           is_cut_ ? std::function<void(const Term&)>(keep) : nullptr);
    b_.finish_device_kernel(name_, "out0 = the elements of in0 so far, combined along the axis", count_ * parts_,
                            kThreads, is_cut_ ? "a block for each part of a line" : "a block for each line");
  }

  void scan_totals() {
    const std::string sums = shared();
    const Line totals = totals_of(b_.block());
    chunks(sums, totals, totals, 0, b_.length(parts_), nullptr);
    b_.finish_device_kernel(name_ + "_of_parts", "what the parts of each line give, combined", count_ * min(parts_, 1),
                            kThreads, "a block for each line");
  }
  void add_totals() {
    const Dim of_line = kernel::blocks_for(n_, width_), all = count_ * of_line;
    const Term number = code_.let("piece", b_.block() * Term(kThreads) + b_.thread());
    code_.if_(number < b_.length(all), [&] {
      const Term line = code_.let("line", number / b_.length(of_line)),
                 i = code_.let("i", (number - line * b_.length(of_line)) * Term(width_)),
                 part = code_.let("part", i / Term(kPartOfLine));
      code_.if_(part > Term(0), [&] {
        const Line out = line_of(out_, 1, kernel::unravelled(b_, lines_, {0, 0}, line));
        const Term before = code_.let("before", b_.load(totals_, line * b_.length(parts_) + part - Term(1)));
        const std::string own = array("own", dtype_);
        load(own, out, i, b_.length(n_));
        each([&](const Term& k) { code_.store(own, k, 1, combine_(before, code_.let("y", element(own, dtype_, k)))); });
        store(own, out, i, b_.length(n_));
      });
    });
    b_.finish_device_kernel(name_ + "_behind_parts", "the elements behind the first part of each line",
                            kernel::blocks_for(all, kThreads), kThreads, str("a thread for ", width_, " elements"));
  }

  std::string shared() { return code_.shared_array("sums", dtype_, 2 * kThreads); }

  // Elements [first, last) of a line by all threads of a block, `width_` of them by each in turn. `of_all` has what
  // they give together, in one thread.
  void chunks(const std::string& sums, const Line& in, const Line& out, const Term& first, const Term& last,
              const std::function<void(const Term& all)>& of_all) {
    const Term none = is_float(dtype_) ? kernel::constant(dtype_, 0) : kernel::constant_int(dtype_, 0);
    const Term carry = code_.var("carry", none), thread = b_.thread(), of_chunk = kThreads * width_;
    code_.loop("chunk", first, last, of_chunk, LoopMark::kSequential, [&](const Term& chunk) {
      const Term i = code_.let("i", chunk + thread * Term(width_)), is_there = code_.let("is_there", i < last),
                 sum = code_.var("sum", none);
      const DType dtype = in.operand.type.dtype;
      const std::string own = array("own", dtype), so_far = array("so_far", dtype_);
      code_.if_(is_there, [&] {
        load(own, in, i, last);
        each([&](const Term& k) {
          const Term x = code_.let("x", cast(element(own, dtype, k), dtype_));
          code_.assign(sum, kernel::select(k == Term(0), x, combine_(sum, x)));
          code_.store(so_far, k, 1, sum);
        });
        code_.store(sums, thread, 1, sum);
      });
      code_.barrier();
      scan_block(b_, sums, dtype_, is_there, combine_);
      const auto behind = [&](const Term& y) { return kernel::select(chunk == first, y, combine_(carry, y)); };
      const auto of_sums = [&](const Term& at) { return code_.let("whole", kernel::load(sums, dtype_, 1, at, 1)); };
      code_.if_(is_there, [&] {
        const Term before = code_.var("before", carry),
                   has_before = code_.let("has_before", thread > Term(0) || chunk > first);
        code_.if_(thread > Term(0), [&] { code_.assign(before, behind(of_sums(thread - Term(1)))); });
        const auto whole = [&](const Term& y) {
          return code_.let("y", kernel::select(has_before, combine_(before, y), y));
        };
        each([&](const Term& k) { code_.store(so_far, k, 1, whole(code_.let("own", element(so_far, dtype_, k)))); });
        store(so_far, out, i, last);
        if (of_all) code_.if_(last <= i + Term(width_), [&] { of_all(whole(sum)); });
      });
      code_.if_(chunk + of_chunk < last, [&] {
        code_.assign(carry, behind(of_sums(kThreads - 1)));
        code_.barrier();
      });
    });
  }

  // ---- pieces: elements that a thread has, in an array of its own

  std::string array(const char* name, DType dtype) {
    return code_.local_array(name, {dtype, static_cast<int>(width_), is_bool(dtype) ? 1 : 0}, 1).node().name;
  }
  static Term element(const std::string& array, DType dtype, const Term& k) {
    return kernel::load(array, dtype, 1, k, 1);
  }
  void each(const std::function<void(const Term& k)>& body) { kernel::each_of_piece(code_, width_, body); }
  // What is not there is 0: it is combined with what nobody reads.
  void load(const std::string& to, const Line& line, const Term& i, const Term& last) {
    const DType dtype = line.operand.type.dtype;
    const Term none = cast(kernel::constant_int(is_bool(dtype) ? DType::kUInt8 : DType::kInt32, 0), dtype);
    piece(
        line, i, last,
        [&](const Term& at, int count, const Term& k) {
          code_.store(to, k, 1, code_.let("x", b_.load(line.operand, at, count)));
        },
        [&](const Term& k) { code_.store(to, k, 1, none); });
  }
  void store(const std::string& from, const Line& line, const Term& i, const Term& last) {
    piece(line, i, last, [&](const Term& at, int count, const Term& k) {
      b_.store(line.operand, at, kernel::load(from, line.operand.type.dtype, count, k, 1));
    });
  }
  // From element `i` of the line on: at once where they lie side by side at such an address and are all there, else one
  // after the other those before `last`.
  void piece(const Line& line, const Term& i, const Term& last,
             const std::function<void(const Term& at, int count, const Term& k)>& access,
             const std::function<void(const Term& k)>& otherwise = nullptr) {
    const auto one_by_one = [&] {
      each([&](const Term& k) {
        code_.if_(
            i + k < last, [&] { access(code_.let("at", line.first + (i + k) * b_.length(line.step)), 1, k); },
            otherwise ? [&] { otherwise(k); } : std::function<void()>());
      });
    };
    if (!line.step.is(1)) return one_by_one();
    const Term at = code_.let("at", line.first + i);
    const size_t bytes = static_cast<size_t>(width_) * size_of(line.operand.type.dtype);
    code_.if_(
        i <= last - Term(width_) && b_.is_aligned(line.operand, at, bytes),
        [&] { access(at, static_cast<int>(width_), 0); }, one_by_one);
  }

  kernel::StepBuilder& b_;
  kernel::Code& code_;
  const std::string& name_;
  const CombineRuns& combine_;
  const kernel::Operand x_, out_;
  Dim n_;       // elements of a line
  Dims steps_;  // from one to the next: of in0, of out0
  DType dtype_;
  int64_t width_;  // elements of a piece
  std::vector<kernel::LoopAxis> lines_;
  Dim count_, parts_ = 1;  // of lines; of parts of one
  bool is_cut_;
  kernel::Operand totals_ = {};
};

}  // namespace

// The number of steps is even: the last one stores to the first half.
void scan_block(kernel::StepBuilder& b, const std::string& array, DType dtype, const Term& is_there,
                const CombineRuns& combine) {
  kernel::Code& code = b.code();
  const Term thread = b.thread(), from = code.var("from", 0), distance = code.var("distance", 1);
  const auto at = [&](const Term& i) { return kernel::load(array, dtype, 1, i, 1); };
  code.while_(distance < Term(kThreads), [&] {
    const Term to = code.let("to", Term(kThreads) - from);
    code.if_(is_there, [&] {
      const Term y = code.var("y", at(from + thread));
      code.if_(thread >= distance,
               [&] { code.assign(y, combine(code.let("before", at(from + thread - distance)), y)); });
      code.store(array, to + thread, 1, y);
    });
    code.barrier();
    code.assign(from, to);
    code.assign(distance, distance * Term(2));
  });
}

bool lower_device_scan(kernel::StepBuilder& b, size_t axis, const std::string& name, const CombineRuns& combine) {
  if (!b.target().is_device()) return false;
  DeviceScan scan(b, axis, name, combine);
  if (!scan.is_worth_it()) return false;
  scan.run();
  return true;
}

}  // namespace thtrain
