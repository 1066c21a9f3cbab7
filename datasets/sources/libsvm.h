// LIBSVM's text files of sparse examples: a line "label index:value index:value ..." for each.
//
// C.-C. Chang, C.-J. Lin, "LIBSVM: a library for support vector machines", ACM TIST 2(3), 2011, and its README. Indices
// begin at 1 and rise along the line; numbers that are not named are 0; what follows "#" is skipped, and so are empty
// lines.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "datasets/data_config.h"

namespace thtrain {

struct LibsvmTable {
  Tensor x;  // float64 [n, features]; lengths only where it stayed in the file
  /// float64 [n]: the labels as numbers, of which -1 is 0 where all are -1 and 1 and the targets are classes; uint8 [n,
  /// labels] for kLabels, where a line begins with the numbers (from 0) of its labels, "0,3", or with none.
  Tensor y;
  /// Of x that stayed in the file, and of sparse x.
  std::shared_ptr<const RowSource> source = {};
  uint64_t held = 0;  // bytes of sparse x in memory; 0: it stayed in the file
};

struct LibsvmOptions {
  Targets targets = Targets::kClasses;
  int64_t features = 0;       // 0: the largest index
  int64_t labels = 0;         // of kLabels; 0: 1 + the largest number
  uint64_t memory_limit = 0;  // bytes that x may fill; more stays in the file. 0: any
  bool sparse = false;        // keep the numbers that are named only (datasets/sparse_rows.h)
};

/// UserError, each with its line: a label or a value that is no finite number, a part that is no "index:value", an
/// index below 1, above `features` or 2147483647, or not above the one before it, a label above `labels`; also: no
/// lines, no text, examples of which one, unless they are sparse, fills more than an eighth of the memory.
LibsvmTable read_libsvm(const std::string& path, const LibsvmOptions& options = {});

struct LibsvmConfig : SetFiles {
  static constexpr std::string_view kName = "libsvm";
  int64_t features = 0;
  bool sparse = false;
  void fill(DatasetOptions& out) const override;
  std::optional<Split> read_examples(const std::string& path, const KnownData& known) const override;
  static void describe(Fields<LibsvmConfig>& f);
};

}  // namespace thtrain
