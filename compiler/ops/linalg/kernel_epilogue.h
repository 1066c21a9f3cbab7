// What the kernel of a product or a convolution does with its results instead of storing them.
#pragma once

#include <string>
#include <vector>

#include "compiler/kernel/step_builder.h"

namespace thtrain {

/// It may write over what the kernel would store to: nobody else reads that.
class KernelEpilogue {
 public:
  virtual ~KernelEpilogue() = default;
  /// "dot_add_tanh": a part of the kernel's name.
  virtual std::string name() const = 0;
  /// "out0 = tanh(add(dot(in0, in1), in2)), float32[60, 500]"
  virtual std::string comment() const = 0;
  /// Writes what does not depend on results: once, where the kernel that ends with it begins.
  virtual void begin() = 0;
  /// Takes a vector of results from `index` on (a term for each axis), side by side along the last axis that is no
  /// known 1; `count` lanes exist (no term: all).
  virtual void write(const kernel::Term& results, const std::vector<kernel::Term>& index,
                     const kernel::Term& count) const = 0;
  /// Does it read more than what is repeated along an axis, so that prefetch() is of use?
  virtual bool reads_elements() const = 0;
  /// Prefetches the cache lines that write() will read of the element at `index`.
  virtual void prefetch(const std::vector<kernel::Term>& index) const = 0;
  /// Do all operands lie as if the axes from `axis` on were one? Then an index may count along the last of them that is
  /// no known 1, with zeros before it.
  virtual bool is_flat_from(size_t axis) const = 0;
};

/// What a kernel makes of its results before it reduces them, element by element.
class KernelValues {
 public:
  virtual ~KernelValues() = default;
  /// As KernelEpilogue::begin().
  virtual void begin() = 0;
  /// Of a vector of results from `index` on, as KernelEpilogue::write() takes them.
  virtual kernel::Term value(const kernel::Term& results, const std::vector<kernel::Term>& index,
                             const kernel::Term& count) const = 0;
  /// As KernelEpilogue::is_flat_from().
  virtual bool is_flat_from(size_t axis) const = 0;
};

}  // namespace thtrain
