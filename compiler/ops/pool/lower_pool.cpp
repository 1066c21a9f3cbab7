// Native code of max_pool, max_pool_pick and sum_pool.
#include "compiler/kernel/schedule/schedule.h"
#include "compiler/ops/pool/pool_kernel.h"
#include "compiler/ops/pool/window_values.h"

namespace thtrain {
namespace {

using kernel::Term;

class Pool : public WindowValues {
 public:
  Pool(kernel::StepBuilder& b, const PoolWindows& windows, Pooled what, PoolDivisor divide_by)
      : WindowValues(b, windows, b.input(0).type.dims, b.output().type.dtype, what), divide_by_(divide_by) {}

  void run(const std::string& comment) {
    declare_buffers();
    each_image([&](const Term& first_element, const Term& first_window) {
      each_window_row(first_window, [&](const WindowRow& at) {
        each_chunk([&](const Chunk& chunk) {
          reduce_rows(at, chunk, first_element);
          store_windows(at, chunk);
        });
      });
    });
    b_.finish_kernel(b_.node().op->name, str(comment, "; ", text()), images_, grain());
  }

 private:
  void each_chunk(const std::function<void(const Chunk&)>& body) {
    const Dim& windows = columns().windows;
    if (is_one_chunk_) return body({0, b_.length(windows)});
    code_.loop("chunk", 0, b_.length(windows), Term(chunk_), kernel::LoopMark::kSequential, [&](Term first) {
      body({first, code_.let("count_of_chunk", smaller_of(Term(chunk_), b_.length(windows) - first))});
    });
  }

  void store_windows(const WindowRow& at, const Chunk& chunk) {
    const Term first = code_.let("first_of_chunk", at.first_window + chunk.first);
    kernel::each_vector(code_, "i", 0, chunk.count, window_lanes_, {}, [&](const Term& i, const Term& count) {
      Term value = reduce_columns(i);
      if (const Term by = divisor(divide_by_, at, chunk.first + i)) value = value / by;
      b_.store(b_.output(), first + i, value, 1, count);
    });
  }

  PoolDivisor divide_by_;
};

}  // namespace

void lower_max_pool(kernel::StepBuilder& b) {
  const PoolWindows windows = PoolWindows::of(b.node());
  if (WindowLoops::is_too_wide(windows)) return b.call_reference();
  const bool picks = b.node().inputs.size() == 2;
  Pool(b, windows, picks ? Pooled::kPicked : Pooled::kMaximum, PoolDivisor::kOne)
      .run(picks ? "out0 = in1 where in0 is the maximum of each window" : "out0 = the maximum of each window of in0");
}

void lower_sum_pool(kernel::StepBuilder& b) {
  const PoolWindows windows = PoolWindows::of(b.node());
  if (WindowLoops::is_too_wide(windows)) return b.call_reference();
  const PoolDivisor divisor = divisor_of(b.node().props);
  Pool(b, windows, Pooled::kSum, divisor)
      .run(str("out0 = the ", divisor == PoolDivisor::kOne ? "sum" : "average", " of each window of in0"));
}

}  // namespace thtrain
