#include "cli/differences_table.h"

#include <algorithm>
#include <set>

#include "cli/runs_table.h"
#include "cli/text.h"
#include "compiler/base/escape.h"
#include "compiler/base/utf8.h"

namespace thtrain {

namespace {

using Cells = std::vector<std::string>;

constexpr int kSpace = 2;  // between columns

int widest_of(const Cells& cells) {
  int out = 0;
  for (const std::string& cell : cells) out = std::max(out, character_count(cell));
  return out;
}

// "run", and the names below it.
Cells names_column(const Cells& names) {
  constexpr int kLongest = 40;
  Cells out = {"run"};
  std::set<std::string> different;
  for (const std::string& name : names) different.insert(out.emplace_back(cut_in_the_middle(name, kLongest)));
  if (different.size() < names.size()) std::copy(names.begin(), names.end(), out.begin() + 1);
  return out;
}

std::string block_text(const std::vector<Cells>& columns) {
  std::vector<Cells> rows(columns.front().size());
  for (const Cells& column : columns)
    for (size_t i = 0; i < column.size(); ++i) rows[i].push_back(column[i]);
  return table_text(rows, "");
}

std::string turned_text(const Cells& names, const std::vector<Cells>& rows, int width) {
  const Cells first = names_column(names);
  const int there = std::max(width - widest_of(first) - kSpace, 8);
  std::vector<Cells> block = {first};
  std::string out;
  int used = 0;
  for (Cells row : rows) {
    for (std::string& cell : row) cell = cut_in_the_middle(cell, there);
    const int wide = widest_of(row) + (block.size() > 1 ? kSpace : 0);
    if (block.size() > 1 && used + wide > there) {
      out += block_text(block) + "\n";
      block = {first};
      used = 0;
    }
    used += widest_of(row) + (block.size() > 1 ? kSpace : 0);
    block.push_back(std::move(row));
  }
  return out + block_text(block);
}

}  // namespace

std::string differences_text(const std::vector<std::string>& names, const std::vector<std::vector<std::string>>& rows,
                             int width) {
  if (rows.empty()) return "the experiments do not differ\n";
  Cells title = {"key"};
  for (const std::string& name : names) title.push_back(printable(name));
  std::vector<Cells> all = {title};
  for (const Cells& row : rows) {
    Cells& cells = all.emplace_back();
    for (const std::string& cell : row) cells.push_back(printable(cell));
  }
  int needed = -kSpace;
  for (size_t column = 0; column < title.size(); ++column) {
    Cells cells;
    for (const Cells& row : all) cells.push_back(row[column]);
    needed += widest_of(cells) + kSpace;
  }
  if (needed <= width) return table_text(all, "");
  title.erase(title.begin());
  all.erase(all.begin());
  return turned_text(title, all, width);
}

}  // namespace thtrain
