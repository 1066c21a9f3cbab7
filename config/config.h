// Declared configurations: each field once, with its name, default, range, unit and one line of help. Reading, "did you
// mean", the printed resolved configuration and the reference page all come from the declaration.
//
//   struct SgdConfig : Section {
//     double learning_rate = 0.01;                       // the default is the member's initial value
//     std::optional<int64_t> seed;                       // may be left out, and then has no value
//     std::vector<OneOf<LayerConfig>> layers;            // tables that name their kind: config/config_kind.h
//     static void describe(Fields<SgdConfig>& f) {
//       f.field("learning_rate", &SgdConfig::learning_rate).range(above(0)).help("Length of a step.").synonyms({"lr"});
//       f.field("seed", &SgdConfig::seed).range(at_least(0)).help("Of the shuffling.");
//       f.kind("layers", &SgdConfig::layers, "type").required().help("From input to output.");
//       f.check([](const SgdConfig& c, Findings& findings) { ... });
//     }
//   };
//   Findings findings;
//   SgdConfig config = read_config<SgdConfig>(root, findings);
//   findings.raise();
//
// A member may be a bool, an integer, a double, a std::string, a C++ enumeration (`choice`), a Section, a OneOf
// (`kind`, `inline_kind`), or a std::optional or std::vector of one of these.
#pragma once

#include <concepts>
#include <cstddef>
#include <functional>
#include <initializer_list>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "config/config_access.h"
#include "config/config_node.h"

namespace thtrain {

/// The allowed numbers.
struct Range {
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();
  bool low_excluded = false;
  bool high_excluded = false;

  bool contains(double value) const;  // false for NaN
  std::string text() const;           // "above 0", "at least 0 and below 1", "from 1 to 10"; "" where all are allowed
};
inline Range above(double low) {
  return {.low = low, .low_excluded = true};
}
inline Range at_least(double low) {
  return {.low = low};
}
inline Range between(double low, double high) {
  return {.low = low, .high = high};
}  // both allowed
inline Range from_below(double low, double high) {
  return {low, high, false, true};
}  // low <= x < high
inline Range between_open(double low, double high) {
  return {low, high, true, true};
}  // low < x < high

/// What every declared struct inherits, or has as a member `section`: where its table and its fields were written.
struct Section {
  std::string path = {};                             // "model.layers.0", as an override writes it; "" for the root
  ConfigPosition position = {};                      // of the table's header, or of the table that it is missing from
  std::map<std::string, ConfigPosition> given = {};  // of the value of each key that was given

  bool has(const std::string& key) const { return given.count(key) > 0; }
  /// The location to show for a mistake in this field: its value, or the section where the default holds.
  const ConfigPosition& at(const std::string& key) const { return has(key) ? given.at(key) : position; }
  /// The field's full name, "model.layers.0.units".
  std::string name_of(const std::string& key) const { return path.empty() ? key : path + "." + key; }
};

/// One declared field.
struct FieldSpec {
  std::string name;
  std::string unit = {};
  std::string help = {};
  std::string group = {};  // of keys that several kinds have: the reference page lists these once
  std::string tag = {};    // of a OneOf: the key that names the kind
  bool inlined = false;    // of a OneOf: the kind's keys are in the same table as this one, which names the kind
  bool by_name = false;    // of a OneOf: the kind's name alone stands for its table
  bool required = false;
  bool independent = false;  // no other key of an experiment can contradict its value
  Range range = {};
  bool one_or_list = false;                 // of a list: one value stands for a list of it alone
  std::vector<std::string> choices = {};    // of strings and enumerations; of integers, words that stand for some
  std::vector<int64_t> choice_values = {};  // of enumerations and integers
  std::vector<std::string> synonyms = {};   // what other programs call it: suggested, not accepted
  const FieldAccess* access = nullptr;
  ptrdiff_t offset = 0;  // of the member, in bytes from the start of the struct

  void* member(void* object) const { return static_cast<std::byte*>(object) + offset; }
  const void* member(const void* object) const { return static_cast<const std::byte*>(object) + offset; }
};

/// One declared struct.
struct Schema {
  std::string about = {};
  std::vector<FieldSpec> fields = {};
  std::map<std::string, std::string> absent = {};  // keys that other programs have here, and what to do instead
  const void* defaults = nullptr;
  Section& (*section)(void*) = nullptr;
  std::vector<std::function<void(const void*, Findings&)>> checks = {};

  const FieldSpec* find(const std::string& name) const;
};

/// What a field's declaration says beyond its name and member.
class FieldBuilder {
 public:
  FieldBuilder(Schema& schema, FieldSpec spec);
  FieldBuilder& range(const Range& range);
  FieldBuilder& one_of(std::vector<std::string> names);
  FieldBuilder& unit(std::string_view unit);
  FieldBuilder& help(std::string_view help);
  /// Of a list: at least one element.
  FieldBuilder& required();
  /// Of a list of scalars: `size = 5` stands for `size = [5]`.
  FieldBuilder& one_or_list();
  /// Of integers: words that stand for these numbers, be they in the range or not.
  FieldBuilder& words(std::initializer_list<std::pair<std::string_view, int64_t>> words);
  FieldBuilder& synonyms(std::initializer_list<std::string_view> names);
  FieldBuilder& independent();
  /// Of a kind: `schedule = "step"` stands for `schedule = {type = "step"}`.
  FieldBuilder& by_name();

