// Native code of max_pool, max_pool_pick and sum_pool.
#include "compiler/cpu/pool/pool_kernel.h"
#include "compiler/cpu/pool/window_values.h"
#include "compiler/kernel/schedule/schedule.h"
#include "compiler/ops/pool/pool.h"

namespace thtrain {
namespace {

using kernel::Term;

class Pool : public WindowValues {
 public:
  Pool(kernel::StepBuilder& b, const PoolWindows& windows, Pooled what, PoolDivisor divide_by)
      : WindowValues(b, windows, b.input(0).type.dims, b.output().type.dtype, what), divide_by_(divide_by) {}

  void run(PoolForm form, const std::string& comment) {
    if (form == PoolForm::kColumns) declare_buffers();
    each_image([&](const Term& first_element, const Term& first_window) {
      each_window_row(first_window, [&](const WindowRow& at) {
        if (form == PoolForm::kTaps) return windows_of_taps(at, first_element);
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

  void windows_of_taps(const WindowRow& at, const Term& first_element) {
    kernel::each_vector(code_, "i", 0, b_.length(columns().windows), window_lanes_, {},
                        [&](const Term& i, const Term& count) {
                          const Taps x = taps(b_.input(0), at, first_element, i, count);
                          Term value = reduced(x);
                          if (what_ == Pooled::kPicked)
                            value = picked(x, value, taps(b_.input(1), at, first_element, i, count));
                          if (const Term by = divisor(divide_by_, at, i)) value = value / by;
                          b_.store(b_.output(), at.first_window + i, value, 1, count);
                        });
  }

  PoolDivisor divide_by_;
};

}  // namespace

void lower_pooled(kernel::StepBuilder& b, PoolForm form) {
  const PoolWindows windows = PoolWindows::of(b.node());
  if (b.node().op == &sum_pool_op()) {
    const PoolDivisor divisor = divisor_of(b.node().props);
    return Pool(b, windows, Pooled::kSum, divisor)
        .run(form, str("out0 = the ", divisor == PoolDivisor::kOne ? "sum" : "average", " of each window of in0"));
  }
  const bool picks = b.node().op == &max_pool_pick_op();
  Pool(b, windows, picks ? Pooled::kPicked : Pooled::kMaximum, PoolDivisor::kOne)
      .run(form,
           picks ? "out0 = in1 where in0 is the maximum of each window" : "out0 = the maximum of each window of in0");
}

}  // namespace thtrain
