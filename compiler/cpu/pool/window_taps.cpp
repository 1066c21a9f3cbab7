// Vectors of windows that lie side by side along a row, 2 or 4 columns wide: their elements are taken apart from
// neighbouring vectors of the row, and put together again.
#include "compiler/cpu/pool/window_values.h"

namespace thtrain {

using kernel::Term;

// Elements of vector v of the columns that `count` windows have.
Term WindowValues::count_of_vector(int64_t v, const Term& count) {
  if (!static_cast<bool>(count)) return {};
  const Term left = code_.let("left", count * Term(columns().stride) - Term(v * window_lanes_));
  return code_.let("exist", smaller_of(larger_of(left, Term(0)), Term(window_lanes_)));
}

WindowValues::Taps WindowValues::taps(const kernel::Operand& image, const WindowRow& at, const Term& first_element,
                                      const Term& i, const Term& count) {
  const int64_t stride = columns().stride;
  const int lanes = window_lanes_;
  Taps out;
  each_image_row(at, [&](const ImageRow& row) {
    const Term from = code_.let("from", first_element + row.offset + i * Term(stride));
    std::vector<Term> v;
    for (int64_t k = 0; k < stride; ++k) {
      if (lanes == 1) {
        v.push_back(code_.let("x", b_.load(image, from + Term(k))));
        continue;
      }
      v.push_back(code_.let("v", b_.load(image, from + Term(k * lanes), lanes, 1, count_of_vector(k, count))));
    }
    // Halves of what is 4 apart, then of what is 2 apart.
    for (int64_t apart = stride; lanes > 1 && apart > 1; apart /= 2) {
      std::vector<Term> parts(v.size());
      const auto half = static_cast<size_t>(stride / 2);
      for (size_t k = 0; k < half; ++k) {
        parts[k] = code_.let("x", kernel::even_lanes(v[2 * k], v[2 * k + 1]));
        parts[k + half] = code_.let("x", kernel::odd_lanes(v[2 * k], v[2 * k + 1]));
      }
      v = std::move(parts);
    }
    out.push_back(std::move(v));
  });
  return out;
}

void WindowValues::store_taps(const Taps& values, const WindowRow& at, const Term& first_element, const Term& i,
                              const Term& count) {
  size_t next = 0;
  each_image_row(at, [&](const ImageRow& row) {
    store_taps_of_row(values[next++], code_.let("line", first_element + row.offset), i, count);
  });
}

void WindowValues::store_taps_of_row(const std::vector<Term>& values, const Term& line, const Term& i,
                                     const Term& count) {
  const int64_t stride = columns().stride;
  const Term to = code_.let("to", line + i * Term(stride));
  const std::vector<Term> vectors = side_by_side(values);
  for (int64_t v = 0; v < stride; ++v)
    b_.store(b_.output(), to + Term(v * window_lanes_), vectors[static_cast<size_t>(v)], 1, count_of_vector(v, count));
}

Term WindowValues::reduced(const Taps& x) {
  auto joined = [&](const Term& a, const Term& b) {
    return code_.let("joined", what_ == Pooled::kSum ? a + b : kernel::extremum(true, a, b));
  };
  Term out;
  for (size_t k = 0; k < x[0].size(); ++k) {
    Term column = x[0][k];
    for (size_t row = 1; row < x.size(); ++row) column = joined(column, x[row][k]);
    out = k == 0 ? column : joined(out, column);
  }
  // A sum begins with 0: that of negative zeros is none.
  return what_ == Pooled::kSum ? out + constant(0, window_lanes_) : out;
}

Term WindowValues::picked(const Taps& x, const Term& maximum, const Taps& from) {
  Term out;
  for (size_t row = x.size(); row-- > 0;)
    for (size_t k = x[row].size(); k-- > 0;)
      out = out ? code_.let("picked", kernel::select(equals_maximum(x[row][k], maximum), from[row][k], out))
                : from[row][k];
  return out;
}

WindowValues::Taps WindowValues::shares_of(const Taps& x, const Term& maximum, const Term& dy) {
  const Term zero = constant(0, window_lanes_);
  Taps out(x.size());
  Term rest = dy;  // 0 behind the first maximum
  for (size_t row = 0; row < x.size(); ++row)
    for (size_t k = 0; k < x[row].size(); ++k) {
      const Term is_it = code_.let("is_it", equals_maximum(x[row][k], maximum));
      out[row].push_back(code_.let("share", kernel::select(is_it, rest, zero)));
      rest = code_.let("rest", kernel::select(is_it, zero, rest));
    }
  return out;
}

}  // namespace thtrain
