#include "compiler/ops/conv/direct_results.h"

#include <algorithm>

#include "compiler/ops/conv/tiles.h"

namespace thtrain {

using kernel::LoopMark;
using kernel::StepBuilder;
using kernel::Term;

namespace {

constexpr int64_t kFewVectors = 16;        // of places, by filter: the last one may be almost empty
constexpr int64_t kLongBytes = 160 << 10;  // of an array by filter, if threads have enough to share
constexpr int64_t kResultParts = 32;       // that threads share, where there are as many

int64_t in_vectors(int64_t elements, int lanes) {
  return ceil_div(elements, lanes) * lanes;
}

}  // namespace

DirectResults::DirectResults(StepBuilder& builder, const Correlation& c, const CorrelationStep& step, int64_t block,
                             bool by_filter)
    : builder_(builder),
      code_(builder.code()),
      c_(c),
      step_(step),
      lanes_(builder.lanes_of(c.dtype)),
      block_(block),
      blocks_(ceil_div(c.outputs, block)),
      by_filter_(by_filter) {}

int64_t DirectResults::rows_by_filter(const Correlation& c, int lanes) {
  const int64_t rows = c.axes[0].out * c.axes[1].out;
  return even_part(rows, ceil_div(kFewVectors * lanes, c.axes[2].out));
}

int64_t DirectResults::rows_to_end() const {
  const int64_t rows = c_.axes[0].out * c_.axes[1].out,
                row_bytes = block_ * width() * static_cast<int64_t>(size_of(c_.dtype)),
                of_threads = std::max<int64_t>(1, rows * c_.n * c_.groups * blocks_ / kResultParts);
  const int64_t most = std::min(rows, std::clamp<int64_t>(kLongBytes / row_bytes, 1, of_threads));
  return std::max(rows_by_filter(c_, lanes_), even_part(rows, most));
}

int64_t DirectResults::elements(const Correlation& c, int64_t block, int64_t rows, bool by_filter, int lanes,
                                bool is_ended) {
  const int64_t places = rows * c.axes[2].out;
  if (by_filter) return block * in_vectors(places, lanes) + lanes;
  // An epilogue takes whole vectors of places, of which the last ones may lie behind the rows.
  return (places + (is_ended ? lanes : 0)) * block;
}

void DirectResults::begin(int64_t rows) {
  pitch_ = in_vectors(rows * width(), lanes_);
  const int64_t count = elements(c_, block_, rows, by_filter_, lanes_, step_.epilogue);
  sums_ = code_.local_array("sums", {c_.dtype, 1, 0}, count).node().name;
  if (!step_.epilogue) return;
  if (!by_filter_) square_ = code_.local_array("square", {c_.dtype, 1, 0}, lanes_ * lanes_).node().name;
  step_.epilogue->begin();
}

void DirectResults::set_block(const Term& image, const Term& group, const Term& filter) {
  first_filter_ = filter;
  if (step_.epilogue) {
    image_ = image;
    filter_ = code_.let("channel", group * Term(c_.outputs) + filter);
    return;
  }
  out_ = code_.let("out_at", ((image * Term(c_.groups) + group) * Term(c_.outputs) + filter) * Term(c_.places()));
}

Term DirectResults::at(const Term& p, const Term& o) const {
  return by_filter_ ? o * Term(pitch_) + p : p * Term(block_) + o;
}

void DirectResults::prefetch(const Term& row, const Term& first, const Term& last) {
  if (!step_.epilogue || !step_.epilogue->reads_elements()) return;
  constexpr int64_t kLineBytes = 64;
  const int64_t line = kLineBytes / static_cast<int64_t>(size_of(c_.dtype));
  const Term y = code_.let("y", row % Term(c_.axes[1].out)), z = code_.let("z", row / Term(c_.axes[1].out));
  code_.loop("o", first, last, 1, LoopMark::kSequential, [&](const Term& o) {
    code_.loop("p", 0, width(), line, LoopMark::kSequential, [&](const Term& p) {
      step_.epilogue->prefetch(index_of_result(c_, image_, filter_ + o, {z, y, p}));
    });
  });
}

void DirectResults::write(const Term& first, const Term& last) {
  if (!step_.epilogue) return write_transposed(first, last);
  each_run(first, last, [&](const Term& begin, const Term& places, const Index& index) {
    if (by_filter_)
      end_filters(begin, places, index);
    else
      end_squares(begin, places, index);
  });
}

// The sums from place p and the block's filter v on: a vector of places for each filter.
std::vector<Term> DirectResults::square(const Term& p, const Term& v) {
  std::vector<Term> rows;
  for (int64_t i = 0; i < lanes_; ++i)
    rows.push_back(code_.let("r", kernel::load(sums_, c_.dtype, lanes_, at(p + Term(i), v), 1)));
  return transposed(code_, std::move(rows));
}

void DirectResults::write_transposed(const Term& first, const Term& last) {
  const Term places = code_.let("places", (last - first) * Term(width())),
             to = code_.let("to", out_ + first * Term(width()));
  for (int64_t v = 0; v < block_; v += lanes_) {
    auto each_filter = [&](const std::function<void(int64_t)>& store) {
      for (int64_t o = v; o < v + lanes_; ++o) {
        if (c_.outputs % block_ == 0 || o < c_.outputs - (blocks_ - 1) * block_)
          store(o);
        else if (blocks_ > 1)
          code_.if_(first_filter_ + Term(o) < Term(c_.outputs), [&] { store(o); });
      }
    };
    auto place = [&](const Term& p, int64_t o) { return to + Term(o * c_.places()) + p; };
    const Term whole = code_.let("whole", places / Term(lanes_) * Term(lanes_));
    code_.loop("p", 0, whole, lanes_, LoopMark::kSequential, [&](const Term& p) {
      const std::vector<Term> rows = square(p, v);
      each_filter([&](int64_t o) { builder_.store(step_.out, place(p, o), rows[static_cast<size_t>(o - v)]); });
    });
    code_.if_(whole < places, [&] {
      // What lies behind the last row's sums belongs to places that do not exist.
      code_.loop("p", whole, places, 1, LoopMark::kSequential, [&](const Term& p) {
        each_filter(
            [&](int64_t o) { builder_.store(step_.out, place(p, o), kernel::load(sums_, c_.dtype, 1, at(p, o), 1)); });
      });
    });
  }
}

// How many of the block's filters from `first` on exist, at most `most`.
Term DirectResults::existing(const Term& first, int64_t most) {
  if (c_.outputs % block_ == 0) return most;
  const Term left = code_.let("left", Term(c_.outputs) - first_filter_ - first);
  return code_.let("filters", select(left < Term(most), left, Term(most)));
}

// Places of the rows that lie side by side for all operands of the epilogue: all of them, or row by row.
void DirectResults::each_run(const Term& first, const Term& last,
                             const std::function<void(const Term& begin, const Term& places, const Index&)>& body) {
  if (step_.epilogue->is_flat_from(2)) {
    size_t axis = 2;
    while (axis > 0 && c_.axes[axis].out == 1) --axis;
    if (c_.axes[axis].out == 1) axis = 2;
    const Term from = code_.let("from", first * Term(width()));
    return body(0, code_.let("places", (last - first) * Term(width())), [&](const Term& p) {
      std::array<Term, 3> index = {0, 0, 0};
      index[axis] = from + p;
      return index;
    });
  }
  code_.loop("row", first, last, 1, LoopMark::kSequential, [&](const Term& row) {
    const Term y = code_.let("y", row % Term(c_.axes[1].out)), z = code_.let("z", row / Term(c_.axes[1].out));
    body(code_.let("begin_of_row", (row - first) * Term(width())), width(), [&](const Term& p) {
      return std::array<Term, 3>{z, y, p};
    });
  });
}

void DirectResults::each_vector(const Term& places, const std::function<void(const Term&, const Term&)>& body) {
  const Term whole = code_.let("whole", places / Term(lanes_) * Term(lanes_));
  code_.loop("p", 0, whole, lanes_, LoopMark::kSequential, [&](const Term& p) { body(p, {}); });
  code_.if_(whole < places, [&] { body(whole, code_.let("left", places - whole)); });
}

// Through a small square, so that the epilogue is written once for all of its filters.
void DirectResults::end_squares(const Term& begin, const Term& places, const Index& index) {
  code_.loop("v", 0, block_, lanes_, LoopMark::kSequential, [&](const Term& v) {
    const Term filters = existing(v, lanes_);
    each_vector(places, [&](const Term& p, const Term& count) {
      const std::vector<Term> rows = square(begin + p, v);
      for (int64_t o = 0; o < lanes_; ++o) code_.store(square_, Term(o * lanes_), 1, rows[static_cast<size_t>(o)]);
      code_.loop("o", 0, filters, 1, LoopMark::kSequential,
                 [&](const Term& o) { end(square_, o * Term(lanes_), v + o, index(p), count); });
    });
  });
}

void DirectResults::end_filters(const Term& begin, const Term& places, const Index& index) {
  code_.loop("o", 0, existing(0, block_), 1, LoopMark::kSequential, [&](const Term& o) {
    each_vector(places, [&](const Term& p, const Term& count) { end(sums_, at(begin + p, o), o, index(p), count); });
  });
}

// Filter `o` of the block, the places from `index` on, of which `count` exist.
void DirectResults::end(const std::string& array, const Term& at, const Term& o, const std::array<Term, 3>& index,
                        const Term& count) {
  const Term sums = code_.let("sum", kernel::load(array, c_.dtype, lanes_, at, 1));
  step_.epilogue->write(sums, index_of_result(c_, image_, filter_ + o, index), count);
}

}  // namespace thtrain
