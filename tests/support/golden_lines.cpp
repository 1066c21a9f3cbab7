#include "tests/support/golden_lines.h"

#include <fstream>
#include <sstream>
#include <stdexcept>

namespace thtrain {

std::vector<int64_t> parse_list(const std::string& text) {
  std::vector<int64_t> out;
  std::istringstream in(text.substr(1, text.size() - 2));
  for (std::string number; std::getline(in, number, ',');) out.push_back(std::stoll(number));
  return out;
}

Tensor counting(const Shape& shape, int64_t start, int64_t step) {
  Tensor out = Tensor::empty(DType::kInt64, shape);
  for (int64_t i = 0; i < out.size(); ++i) out.data<int64_t>()[i] = start + i * step;
  return out;
}

Tensor GoldenLine::result(DType dtype) const {
  Tensor out = Tensor::zeros(dtype, shape);
  const bool are_pairs = is_complex(dtype) && static_cast<int64_t>(values.size()) == 2 * out.size();
  if (static_cast<int64_t>(values.size()) != out.size() && !are_pairs)
    throw std::runtime_error("a broken golden line: " + text);
  visit(dtype, [&](auto zero) {
    using T = decltype(zero);
    for (size_t i = 0; i < static_cast<size_t>(out.size()); ++i) {
      T& element = out.data<T>()[i];
      if constexpr (std::is_same_v<T, uint64_t>)
        element = std::stoull(values[i]);
      else if constexpr (std::is_integral_v<T>)
        element = static_cast<T>(std::stoll(values[i]));
      else if constexpr (is_complex_v<T>)
        element = are_pairs ? T(static_cast<typename T::value_type>(std::strtod(values[2 * i].c_str(), nullptr)),
                                static_cast<typename T::value_type>(std::strtod(values[2 * i + 1].c_str(), nullptr)))
                            : T(static_cast<typename T::value_type>(std::strtod(values[i].c_str(), nullptr)));
      else
        element = static_cast<T>(std::strtod(values[i].c_str(), nullptr));
    }
  });
  return out;
}

std::vector<GoldenLine> golden_lines(const std::string& file) {
  std::ifstream in(std::string(THTRAIN_SOURCE_DIR "/tests/golden/") + file);
  if (!in) throw std::runtime_error("no golden file " + file);
  std::vector<GoldenLine> out;
  for (std::string text; std::getline(in, text);) {
    if (text.empty() || text[0] == '#') continue;
    GoldenLine line{.text = text};
    std::istringstream words(text);
    words >> line.name;
    std::string word;
    while (words >> word && word != "=") line.arguments.push_back(word);
    words >> word;
    line.is_error = word == "error";
    if (!line.is_error) line.shape = parse_list(word);
    while (words >> word) line.values.push_back(word);
    out.push_back(std::move(line));
  }
  return out;
}

}  // namespace thtrain
