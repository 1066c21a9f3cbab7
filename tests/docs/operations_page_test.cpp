// docs/operations.md has every operation of the compiler, and its examples in code letters are right.
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <map>
#include <regex>
#include <sstream>

#include "compiler/api.h"
#include "compiler/ops/evaluate.h"
#include "compiler/ops/registry.h"

namespace thtrain {
namespace {

constexpr const char* kPage = "docs/operations.md";

struct Row {
  std::string computes, example, gradient;
};

// By the name of the operation, of the rows of the tables.
std::map<std::string, Row> rows() {
  std::map<std::string, Row> out;
  std::ifstream page(kPage);
  const std::regex form("\\| `([a-z0-9_]+)` \\| (.*) \\| (.*) \\| (.*) \\|");
  for (std::string line; std::getline(page, line);)
    if (std::smatch m; std::regex_match(line, m, form)) {
      EXPECT_TRUE(out.emplace(m[1], Row{m[2], m[3], m[4]}).second) << m[1] << " is listed twice";
    }
  return out;
}

TEST(OperationsPage, HasEveryOperationAndNoOther) {
  const std::map<std::string, Row> page = rows();
  for (const Op* op : all_ops()) {
    auto at = page.find(op->name);
    if (at == page.end()) {
      ADD_FAILURE() << kPage << " lacks " << op->name;
      continue;
    }
    EXPECT_FALSE(at->second.computes.empty()) << op->name;
    EXPECT_FALSE(at->second.gradient.empty()) << op->name;
  }
  for (const auto& [name, row] : page) EXPECT_NE(find_op(name), nullptr) << name << " is no operation";
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

TEST(OperationsPage, ItsExamplesAreRight) {
  const std::regex form("`([a-z0-9_]+)\\((.*)\\) = (.*)`"), argument("\\[[^\\]]*\\]|[-0-9.a-z]+");
  int checked = 0;
  for (const auto& [name, row] : rows()) {
    std::smatch m;
    if (!std::regex_match(row.example, m, form)) continue;
    ++checked;
    SCOPED_TRACE(row.example);
    EXPECT_EQ(m[1], name);
    const std::string list = m[2];
    std::vector<Expr> inputs;
    int64_t length = 1;
    for (std::sregex_iterator i(list.begin(), list.end(), argument), end; i != end; ++i) {
      inputs.push_back(make_constant(tensor_of(i->str())));
      length = std::max(length, inputs.back().type().rank() == 0 ? 1 : inputs.back().dims()[0].value());
    }
    for (Expr& input : inputs)
      if (input.type().rank() == 0) input = broadcast_to(input, {length});
    if (name == "switch") inputs[0] = cast(inputs[0], DType::kBool);
    const std::vector<Expr> wanted = {apply(*find_op(name), inputs)};
    const Tensor got = evaluate(wanted, {})[0], shown = tensor_of(m[3]);
    ASSERT_EQ(got.size(), shown.size());
    for (int64_t i = 0; i < got.size(); ++i)
      EXPECT_NEAR(got.as_double(i), shown.as_double(i), 1e-5 * std::max(1.0, std::fabs(shown.as_double(i))));
  }
  EXPECT_GE(checked, 50);
}

}  // namespace
}  // namespace thtrain
