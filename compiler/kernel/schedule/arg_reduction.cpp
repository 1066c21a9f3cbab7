// The position of an extremum along the reduce axes: where they are contiguous by vectors, the extremum first, then the
// first element that is it; else one element after the other.
#include <array>

#include "compiler/kernel/schedule/reduction_axes.h"

namespace thtrain::kernel {
namespace {

class ArgReductionLoops : private ReductionAxes {
 public:
  ArgReductionLoops(StepBuilder& b, const Nest& nest) : ReductionAxes(b, nest) {
    reduced_ = collapse(reduced_);  // row-major order is what positions count
    contiguous_ = reduced_.size() == 1 && reduced_[0].strides[kIn].is(1) && !is_bool(element_);
    choice_.lanes = contiguous_ ? whole_lanes(b, size_of(element_)) : 1;
    choice_.over = "the row";
    choice_.accumulators = contiguous_ ? 2 : 1;
  }

  void run(std::string name, std::string comment) {
    check_elements(b_, how_, reduced_, kept_);
    each_result(0, kept_.size(), true, from_.first, to_.first, [&](const Term& in, const Term& out) {
      contiguous_ ? contiguous_result(in, out) : strided_result(in, out);
    });
    const Dim grain = floor_div(Dim(kGrainOfWork / nest_.work), max(elements_of_turn(), 1)) + 1;
    b_.finish_kernel(std::move(name), std::move(comment), results_range(), kept_.empty() ? Dim(0) : grain, 1,
                     choice_.text());
  }

 private:
  Term load(const Term& at, int lanes = 1) { return b_.load(from_.operand, at, lanes); }

  void strided_result(const Term& in, const Term& out) {
    Term best = code_.var("best", load(in)), where = code_.var("where", Term(0));
    Term position = code_.var("position", Term(0));
    std::function<void(size_t, Term)> loops = [&](size_t depth, const Term& at) {
      if (depth == reduced_.size()) {
        Term x = code_.let("x", load(at));
        Term found = is_float(element_) ? best == best && how_.better(best, x) : how_.better(best, x);
        code_.if_(found, [&] {
          code_.assign(best, x);
          code_.assign(where, position);
        });
        return code_.assign(position, position + Term(1));
      }
      code_.loop(str("k", depth), b_.length(reduced_[depth].length),
                 [&](Term k) { loops(depth + 1, code_.let("at", at + k * stride(reduced_[depth], kIn))); });
    };
    loops(0, in);
    b_.store(to_.operand, out, where);
  }

  // Whole vectors with two chains of dependent operations; what is left one by one.
  void contiguous_result(const Term& in, const Term& out) {
    const int lanes = choice_.lanes;
    Term n = b_.length(reduced_[0].length);
    Term whole = code_.let("whole", n / Term(lanes) * Term(lanes));
    Term best = code_.var("best", load(in));
    code_.if_(whole > Term(0), [&] {
      std::array<Term, 2> acc;
      for (Term& a : acc) a = code_.var("acc", load(in, lanes));
      Term pairs = code_.let("pairs", n / Term(2 * lanes) * Term(2 * lanes));
      code_.loop("j", 0, pairs, Term(2 * lanes), LoopMark::kVector, [&](Term j) {
        for (int k = 0; k < 2; ++k) {
          Term& a = acc[static_cast<size_t>(k)];
          code_.assign(a, accumulate(how_, a, code_.let("x", load(in + j + Term(k * lanes), lanes))));
        }
      });
      code_.if_(pairs < whole,
                [&] { code_.assign(acc[0], accumulate(how_, acc[0], code_.let("x", load(in + pairs, lanes)))); });
      code_.assign(best, combine_lanes(how_, how_.combine(acc[0], acc[1])));
    });
    code_.loop("j", whole, n, 1, LoopMark::kSequential,
               [&](Term j) { code_.assign(best, accumulate(how_, best, code_.let("x", load(in + j)))); });
    Term where = code_.var("where", Term(0));
    auto is_best = [&](const Term& x) { return is_float(element_) ? x == best || x != x : x == best; };
    code_.while_(where < whole && !reduce_lanes("or", is_best(load(in + where, lanes))),
                 [&] { code_.assign(where, where + Term(lanes)); });
    code_.while_(!is_best(load(in + where)), [&] { code_.assign(where, where + Term(1)); });
    b_.store(to_.operand, out, where);
  }

  bool contiguous_ = false;
};

}  // namespace

void schedule_arg_reduction(StepBuilder& b, const Nest& nest, std::string name, std::string comment) {
  ArgReductionLoops(b, nest).run(std::move(name), std::move(comment));
}

}  // namespace thtrain::kernel
