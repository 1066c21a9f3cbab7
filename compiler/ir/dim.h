// One length of a tensor: a known number, or a canonical integer expression over named lengths.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <source_location>
#include <string>
#include <string_view>
#include <vector>

namespace thtrain {

struct Node;

// ---- lengths --------------------------------------------------------------------------------------------------------

/// Lengths form sums of products of atoms: names, and floor_div, max, min of lengths. Equal expressions have equal
/// canonical forms where distributing and sorting prove it: (n + m) * 2 == 2 * m + 2 * n. docs/decisions/0002.
///
/// A name is what the user chose ("batch"), or "x~12.0" for axis 0 of the variable x with serial number 12, or
/// "@i~13" for the value of the integer scalar i, or "#mask~14" for a length that only the data decides: a node of the
/// graph defines it (Op::defines), which the length keeps alive.
class Dim {
 public:
  Dim(int64_t value = 0) : value_(value) {}
  Dim(int value) : value_(value) {}
  Dim(const char* name, std::source_location where = std::source_location::current()) : Dim(named(name, where)) {}
  static Dim named(std::string_view name, const std::source_location& where = {});
  /// A name "#mask~14" and the node that defines it.
  static Dim defined(std::string_view name, std::shared_ptr<const Node> definer);

  bool is_known() const { return !sum_; }
  bool is(int64_t value) const { return is_known() && value_ == value; }
  int64_t value() const;  // InternalError unless known

  /// Can it be proved that this is at least `bound`, given that names and calls are not negative?
  bool is_at_least(const Dim& bound) const;
  /// "2*n + m - 1", "floor_div(n - 3, 2)"; parse() reads it back.
  std::string text() const;
  static std::optional<Dim> parse(std::string_view text);

  /// The value where `value_of` gives each name's.
  int64_t evaluate(const std::function<int64_t(const std::string&)>& value_of) const;
  void collect_names(std::set<std::string>& names) const;
  /// The nodes that defined() was given.
  void collect_definers(std::vector<std::shared_ptr<const Node>>& definers) const;
  /// A length that is no less, whatever the names are for which `bound_of` gives one: at least 0 and at most that.
  Dim upper_bound(const std::function<std::optional<Dim>(const std::string&)>& bound_of) const;
  /// The same expression with other lengths for some names; nullopt from `length_of` keeps the name.
  Dim substitute(const std::function<std::optional<Dim>(const std::string&)>& length_of) const;
  /// C++ text over `long` values; `text_of` names each name's variable.
  std::string code(const std::function<std::string(const std::string&)>& text_of) const;
  /// The same where arithmetic is functions: prefix_add(a, b), prefix_mul, prefix_max, prefix_min, prefix_floor_div.
  std::string code_by_calls(const std::string& prefix, const std::function<std::string(int64_t)>& text_of_number,
                            const std::function<std::string(const std::string&)>& text_of) const;

  friend bool operator==(const Dim& a, const Dim& b);
  friend Dim operator+(const Dim& a, const Dim& b);
  friend Dim operator-(const Dim& a, const Dim& b);
  friend Dim operator*(const Dim& a, const Dim& b);
  friend Dim floor_div(const Dim& a, const Dim& b);  // towards minus infinity; b is not 0
  friend Dim max(const Dim& a, const Dim& b);
  friend Dim min(const Dim& a, const Dim& b);

 private:
  struct Atom;
  struct Sum;
  struct Reader;
  static Dim from(Sum sum);
  static Dim atom(Atom atom);
  Sum sum() const;
  template <class T, class Leaf, class Add, class Mul, class Call>
  T fold(Leaf leaf, Add add, Mul mul, Call call) const;

  int64_t value_;
  std::shared_ptr<const Sum> sum_;  // null where known
};

using Dims = std::vector<Dim>;

// ---- for other parts of the compiler --------------------------------------------------------------------------------

/// The product; 1 for none.
Dim product(const Dims& dims);
/// "batch, 784"
std::string dims_text(const Dims& dims);
/// Does the length hold a name that a node of the graph defines?
bool is_data_dependent(const Dim& dim);
bool is_data_dependent(const Dims& dims);
/// What a canonical name shows to people: "x.0" for "x~12.0".
std::string readable(std::string_view text);

}  // namespace thtrain
