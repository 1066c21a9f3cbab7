#include "datasets/split_rows.h"

#include <algorithm>
#include <numeric>

#include "compiler/base/error.h"
#include "compiler/base/random_state.h"

namespace thtrain {

namespace {

/// Rows of each class that a set of `wanted` takes, where `counts` are there and `total` is their sum.
std::vector<int64_t> quotas(const std::vector<int64_t>& counts, int64_t total, int64_t wanted) {
  std::vector<int64_t> out(counts.size());
  std::vector<std::pair<double, size_t>> remainders;
  int64_t given = 0;
  for (size_t c = 0; c < counts.size(); ++c) {
    double exact = static_cast<double>(counts[c]) * static_cast<double>(wanted) / static_cast<double>(total);
    out[c] = std::min(static_cast<int64_t>(exact), counts[c]);
    given += out[c];
    remainders.emplace_back(static_cast<double>(out[c]) - exact, c);
  }
  std::stable_sort(remainders.begin(), remainders.end(), [](auto& a, auto& b) { return a.first < b.first; });
  while (given < wanted) {
    for (auto [remainder, c] : remainders) {
      if (given == wanted || out[c] == counts[c]) continue;
      ++out[c];
      ++given;
    }
  }
  return out;
}

}  // namespace

std::vector<int64_t> split_rows(SplitBy by, int64_t seed, int64_t rows, const SplitSizes& sizes,
                                std::span<const int64_t> labels) {
  TH_CHECK(by != SplitBy::kOrder && sizes.train + sizes.valid + sizes.test <= rows, "rows drawn from ", rows);
  std::vector<int64_t> order = RandomState(seed).permutation(rows);
  if (by == SplitBy::kShuffled) {
    order.erase(order.begin() + sizes.train, order.end() - sizes.valid - sizes.test);
    return order;
  }
  std::vector<int64_t> counts;
  for (int64_t label : labels) {
    if (static_cast<size_t>(label) >= counts.size()) counts.resize(static_cast<size_t>(label) + 1);
    ++counts[static_cast<size_t>(label)];
  }
  std::vector<int64_t> out;
  int64_t total = rows;
  std::vector<int64_t> sets[3];  // test and validation take first, so that their parts are of all rows
  for (int set : {2, 1, 0}) {
    int64_t wanted = set == 0 ? sizes.train : set == 1 ? sizes.valid : sizes.test;
    if (wanted == 0) continue;
    std::vector<int64_t> quota = quotas(counts, total, wanted), rest;
    for (int64_t row : order) {
      auto c = static_cast<size_t>(labels[static_cast<size_t>(row)]);
      if (quota[c] == 0) {
        rest.push_back(row);
        continue;
      }
      --quota[c];
      --counts[c];
      sets[set].push_back(row);
    }
    order = std::move(rest);
    total -= wanted;
  }
  for (const auto& set : sets) out.insert(out.end(), set.begin(), set.end());
  return out;
}

static std::vector<int64_t> order_of(int64_t seed, int64_t rows) {
  if (seed >= 0) return RandomState(seed).permutation(rows);
  std::vector<int64_t> out(static_cast<size_t>(rows));
  std::iota(out.begin(), out.end(), 0);
  return out;
}

static Folds sorted(Folds folds) {
  for (auto& rows : folds) std::sort(rows.begin(), rows.end());
  return folds;
}

Folds fold_rows(int64_t folds, int64_t seed, int64_t rows) {
  TH_CHECK(folds > 0 && folds <= rows, folds, " parts of ", rows, " rows");
  std::vector<int64_t> order = order_of(seed, rows);
  Folds out;
  for (int64_t i = 0, begin = 0; i < folds; ++i) {
    int64_t length = rows / folds + (i < rows % folds ? 1 : 0);
    out.emplace_back(order.begin() + begin, order.begin() + begin + length);
    begin += length;
  }
  return sorted(std::move(out));
}

Folds fold_rows(int64_t folds, int64_t seed, std::span<const int64_t> classes) {
  std::vector<int64_t> order = order_of(seed, static_cast<int64_t>(classes.size()));
  std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
    return classes[static_cast<size_t>(a)] < classes[static_cast<size_t>(b)];
  });
  Folds out(static_cast<size_t>(folds));
  for (size_t i = 0; i < order.size(); ++i) out[i % out.size()].push_back(order[i]);
  return sorted(std::move(out));
}

}  // namespace thtrain
