#include "compiler/ops/reduce/device_scan.h"

#include "compiler/kernel/schedule/accumulators.h"
#include "compiler/kernel/schedule/device.h"

namespace thtrain {
namespace {

using kernel::LoopMark;
using kernel::Term;

constexpr int kChunk = kernel::kDeviceThreads;        // elements that a block combines at a time
constexpr int64_t kPartOfLine = 16 * kChunk;          // elements of a part
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
        steps_{x_.layout.strides[axis], out_.layout.strides[axis]} {
    for (size_t i = 0; i < out_.type.rank(); ++i)
      if (i != axis) lines_.push_back({out_.type.dims[i], {x_.layout.strides[i], out_.layout.strides[i]}});
    lines_ = kernel::collapse(lines_);
    count_ = kernel::product_of(lines_);
    const bool are_many = count_.is_known() && count_.value() >= kFewBlocks;
    is_cut_ = !are_many && !(n_.is_known() && n_.value() < 4 * kPartOfLine);
    if (is_cut_) parts_ = kernel::blocks_for(n_, kPartOfLine);
  }

  bool is_worth_it() const {
    const DType dtype = out_.type.dtype;
    if (is_complex(dtype) || is_bool(dtype) || (n_.is_known() && n_.value() < kShortLine) || count_.is(0)) return false;
    return steps_[0].is(1) || (count_.is_known() && count_.value() < kFewThreads);
  }

  void run() {
    if (is_cut_) totals_ = b_.workspace(out_.type.dtype, count_ * parts_);
    scan_parts();
    if (!is_cut_) return;
    scan_totals();
    add_totals();
  }

 private:
  Term number(const Term& line, const Term& part) { return line * b_.length(parts_) + part; }
  Term element(const std::vector<Term>& at, size_t track, const Term& i) {
    return at[track] + i * b_.length(steps_[track]);
  }

  void scan_parts() {
    const std::string sums = shared();
    const Term line = is_cut_ ? code_.let("line", b_.block() / b_.length(parts_)) : b_.block();
    const Term part = is_cut_ ? code_.let("part", b_.block() % b_.length(parts_)) : Term(0);
    const std::vector<Term> at = kernel::unravelled(b_, lines_, {0, 0}, line);
    const Term n = b_.length(n_), first = is_cut_ ? code_.let("first", part * Term(kPartOfLine)) : Term(0),
               end = is_cut_ ? code_.let("end", first + Term(kPartOfLine)) : n,
               last = is_cut_ ? code_.let("last", kernel::select(end < n, end, n)) : n;
    chunks(
        sums, first, last, [&](const Term& i) { return cast(b_.load(x_, element(at, 0, i)), out_.type.dtype); },
        [&](const Term& i, const Term& y) {
          b_.store(out_, element(at, 1, i), y);
          if (is_cut_) code_.if_(i == last - Term(1), [&] { b_.store(totals_, number(line, part), y); });
        });
    b_.finish_device_kernel(name_, "out0 = the elements of in0 so far, combined along the axis", count_ * parts_,
                            kChunk, is_cut_ ? "a block for each part of a line" : "a block for each line");
  }

  void scan_totals() {
    const std::string sums = shared();
    const Term line = b_.block();
    chunks(
        sums, 0, b_.length(parts_), [&](const Term& i) { return b_.load(totals_, number(line, i)); },
        [&](const Term& i, const Term& y) { b_.store(totals_, number(line, i), y); });
    b_.finish_device_kernel(name_ + "_of_parts", "what the parts of each line give, combined", count_ * min(parts_, 1),
                            kChunk, "a block for each line");
  }

  void add_totals() {
    const Term i = code_.let("i", b_.block() * Term(kChunk) + b_.thread()), n = b_.length(n_);
    code_.if_(i < b_.length(count_ * n_), [&] {
      const Term line = code_.let("line", i / n), in_line = code_.let("in_line", i - line * n),
                 part = code_.let("part", in_line / Term(kPartOfLine));
      code_.if_(part > Term(0), [&] {
        const Term at = code_.let("at", element(kernel::unravelled(b_, lines_, {0, 0}, line), 1, in_line));
        const Term before = code_.let("before", b_.load(totals_, number(line, part - Term(1))));
        b_.store(out_, at, combine_(before, code_.let("y", b_.load(out_, at))));
      });
    });
    b_.finish_device_kernel(name_ + "_behind_parts", "the elements behind the first part of each line",
                            kernel::blocks_for(count_ * n_, kChunk), kChunk, "a thread for each element");
  }

  std::string shared() { return code_.shared_array("sums", out_.type.dtype, 2 * kChunk); }

  // Elements [first, last) of what `load` gives, by all threads of a block.
  void chunks(const std::string& sums, const Term& first, const Term& last,
              const std::function<Term(const Term&)>& load,
              const std::function<void(const Term& i, const Term& y)>& store) {
    const DType dtype = out_.type.dtype;
    const auto sum = [&](const Term& at) { return kernel::load(sums, dtype, 1, at, 1); };
    const Term none = is_float(dtype) ? kernel::constant(dtype, 0) : kernel::constant_int(dtype, 0);
    const Term carry = code_.var("carry", none), thread = b_.thread();
    code_.loop("chunk", first, last, Term(kChunk), LoopMark::kSequential, [&](const Term& chunk) {
      const Term i = code_.let("i", chunk + thread), is_there = code_.let("is_there", i < last);
      code_.if_(is_there, [&] { code_.store(sums, thread, 1, load(i)); });
      code_.barrier();
      scan_block(b_, sums, dtype, is_there, combine_);
      const auto behind = [&](const Term& y) { return kernel::select(chunk == first, y, combine_(carry, y)); };
      code_.if_(is_there, [&] { store(i, code_.let("y", behind(code_.let("own", sum(thread))))); });
      code_.if_(chunk + Term(kChunk) < last, [&] {
        code_.assign(carry, behind(code_.let("whole", sum(kChunk - 1))));
        code_.barrier();
      });
    });
  }

  kernel::StepBuilder& b_;
  kernel::Code& code_;
  const std::string& name_;
  const CombineRuns& combine_;
  const kernel::Operand x_, out_;
  Dim n_;       // elements of a line
  Dims steps_;  // from one to the next: of in0, of out0
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
  code.while_(distance < Term(kChunk), [&] {
    const Term to = code.let("to", Term(kChunk) - from);
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
