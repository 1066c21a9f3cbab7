#include "compiler/runtime/shared.h"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstring>
#include <map>
#include <utility>

#include "compiler/base/escape.h"
#include "compiler/cuda/device_memory.h"
#include "compiler/runtime/buffer_owners.h"
#include "compiler/runtime/value_number.h"

namespace thtrain {
static std::string called(const SharedStorage& storage) {
  return storage.name.empty() ? std::string("a shared variable") : escaped(storage.name);
}

// The memory of a value, and what is known of the value.
struct HeldValue {
  std::shared_ptr<void> claim;  // keeps other variables off the memory
  uint64_t number;              // see value_number()
  bool is_lent;                 // somebody else has the memory, and may write there at any time
};

static uint64_t next_number() {
  static std::atomic<uint64_t> last = 0;
  return ++last;
}

static std::shared_ptr<void> held(const SharedStorage& s, const Tensor& value, const Origin& origin, bool is_lent) {
  return std::make_shared<HeldValue>(HeldValue{claim_buffer(&s, called(s), value, origin), next_number(), is_lent});
}

static HeldValue* held_by(const SharedStorage& s) {
  return static_cast<HeldValue*>(s.claim.get());
}

uint64_t value_number(const SharedStorage& variable) {
  const HeldValue* const held = held_by(variable);
  return held && !held->is_lent ? held->number : next_number();
}

void note_change(SharedStorage& variable) {
  if (HeldValue* held = held_by(variable)) held->number = next_number();
}

// Has the value the type's dtype, rank and known lengths, and one value for each name?
static bool value_fits(const Tensor& value, const Type& type) {
  if (value.dtype() != type.dtype || value.rank() != type.rank()) return false;
  std::map<std::string, int64_t> lengths;
  for (size_t axis = 0; axis < type.rank(); ++axis) {
    const Dim& dim = type.dims[axis];
    const int64_t length = value.dim(axis);
    if (dim.is_known() ? dim.value() != length : lengths.try_emplace(dim.text(), length).first->second != length)
      return false;
  }
  return true;
}

Shared::Shared(const Tensor& value, std::string name, bool borrow, std::source_location where) {
  auto storage = std::make_shared<SharedStorage>();
  storage->name = std::move(name);
  storage->type = type_of(value);
  storage->value = borrow ? value.contiguous() : value.copy();
  storage->claim = held(*storage, storage->value, Origin::here(where), borrow);
  leaf_ = make_shared_leaf(std::move(storage), where);
}

Shared Shared::of_lengths(const Dims& lengths, const Tensor& value, std::string name, std::source_location where) {
  auto storage = std::make_shared<SharedStorage>();
  storage->name = std::move(name);
  storage->type = {.dtype = value.dtype(), .dims = lengths};
  storage->value = value.copy();
  storage->claim = held(*storage, storage->value, Origin::here(where), /*is_lent=*/false);
  if (!value_fits(value, storage->type))
    throw UserError({.what = str(called(*storage), ": the first value does not have the lengths"),
                     .expected = readable(storage->type.text()),
                     .got = value.type_text(),
                     .node = Origin::here(where).text()});
  return Shared(make_shared_leaf(std::move(storage), where));
}

bool is_on_device(const Tensor& value) {
  return !value.is_on_host() && dynamic_cast<const cuda::DeviceMemory*>(value.space());
}

Tensor Shared::get_value(bool borrow) const {
  const Tensor& value = storage().value;
  return borrow && !is_on_device(value) ? get_internal_value(true) : value.copy();
}

Tensor Shared::get_internal_value(bool borrow) const {
  const Tensor& value = storage().value;
  if (!borrow) return value.copy(value.space());
  if (HeldValue* held = held_by(storage())) held->is_lent = true;
  return value;
}

void give_value(SharedStorage& s, const Expr& of, const Tensor& value, bool borrow, const std::string& what) {
  if (value.dtype() != s.type.dtype)
    if (std::optional<Tensor> same_numbers = value.integers_as(s.type.dtype))
      return give_value(s, of, *same_numbers, borrow, what);
  const Origin& origin = of.node().origin;
  if (!value_fits(value, s.type))
    throw UserError({.what = str(what, called(s), ": the value does not fit the variable's type"),
                     .expected = readable(s.type.text()),
                     .got = value.type_text(),
                     .node = origin.text()});
  note_change(s);
  if (!borrow && value.shape() == s.value.shape()) return s.value.assign(value);
  Tensor own = borrow ? value.contiguous() : value.copy(s.value.space());
  std::shared_ptr<void> claim = held(s, own, origin, borrow);
  const Tensor old = std::exchange(s.value, std::move(own));  // freed after its claim is given up
  s.claim = std::move(claim);
}

void move_value(SharedStorage& s, const Expr& of, const AddressSpace* space) {
  Tensor own = s.value.copy(space);
  const HeldValue* const before = held_by(s);
  std::shared_ptr<void> claim = held(s, own, of.node().origin, before && before->is_lent);
  const Tensor old = std::exchange(s.value, std::move(own));
  s.claim = std::move(claim);
}

void Shared::set_value(const Tensor& value, bool borrow) const {
  give_value(storage(), leaf_, value, borrow, "set_value of ");
}

double Shared::scalar() const {
  if (type().rank() > 0)
    throw UserError({.what = str("scalar of ", called(storage()), ": the variable is no scalar"),
                     .got = type().text(),
                     .node = leaf_.node().origin.text()});
  return storage().value.on_host().as_double();
}

void Shared::set_zero() const {
  note_change(storage());
  Tensor& value = storage().value;  // row-major, and the type says how long
  if (!value.is_on_host()) return value.assign(Tensor::zeros(value.dtype(), value.shape()));
  std::memset(value.raw(), 0, value.bytes());
}

void Shared::swap_value(const Shared& other) const {
  if (!(type() == other.type()) || storage().value.shape() != other.storage().value.shape())
    throw UserError({.what = str("swap_value of ", called(storage()), ": the other variable has another type"),
                     .expected = storage().value.type_text(),
                     .got = other.storage().value.type_text(),
                     .node = leaf_.node().origin.text()});
  note_change(storage());
  note_change(other.storage());
  Tensor &own = storage().value, &others = other.storage().value;
  if (!own.is_on_host() || !others.is_on_host()) {
    const Tensor before = own.copy(own.space());
    own.assign(others);
    return others.assign(before);
  }
  auto* begin = static_cast<std::byte*>(own.raw());
  std::swap_ranges(begin, begin + own.bytes(), static_cast<std::byte*>(others.raw()));
}

}  // namespace thtrain
