// Declared configurations: each field once, with its name, default, range, unit and one line of help. Reading, "did you
// mean", the printed resolved configuration and the reference page all come from the declaration.
//
//   struct SgdConfig : Section {
//     double learning_rate = 0.01;                       // the default is the member's initial value
//     std::optional<int64_t> seed;                       // may be left out, and then has no value
//     std::vector<std::variant<Dense, Softmax>> layers;  // tables that name their kind
//     static void describe(Fields<SgdConfig>& f) {
//       f.field("learning_rate", &SgdConfig::learning_rate).range(above(0)).help("Length of a step.").synonyms({"lr"});
//       f.field("seed", &SgdConfig::seed).range(at_least(0)).help("Of the shuffling.");
//       f.variant("layers", &SgdConfig::layers, "type").required().help("From input to output.");
//       f.check([](const SgdConfig& c, Findings& findings) { ... });
//     }
//   };
//   Findings findings;
//   SgdConfig config = read_config<SgdConfig>(root, findings);
//   findings.raise();
//
// A member may be a bool, an integer, a double, a std::string, a C++ enumeration (`choice`), a Section,
// a std::variant of Sections (`variant`), or a std::optional or std::vector of one of these.
#pragma once

#include <functional>
#include <initializer_list>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "compiler/base/config_access.h"
#include "compiler/base/config_node.h"

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

/// What every declared struct inherits: where its table and its fields were written.
struct Section {
  std::string path = {};                             // "model.layers.0", as an override writes it; "" for the root
  ConfigPosition position = {};                      // of the table's header, or of the table that it is missing from
  std::map<std::string, ConfigPosition> given = {};  // of the value of each key that was given

  bool has(const std::string& key) const { return given.count(key) > 0; }
  /// The place to show for a mistake in this field: its value, or the section where the default holds.
  const ConfigPosition& at(const std::string& key) const { return has(key) ? given.at(key) : position; }
  /// The field's full name, "model.layers.0.units".
  std::string name_of(const std::string& key) const { return path.empty() ? key : path + "." + key; }
};

/// One declared field.
struct FieldSpec {
  std::string name;
  std::string unit = {};
  std::string help = {};
  std::string tag = {};  // of a variant: the key that names the kind
  bool required = false;
  Range range = {};
  std::vector<std::string> choices = {};    // of strings and enumerations
  std::vector<int64_t> choice_values = {};  // of enumerations
  std::vector<std::string> synonyms = {};   // what other programs call it: suggested, not accepted
  const FieldAccess* access = nullptr;
  std::function<void*(void*)> member = {};  // of an object
};

/// One declared struct.
struct Schema {
  std::string about = {};
  std::vector<FieldSpec> fields = {};
  std::map<std::string, std::string> absent = {};  // keys that other programs have here, and what to do instead
  std::shared_ptr<const void> defaults = {};
  Section& (*section)(void*) = nullptr;
  std::function<void(const void*, Findings&)> check = {};

  const FieldSpec* find(const std::string& name) const;
};

/// What a field's declaration says beyond its name and member.
class FieldBuilder {
 public:
  FieldBuilder(Schema& schema, FieldSpec spec) : schema_(schema), index_(schema.fields.size()) {
    schema.fields.push_back(std::move(spec));
  }
  FieldBuilder& range(Range range) {
    spec().range = range;
    return *this;
  }
  FieldBuilder& one_of(std::vector<std::string> names) {
    spec().choices = std::move(names);
    return *this;
  }
  FieldBuilder& unit(std::string unit) {
    spec().unit = std::move(unit);
    return *this;
  }
  FieldBuilder& help(std::string help) {
    spec().help = std::move(help);
    return *this;
  }
  /// Of a list: at least one element.
  FieldBuilder& required() {
    spec().required = true;
    return *this;
  }
  FieldBuilder& synonyms(std::vector<std::string> names) {
    spec().synonyms = std::move(names);
    return *this;
  }

 private:
  FieldSpec& spec() { return schema_.fields[index_]; }
  Schema& schema_;
  size_t index_;
};

/// What describe() fills in.
template <class T>
class Fields {
 public:
  explicit Fields(Schema& schema) : schema_(schema) {}

  /// A sentence about the whole struct, for the reference page.
  void about(std::string text) { schema_.about = std::move(text); }
  /// Keys that other programs have here and this one has not; `hint` says what to do instead.
  void absent(const std::vector<std::string>& names, const std::string& hint) {
    for (const std::string& name : names) schema_.absent[name] = hint;
  }

  template <class M, class Base>
  FieldBuilder field(std::string name, M Base::*member) {
    return {schema_, {.name = std::move(name), .access = &access_of<M>(), .member = reach(member)}};
  }
  /// A C++ enumeration.
  template <class E, class Base>
  FieldBuilder choice(std::string name, E Base::*member, std::initializer_list<std::pair<std::string, E>> choices) {
    FieldSpec spec{.name = std::move(name), .access = &access_of<E>(), .member = reach(member)};
    for (const auto& [text, value] : choices) {
      spec.choices.push_back(text);
      spec.choice_values.push_back(static_cast<int64_t>(value));
    }
    return {schema_, std::move(spec)};
  }
  /// Tables of several kinds, each a Section with a `static constexpr std::string_view kName`; the key `tag` says
  /// which.
  template <class M, class Base>
  FieldBuilder variant(std::string name, M Base::*member, std::string tag) {
    return {schema_,
            {.name = std::move(name), .tag = std::move(tag), .access = &access_of<M>(), .member = reach(member)}};
  }
  /// Looks at fields together. Called only where each of them has been read without a finding.
  template <class F>
  void check(F check) {
    schema_.check = [check](const void* object, Findings& findings) {
      check(*static_cast<const T*>(object), findings);
    };
  }

 private:
  template <class M, class Base>
  static std::function<void*(void*)> reach(M Base::*member) {
    return [member](void* object) -> void* { return &(static_cast<T*>(object)->*member); };
  }
  Schema& schema_;
};

template <class T>
const Schema& schema_of() {
  static const Schema schema = [] {
    Schema out;
    out.defaults = std::make_shared<const T>();
    out.section = [](void* object) -> Section& { return *static_cast<T*>(object); };
    Fields<T> fields(out);
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
