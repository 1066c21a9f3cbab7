// Shared variables: values that live between calls, in a buffer that functions read and update.
#pragma once

#include <string>

#include "compiler/ir/node.h"

namespace thtrain {

class Function;

// ---- memory --------------------------------------------------------------------------------------------------------

/// A shared variable. A handle: copies are the same variable. Every length of the first value is known to the compiler,
/// unless of_lengths() made it.
/// The buffer is never shared with another variable, and its address is fixed between calls of set_value(borrow) and
/// changes of a length.
/// It lies where the first value does that is given with borrow, or on the host, until a program for a device computes
/// with it: then it lies there, and get_value(borrow) is a copy, until a program of the host does.
class Shared {
 public:
  /// `borrow` takes the tensor's own buffer (row-major) instead of a copy: the caller then leaves it alone. UserError
  /// where another shared variable holds some of that memory, or a function does, as a borrowed output.
  explicit Shared(const Tensor& value, std::string name = {}, bool borrow = false,
                  std::source_location where = std::source_location::current());
  template <class T>
  requires std::is_arithmetic_v<T>
  explicit Shared(T value, std::string name = {}, std::source_location where = std::source_location::current())
      : Shared(Tensor(value), std::move(name), true, where) {}
  /// A variable of these lengths, of which names may be others in each value: Shared::of_lengths({"n", 784}, x, "data")
  /// takes any number of rows, and an update may change it. UserError where the first value does not have them.
  static Shared of_lengths(const Dims& lengths, const Tensor& value, std::string name = {},
                           std::source_location where = std::source_location::current());

  // A value changes by an update of a function, {{w, w - 1}}, or by set_value().
  template <class T>
  Shared& operator=(const T&) = delete;  // w = w - 1: function({}, {}, {{w, w - 1}}) updates w, w.set_value() sets it
  template <class T>
  Shared& operator+=(const T&) = delete;  // w += x: function({}, {}, {{w, w + x}}) updates w, w.set_value() sets it
  template <class T>
  Shared& operator-=(const T&) = delete;  // w -= x: function({}, {}, {{w, w - x}}) updates w, w.set_value() sets it
  template <class T>
  Shared& operator*=(const T&) = delete;  // w *= x: function({}, {}, {{w, w * x}}) updates w, w.set_value() sets it
  template <class T>
  Shared& operator/=(const T&) = delete;  // w /= x: function({}, {}, {{w, w / x}}) updates w, w.set_value() sets it

  const Expr& expr() const { return leaf_; }
  operator const Expr&() const { return leaf_; }
  /// A part of the value, as Expr has it.
  Expr operator[](const Index& index) const { return leaf_[index]; }
  Expr operator[](std::initializer_list<Index> indices) const { return leaf_[indices]; }
  /// Its axes in reverse order, as Expr has it.
  Expr T(std::source_location where = std::source_location::current()) const { return leaf_.T(where); }
  const std::string& name() const { return storage().name; }
  const Type& type() const { return storage().type; }

  /// A copy on the host; with `borrow` the buffer itself, which the next call of a function may change.
  Tensor get_value(bool borrow = false) const;
  /// The same where the value lies, on the host or on a device, without a copy between the two: a copy there; with
  /// `borrow` the buffer itself, in constant time. Tensor::on_host() brings it to the host. A function of the host, or
  /// of another device, moves the variable on: a borrowed buffer then keeps the value of before.
  Tensor get_internal_value(bool borrow = false) const;
  /// Copies into the buffer, or into a new one where a length is another; with `borrow` the tensor's buffer becomes the
  /// variable's, wherever it lies: w.set_value(v.get_internal_value(), true) copies nothing to the host. UserError
  /// unless it has the variable's dtype and known lengths (integers that the dtype holds exactly are converted), and
  /// where another variable holds some of that memory, or a function does, as a borrowed output.
  void set_value(const Tensor& value, bool borrow = false) const;
  /// From here on functions that are compiled for a device leave it on the host: each call copies it to the device, and
  /// back where it updates it. For what the host reads between all calls, or what the device has no room for all the
  /// time.
  void keep_on_host() const { storage().stays_on_host = true; }
  /// The value of a scalar, as a double. UserError where the variable has axes.
  double scalar() const;
  /// Makes every element 0.
  void set_zero() const;
  /// Exchanges the elements with another variable's. UserError unless it has the same type and lengths.
  void swap_value(const Shared& other) const;

  SharedStorage& storage() const { return *leaf_.node().shared; }

 private:
  explicit Shared(Expr leaf) : leaf_(std::move(leaf)) {}
  friend Function;
  Expr leaf_;
};

// ---- for other parts of the compiler -------------------------------------------------------------------------------

/// Shared::set_value() of the variable behind the leaf `of`, or of its replacement; errors begin with `what`.
void give_value(SharedStorage& variable, const Expr& of, const Tensor& value, bool borrow, const std::string& what);

/// The value to another address space; null: to the host.
void move_value(SharedStorage& variable, const Expr& of, const AddressSpace* space);
/// Has a function moved it to the device that computes with it?
bool is_on_device(const Tensor& value);

}  // namespace thtrain
