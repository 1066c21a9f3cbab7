// The machine of tests/golden/rbm.py.
#pragma once

#include <map>

#include "nn/layers/rbm.h"
#include "nn/model.h"
#include "tests/support/golden_lines.h"

namespace thtrain {

/// float64, and int32 for states of generators.
inline std::map<std::string, Tensor> golden_rbm() {
  std::map<std::string, Tensor> out;
  for (const GoldenLine& line : golden_lines("rbm.txt"))
    out[line.name] = line.result(line.name.ends_with("_random") ? DType::kInt32 : DType::kFloat64);
  return out;
}

/// A model of it alone, called "rbm".
inline Model golden_rbm_model(const std::map<std::string, Tensor>& golden, Rbm::Visible visible) {
  Model out({6}, DType::kFloat64, 1);
  Rbm::Options options{{.name = "rbm"}, 4, visible};
  out.add(options);
  std::map<std::string, Tensor> arrays;
  for (const char* name : {"W", "a", "b", "visible_random", "hidden_random"})
    arrays[str("rbm/", name)] = golden.at(name);
  out.load(arrays, "rbm.txt");
  return out;
}

inline const Rbm& rbm_of(const Model& model) {
  return dynamic_cast<const Rbm&>(*model.layers().back());
}

}  // namespace thtrain
