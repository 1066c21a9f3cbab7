#include "compiler/base/nearest_name.h"

#include <algorithm>
#include <cctype>
#include <utility>

namespace thtrain {

// Edit distance with transpositions of neighbours (optimal string alignment: R. A. Wagner and R. Lowrance, "An
// Extension of the String-to-String Correction Problem", 1975, restricted to disjoint edits), three rows kept.
static size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<size_t> before(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (a[i - 1] != b[j - 1])});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) row[j] = std::min(row[j], before[j - 2] + 1);
    }
    std::swap(before, last);
    std::swap(last, row);
  }
  return last[b.size()];
}

// "Learning-Rate" and "learningRate" are "learning_rate" written in another style.
static std::string plain(std::string_view name) {
  std::string out;
  for (char c : name)
    if (c != '_' && c != '-' && c != ' ') out += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

std::string nearest_name(std::string_view name, const std::vector<std::string>& candidates) {
  const std::string* best = nullptr;
  size_t best_distance = 0;
  std::string wanted = plain(name);
  for (const std::string& candidate : candidates) {
    std::string have = plain(candidate);
    size_t distance = edit_distance(wanted, have);
    if (distance > std::max(wanted.size(), have.size()) / 3) continue;
    if (!best || distance < best_distance) best = &candidate, best_distance = distance;
  }
  return best ? *best : "";
}

}  // namespace thtrain
