#include "compiler/cpu/conv/direct_results.h"

#include <algorithm>

#include "compiler/cpu/conv/tiles.h"

namespace thtrain {

using kernel::LoopMark;
using kernel::StepBuilder;
using kernel::Term;

namespace {

constexpr int64_t kFewVectors = 16;        // of positions, by filter: the last one may be almost empty
constexpr int64_t kShortBytes = 16 << 10;  // of arrays, position by position, where one row has no more
constexpr int64_t kLongBytes = 160 << 10;  // of those by filter, if threads have enough to share
constexpr int64_t kResultParts = 32;       // that threads share, where there are as many

int64_t in_vectors(int64_t elements, int lanes) {
  return ceil_div(elements, lanes) * lanes;
}

const PositionWindows* windows_of(const CorrelationStep& step) {
  return step.pooling ? &step.pooling->windows() : nullptr;
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
      by_filter_(by_filter),
      ends_by_filter_(by_filter || step.before),
      out_(lengths_of(c, windows_of(step))) {}

std::array<int64_t, 3> DirectResults::lengths_of(const Correlation& c, const PositionWindows* windows) {
  if (!windows) return {c.axes[0].out, c.axes[1].out, c.axes[2].out};
  return {1, windows->rows().windows, windows->columns().windows};
}

// Rows whose positions fill vectors well where rows are short: the fewest that an epilogue takes by filter.
int64_t DirectResults::rows_by_filter(const std::array<int64_t, 3>& out, int lanes) {
  return even_part(out[0] * out[1], ceil_div(kFewVectors * lanes, out[2]));
}

int64_t DirectResults::positions_of_rows(const Correlation& c, const PositionWindows* windows, int64_t rows) {
  return c.axes[2].out * (windows ? windows->rows().covered(rows) : rows);
}

int64_t DirectResults::elements(int64_t block, int64_t positions, bool by_filter, int lanes, bool is_ended) {
  if (by_filter) return block * in_vectors(positions, lanes) + lanes;
  // An epilogue takes whole vectors of positions, of which the last ones may lie behind the rows.
  return (positions + (is_ended ? lanes : 0)) * block;
}

int64_t DirectResults::fewest_bytes(const Correlation& c, int64_t block, bool by_filter, int lanes, bool is_ended,
                                    const PositionWindows* windows) {
  if (by_filter && !is_ended && !windows) return 0;
  const std::array<int64_t, 3> out = lengths_of(c, windows);
  const int64_t rows = by_filter ? rows_by_filter(out, lanes) : 1;
  int64_t all = elements(block, positions_of_rows(c, windows, rows), by_filter, lanes, is_ended);
  if (windows && !by_filter) all *= 2;  // values of the sums, by filter
  if (windows) all += elements(block, rows * out[2], by_filter, lanes, is_ended) + 2 * windows->slack(lanes);
  return all * static_cast<int64_t>(size_of(c.dtype));
}

int64_t DirectResults::rows_of_part(const Correlation& c, int64_t block, bool by_filter, int lanes,
                                    const PositionWindows* windows) {
  const std::array<int64_t, 3> out = lengths_of(c, windows);
  const int64_t rows = out[0] * out[1], positions = c.axes[2].out;
  const bool shares_rows = windows && windows->rows().stride < windows->rows().window;
  const int64_t bytes = by_filter || shares_rows ? kLongBytes : kShortBytes;
  int64_t most = bytes / (block * static_cast<int64_t>(size_of(c.dtype)));  // elements of each filter
  if (windows) {
    const PooledAxis& axis = windows->rows();
    most = (most - (axis.window - axis.stride) * positions) / (axis.stride * positions + out[2]);
  } else {
    most /= positions;
  }
  most = std::clamp<int64_t>(most, 1, rows);
  if (!by_filter) return windows ? even_part(rows, most) : most;
  const int64_t of_threads = std::max<int64_t>(1, rows * c.n * c.groups * ceil_div(c.outputs, block) / kResultParts);
  return std::max(rows_by_filter(out, lanes), even_part(rows, std::min(most, of_threads)));
}

void DirectResults::begin(int64_t rows) {
  const int64_t positions = positions_of_rows(c_, windows_of(step_), rows),
                slack = step_.pooling ? step_.pooling->windows().slack(lanes_) : 0;
  auto array = [&](const char* name, int64_t of, bool by_filter, bool is_ended) {
    const int64_t count = elements(block_, of, by_filter, lanes_, is_ended) + slack;
    return code_.local_array(name, {c_.dtype, 1, 0}, count).node().name;
  };
  sums_pitch_ = in_vectors(positions, lanes_);
  pitch_ = in_vectors(rows * width(), lanes_);
  sums_ = array("sums", positions, by_filter_, step_.epilogue || step_.before);
  pooled_ = by_filter_ == ends_by_filter_ ? sums_ : array("values", positions, true, false);
  results_ = step_.pooling ? array("pooled", rows * width(), ends_by_filter_, step_.epilogue) : sums_;
  if (step_.pooling) step_.pooling->begin(ends_by_filter_);
  if (!by_filter_ && (step_.before || step_.epilogue))
    square_ = code_.local_array("square", {c_.dtype, 1, 0}, lanes_ * lanes_).node().name;
  if (step_.before) step_.before->begin();
  if (step_.epilogue) step_.epilogue->begin();
}

void DirectResults::set_block(const Term& image, const Term& group, const Term& filter) {
  first_filter_ = filter;
  if (step_.epilogue || step_.before) {
    image_ = image;
    filter_ = code_.let("channel", group * Term(c_.outputs) + filter);
  }
  if (step_.epilogue) return;
  const Term plane = (image * Term(c_.groups) + group) * Term(c_.outputs) + filter;
  out_at_ = code_.let("out_at", plane * Term(rows() * width()));
}

std::pair<Term, Term> DirectResults::rows_of_positions(const Term& first, const Term& last) {
  if (!step_.pooling) return {first, last};
  const PooledAxis& axis = step_.pooling->windows().rows();
  Term begin = first * Term(axis.stride) - Term(axis.before);
  Term end = (last - Term(1)) * Term(axis.stride) + Term(axis.window - axis.before);
  if (axis.before > 0) begin = select(code_.let("begin", begin) < Term(0), Term(0), begin);
  if (axis.is_cut()) end = select(code_.let("end", end) < Term(axis.positions), end, Term(axis.positions));
  first_row_ = code_.let("first_row", begin);
  last_row_ = code_.let("last_row", end);
  return {first_row_, last_row_};
}

Term DirectResults::at(const Term& p, const Term& o) const {
  return by_filter_ ? o * Term(sums_pitch_) + p : p * Term(block_) + o;
}

void DirectResults::prefetch(const Term& row, const Term& first, const Term& last) {
  if (step_.pooling || !step_.epilogue || !step_.epilogue->reads_elements()) return;
  constexpr int64_t kLineBytes = 64;
  const int64_t line = kLineBytes / static_cast<int64_t>(size_of(c_.dtype));
  const bool is_flat = width() > 1 && step_.epilogue->is_flat_from(2);
  const Term y = code_.let("y", row % Term(c_.axes[1].out)), z = code_.let("z", row / Term(c_.axes[1].out));
  code_.loop("o", first, last, 1, LoopMark::kSequential, [&](const Term& o) {
    code_.loop("p", 0, width(), line, LoopMark::kSequential, [&](const Term& p) {
      const std::array<Term, 3> position =
          is_flat ? std::array<Term, 3>{0, 0, row * Term(width()) + p} : std::array<Term, 3>{z, y, p};
      step_.epilogue->prefetch(index_of_result(c_, image_, filter_ + o, position));
    });
  });
}

void DirectResults::write(const Term& first, const Term& last) {
  if (step_.before) compute_before();
  if (step_.pooling) pool(first, last);
  if (!step_.epilogue) return ends_by_filter_ ? write_filters(first, last) : write_transposed(first, last);
  each_run(out_, step_.epilogue->is_flat_from(2), first, last,
           [&](const Term& begin, const Term& positions, const Index& index) {
             each_vector_of(
                 results_, ends_by_filter_, pitch_, begin, positions,
                 [&](const std::string& array, const Term& at, const Term& o, const Term& p, const Term& count) {
                   const Term sums = code_.let("sum", kernel::load(array, c_.dtype, lanes_, at, 1));
                   step_.epilogue->write(sums, index_of_result(c_, image_, filter_ + o, index(p)), count);
                 });
           });
}

// The values of all sums, by filter.
void DirectResults::compute_before() {
  each_run({c_.axes[0].out, c_.axes[1].out, c_.axes[2].out}, step_.before->is_flat_from(2), first_row_, last_row_,
           [&](const Term& begin, const Term& positions, const Index& index) {
             each_vector_of(
                 sums_, by_filter_, sums_pitch_, begin, positions,
                 [&](const std::string& array, const Term& at, const Term& o, const Term& p, const Term& count) {
                   const Term sums = code_.let("sum", kernel::load(array, c_.dtype, lanes_, at, 1));
                   const std::vector<Term> position = index_of_result(c_, image_, filter_ + o, index(p));
                   code_.store(pooled_, o * Term(sums_pitch_) + begin + p, 1,
                               step_.before->value(sums, position, count), count);
                 });
           });
}

void DirectResults::pool(const Term& first, const Term& last) {
  step_.pooling->write({.from = pooled_,
                        .to = results_,
                        .by_filter = ends_by_filter_,
                        .block = block_,
                        .from_pitch = sums_pitch_,
                        .to_pitch = pitch_,
                        .filters = ends_by_filter_ ? existing(0, block_) : Term(block_),
                        .first_row = first_row_,
                        .first = first,
                        .last = last});
}

// From position p and the block's filter v on: a vector of positions for each filter.
std::vector<Term> DirectResults::square(const std::string& array, const Term& p, const Term& v) {
  std::vector<Term> rows;
  for (int64_t i = 0; i < lanes_; ++i)
    rows.push_back(code_.let("r", kernel::load(array, c_.dtype, lanes_, (p + Term(i)) * Term(block_) + v, 1)));
  return transposed(code_, std::move(rows));
}

void DirectResults::write_transposed(const Term& first, const Term& last) {
  const Term positions = code_.let("positions", (last - first) * Term(width())),
             to = code_.let("to", out_at_ + first * Term(width()));
  for (int64_t v = 0; v < block_; v += lanes_) {
    auto each_filter = [&](const std::function<void(int64_t)>& store) {
      for (int64_t o = v; o < v + lanes_; ++o) {
        if (c_.outputs % block_ == 0 || o < c_.outputs - (blocks_ - 1) * block_)
          store(o);
        else if (blocks_ > 1)
          code_.if_(first_filter_ + Term(o) < Term(c_.outputs), [&] { store(o); });
      }
    };
    auto position = [&](const Term& p, int64_t o) { return to + Term(o * rows() * width()) + p; };
    const Term whole = code_.let("whole", positions / Term(lanes_) * Term(lanes_));
    code_.loop("p", 0, whole, lanes_, LoopMark::kSequential, [&](const Term& p) {
      const std::vector<Term> rows = square(results_, p, v);
      each_filter([&](int64_t o) { builder_.store(step_.out, position(p, o), rows[static_cast<size_t>(o - v)]); });
    });
    code_.if_(whole < positions, [&] {
      // What lies behind the last row's sums belongs to positions that do not exist.
      code_.loop("p", whole, positions, 1, LoopMark::kSequential, [&](const Term& p) {
        each_filter([&](int64_t o) {
          const Term from = p * Term(block_) + Term(o);
          builder_.store(step_.out, position(p, o), kernel::load(results_, c_.dtype, 1, from, 1));
        });
      });
    });
  }
}

// By filter: as they lie.
void DirectResults::write_filters(const Term& first, const Term& last) {
  const Term positions = code_.let("positions", (last - first) * Term(width()));
  code_.loop("o", 0, existing(0, block_), 1, LoopMark::kSequential, [&](const Term& o) {
    const Term to = code_.let("to", out_at_ + o * Term(rows() * width()) + first * Term(width()));
    each_vector(positions, [&](const Term& p, const Term& count) {
      builder_.store(step_.out, to + p, kernel::load(results_, c_.dtype, lanes_, o * Term(pitch_) + p, 1), 1, count);
    });
  });
}

// How many of the block's filters from `first` on exist, at most `most`.
Term DirectResults::existing(const Term& first, int64_t most) {
  if (c_.outputs % block_ == 0) return most;
  const Term left = code_.let("left", Term(c_.outputs) - first_filter_ - first);
  return code_.let("filters", select(left < Term(most), left, Term(most)));
}

// Positions of the rows that lie side by side for all operands of what follows (`is_flat`): all of them, or row by row.
void DirectResults::each_run(const std::array<int64_t, 3>& lengths, bool is_flat, const Term& first, const Term& last,
                             const std::function<void(const Term& begin, const Term& positions, const Index&)>& body) {
  const Term width = lengths[2];
  if (is_flat) {
    size_t axis = 2;
    while (axis > 0 && lengths[axis] == 1) --axis;
    if (lengths[axis] == 1) axis = 2;
    const Term from = code_.let("from", first * width);
    return body(0, code_.let("positions", (last - first) * width), [&](const Term& p) {
      std::array<Term, 3> index = {0, 0, 0};
      index[axis] = from + p;
      return index;
    });
  }
  code_.loop("row", first, last, 1, LoopMark::kSequential, [&](const Term& row) {
    const Term y = code_.let("y", row % Term(lengths[1])), z = code_.let("z", row / Term(lengths[1]));
    body(code_.let("begin_of_row", (row - first) * width), width, [&](const Term& p) {
      return std::array<Term, 3>{z, y, p};
    });
  });
}

void DirectResults::each_vector(const Term& positions, const std::function<void(const Term&, const Term&)>& body) {
  const Term whole = code_.let("whole", positions / Term(lanes_) * Term(lanes_));
  code_.loop("p", 0, whole, lanes_, LoopMark::kSequential, [&](const Term& p) { body(p, {}); });
  code_.if_(whole < positions, [&] { body(whole, code_.let("left", positions - whole)); });
}

// Calls with a vector of positions of each filter that exists, and where `array`, or a small square, has it. Squares
// are there so that the body is written once for all of their filters.
void DirectResults::each_vector_of(const std::string& array, bool by_filter, int64_t pitch, const Term& begin,
                                   const Term& positions, const Vector& body) {
  if (by_filter) {
    code_.loop("o", 0, existing(0, block_), 1, LoopMark::kSequential, [&](const Term& o) {
      each_vector(positions,
                  [&](const Term& p, const Term& count) { body(array, o * Term(pitch) + begin + p, o, p, count); });
    });
    return;
  }
  code_.loop("v", 0, block_, lanes_, LoopMark::kSequential, [&](const Term& v) {
    const Term filters = existing(v, lanes_);
    each_vector(positions, [&](const Term& p, const Term& count) {
      const std::vector<Term> rows = square(array, begin + p, v);
      for (int64_t o = 0; o < lanes_; ++o) code_.store(square_, Term(o * lanes_), 1, rows[static_cast<size_t>(o)]);
      code_.loop("o", 0, filters, 1, LoopMark::kSequential,
                 [&](const Term& o) { body(square_, o * Term(lanes_), v + o, p, count); });
    });
  });
}

}  // namespace thtrain
