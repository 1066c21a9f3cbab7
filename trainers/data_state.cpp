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
  return out;
}

static std::vector<double> numbers_of(const Tensor& array) {
  std::vector<double> out;
  for (int64_t i = 0; i < array.size(); ++i) out.push_back(array.as_double(i));
  return out;
}

static Standard take(std::map<std::string, Tensor>& arrays, const std::string& mean, const std::string& scale,
                     const std::string& source) {
  auto first = arrays.find(mean), second = arrays.find(scale);
  if (first == arrays.end() && second == arrays.end()) return {};
  if (first == arrays.end() || second == arrays.end())
    throw UserError(Message{.what = str(source, ": there is no ", first == arrays.end() ? mean : scale),
                            .expected = str(mean, " and ", scale, ", which standardize the data")});
  const Tensor means = first->second, scales = second->second;
  if (means.rank() != 1 || scales.shape() != means.shape() || !is_float(means.dtype()) || !is_float(scales.dtype()))
    throw UserError(Message{.what = str(source, ": ", mean, " and ", scale, " do not standardize data"),
                            .expected = "two vectors of one length",
                            .got = str(means.type_text(), " and ", scales.type_text())});
  Standard out{numbers_of(means), numbers_of(scales)};
  for (size_t i = 0; i < out.mean.size(); ++i)
    if (!std::isfinite(out.mean[i]) || !std::isfinite(out.scale[i]) || !(out.scale[i] > 0))
      throw UserError(Message{.what = str(source, ": ", mean, " and ", scale, " do not standardize data"),
                              .expected = "finite numbers, and deviations above 0",
                              .got = str(out.mean[i], " and ", out.scale[i], " at [", i, ']')});
  arrays.erase(mean);
  arrays.erase(scale);
  return out;
}

std::shared_ptr<const Standardization> take_standardization(std::map<std::string, Tensor>& arrays,
                                                            const std::string& source) {
  Standardization out{take(arrays, "data/mean", "data/scale", source),
                      take(arrays, "data/target_mean", "data/target_scale", source)};
  if (out.inputs.empty() && out.targets.empty()) return nullptr;
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
  check(standardization.inputs, split.step_shape(), "data/mean", "example");
  if (split.targets() == Targets::kValues)
    check(standardization.targets, split.step_target_shape(), "data/target_mean", "target");
}

}  // namespace thtrain
