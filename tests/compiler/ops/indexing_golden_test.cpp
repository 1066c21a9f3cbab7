// x[...] with ellipses, new axes, integer tensors, masks and slices, read and written, against NumPy: with lengths that
// are known, with lengths that a call decides, and with integers and slices that are computed; by reference and
// natively.
#include <gtest/gtest.h>

#include <sstream>

#include "compiler/api.h"
#include "tests/support/datasets_support.h"
#include "tests/support/golden_lines.h"
#include "tests/support/slice_text.h"

namespace thtrain {
namespace {

enum class Told { kAll, kNoLengths, kNothing };

class IndexedCase {
 public:
  IndexedCase(const GoldenLine& line, size_t number, Told told) : prefix_(str("c", number, "_")), told_(told) {
    const Tensor x = counting(parse_list(line.arguments[0]));
    const Expr part = subtensor(input(x, "x"), indices(line.arguments[1]));
    result = part;
    if (line.name == "get") return;
    const Expr y = input(counting(parse_list(line.arguments[2]), -1, -1), "y");
    result = line.name == "set" ? set_subtensor(part, y) : inc_subtensor(part, y);
  }

  std::vector<Expr> inputs;
  std::vector<Tensor> values;
  Expr result;

 private:
  Expr input(const Tensor& value, const std::string& name) {
    Type type = type_of(value);
    for (size_t i = 0; i < type.rank() && told_ != Told::kAll; ++i)
      if (!type.dims[i].is(1)) type.dims[i] = Dim::named(str(prefix_, name, ".", i));
    inputs.push_back(make_input(type, prefix_ + name));
    values.push_back(value);
    return inputs.back();
  }

  Operand number(const std::string& text) {
    const int64_t value = std::stoll(text);
    if (told_ != Told::kNothing) return value;
    return take(input(Tensor::vector({value}), str("n", inputs.size())), 0);
  }

  // "i[2,1](0,3)"
  Index tensor_of(const std::string& text) {
    const size_t open = text.find('(');
    const Tensor value = Tensor::of(parse_list("[" + text.substr(open + 1, text.size() - open - 2) + "]"),
                                    parse_list(text.substr(1, open - 1)));
    const Expr x = input(value, str("i", inputs.size()));
    return text[0] == 'm' ? neq(x, 0) : x;
  }

  std::vector<Index> indices(const std::string& text) {
    std::vector<Index> out;
    std::istringstream parts(text);
    for (std::string part; std::getline(parts, part, ';');) {
      if (part == "...") {
        out.emplace_back(ellipsis());
      } else if (part == "new") {
        out.emplace_back(new_axis());
      } else if (part[0] == 'i' || part[0] == 'm') {
        out.push_back(tensor_of(part));
      } else if (part.find(':') == std::string::npos) {
        out.emplace_back(number(part).expr());
      } else {
        out.emplace_back(slice_of(part, [&](const std::string& end) { return number(end); }));
      }
    }
    return out;
  }

  std::string prefix_;
  Told told_;
};

class IndicesOfNumPy : public ::testing::TestWithParam<Told> {};

TEST_P(IndicesOfNumPy, AreOurs) {
  const std::vector<GoldenLine> lines = golden_lines("indexing.txt");
  EXPECT_GT(lines.size(), 500u);
  std::vector<In> inputs;
  std::vector<Out> results;
  std::vector<Tensor> values;
  std::vector<const GoldenLine*> compiled;
  for (size_t i = 0; i < lines.size(); ++i) {
    const GoldenLine& line = lines[i];
    SCOPED_TRACE(line.text);
    const auto evaluated = [&](const IndexedCase& now) {
      const std::vector<In> given(now.inputs.begin(), now.inputs.end());
      return function(given, {now.result}, {}, {.mode = Mode::kReference})(now.values)[0];
    };
    if (line.is_error) {
      EXPECT_THROW(evaluated(IndexedCase(line, i, GetParam())), UserError);
      continue;
    }
    try {
      const IndexedCase now(line, i, GetParam());
      const Tensor result = evaluated(now);
      EXPECT_TRUE(same_bits(result, line.result(DType::kInt64))) << result.type_text() << " " << result.text();
      if (i % 3 != 0) continue;
      inputs.insert(inputs.end(), now.inputs.begin(), now.inputs.end());
      values.insert(values.end(), now.values.begin(), now.values.end());
      results.emplace_back(now.result);
      compiled.push_back(&line);
    } catch (const UserError& error) {
      ADD_FAILURE() << error.what();
    }
  }
  const std::vector<Tensor> native = function(inputs, results, {}, {.tune = Tune::kNever})(values);
  for (size_t i = 0; i < native.size(); ++i)
    EXPECT_TRUE(same_bits(native[i], compiled[i]->result(DType::kInt64))) << compiled[i]->text << "\n"
                                                                          << native[i].text();
}

INSTANTIATE_TEST_SUITE_P(Told, IndicesOfNumPy, ::testing::Values(Told::kAll, Told::kNoLengths, Told::kNothing),
                         [](const auto& p) {
                           return p.param == Told::kAll         ? "AllKnown"
                                  : p.param == Told::kNoLengths ? "NamedLengths"
                                                                : "NothingKnown";
                         });

}  // namespace
}  // namespace thtrain
