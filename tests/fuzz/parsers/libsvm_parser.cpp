// LIBSVM's files, with every kind of label, in memory and where they stay in their file.
#include "datasets/sources/libsvm.h"

#include "compiler/base/error.h"
#include "datasets/sparse_rows.h"
#include "tests/fuzz/parsers/parser.h"
#include "tests/fuzz/parsers/scratch_file.h"

namespace thtrain::fuzz {
namespace {

// Every row, as whoever trains on it asks for it.
void read_rows(const LibsvmTable& table) {
  std::vector<double> row(static_cast<size_t>(table.x.dim(1) <= 100 ? table.x.dim(1) : 0));
  for (int64_t i = 0; i < table.x.dim(0); ++i) {
    if (const SparseRows* sparse = table.source->sparse()) {
      SparseNumbers numbers;
      sparse->append(i, numbers);
      for (int32_t column : numbers.columns)
        require(column >= 0 && column < table.x.dim(1), "a column outside of the examples");
    } else if (!row.empty()) {
      table.source->read(i, 1, reinterpret_cast<std::byte*>(row.data()));
    }
  }
}

bool parse(std::string_view bytes) {
  const std::string& path = scratch_file().holding(bytes);
  bool accepted = false;
  for (const LibsvmOptions& options :
       {LibsvmOptions{.features = 100}, LibsvmOptions{.targets = Targets::kValues, .features = 100, .memory_limit = 1},
        LibsvmOptions{.targets = Targets::kLabels, .features = 100, .labels = 10}, LibsvmOptions{.sparse = true},
        LibsvmOptions{.memory_limit = 1, .sparse = true}}) {
    try {
      const LibsvmTable table = read_libsvm(path, options);
      require(table.x.dim(0) == table.y.dim(0), "examples and labels differ in number");
      if (table.source) read_rows(table);
      accepted = true;
    } catch (const UserError&) {
    }
  }
  return accepted;
}

std::vector<std::string> seeds() {
  return {"2 1:0.5 3:-1e2  # a comment\r\n\r\n# nothing\r\n0\r\n1\t2:7 \r\n", "-1 1:1\n+1 1:2 100:3\n",
          "0,2 1:1\n1:2\n1 2:3\n"};
}

}  // namespace

const Parser kLibsvm = {"libsvm", parse, seeds};

}  // namespace thtrain::fuzz
