// docs/library.md finds every builder by its task. The list is made from the headers that compiler/api.h includes,
// their comments and the ops' own records.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>

#include "compiler/ops/registry.h"
#include "tests/compiler/ops/library_page/header_reader.h"

namespace thtrain {
namespace {

constexpr const char* kPage = "docs/library.md";
constexpr const char* kInternal = "for other parts of the compiler";
const std::string kBegin = "<!-- begin builders -->\n", kEnd = "<!-- end builders -->\n";

// Of these no declaration has a line: programs see them, and need not know them.
const std::set<std::string> kNotForUsers = {
    "compiler/base/mrg31k3p.h",
    "compiler/base/str.h",
    "compiler/ir/layout.h",
    "compiler/ir/node_map.h",
    "compiler/ir/op.h",
    "compiler/ir/props.h",
    "compiler/kernel/choice.h",
    "compiler/kernel/statement.h",
    "compiler/kernel/step_builder.h",
    "compiler/kernel/target.h",
    "compiler/kernel/term.h",
    "compiler/ops/candidates.h",
    "compiler/tuning/tuning_table.h",
};

// In the order of the page. A declaration in a header belongs to the heading above it.
const std::vector<std::pair<std::string, std::string>> kTasks = {
    {"inputs and constants", "What a function is given, and what it knows."},
    {"make values", "Values from lengths and numbers."},
    {"arithmetic", "Elementwise; lengths broadcast as in NumPy, and numbers take the dtype of the other operand."},
    {"exponentials and logarithms", "Elementwise."},
    {"rounding", "Elementwise."},
    {"trigonometry", "Elementwise."},
    {"special functions", "Elementwise."},
    {"compare and choose", "Elementwise; comparisons give bool."},
    {"logic and bits", "Elementwise."},
    {"dtypes and complex numbers", "Elementwise."},
    {"reduce", "Over some axes or all of them: sum(x), sum(x, 0), sum(x, {0, 2}), sum(x, -1, true)."},
    {"order", "Sorted values, positions in them, and what is counted by them. NaN is larger than any number."},
    {"index", "Parts and elements: x[0], x[{i, j}], x[Slice{.start = 1}], x[indices]."},
    {"shape", "Views: they cost nothing at run time."},
    {"lengths", "The lengths of a value, as values and for builders."},
    {"join and split", "Several values of one, one of several."},
    {"linear algebra", "Products of vectors and matrices."},
    {"factorizations", "Of a matrix or of each matrix of a batch, [..., n, n]."},
    {"equations and determinants", "For a matrix or each matrix of a batch, [..., n, n]."},
    {"eigenvalues, singular values, orthogonal factors",
     "Of a matrix or of each matrix of a batch; signs are fixed, so that equal matrices have equal vectors."},
    {"least squares, norms and functions of matrices", "For a matrix or each matrix of a batch, [..., m, n]."},
    {"transforms of Fourier", "Along one axis, several or all, as NumPy's fft module and SciPy's dct."},
    {"sparse matrices", "Bundles of dense values: the stored elements, and where they are."},
    {"images", "Of images [N, C, rows, columns]: borders, windows and sizes."},
    {"neural networks", "Softmax and losses, stable at every finite input; normalizations."},
    {"control", "Loops and branches."},
    {"random numbers", "The generator of initial values and shuffles."},
    {"print and check", "Effects: what a value does in addition to being one."},
    {"gradients", "Derivatives of expressions are expressions."},
    {"functions", "Compiling, calling and asking."},
    {"memory", "Shared variables, and the arrays that go in and out."},
    {"print graphs", "Expressions as text."},
    {"errors", "What is thrown, and what it says."},
};

std::string text_of(const std::string& path) {
  std::ifstream in(path);
  std::stringstream buffer;
  buffer << in.rdbuf();
  return buffer.str();
}

// The headers that compiler/api.h includes, and those that these include, in the order of their first inclusion.
std::vector<std::string> headers() {
  std::vector<std::string> out{"compiler/api.h"};
  const std::regex include("#include \"([^\"]+)\"");
  for (size_t next = 0; next < out.size(); ++next) {
    const std::string text = text_of(out[next]);
    for (std::sregex_iterator i(text.begin(), text.end(), include), end; i != end; ++i)
      if (std::find(out.begin(), out.end(), (*i)[1]) == out.end()) out.push_back((*i)[1]);
  }
  return out;
}

std::vector<Declared> declared() {
  std::vector<Declared> out;
  for (const std::string& header : headers()) {
    if (kNotForUsers.count(header)) continue;
    for (Declared& d : declarations_of(header, text_of(header)))
      if (d.task != kInternal) out.push_back(std::move(d));
  }
  return out;
}

// A function's own comment is the best, then that of its group, the record of the op that it builds, the remark behind
// it.
std::string line_of(const Declared& d) {
  std::string line = first_sentence(d.doc);
  const Op* op = d.owner.empty() && !d.is_type ? find_op(d.name) : nullptr;
  if (line.empty() && op) line = first_sentence(op->doc);
  if (line.empty()) line = first_sentence(d.remark);
  std::string out;
  for (char c : line) {
    if (c == '*' || c == '<') out += '\\';
    out += c;
  }
  return out;
}

// Is it an overload for lists in braces, besides one that takes them as vectors?
bool is_for_braces(const Declared& d, const std::vector<Declared>& all) {
  const std::string list = "std::initializer_list<";
  std::string signature = d.signature;
  if (!d.owner.empty() || signature.find(list) == std::string::npos) return false;
  for (size_t at = signature.find(list); at != std::string::npos; at = signature.find(list))
    signature.replace(at, list.size(), "std::vector<");
  return std::any_of(all.begin(), all.end(), [&](const Declared& other) { return other.signature == signature; });
}

// One item for neighbours with the same line, such as overloads, and for members that need none.
std::string list_of(const std::string& task, const std::vector<Declared>& all) {
  std::string out, before, owner;
  for (const Declared& d : all) {
    if (d.task != task || is_for_braces(d, all)) continue;
    const std::string line = line_of(d);
    if (!out.empty() && line == before && d.owner == owner && !d.is_type) {
      const size_t end = line.empty() ? out.size() - 1 : out.rfind("`: ") + 1;
      out.insert(end, ", `" + d.signature + "`");
      continue;
    }
    out += (d.owner.empty() ? "- `" : "  - `") + d.signature + "`" + (line.empty() ? "" : ": " + line) + "\n";
    before = d.is_type ? "-" : line, owner = d.owner;
  }
  return out;
}

std::string builders_text() {
  const std::vector<Declared> all = declared();
  std::string out;
  for (const auto& [task, intro] : kTasks) {
    const std::string list = list_of(task, all);
    if (list.empty()) continue;
    std::string title = task;
    title[0] = static_cast<char>(std::toupper(title[0]));
    out += "\n### " + title + "\n\n" + intro + "\n\n" + list;
  }
  return out + "\n";
}

TEST(LibraryPage, ListsEveryBuilder) {
  std::string page = text_of(kPage);
  const size_t begin = page.find(kBegin), end = page.find(kEnd);
  ASSERT_TRUE(begin != std::string::npos && end != std::string::npos);
  const size_t from = begin + kBegin.size();
  const std::string wanted = builders_text();
  if (std::getenv("THTRAIN_UPDATE_GOLDEN"))
    std::ofstream(kPage) << page.replace(from, end - from, wanted);
  else
    EXPECT_EQ(page.substr(from, end - from), wanted) << "THTRAIN_UPDATE_GOLDEN=1 writes it anew";
}

TEST(LibraryPage, EveryBuilderHasATaskAndALine) {
  std::set<std::string> tasks;
  for (const auto& [task, intro] : kTasks) tasks.insert(task);
  const std::vector<Declared> all = declared();
  EXPECT_GT(all.size(), 200u);
  for (const Declared& d : all) {
    if (d.owner.empty()) {
      EXPECT_TRUE(tasks.count(d.task)) << d.header << ": " << d.signature << " is under the heading '" << d.task
                                       << "': it needs one of the tasks above, or '" << kInternal << "'";
      EXPECT_FALSE(line_of(d).empty()) << d.header << ": " << d.signature << " has no comment";
    }
    EXPECT_NE(d.name, "") << d.header << ": " << d.signature;
  }
}

TEST(LibraryPage, TheHeadersThatAreNotForUsersAreIncluded) {
  const std::vector<std::string> all = headers();
  for (const std::string& header : kNotForUsers)
    EXPECT_TRUE(std::find(all.begin(), all.end(), header) != all.end()) << header;
}

TEST(LibraryPage, HasABuilderForEveryElementwiseOp) {
  std::set<std::string> names;
  for (const Declared& d : declared()) names.insert(d.name);
  for (const Op* op : all_ops()) {
    if (!op->scalar) continue;
    const std::string name = op->name == "switch" ? "switch_" : op->name;
    EXPECT_TRUE(names.count(name)) << op->name;
  }
}

// docs/coming_from.md: in the column "here" every word in code letters, but for one or two letters, is declared.
TEST(ComingFrom, NamesWhatIsThere) {
  std::string declarations;
  for (const Declared& d : declared()) declarations += d.signature + " " + d.name + "\n";
  std::set<std::string> there;
  const std::regex word("[A-Za-z_][A-Za-z_0-9]{2,}"), span("`([^`]*)`"), text("\"[^\"]*\""), op("operator[^ (]+");
  for (std::sregex_iterator i(declarations.begin(), declarations.end(), word), end; i != end; ++i)
    there.insert(i->str());
  for (std::sregex_iterator i(declarations.begin(), declarations.end(), op), end; i != end; ++i) there.insert(i->str());
  const std::string page = text_of("docs/coming_from.md");
  std::istringstream lines(page);
  size_t rows = 0, names = 0;
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("| ") || line.starts_with("| NumPy") || line.starts_with("| ---")) continue;
    ++rows;
    const std::string plain = std::regex_replace(line, std::regex("\\\\\\|"), "\1");  // "\|" is no border of a cell
    std::vector<std::string> cells;
    std::istringstream parts(plain);
    for (std::string cell; std::getline(parts, cell, '|');) cells.push_back(cell);
    ASSERT_EQ(cells.size(), 5u) << line;
    for (std::sregex_iterator i(cells[3].begin(), cells[3].end(), span), end; i != end; ++i) {
      std::string code = std::regex_replace((*i)[1].str(), text, "");
      std::replace(code.begin(), code.end(), '\1', '|');
      if (code.starts_with("operator")) {
        ++names;
        EXPECT_TRUE(there.contains(code)) << code << " in: " << line;
        continue;
      }
      for (std::sregex_iterator w(code.begin(), code.end(), word); w != end; ++w, ++names)
        EXPECT_TRUE(there.contains(w->str())) << w->str() << " in: " << line;
    }
  }
  EXPECT_GT(rows, 90u);
  EXPECT_LE(rows, 200u);
  EXPECT_GT(names, 200u);
}

