#include "datasets/categories.h"

#include <algorithm>
#include <numeric>
#include <string_view>

#include "compiler/base/str.h"

namespace thtrain {

bool Categories::empty() const {
  return std::all_of(names.begin(), names.end(), [](const auto& column) { return column.empty(); });
}

constexpr std::string_view kBetweenNames("\0", 1), kBetweenColumns("\0\0", 2);

std::string categories_text(const Categories& categories) {
  return join(categories.names, kBetweenColumns, [](const auto& column) { return join(column, kBetweenNames); });
}

static std::vector<std::string> parts_of(std::string_view text, std::string_view between) {
  std::vector<std::string> out;
  for (size_t at = 0;;) {
    const size_t end = std::min(text.find(between, at), text.size());
    out.emplace_back(text.substr(at, end - at));
    if (end == text.size()) return out;
    at = end + between.size();
  }
}

std::vector<std::vector<std::string>> categories_in(const std::string& text) {
  std::vector<std::vector<std::string>> out;
  for (const std::string& column : parts_of(text, kBetweenColumns))
    out.push_back(column.empty() ? std::vector<std::string>() : parts_of(column, kBetweenNames));
  return out;
}

CategoryList::CategoryList(std::vector<std::string> known) : is_closed_(!known.empty()) {
  for (const std::string& name : known) add(name);
}

int64_t CategoryList::find(const std::string& text) const {
  const auto found = numbers_.find(text);
  return found == numbers_.end() ? -1 : found->second;
}

int64_t CategoryList::add(const std::string& text) {
  numbers_.emplace(text, size());
  names_.push_back(text);
  return size() - 1;
}

std::vector<std::string> CategoryList::sorted() const {
  std::vector<std::string> out = names_;
  if (!is_closed_) std::sort(out.begin(), out.end());
  return out;
}

std::vector<int64_t> CategoryList::codes() const {
  std::vector<size_t> order(names_.size());
  std::iota(order.begin(), order.end(), size_t{0});
  if (!is_closed_) std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return names_[a] < names_[b]; });
  std::vector<int64_t> out(names_.size());
  for (size_t i = 0; i < order.size(); ++i) out[order[i]] = static_cast<int64_t>(i);
  return out;
}

}  // namespace thtrain
