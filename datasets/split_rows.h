// Which rows of a training file train, and which are kept for validation and testing.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace thtrain {

/// How rows are kept apart: the last ones, ones drawn at random, or ones drawn from each class alike.
enum class SplitBy { kOrder, kShuffled, kStratified };

/// How many rows each set takes.
struct SplitSizes {
  int64_t train = 0, valid = 0, test = 0;
};

/// The numbers of drawn rows in the order train, valid, test; rows beyond their sum are left out.
/// - kShuffled: RandomState(seed).permutation(rows), from its beginning to train and from its end for the others
/// - kStratified: each set takes the rows of each class in the order of that permutation, as many as is its part of the
///   rows, rounded by the largest remainder (lower classes first where they are equal)
/// `labels` has one for each row, 0 or more (only of kStratified).
std::vector<int64_t> split_rows(SplitBy by, int64_t seed, int64_t rows, const SplitSizes& sizes,
                                std::span<const int64_t> labels);

/// The numbers of the rows of each part, in their order in the file.
using Folds = std::vector<std::vector<int64_t>>;
/// Parts of RandomState(seed).permutation(rows) whose lengths differ by at most one, the longer ones first, as
/// scikit-learn's KFold; of the rows in order where `seed` is negative. `folds` is at most `rows`.
Folds fold_rows(int64_t folds, int64_t seed, int64_t rows);
/// The same for rows of these classes: the rows of each class, in the order of that permutation, are dealt in turn, and
/// each class begins where the one before it ended.
Folds fold_rows(int64_t folds, int64_t seed, std::span<const int64_t> classes);

}  // namespace thtrain
