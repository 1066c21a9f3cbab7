// What a thread of a device loads and stores at once: elements side by side along an axis of loops, as many as 16 bytes
// hold of the widest dtype. Of a sum of two operands of float32 that is 3 instructions that reach memory for 4 elements
// in place of 12, and addresses are computed once in place of four times.
#pragma once

#include <string>
#include <vector>

#include "compiler/kernel/schedule/device.h"
#include "compiler/kernel/schedule/locations.h"

namespace thtrain::kernel {

/// The loads and stores of a loop over `axis`. Arrays of the thread's own hold the elements that it computes with.
class DevicePieces {
 public:
  /// `varies`: the values that differ along the axis. `width`: the elements of a piece, where that was chosen.
  DevicePieces(StepBuilder& b, const Nest& nest, const Tracks& tracks, const LoopAxis& axis,
               const std::vector<bool>& varies, int64_t width = 1);

  /// What the loop computes, and what it stores. Where one of these is not side by side there are no pieces.
  void add_value(size_t value);
  void add_store(size_t store);
  /// Strides of other axes, and of what the data names: the distances between the beginnings of pieces.
  Dims distances(const std::vector<LoopAxis>& others) const;
  /// Elements of a piece, behind all that is added; 1: there are none. Less than what 16 bytes hold where a thread
  /// would need too many registers, or where one of these lengths is known and no multiple; none where there is so much
  /// work for an element that it hides what reaches memory: its code is there twice.
  int64_t choose_width(const Dims& multiples = {}, int64_t most = kPieceBytes);
  int64_t width() const { return width_; }

  /// May a piece be loaded and stored at once that begins where the tracks are, and are these lengths multiples of it?
  Term are_aligned(const std::vector<Term>& at, const Dims& multiples = {}) const;

  /// Statements. The arrays; then the piece from `at` on is loaded: at once where it is aligned (no term: it is), else
  /// one element after the other. `values` are those that do not differ along the axis.
  void declare();
  void load(const std::vector<Term>& at, const std::vector<Term>& values, const Term& is_aligned = {}) const;
  /// Is the value loaded with the piece? Then this is its element k.
  bool loads(size_t value) const;
  Term loaded(size_t value, const Term& k) const;
  /// Element k of what a store writes, and the store.
  void keep(size_t store, const Term& k, const Term& value) const;
  void store(const std::vector<Term>& at, const std::vector<Term>& values, const Term& is_aligned = {}) const;

 private:
  struct Access {
    size_t number;  // of the value, or the store
    const Location* location;
    size_t track;
    std::string array = {};
    size_t bytes() const { return size_of(location->operand.type.dtype); }
  };
  bool is_along(const Location& location, size_t track) const;
  using AtOnceOrOne = std::function<void(const LocationInLoops& here, int count, const Term& k)>;
  void by_address(const std::vector<Term>& at, const Term& is_aligned, const AtOnceOrOne& access) const;
  void each(const std::function<void(const Access&)>& visit) const;
  void declare(std::vector<Access>& accesses, const char* name);
  int lanes() const { return static_cast<int>(width_); }

  StepBuilder& b_;
  const Nest& nest_;
  const Tracks& tracks_;
  const LoopAxis& axis_;
  const std::vector<bool>& varies_;
  const std::vector<bool> in_lanes_;  // none: only locations are vectors
  bool are_possible_ = true;
  int64_t width_;
  std::vector<Access> loads_, stores_;
};

}  // namespace thtrain::kernel
