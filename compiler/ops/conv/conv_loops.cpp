// The convolutions by their definition, for any lengths: one element of the output after the other, its products added
// in the order of channels (or filters, or images and places) and taps. Slow, and the same bits on every machine.
#include "compiler/ops/candidates.h"
#include "compiler/ops/conv/conv.h"
#include "compiler/ops/conv/conv_step.h"

namespace thtrain {
namespace {

using kernel::StepBuilder;
using kernel::Term;
using Terms = std::vector<Term>;

class Loops {
 public:
  explicit Loops(StepBuilder& builder)
      : b_(builder), g_(ConvGeometry::of(builder.node().props)), l_(lengths_of_conv(builder.node())) {}

  void run() {
    const Op* op = b_.node().op;
    const Dim of_group = g_.groups == 1 ? l_.c : floor_div(l_.c, Dim(g_.groups));
    filters_of_group_ = g_.groups == 1 ? l_.f : floor_div(l_.f, Dim(g_.groups));
    of_group_ = of_group;
    if (op == &conv_op())
      outer(l_.n, l_.f, [&](const Term& n, const Term& f) { forward(n, f); });
    else if (op == &conv_input_gradient_op())
      outer(l_.n, l_.c, [&](const Term& n, const Term& c) { input_gradient(n, c); });
    else
      outer(l_.f, of_group, [&](const Term& f, const Term& c) { weight_gradient(f, c); });
    b_.finish_kernel(str(op->name, "_loops"), str(op->name, ", by its definition"), range_, 1);
  }

 private:
  // Threads share the turns of both loops.
  void outer(const Dim& rows, const Dim& columns, const std::function<void(const Term&, const Term&)>& body) {
    range_ = rows * columns;
    const Term length = b_.length(columns);
    b_.code().loop("i", b_.begin(), b_.end(), 1, kernel::LoopMark::kSequential,
                   [&](const Term& i) { body(b_.code().let("row", i / length), b_.code().let("column", i % length)); });
  }

  void nest(const char* name, const Dims& lengths, const std::function<void(const Terms&)>& body) {
    Terms at;
    nest_from(name, lengths, at, body);
  }
  void nest_from(const char* name, const Dims& lengths, Terms& at, const std::function<void(const Terms&)>& body) {
    if (at.size() == lengths.size()) return body(at);
    b_.code().loop(name, b_.length(lengths[at.size()]), [&](const Term& i) {
      at.push_back(i);
      nest_from(name, lengths, at, body);
      at.pop_back();
    });
  }

  Term load(const kernel::Operand& operand, const Terms& at) { return b_.load(operand, b_.index_of(operand, at)); }
  static Terms joined(Terms first, const Terms& second) {
    first.insert(first.end(), second.begin(), second.end());
    return first;
  }
  Terms w_index(const Term& f, const Term& c, const Terms& k, const Terms& o) const {
    Terms at = {f};
    if (g_.unshared) at = joined(at, o);
    at.push_back(c);
    return joined(at, k);
  }
  Term group_of_filter(const Term& f) { return g_.groups == 1 ? Term(0) : f / b_.length(filters_of_group_); }
  Term sum() { return b_.code().var("sum", kernel::constant(b_.output().type.dtype, 0)); }
  void add(const Term& sum, const Term& left, const Term& right) { b_.code().assign(sum, sum + left * right); }

  // The places of the image under taps k of place o, and `body` where they are inside of it.
  void inside(const Terms& o, const Terms& k, const std::function<void(const Terms&)>& body) {
    Terms at;
    Term condition;
    for (size_t axis = 0; axis < g_.rank(); ++axis) {
      const bool is_padded = !g_.before[axis].is(0) || !g_.after[axis].is(0);
      at.push_back(b_.code().let(
          "at", o[axis] * Term(g_.stride[axis]) + k[axis] * Term(g_.dilation[axis]) - b_.length(g_.before[axis])));
      if (!is_padded) continue;
      const Term holds = at[axis] >= Term(0) && at[axis] < b_.length(l_.in[axis]);
      condition = condition ? condition && holds : holds;
    }
    if (condition)
      b_.code().if_(condition, [&] { body(at); });
    else
      body(at);
  }

  void forward(const Term& n, const Term& f) {
    nest("o", l_.out, [&](const Terms& o) {
      const Term total = sum();
      b_.code().loop("c", b_.length(of_group_), [&](const Term& c) {
        nest("k", l_.kernel, [&](const Terms& k) {
          inside(o, k, [&](const Terms& at) {
            const Term channel = group_of_filter(f) * b_.length(of_group_) + c;
            add(total, load(b_.input(0), joined({n, channel}, at)), load(b_.input(1), w_index(f, c, k, o)));
          });
        });
      });
      b_.store(b_.output(), b_.index_of(b_.output(), joined({n, f}, o)), total);
    });
  }

  void input_gradient(const Term& n, const Term& channel) {
    const Term group = b_.code().let("group", g_.groups == 1 ? Term(0) : channel / b_.length(of_group_));
    const Term c = channel - group * b_.length(of_group_);
    nest("s", l_.in, [&](const Terms& s) {
      const Term total = sum();
      b_.code().loop("f", b_.length(filters_of_group_), [&](const Term& of_group) {
        const Term f = b_.code().let("filter", group * b_.length(filters_of_group_) + of_group);
        nest("k", l_.kernel, [&](const Terms& k) {
          Terms o;
          Term condition;
          for (size_t axis = 0; axis < g_.rank(); ++axis) {
            const Term at =
                b_.code().let("at", s[axis] + b_.length(g_.before[axis]) - k[axis] * Term(g_.dilation[axis]));
            o.push_back(at / Term(g_.stride[axis]));
            Term holds = at >= Term(0) && o[axis] < b_.length(l_.out[axis]);
            if (g_.stride[axis] > 1) holds = holds && at % Term(g_.stride[axis]) == Term(0);
            condition = condition ? condition && holds : holds;
          }
          b_.code().if_(condition, [&] {
            add(total, load(b_.input(0), w_index(f, c, k, o)), load(b_.input(1), joined({n, f}, o)));
          });
        });
      });
      b_.store(b_.output(), b_.index_of(b_.output(), joined({n, channel}, s)), total);
    });
  }

  void weight_gradient(const Term& f, const Term& c) {
    const Term channel = b_.code().let("channel", group_of_filter(f) * b_.length(of_group_) + c);
    auto places = [&](const Terms& k, const Terms& o, const Term& total) {
      inside(o, k, [&](const Terms& at) {
        b_.code().loop("n", b_.length(l_.n), [&](const Term& n) {
          add(total, load(b_.input(0), joined({n, channel}, at)), load(b_.input(1), joined({n, f}, o)));
        });
      });
    };
    auto store = [&](const Terms& k, const Terms& o, const Term& total) {
      b_.store(b_.output(), b_.index_of(b_.output(), w_index(f, c, k, o)), total);
    };
    nest("k", l_.kernel, [&](const Terms& k) {
      if (g_.unshared)
        return nest("o", l_.out, [&](const Terms& o) {
          const Term total = sum();
          places(k, o, total);
          store(k, o, total);
        });
      const Term total = sum();
      nest("o", l_.out, [&](const Terms& o) { places(k, o, total); });
      store(k, {}, total);
    });
  }

  StepBuilder& b_;
  const ConvGeometry g_;
  const ConvLengths l_;
  Dim of_group_ = 1, filters_of_group_ = 1, range_ = 1;
};

}  // namespace

void lower_conv_loops(StepBuilder& builder) {
  Loops(builder).run();
}

}  // namespace thtrain
