// CSV files, with every way to find the header and the labels.
#include "datasets/csv.h"

#include <string>

#include "compiler/base/error.h"
#include "tests/fuzz/parsers/parser.h"
#include "tests/fuzz/parsers/scratch_file.h"

namespace thtrain::fuzz {
namespace {

bool parse(std::string_view bytes) {
  const std::string& path = scratch_file().holding(bytes);
  using Delimiter = CsvOptions::Delimiter;
  bool accepted = false;
  for (const CsvOptions& options :
       {CsvOptions{}, CsvOptions{.header = true, .label = "first", .classes = {"a", "b"}},
        CsvOptions{.header = false, .has_label = false, .memory_limit = 1000},
        CsvOptions{.delimiter = Delimiter::kSpace, .skip_label = true},
        CsvOptions{.delimiter = Delimiter::kSemicolon, .label = "y"},
        CsvOptions{.decimal = ',', .takes_text = true, .keep_missing = true},
        CsvOptions{.takes_text = true, .keep_missing = true, .memory_limit = 1, .may_stay = true}}) {
    try {
      CsvTable table = read_csv(path, options);
      require(table.x.rank() == 2 && static_cast<size_t>(table.x.shape()[1]) == table.columns.size(),
              "names and columns differ in number");
      if (table.source) {  // rows that stay are those that were read
        std::vector<double> row(table.columns.size());
        for (int64_t i = 0; i < table.x.dim(0); ++i) table.source->read(i, 1, reinterpret_cast<std::byte*>(row.data()));
      }
      accepted = true;
    } catch (const UserError&) {
    }
  }
  return accepted;
}

std::vector<std::string> seeds() {
  return {
      "x,y\n1,2\n3.5e1,-4\n",
      "\xef\xbb\xbf\"a\",\"b \"\"c\"\"\", y\r\n1, 2 ,setosa\r\n\r\n3,4,\"vir,ginica\"\r\n",
      "1,2,3\n4,5,6",
      "0.1,a\n+.5,b\n-1E-300,a\n",
      "x;y\n1;2\n3;4\n",
      "1\t2\n3\t4\n",
      "1  2 3\n 4 5  6\n",
      "a,b,l\n\"x\ny\",1,0\n\"z\"\"\",,1\n",
      "a;b;l\n1,5;red;0\n?;blue;1\n",
  };
}

}  // namespace

const Parser kCsv = {"csv", parse, seeds};

}  // namespace thtrain::fuzz
