#include "compiler/ops/linalg/gemm_panel.h"

namespace thtrain {

using kernel::LoopMark;
using kernel::Prefetch;
using kernel::Term;

// Rows of B between the one that is used and the one that is prefetched: a row takes about 12 cycles, memory some 200.
static constexpr int64_t kPrefetchDistance = 16;

int64_t gemm_line(DType dtype) {
  constexpr int64_t kLineBytes = 64;
  return kLineBytes / static_cast<int64_t>(size_of(dtype));
}

GemmPanel::GemmPanel(kernel::StepBuilder& builder, const GemmCall& call, int64_t depth)
    : builder_(builder),
      code_(builder.code()),
      call_(call),
      p_(call.product),
      lanes_(builder.lanes_of(p_.dtype)),
      depth_(depth) {}

void GemmPanel::allocate(int64_t elements) {
  name_ = code_.local_array("panel", {p_.dtype, 1, 0}, elements).node().name;
}

void GemmPanel::fill(const GemmBlock& block, const GemmSlab& s) {
  if (!p_.trans_b)
    return code_.loop("p", 0, s.length, 1, LoopMark::kSequential, [&](Term p) {
      for (int w = 0; w < block.vectors; ++w) fill_vector(block, s, p, Term(w * lanes_), count(block.columns.most, w));
    });
  code_.loop("j", 0, block.columns.count, lanes_, LoopMark::kSequential, [&](Term j) { fill_columns(block, s, j); });
}

// Of the last vector's columns those that do not exist are copies of its first one.
void GemmPanel::fill_columns(const GemmBlock& block, const GemmSlab& s, const Term& j) {
  const int64_t last = block.columns.last % lanes_;
  const Term is_narrow = last == 0 ? Term() : block.columns.count - j < Term(lanes_);
  const bool any_square = depth_ >= lanes_;
  const bool any_rest = !any_square || p_.k % lanes_ != 0 || (depth_ < p_.k && depth_ % lanes_ != 0);
  const Term whole = any_square ? code_.let("whole", s.length / Term(lanes_) * Term(lanes_)) : Term(0);
  if (any_square)
    code_.loop("p", 0, whole, Term(lanes_), LoopMark::kSequential, [&](Term p) {
      std::vector<Term> square;
      for (int64_t k = 0; k < lanes_; ++k) {
        const Term column = last > 0 && k >= last ? select(is_narrow, Term(0), Term(k)) : Term(k);
        square.push_back(code_.let("b", builder_.load(call_.b, b_index(s.k0 + p, s.column + j + column), lanes_)));
      }
      square = transposed(code_, std::move(square));
      for (int q = 0; q < lanes_; ++q)
        code_.store(name_, index(block, p + Term(q), j), 1, square[static_cast<size_t>(q)]);
    });
  if (any_rest)
    code_.loop("p", whole, s.length, 1, LoopMark::kSequential, [&](Term p) {
      if (is_narrow)
        code_.if_(
            is_narrow, [&] { fill_vector(block, s, p, j, Term(last)); }, [&] { fill_vector(block, s, p, j, {}); });
      else
        fill_vector(block, s, p, j, {});
    });
}

// Columns j, j + 1, ... of row p of the panel: a vector, or the first `lanes` of one.
void GemmPanel::fill_vector(const GemmBlock& block, const GemmSlab& s, const Term& p, const Term& j,
                            const Term& lanes) {
  code_.store(
      name_, index(block, p, j), 1,
      builder_.load(call_.b, b_index(s.k0 + p, s.column + j), lanes_, p_.trans_b ? Term(call_.ldb) : Term(1), lanes));
}

void GemmPanel::fill_row(const GemmBlock& block, const GemmSlab& s, const Term& p, const std::vector<Term>& vectors) {
  each_width(block, [&](int64_t columns) {
    for (int w = 0; w < block.vectors; ++w) {
      const Term& vector = vectors[static_cast<size_t>(w)];
      code_.assign(vector, of_matrix(s, s.k0 + p, w, count(columns, w)));
      code_.store(name_, index(block, p, Term(w * lanes_)), 1, vector);
    }
  });
  prefetch_later(block, s, p);
}

void GemmPanel::prefetch_later(const GemmBlock& block, const GemmSlab& s, const Term& p) {
  auto prefetch = [&](const Term& column) {
    builder_.prefetch(call_.b, b_index(s.k0 + p + Term(kPrefetchDistance), s.column + column), Prefetch::kL1);
  };
  for (int64_t at = 0; at < block.columns.most; at += gemm_line(p_.dtype)) prefetch(Term(at));
  prefetch(block.columns.count - Term(1));
}

Term GemmPanel::vector(const GemmBlock& block, const Term& p, int w) const {
  return kernel::load(name_, p_.dtype, lanes_, index(block, p, Term(w * lanes_)), 1);
}

Term GemmPanel::of_matrix(const GemmSlab& s, const Term& p, int w, const Term& lanes) const {
  return builder_.load(call_.b, b_index(p, s.column + Term(w * lanes_)), lanes_, 1, lanes);
}

Term GemmPanel::count(int64_t columns, int w) const {
  const int64_t left = columns - int64_t{w} * lanes_;
  return left < lanes_ ? Term(left) : Term();
}

void GemmPanel::each_width(const GemmBlock& block, const std::function<void(int64_t columns)>& body) {
  const GemmColumns& columns = block.columns;
  if (columns.is_last)
    code_.if_(
        columns.is_last, [&] { body(columns.last); }, [&] { body(columns.most); });
  else
    body(columns.most);
}

Term GemmPanel::index(const GemmBlock& block, const Term& p, const Term& j) const {
  return begin_ + p * Term(int64_t{lanes_} * block.vectors) + j;
}

Term GemmPanel::b_index(const Term& p, const Term& column) const {
  return b_begin_ + (p_.trans_b ? column * Term(call_.ldb) + p : p * Term(call_.ldb) + column);
}

}  // namespace thtrain