 private:
  FieldSpec& spec() { return schema_.fields[index_]; }
  Schema& schema_;
  size_t index_;
};

/// What Fields<T> does without T.
class FieldTable {
 public:
  /// Its fields have the name that was before again when it is destroyed.
  class Group {
   public:
    Group(std::string& group, std::string_view name) : group_(group), before_(std::exchange(group, name)) {}
    ~Group() { group_ = std::move(before_); }
    Group(const Group&) = delete;
    Group& operator=(const Group&) = delete;

   private:
    std::string& group_;
    std::string before_;
  };

  /// A sentence about the whole struct, for the reference page.
  void about(std::string_view text);
  /// Until the returned guard is destroyed, the declared fields are keys that several kinds have: the reference page
  /// lists them once, under this name, and again only in a kind where the default or the text differs.
  [[nodiscard]] Group group(std::string_view name) { return {group_, name}; }
  /// Keys that other programs have here and this one has not; `hint` says what to do instead.
  void absent(std::initializer_list<std::string_view> names, std::string_view hint);

 protected:
  explicit FieldTable(Schema& schema) : schema_(schema) {}
  /// `member`: of the struct of defaults.
  FieldBuilder add(std::string_view name, const FieldAccess& access, const void* member);
  FieldBuilder add_kind(std::string_view name, const FieldAccess& access, const void* member, std::string_view tag);
  ptrdiff_t offset_of(const void* member) const;
  Schema& schema_;

 private:
  std::string group_;
};

/// What describe() fills in. A Fields<Derived> is a Fields<Base> too: what several structs inherit is described once.
template <class T>
class Fields : public FieldTable {
 public:
  /// `part`: of the struct of defaults, or that itself.
  Fields(Schema& schema, const T& part) : FieldTable(schema), part_(part) {}
  template <std::derived_from<T> Derived>
  requires(!std::is_same_v<T, Derived>) Fields(const Fields<Derived>& other) : FieldTable(other), part_(other.part_) {}

  template <class M, class Base>
  FieldBuilder field(std::string_view name, M Base::*member) {
    return add(name, access_of<M>(), &(part_.*member));
  }
  /// A C++ enumeration.
  template <class E, class Base>
  FieldBuilder choice(std::string_view name, E Base::*member,
                      std::initializer_list<std::pair<std::string_view, E>> choices) {
    FieldBuilder field = add(name, access_of<E>(), &(part_.*member));
    for (const auto& [word, value] : choices) field.words({{word, static_cast<int64_t>(value)}});
    return field;
  }
  /// A table of one of several kinds (OneOf), or a list of them; the table's key `tag` says which.
  template <class M, class Base>
  FieldBuilder kind(std::string_view name, M Base::*member, std::string_view tag) {
    return add_kind(name, access_of<M>(), &(part_.*member), tag);
  }
  /// The same without a table of its own: the key `name` says which kind, and the kind's keys are in the same table, as
  /// in
  ///
  ///   [trainer]
  ///   optimizer = "adam"
  ///   beta1 = 0.8
  ///
  /// No key of a kind may be one of this struct.
  template <class Kinds, class Base>
  FieldBuilder inline_kind(std::string_view name, OneOf<Kinds> Base::*member) {
    return add_kind(name, access_of<OneOf<Kinds>>(), &(part_.*member), "");
  }
  /// Of a member that has no table of its own: its fields are keys of this table.
  template <class M, class Base>
  Fields<M> part(M Base::*member) {
    return {*this, part_.*member};
  }
  /// The values of fields that are not given.
  const T& defaults() const { return part_; }
  /// Looks at fields together. Called only where each of them has been read without a finding. There may be several.
  template <class F>
  void check(F check) {
    schema_.checks.push_back([check, offset = offset_of(&part_)](const void* object, Findings& findings) {
      check(*reinterpret_cast<const T*>(static_cast<const std::byte*>(object) + offset), findings);
    });
  }

 private:
  template <class Other>
  friend class Fields;
  Fields(const FieldTable& table, const T& part) : FieldTable(table), part_(part) {}
  const T& part_;
};

template <class T>
const Schema& schema_of() {
  static const Schema schema = [] {
    static T defaults;
    Schema out;
    out.defaults = &defaults;
    out.section = [](void* object) -> Section& {
      if constexpr (std::is_base_of_v<Section, T>)
        return *static_cast<T*>(object);
      else
        return static_cast<T*>(object)->section;
    };
    Fields<T> fields(out, defaults);
    T::describe(fields);
    return out;
  }();
  return schema;
}

void read_config(const Schema& schema, void* object, const ConfigNode& root, Findings& findings);
ConfigNode resolved_config(const Schema& schema, const void* object);
std::string reference_page(const Schema& schema);

/// The values of `root`, defaults filled in. Every mistake goes to `findings`; a field with a mistake keeps its
/// default.
template <class T>
T read_config(const ConfigNode& root, Findings& findings) {
  T out;
  read_config(schema_of<T>(), &out, root, findings);
  return out;
}

/// Every value, defaults included, as a table that reads back as the same values (`toml_text` prints it).
template <class T>
ConfigNode resolved_config(const T& config) {
  return resolved_config(schema_of<T>(), &config);
}

/// The fields of T and of every struct in it, as a page of Markdown.
template <class T>
std::string reference_page() {
  return reference_page(schema_of<T>());
}

/// Words for messages and pages: "an integer, at least 1", `one of "a", "b"`.
std::string expected_text(const FieldSpec& field);

}  // namespace thtrain
