// The loops that the kernels of pooling share: over images, rows of windows, the rows that these cover, and vectors.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>

#include "compiler/kernel/step_builder.h"
#include "compiler/ops/pool/windows.h"

namespace thtrain {

kernel::Term larger_of(const kernel::Term& a, const kernel::Term& b);  // of two lengths
kernel::Term smaller_of(const kernel::Term& a, const kernel::Term& b);
int64_t rounded_up(int64_t n, int64_t multiple);

/// A value that later statements replace: a new name each time where they are written out, a variable in a loop.
class Running {
 public:
  Running(kernel::Code& code, bool in_loop, std::string name, const kernel::Term& start)
      : code_(code),
        in_loop_(in_loop),
        name_(std::move(name)),
        term_(in_loop ? code.var(name_, start) : code.let(name_, start)) {}
  const kernel::Term& term() const { return term_; }
  void set(const kernel::Term& value) {
    if (in_loop_)
      code_.assign(term_, value);
    else
      term_ = code_.let(name_, value);
  }

 private:
  kernel::Code& code_;
  bool in_loop_;
  std::string name_;
  kernel::Term term_;
};

/// A kernel works through images row of windows by row of windows. Planes, rows and columns are the three pooled axes;
/// of fewer, the first ones have one element and one window. Elements of a row of windows go through buffers on the
/// stack: of columns (the part of a row of the image that its windows cover, from the first window's first column on,
/// be it outside the image) and of windows. Long rows are done in chunks.
class WindowLoops {
 public:
  WindowLoops(kernel::StepBuilder& b, const PoolWindows& windows, const Dims& image, DType dtype);

  /// Are the windows, or the steps between them, too wide for the buffers?
  static bool is_too_wide(const PoolWindows& windows);

 protected:
  using Term = kernel::Term;

  struct Axis {
    Dim length = 1, windows = 1;
    int64_t window = 1, stride = 1, before = 0, after = 0;
    bool is_cut = false;  // may a window stick out of the image?
    /// The first position that no window covers, or the length.
    Dim covered() const;
  };
  /// What a window covers of an axis: [first, end) of [start, start + window).
  struct Cover {
    Term number, start, first, end;
  };
  /// The rows that a row of windows covers, and the first of its windows among all of its image's.
  struct WindowRow {
    Cover planes, rows;
    Term first_window;
  };
  /// One row of the image: its first element; where it is in the window.
  struct ImageRow {
    Term offset, plane, row, position;
  };
  /// Windows [first, first + count) of a row.
  struct Chunk {
    Term first, count;
  };

  const Axis& columns() const { return axes_[2]; }
  int64_t rows_of_window() const { return axes_[0].window * axes_[1].window; }
  /// Loops of so many iterations are written out.
  static bool is_short(int64_t iterations) { return iterations <= 16; }
  bool has_known_rows() const { return !axes_[0].is_cut && !axes_[1].is_cut && is_short(rows_of_window()); }
  /// Is no window cut off?
  bool is_whole() const { return !axes_[0].is_cut && !axes_[1].is_cut && !axes_[2].is_cut; }
  Dim image_elements() const { return axes_[0].length * axes_[1].length * axes_[2].length; }
  Dim image_windows() const { return axes_[0].windows * axes_[1].windows * axes_[2].windows; }

  /// Over the kernel's range, which is the images.
  void each_image(const std::function<void(Term first_element, Term first_window)>& body);
  void each_number(const std::string& name, const Dim& count, const std::function<void(Term)>& body);
  void each_window_row(const Term& first_window, const std::function<void(const WindowRow&)>& body);
  Cover cover(size_t axis, const Term& number);
  void each_image_row(const WindowRow& at, const std::function<void(const ImageRow&)>& body);
  /// for k = 0, ..., count - 1 (or downwards), written out or not; `in_loop` says what Running needs.
  void each_in_window(const std::string& name, int64_t count, bool downwards, const std::function<void(Term)>& body);

  Term constant(double number, int lanes) const;
  /// The lanes that do not exist become `value`.
  Term padded(const Term& vector, const Term& count, const Term& value) const;
  /// Lanes 0, 1, ... as numbers of the dtype.
  Term lane_numbers(int lanes) const;
  /// Elements (i + lane) * stride + k of a buffer of columns, for the lanes of a vector of windows.
  Term column_of_windows(const std::string& buffer, const Term& i, const Term& k) const;
  /// Vectors of every stride-th column, for a stride of 1, 2 or 4, as vectors of neighbouring columns.
  std::vector<Term> side_by_side(const std::vector<Term>& columns);
  /// Stores elements (i + lane) * stride + k, for k = 0, ..., stride - 1.
  void store_columns(const std::string& buffer, const Term& i, const std::vector<Term>& values);
  /// Vectors from `first` until `end` is reached, which may be passed.
  void fill(const std::string& buffer, const Term& first, const Term& end, const Term& value);
  std::string buffer(const std::string& name, int64_t elements);
  /// What sums over a vector of windows are divided by; no term: by 1.
  Term divisor(PoolDivisor by, const WindowRow& at, const Term& first_window);
  Dim grain() const;
  std::string text() const;  // "windows 2x2, stride 2x2"

  kernel::StepBuilder& b_;
  kernel::Code& code_;
  DType dtype_;
  std::array<Axis, 3> axes_;
  Dim images_ = 1;
  int full_lanes_, column_lanes_, window_lanes_;
  int64_t chunk_;  // windows, or groups of columns, that are done at once
  bool is_one_chunk_;
  int64_t buffer_columns_;  // elements of a buffer of columns
};

}  // namespace thtrain
