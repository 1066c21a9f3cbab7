// What pooling keeps of the elements that it has met: of a column of windows, then of the windows.
#pragma once

#include <vector>

#include "compiler/cpu/pool/window_loops.h"

namespace thtrain {

/// What a window is reduced to.
enum class Pooled : uint8_t {
  kSum,
  kMaximum,
  kPicked,    // the element of another image at the maximum
  kPosition,  // which of the window's columns, and rows, has the maximum
};

/// The first part of pooling a row of windows: every column of the image is reduced over the rows of the windows, in
/// vectors along the row, and then the columns of each window, in vectors of windows.
class WindowValues : public WindowLoops {
 public:
  WindowValues(kernel::StepBuilder& b, const PoolWindows& windows, const Dims& image, DType dtype, Pooled what);

 protected:
  /// The buffers of columns; ends with the function.
  void declare_buffers();
  /// The columns of these windows, into the buffers. `picked`: the image that kPicked takes from.
  void reduce_rows(const WindowRow& at, const Chunk& chunk, const Term& first_element);
  /// Of windows i and those after it in the chunk: the sum, the maximum, what is picked, or the number of the column
  /// that has the maximum.
  Term reduce_columns(const Term& i);

  // ---- without buffers: windows side by side along a row, whose elements all stay in registers

  using Taps = std::vector<std::vector<Term>>;  // [row of the window][column], vectors of windows
  /// The elements of windows i and those after it, `count` or a whole vector.
  Taps taps(const kernel::Operand& image, const WindowRow& at, const Term& first_element, const Term& i,
            const Term& count);
  void store_taps(const Taps& values, const WindowRow& at, const Term& first_element, const Term& i, const Term& count);
  /// Those of one row of the image, which begins at element `line`.
  void store_taps_of_row(const std::vector<Term>& values, const Term& line, const Term& i, const Term& count);
  /// The sum or the maximum, by columns first as reduce_rows() does.
  Term reduced(const Taps& x);
  /// The element of `from` at the first maximum.
  Term picked(const Taps& x, const Term& maximum, const Taps& from);
  /// dy at the first maximum, else 0.
  Taps shares_of(const Taps& x, const Term& maximum, const Term& dy);

  /// Are columns told apart by the rows of their maxima? Padding before the columns, which has none, is too.
  bool needs_row() const {
    return (what_ == Pooled::kPicked || what_ == Pooled::kPosition) && (rows_of_window() > 1 || columns().before > 0);
  }

  Pooled what_;
  std::string best_, row_, picked_;  // buffers: sum or maximum; its row in the window; the element that is picked

 private:
  struct Column {
    Term best, row, picked;
  };
  Column outside(int lanes) const;
  Column met(const Column& before, const Column& element);
  Column reduced_column(const WindowRow& at, const Term& offset, const Term& count);
  void store(const Term& at, const Column& column);
  /// Is x the maximum of its window? Of windows with NaN these are the maxima.
  static Term equals_maximum(const Term& x, const Term& maximum) { return x == maximum || x != x; }
  Term count_of_vector(int64_t v, const Term& count);
  Term chosen_column(const Term& i);
};

}  // namespace thtrain
