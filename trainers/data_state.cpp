#include "trainers/data_state.h"

#include <cmath>

namespace thtrain {

NamedArrays arrays_of(const std::shared_ptr<const Standardization>& standardization, DType floatx) {
  NamedArrays out;
  auto add = [&](const char* name, const std::vector<double>& values) {
    if (!values.empty()) out.emplace_back(name, Tensor::of(values, {static_cast<int64_t>(values.size())}).cast(floatx));
  };
  if (!standardization) return out;
  add("data/mean", standardization->inputs.mean);
  add("data/scale", standardization->inputs.scale);
  add("data/target_mean", standardization->targets.mean);
  add("data/target_scale", standardization->targets.scale);
  const Imputation& imputation = standardization->imputation;
  std::vector<double> indicator(imputation.fill.size());
  for (int64_t column : imputation.indicated) indicator[static_cast<size_t>(column)] = 1;
  add("data/fill", imputation.fill);
  add("data/indicator", indicator);
  return out;
}

static std::vector<double> numbers_of(const Tensor& array) {
  std::vector<double> out;
  for (int64_t i = 0; i < array.size(); ++i) out.push_back(array.as_double(i));
  return out;
}

// The names of two vectors that go together, and what they do to data.
struct Pair {
  std::string first, second, does;
};
using Vectors = std::pair<std::vector<double>, std::vector<double>>;

// Both, taken out of `arrays`; empty where neither is there.
static Vectors take(std::map<std::string, Tensor>& arrays, const Pair& pair, const std::string& source) {
  auto first = arrays.find(pair.first), second = arrays.find(pair.second);
  if (first == arrays.end() && second == arrays.end()) return {};
  const std::string both = str(pair.first, " and ", pair.second);
  if (first == arrays.end() || second == arrays.end())
    throw UserError(Message{.what = str(source, ": there is no ", first == arrays.end() ? pair.first : pair.second),
                            .expected = str(both, ", which ", pair.does, " the data")});
  const Tensor a = first->second, b = second->second;
  if (a.rank() != 1 || b.shape() != a.shape() || !is_float(a.dtype()) || !is_float(b.dtype()))
    throw UserError(Message{.what = str(source, ": ", both, " do not ", pair.does, " data"),
                            .expected = "two vectors of one length",
                            .got = str(a.type_text(), " and ", b.type_text())});
  arrays.erase(first);
  arrays.erase(second);
  return {numbers_of(a), numbers_of(b)};
}

static UserError bad_numbers(const Pair& pair, const Vectors& numbers, size_t i, const char* expected,
                             const std::string& source) {
  return UserError(Message{.what = str(source, ": ", pair.first, " and ", pair.second, " do not ", pair.does, " data"),
                           .expected = expected,
                           .got = str(numbers.first[i], " and ", numbers.second[i], " at [", i, ']')});
}

static Standard take_standard(std::map<std::string, Tensor>& arrays, const std::string& mean, const std::string& scale,
                              const std::string& source) {
  const Pair pair{mean, scale, "standardize"};
  Vectors found = take(arrays, pair, source);
  for (size_t i = 0; i < found.first.size(); ++i)
    if (!std::isfinite(found.first[i]) || !std::isfinite(found.second[i]) || !(found.second[i] > 0))
      throw bad_numbers(pair, found, i, "finite numbers, and deviations above 0", source);
  return {std::move(found.first), std::move(found.second)};
}

static Imputation take_imputation(std::map<std::string, Tensor>& arrays, const std::string& source) {
  const Pair pair{"data/fill", "data/indicator", "fill"};
  Vectors found = take(arrays, pair, source);
  Imputation out;
  for (size_t i = 0; i < found.first.size(); ++i) {
    if (!std::isfinite(found.first[i]) || (found.second[i] != 0 && found.second[i] != 1))
      throw bad_numbers(pair, found, i, "finite numbers, and indicators that are 0 or 1", source);
    if (found.second[i] == 1) out.indicated.push_back(static_cast<int64_t>(i));
  }
  out.fill = std::move(found.first);
  return out;
}

std::shared_ptr<const Standardization> take_standardization(std::map<std::string, Tensor>& arrays,
                                                            const std::string& source) {
  Standardization out{take_standard(arrays, "data/mean", "data/scale", source),
                      take_standard(arrays, "data/target_mean", "data/target_scale", source),
                      take_imputation(arrays, source)};
  if (out.inputs.empty() && out.targets.empty() && out.imputation.empty()) return nullptr;
  return std::make_shared<const Standardization>(std::move(out));
}

void check_standardization(const Standardization& standardization, const Split& split, const std::string& source) {
  auto check = [&](const Standard& standard, const Shape& shape, const char* name, const char* what) {
    auto count = static_cast<int64_t>(standard.mean.size());
    if (count <= 1 || count == element_count(shape)) return;
    throw UserError(Message{.what = str(source, ": the data was standardized in another size"),
                            .expected = str(count, " numbers for each ", what, ", as ", name, " has"),
                            .got = str(shape_text(shape), " in ", split.x_array().origin)});
  };
  const Imputation& kept = standardization.imputation;
  const Imputation own = split.standardization() ? split.standardization()->imputation : Imputation();
  Shape inputs = split.step_shape();
  if (!inputs.empty()) inputs.back() -= own.indicators();
  if (kept.empty() && !own.empty())
    throw UserError(Message{.what = str(source, ": the model was trained without data.impute"),
                            .expected = "data.impute = \"none\"",
                            .got = str("missing values to fill in ", split.x_array().origin)});
  if (!kept.empty() && inputs != Shape{static_cast<int64_t>(kept.fill.size())})
    throw UserError(Message{.what = str(source, ": missing values were filled in examples of another size"),
                            .expected = str(kept.fill.size(), " numbers for each example, as data/fill has"),
                            .got = str(shape_text(inputs), " in ", split.x_array().origin)});
  if (!inputs.empty()) inputs.back() += kept.indicators();
  check(standardization.inputs, inputs, "data/mean", "example");
  if (split.targets() == Targets::kValues)
    check(standardization.targets, split.step_target_shape(), "data/target_mean", "target");
}

}  // namespace thtrain
