// How a declared field's C++ member is reached without knowing its type: one FieldAccess for each type of member.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "config/config_kind.h"
#include "config/config_node.h"

namespace thtrain {

struct Section;

/// One of the kinds of table that a member may be.
struct Alternative {
  std::string_view name;
  const Schema& (*schema)();
};

/// The kind that a member is, and its table; null where it is none.
struct Selected {
  Alternative kind;
  void* object;
};

/// "Element" is the value itself: the member, what an optional holds, or an element of a list.
struct FieldAccess {
  enum class Value { kBool, kInt, kFloat, kString, kChoice, kTable, kKind };
  enum class Container { kOne, kOptional, kList };

  Value value = Value::kTable;
  int64_t lowest = 0, highest = 0;                        // of kInt
  void (*assign)(void* element, const ConfigNode&) = {};  // of scalars; the node's kind is checked before
  ConfigNode (*node)(const void* element) = {};           // the reverse
  const Schema& (*schema)() = {};                         // of kTable
  std::vector<Alternative> alternatives = {};             // of kKind
  void* (*select)(void* element, size_t alternative) = {};
  Selected (*selected)(void* element) = {};

  Container container = Container::kOne;
  void (*clear)(void* member) = {};
  void* (*append)(void* member) = {};  // gives the element to fill in
  size_t (*size)(const void* member) = {};
  const void* (*element)(const void* member, size_t index) = {};
};

namespace detail {

/// A struct with a table of its own: derived from Section, or with a member `section`.
template <class T>
concept HasSection = std::is_base_of_v<Section, T> || requires(T& table) {
  table.section.path;
};

template <class Base>
void describe_kinds(FieldAccess& access, std::type_identity<OneOf<Base>>) {
  access.value = FieldAccess::Value::kKind;
  for (const Kind<Base>& kind : Base::kinds()) access.alternatives.push_back({kind.name, kind.schema});
  access.select = [](void* element, size_t alternative) -> void* {
    auto& member = *static_cast<OneOf<Base>*>(element);
    member = OneOf<Base>(Base::kinds()[alternative]);
    return member.object();
  };
  access.selected = [](void* element) {
    auto& member = *static_cast<OneOf<Base>*>(element);
    return Selected{{member.name(), member.kind_of().schema}, member.object()};
  };
}

template <class E>
void describe_element(FieldAccess& access) {
  using Value = FieldAccess::Value;
  using Node = ConfigNode;
  auto rules = [&](Value value, void (*assign)(void*, const Node&), Node (*node)(const void*)) {
    access.value = value, access.assign = assign, access.node = node;
  };
  if constexpr (std::is_same_v<E, bool>) {
    rules(
        Value::kBool, [](void* e, const Node& n) { *static_cast<bool*>(e) = n.boolean; },
        [](const void* e) { return Node::of(*static_cast<const bool*>(e)); });
  } else if constexpr (std::is_integral_v<E> || std::is_enum_v<E>) {
    rules(
        std::is_enum_v<E> ? Value::kChoice : Value::kInt,
        [](void* e, const Node& n) { *static_cast<E*>(e) = static_cast<E>(n.integer); },
        [](const void* e) { return Node::of(static_cast<int64_t>(*static_cast<const E*>(e))); });
    if constexpr (std::is_integral_v<E>) {
      static_assert(std::is_signed_v<E> || sizeof(E) < 8, "TOML's integers are those of int64");
      access.lowest = std::numeric_limits<E>::min(), access.highest = std::numeric_limits<E>::max();
    }
  } else if constexpr (std::is_same_v<E, double>) {
    rules(
        Value::kFloat,
        [](void* e, const Node& n) {
          *static_cast<double*>(e) = n.kind == Node::Kind::kInt ? static_cast<double>(n.integer) : n.number;
        },
        [](const void* e) { return Node::of(*static_cast<const double*>(e)); });
  } else if constexpr (std::is_same_v<E, std::string>) {
    rules(
        Value::kString, [](void* e, const Node& n) { *static_cast<std::string*>(e) = n.text; },
        [](const void* e) { return Node::of(*static_cast<const std::string*>(e)); });
  } else if constexpr (HasSection<E>) {
    access.value = Value::kTable;
    access.schema = &schema_of<E>;
  } else {
    describe_kinds(access, std::type_identity<E>{});
  }
}

template <class M>
struct ContainerOf {
  using Element = M;
  static void apply(FieldAccess& access) {
    access.container = FieldAccess::Container::kOne;
    access.clear = [](void*) {};
    access.append = [](void* member) { return member; };
    access.size = [](const void*) -> size_t { return 1; };
    access.element = [](const void* member, size_t) { return member; };
  }
};
template <class E>
struct ContainerOf<std::optional<E>> {
  using Element = E;
  static void apply(FieldAccess& access) {
    using M = std::optional<E>;
    access.container = FieldAccess::Container::kOptional;
    access.clear = [](void* member) { static_cast<M*>(member)->reset(); };
    access.append = [](void* member) -> void* { return &static_cast<M*>(member)->emplace(); };
    access.size = [](const void* member) -> size_t { return static_cast<const M*>(member)->has_value(); };
    access.element = [](const void* member, size_t) -> const void* { return &**static_cast<const M*>(member); };
  }
};
template <class E>
struct ContainerOf<std::vector<E>> {
  static_assert(!std::is_same_v<E, bool>, "std::vector<bool> has no elements to point to");
  using Element = E;
  static void apply(FieldAccess& access) {
    using M = std::vector<E>;
    access.container = FieldAccess::Container::kList;
    access.clear = [](void* member) { static_cast<M*>(member)->clear(); };
    access.append = [](void* member) -> void* { return &static_cast<M*>(member)->emplace_back(); };
    access.size = [](const void* member) { return static_cast<const M*>(member)->size(); };
    access.element = [](const void* member, size_t i) -> const void* { return &(*static_cast<const M*>(member))[i]; };
  }
};

}  // namespace detail

template <class M>
const FieldAccess& access_of() {
  static const FieldAccess access = [] {
    FieldAccess out;
    detail::describe_element<typename detail::ContainerOf<M>::Element>(out);
    detail::ContainerOf<M>::apply(out);
    return out;
  }();
  return access;
}

}  // namespace thtrain
