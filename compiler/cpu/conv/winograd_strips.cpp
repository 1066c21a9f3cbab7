#include "compiler/cpu/conv/winograd_strips.h"

namespace thtrain {

using kernel::LoopMark;
using kernel::StepBuilder;
using kernel::Term;

namespace {

Term least(const Term& a, const Term& b) {
  return select(a < b, a, b);
}
Term most(const Term& a, const Term& b) {
  return select(a < b, b, a);
}

}  // namespace

ImageStrip::ImageStrip(StepBuilder& builder, const Correlation& c, const kernel::Operand& image, int64_t rows,
                       int64_t columns)
    : builder_(builder),
      code_(builder.code()),
      c_(c),
      image_(image),
      lanes_(builder.lanes_of(c.dtype)),
      rows_(rows),
      columns_(columns),
      pitch_(columns + lanes_) {  // squares end behind the columns
  array_ = code_.local_array("strip", {c.dtype, 1, 0}, rows_ * pitch_ * lanes_).node().name;
}

void ImageStrip::read(const Term& image, const Term& channel, const Term& y, const Term& x) {
  const CorrelationAxis &height = c_.axes[1], &width = c_.axes[2];
  const Term y0 = code_.let("y0", y - Term(height.before)), x0 = code_.let("x0", x - Term(width.before));
  // Columns that lie on the image.
  const Term begin = code_.let("begin", least(most(Term(0) - x0, 0), columns_)),
             end = code_.let("end", most(least(Term(width.in) - x0, columns_), begin));
  const Term plane = code_.let("plane", (image * Term(c_.inputs) + channel) * Term(height.in * width.in) + x0);
  code_.loop("r", rows_, [&](const Term& r) {
    const Term at = code_.let("at", y0 + r), to = code_.let("to", r * Term(pitch_));
    code_.if_(
        at >= Term(0) && at < Term(height.in),
        [&] {
          row(code_.let("from", plane + at * Term(width.in)), to, begin, end, channel);
          zeros(to, 0, begin);
          zeros(to, end, columns_);
        },
        [&] { zeros(to, 0, columns_); });
  });
}

void ImageStrip::row(const Term& from, const Term& to, const Term& begin, const Term& end, const Term& channel) {
  const int64_t plane = c_.axes[1].in * c_.axes[2].in;
  auto square = [&](const Term& s, const Term& count) {
    std::vector<Term> rows;
    for (int64_t k = 0; k < lanes_; ++k) {
      Term past = k;
      if (c_.inputs % lanes_ != 0)
        past = c_.inputs < lanes_ ? Term(std::min(k, c_.inputs - 1)) : least(k, Term(c_.inputs - 1) - channel);
      rows.push_back(code_.let("r", builder_.load(image_, from + s + past * Term(plane), lanes_, 1, count)));
    }
    rows = transposed(code_, std::move(rows));
    for (int64_t k = 0; k < lanes_; ++k)
      code_.store(array_, (to + s + Term(k)) * Term(lanes_), 1, rows[static_cast<size_t>(k)]);
  };
  const Term whole = code_.let("whole", begin + (end - begin) / Term(lanes_) * Term(lanes_));
  code_.loop("s", begin, whole, lanes_, LoopMark::kSequential, [&](const Term& s) { square(s, {}); });
  code_.if_(whole < end, [&] { square(whole, code_.let("left", end - whole)); });
}

void ImageStrip::zeros(const Term& to, const Term& begin, const Term& end) {
  code_.loop("z", begin, end, 1, LoopMark::kSequential, [&](const Term& z) {
    code_.store(array_, (to + z) * Term(lanes_), 1, kernel::splat(kernel::constant(c_.dtype, 0), lanes_));
  });
}

Term ImageStrip::load(const Term& row, const Term& column) const {
  return kernel::load(array_, c_.dtype, lanes_, (row * Term(pitch_) + column) * Term(lanes_), 1);
}

ResultStrip::ResultStrip(StepBuilder& builder, const Correlation& c, const CorrelationStep& step, int64_t rows,
                         int64_t columns)
    : builder_(builder),
      code_(builder.code()),
      c_(c),
      step_(step),
      lanes_(builder.lanes_of(c.dtype)),
      rows_(rows),
      pitch_(columns + lanes_) {
  if (step.epilogue) step.epilogue->begin();
  array_ = code_.local_array("positions", {c.dtype, 1, 0}, rows_ * pitch_ * lanes_).node().name;
  if (step.epilogue) square_ = code_.local_array("square", {c.dtype, 1, 0}, lanes_ * lanes_).node().name;
}

void ResultStrip::store(const Term& row, const Term& column, const Term& value) {
  code_.store(array_, (row * Term(pitch_) + column) * Term(lanes_), 1, value);
}

void ResultStrip::write(const Term& image, const Term& output, const Term& y, const Term& x, const Term& columns) {
  const CorrelationAxis &height = c_.axes[1], &width = c_.axes[2];
  const Term count = code_.let("count", least(columns, Term(width.out) - x)),
             rows = code_.let("rows", least(rows_, Term(height.out) - y)),
             first =
                 code_.let("first", ((image * Term(c_.outputs) + output) * Term(height.out) + y) * Term(width.out) + x);
  Term outputs = lanes_;
  if (step_.epilogue && c_.outputs % lanes_ != 0)
    outputs = code_.let("outputs", least(lanes_, Term(c_.outputs) - output));
  code_.loop("r", 0, rows, 1, LoopMark::kSequential, [&](const Term& r) {
    const Term to = code_.let("to", first + r * Term(width.out)), from = code_.let("from", r * Term(pitch_));
    auto square = [&](const Term& s, const Term& exist) {
      std::vector<Term> lines;
      for (int64_t k = 0; k < lanes_; ++k)
        lines.push_back(code_.let("l", kernel::load(array_, c_.dtype, lanes_, (from + s + Term(k)) * Term(lanes_), 1)));
      lines = transposed(code_, std::move(lines));
      if (step_.epilogue) {
        for (int64_t k = 0; k < lanes_; ++k) code_.store(square_, Term(k * lanes_), 1, lines[static_cast<size_t>(k)]);
        code_.loop("k", 0, outputs, 1, LoopMark::kSequential, [&](const Term& k) {
          const Term sums = code_.let("sum", kernel::load(square_, c_.dtype, lanes_, k * Term(lanes_), 1));
          step_.epilogue->write(sums, index_of_result(c_, image, output + k, {0, y + r, x + s}), exist);
        });
        return;
      }
      for (int64_t k = 0; k < lanes_; ++k) {
        auto line = [&] {
          builder_.store(step_.out, to + s + Term(k * height.out * width.out), lines[static_cast<size_t>(k)], 1, exist);
        };
        if (c_.outputs % lanes_ == 0)
          line();
        else if (c_.outputs > lanes_)
          code_.if_(output + Term(k) < Term(c_.outputs), line);
        else if (k < c_.outputs)
          line();
      }
    };
    const Term whole = code_.let("whole", count / Term(lanes_) * Term(lanes_));
    code_.loop("s", 0, whole, lanes_, LoopMark::kSequential, [&](const Term& s) { square(s, {}); });
    code_.if_(whole < count, [&] { square(whole, code_.let("left", count - whole)); });
  });
}

}  // namespace thtrain
