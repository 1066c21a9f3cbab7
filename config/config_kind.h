// A member of a declared struct that is one of several kinds of table, each declared in a file of its own and entered
// by one line in a list.
//
//   struct Schedule : Section {                                   // what the kinds have in common
//     static const std::vector<Kind<Schedule>>& kinds();          // {kind<Constant, Schedule>(), kind<Step,
//     Schedule>()}
//   };
//   struct Step : Schedule {
//     static constexpr std::string_view kName = "step";
//     int64_t every = 10;
//     static void describe(Fields<Step>& f);
//   };
//   OneOf<Schedule> schedule = Constant();                        // the default
//   if (const Step* step = schedule.get_if<Step>()) ...
#pragma once

#include <concepts>
#include <memory>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "compiler/base/error.h"

namespace thtrain {

struct Schema;
template <class T>
const Schema& schema_of();

namespace detail {

struct NoMaker {
  template <class T>
  static constexpr NoMaker of() {
    return {};
  }
};
template <class Base>
struct MakerOf {
  using Type = NoMaker;
};
template <class Base>
requires requires {
  typename Base::Maker;
}
struct MakerOf<Base> {
  using Type = typename Base::Maker;
};

}  // namespace detail

/// One kind of Base: a struct derived from it, with a name and a declaration of its own. Where Base has a type `Maker`
/// with a function `of<T>()`, a kind has the maker of its T: how to make what the table describes.
template <class Base>
struct Kind {
  using Maker = typename detail::MakerOf<Base>::Type;

  std::string_view name = {};
  const Schema& (*schema)() = nullptr;
  std::shared_ptr<Base> (*make)() = nullptr;             // with its defaults
  std::shared_ptr<Base> (*copy)(const Base&) = nullptr;  // of one of this kind
  void* (*object)(Base&) = nullptr;                      // one of this kind, as schema() takes it
  Maker maker = {};
};

/// T::kName, and T::describe(Fields<T>&) for schema().
template <class T, class Base>
constexpr Kind<Base> kind() {
  return {.name = T::kName,
          .schema = &schema_of<T>,
          .make = []() -> std::shared_ptr<Base> { return std::make_shared<T>(); },
          .copy = [](const Base& table) -> std::shared_ptr<Base> {
            return std::make_shared<T>(static_cast<const T&>(table));
          },
          .object = [](Base& table) -> void* { return &static_cast<T&>(table); },
          .maker = Kind<Base>::Maker::template of<T>()};
}

/// A value of one of the kinds of Base, or none. A copy has a table of its own.
template <class Base>
class OneOf {
 public:
  OneOf() = default;
  template <class T>
  requires std::derived_from<T, Base> OneOf(T table)
      : kind_(kind<T, Base>()), table_(std::make_shared<T>(std::move(table))) {}
  explicit OneOf(const Kind<Base>& kind) : kind_(kind), table_(kind.make()) {}

  OneOf(const OneOf& other) : kind_(other.kind_), table_(other.table_ ? other.kind_.copy(*other.table_) : nullptr) {}
  OneOf(OneOf&&) noexcept = default;
  OneOf& operator=(const OneOf& other) {
    OneOf copied(other);
    return *this = std::move(copied);
  }
  OneOf& operator=(OneOf&&) noexcept = default;
  ~OneOf() = default;

  bool has_value() const { return table_ != nullptr; }
  /// Of the kind; "" where there is no value.
  std::string_view name() const { return has_value() ? kind_.name : std::string_view(); }

  Base& operator*() { return checked(); }
  const Base& operator*() const { return checked(); }
  Base* operator->() { return &checked(); }
  const Base* operator->() const { return &checked(); }

  /// As a T, or null where it is another kind. Where Base is polymorphic, T may be a base of several kinds.
  template <std::derived_from<Base> T>
  T* get_if() {
    if (!table_) return nullptr;
    if constexpr (std::is_polymorphic_v<Base>)
      return dynamic_cast<T*>(table_.get());
    else
      return kind_.schema == &schema_of<T> ? static_cast<T*>(table_.get()) : nullptr;
  }
  template <std::derived_from<Base> T>
  const T* get_if() const {
    return const_cast<OneOf*>(this)->template get_if<T>();
  }
  template <std::derived_from<Base> T>
  bool is() const {
    return get_if<T>() != nullptr;
  }
  /// UserError where it is another kind.
  template <std::derived_from<Base> T>
  T& get() {
    T* found = get_if<T>();
    if (!found) [[unlikely]]
      throw UserError(Message{.what = "a table is taken for one of another kind",
                              .got = has_value() ? str("one of kind \"", name(), '"') : "one of no kind",
                              .hint = "get_if<T>() is null where it is no T"});
    return *found;
  }
  template <std::derived_from<Base> T>
  const T& get() const {
    return const_cast<OneOf*>(this)->template get<T>();
  }

  const Kind<Base>& kind_of() const { return kind_; }
  /// As kind_of().schema() takes it; null where there is no value.
  void* object() { return table_ ? kind_.object(*table_) : nullptr; }

 private:
  Base& checked() const {
    if (!table_) [[unlikely]]
      throw UserError(Message{.what = "a table of no kind is used",
                              .expected = "a kind, such as the options of a layer or a source of data"});
    return *table_;
  }

  Kind<Base> kind_ = {};
  std::shared_ptr<Base> table_;  // never shared with another
};

}  // namespace thtrain
