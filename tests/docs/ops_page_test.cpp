// docs/ops.md is what the program says of its ops; the examples that are calls are computed.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>

#include "compiler/api.h"
#include "compiler/ops/evaluate.h"
#include "compiler/ops/op_text.h"
#include "compiler/ops/registry.h"

namespace thtrain::ops_page_test {
namespace {

constexpr const char* kPage = "docs/ops.md";
const std::string kBegin = "<!-- begin ops -->\n", kEnd = "<!-- end ops -->\n";

struct Family {
  const char *folder, *title, *about;
};
constexpr Family kFamilies[] = {
    {"leaf", "Leaves", "What an expression begins with."},
    {"shape", "Shape", "The same numbers under other axes and lengths. Most are views: nothing is copied."},
    {"elemwise", "Elementwise",
     "One result for each element. Operands are broadcast as in NumPy, but only along an axis whose length is known to "
     "be 1."},
    {"index", "Indexing", "Parts of values. Checked where the data names the positions."},
    {"reduce", "Reductions", "Many numbers become one, along some axes or all; and running results along an axis."},
    {"order", "Order",
     "Rows in ascending order, and positions in what is sorted. topk() and argtopk() are a part of these; unique() "
     "finds "
     "where a sorted row changes (`nonzero`), bincount() and histogram() count by `scatter`."},
    {"linalg", "Matrices", "What most of the time goes to in dense layers."},
    {"factor", "Factorizations",
     "What linear equations, inverses and determinants are made of. Matrices of known lengths up to 8 have kernels, in "
     "which each lane of a vector has a matrix of the batch; others are LAPACK's."},
    {"fft", "Transforms of Fourier",
     "By radices of small primes on vectors of rows or columns; a length with a prime above 61 by Bluestein's "
     "convolution. dct() and idct() are made of these."},
    {"sparse", "Sparse matrices",
     "On the parts of a matrix in compressed rows; one in compressed columns has the parts of its transpose. "
     "Conversions, "
     "sums, scaling and sparse products are made of these, `gather`, `scatter` and `sort`."},
    {"conv", "Convolutions",
     "Filters that slide over images. conv_transposed() is `conv_input_gradient`, causal_conv1d() a `conv` with zeros "
     "before the sequence alone, separable_conv2d() and separable_conv3d() are two, of each channel and of single "
     "positions."},
    {"image", "Images",
     "Borders, parts and other sizes. bilinear_upsampling() by a fraction is two `take` with weights for rows, and two "
     "for columns."},
    {"nnet", "Networks", "What is better computed as a whole."},
    {"pool", "Pooling", "The largest or the sum of each window of an image."},
    {"random", "Random numbers", "Each takes the state of a generator, and gives the next state and the numbers."},
    {"effect", "Effects", "What a program does in addition to computing."},
    {"control", "Control", "Loops, branches, and what changes derivatives on their way."},
};

// What Markdown would take for its own.
std::string escaped(const std::string& text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '*' || text[i] == '<' || text.compare(i, 2, "](") == 0) out += '\\';
    out += text[i];
  }
  return out;
}

std::string ops_text() {
  std::string out;
  for (const Family& family : kFamilies) {
    out += str("\n## ", family.title, "\n\n", family.about, "\n");
    for (const Op* op : all_ops()) {
      if (family_of(*op) != family.folder) continue;
      out += str("\n### `", op->name, "`\n");
      for (const OpStatement& s : statements_of(*op, kernel::emulated_cuda_target())) {
        const bool is_call = s.label == "Example" && s.text.starts_with(op->name + "(");
        out += s.label.empty() ? escaped(s.text) + "\n"
                               : str("- ", s.label, ": ", is_call ? str("`", s.text, "`") : escaped(s.text), "\n");
      }
    }
  }
  return out + "\n";
}

TEST(OpsPage, IsWhatTheProgramSays) {
  std::ifstream in(kPage);
  std::stringstream buffer;
  buffer << in.rdbuf();
  std::string page = buffer.str();
  const size_t begin = page.find(kBegin), end = page.find(kEnd);
  ASSERT_TRUE(begin != std::string::npos && end != std::string::npos);
  const size_t from = begin + kBegin.size();
  const std::string wanted = ops_text();
  if (std::getenv("THTRAIN_UPDATE_GOLDEN"))
    std::ofstream(kPage) << page.replace(from, end - from, wanted);
  else
    EXPECT_EQ(page.substr(from, end - from), wanted) << "THTRAIN_UPDATE_GOLDEN=1 writes it anew";
}

TEST(OpsPage, HasEveryFamily) {
  std::set<std::string_view> there, wanted;
  for (const Family& family : kFamilies) there.insert(family.folder);
  for (const Op* op : all_ops()) wanted.insert(family_of(*op));
  EXPECT_EQ(there, wanted);
}

// "[1, -2]" or "3", "nan" and "inf" among them.
Tensor tensor_of(const std::string& text) {
  std::vector<double> numbers;
  std::string plain = text;
  for (char& c : plain)
    if (c == '[' || c == ']' || c == ',') c = ' ';
  std::istringstream words(plain);
  for (std::string word; words >> word;) numbers.push_back(std::stod(word));
  if (text.front() != '[') return Tensor(numbers.at(0));
  return Tensor::of(numbers, {static_cast<int64_t>(numbers.size())});
}

TEST(OpsPage, ItsExamplesAreRight) {
  const std::regex form("([a-z0-9_]+)\\((.*)\\) = (.*)"), argument("\\[[^\\]]*\\]|[-0-9.a-z]+");
  int checked = 0;
  for (const Op* op : all_ops()) {
    std::string example;
    for (const OpStatement& s : statements_of_doc(op->doc))
      if (s.label == "Example") example = s.text;
    std::smatch m;
    if (!std::regex_match(example, m, form)) continue;
    ++checked;
    SCOPED_TRACE(example);
    EXPECT_EQ(m[1], op->name);
    const std::string list = m[2];
    std::vector<Expr> inputs;
    int64_t length = 1;
    for (std::sregex_iterator i(list.begin(), list.end(), argument), end; i != end; ++i) {
      inputs.push_back(make_constant(tensor_of(i->str())));
      length = std::max(length, inputs.back().type().rank() == 0 ? 1 : inputs.back().dims()[0].value());
    }
    for (Expr& input : inputs)
      if (input.type().rank() == 0) input = broadcast_to(input, {length});
    if (op->name == "switch") inputs[0] = cast(inputs[0], DType::kBool);
    const std::vector<Expr> wanted = {apply(*op, inputs)};
    const Tensor got = evaluate(wanted, {})[0], shown = tensor_of(m[3]);
    ASSERT_EQ(got.size(), shown.size());
    for (int64_t i = 0; i < got.size(); ++i)
      EXPECT_NEAR(got.as_double(i), shown.as_double(i), 1e-5 * std::max(1.0, std::fabs(shown.as_double(i))));
  }
  EXPECT_GE(checked, 50);
}

}  // namespace
}  // namespace thtrain::ops_page_test