TEST(LibraryPage, ReadsHeaders) {
  const std::vector<Declared> all = declarations_of("a.h",
                                                    "#pragma once\n"
                                                    "namespace thtrain {\n"
                                                    "// ---- reduce --------\n"
                                                    "\n"
                                                    "/// The sum. And more.\n"
                                                    "Expr sum(const Operand& x, const Axes& axes = {},\n"
                                                    "         std::source_location where = "
                                                    "std::source_location::current());\n"
                                                    "inline Expr operator+(const Operand& a, const Operand& b) {\n"
                                                    "  return add(a, b);\n"
                                                    "}\n"
                                                    "\n"
                                                    "// ---- memory --------\n"
                                                    "\n"
                                                    "/// A handle.\n"
                                                    "class Shared {\n"
                                                    " public:\n"
                                                    "  template <class T>\n"
                                                    "  requires std::is_arithmetic_v<T>\n"
                                                    "  explicit Shared(T value) : Shared(Tensor(value)) {}\n"
                                                    "  bool is_set() const { return set_; }  // is it?\n"
                                                    "\n"
                                                    " private:\n"
                                                    "  bool set_;\n"
                                                    "};\n"
                                                    "}\n");
  std::string text;
  for (const Declared& d : all)
    text += d.task + " | " + d.owner + " | " + d.name + " | " + d.signature + " | " + first_sentence(d.doc) + " | " +
            d.remark + "\n";
  EXPECT_EQ(text,
            "reduce |  | sum | Expr sum(Operand x, Axes axes = {}) | The sum. | \n"
            "reduce |  | operator+ | Expr operator+(Operand a, Operand b) | The sum. | \n"
            "memory |  | Shared | class Shared | A handle. | \n"
            "memory | Shared | Shared | Shared(T value) |  | \n"
            "memory | Shared | is_set | bool is_set() const |  | is it?\n");
}

}  // namespace
}  // namespace thtrain
