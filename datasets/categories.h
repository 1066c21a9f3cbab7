// Columns of texts in tables: each text is a category, and has a code.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

namespace thtrain {

struct Categories {
  /// kOneHot: an input for each category of a column, 1 for that of the example, else 0. kCodes: one input, the code.
  enum class As { kOneHot, kCodes };
  As as = As::kOneHot;
  /// Of each column of the table, by code, from 0: sorted. None: a column of numbers.
  std::vector<std::vector<std::string>> names = {};

  /// Has no column categories?
  bool empty() const;
  const std::vector<std::string>& of(int64_t column) const { return names[static_cast<size_t>(column)]; }
  bool has(int64_t column) const { return column < std::ssize(names) && !of(column).empty(); }
  bool operator==(const Categories&) const = default;
};

/// A text of UTF-8 for Categories::names, and the way back: a byte 0 between categories, two between columns. No
/// category is empty, or has a byte 0.
std::string categories_text(const Categories& categories);
std::vector<std::vector<std::string>> categories_in(const std::string& text);

/// The categories of a column whose cells are read one after the other.
class CategoryList {
 public:
  /// Known ones, which are all that there are; none: they are those that come.
  explicit CategoryList(std::vector<std::string> known = {});

  bool is_closed() const { return is_closed_; }
  int64_t size() const { return std::ssize(names_); }
  /// The number of this text, in the order in which they came; -1 where it has none.
  int64_t find(const std::string& text) const;
  int64_t add(const std::string& text);
  const std::vector<std::string>& names() const { return names_; }
  /// Sorted, by the bytes of their UTF-8, and the code of each number in that order.
  std::vector<std::string> sorted() const;
  std::vector<int64_t> codes() const;

 private:
  bool is_closed_;
  std::vector<std::string> names_;
  std::unordered_map<std::string, int64_t> numbers_;
};

}  // namespace thtrain
