#include "config/near_value.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

#include "compiler/base/nearest_name.h"

namespace thtrain {

namespace {

// Words of other programs, without underscores, and the names that may be meant: the first that is a candidate is. They
// are suggested, never accepted.
using OtherName = std::pair<std::string_view, std::string_view>;
constexpr std::array kOtherNames = std::to_array<OtherName>({
    {"linear", "dense"},
    {"fc", "dense"},
    {"fullyconnected", "dense"},
    {"affine", "dense"},
    {"innerproduct", "dense"},
    {"relu", "activation"},
    {"tanh", "activation"},
    {"sigmoid", "activation"},
    {"deconv", "conv_transposed"},
    {"convtranspose", "conv_transposed"},
    {"lrn", "local_response_norm"},
    {"bn", "batch_norm"},
    {"identity", "linear"},
    {"none", "linear"},
    {"logistic", "sigmoid"},
    {"silu", "swish"},
    {"momentum", "sgd"},
    {"nesterov", "sgd"},
    {"cg", "conjugate_gradient"},
    {"nll", "negative_log_likelihood"},
    {"crossentropy", "negative_log_likelihood"},
    {"categoricalcrossentropy", "negative_log_likelihood"},
    {"sparsecategoricalcrossentropy", "negative_log_likelihood"},
    {"softmaxcrossentropy", "negative_log_likelihood"},
    {"logloss", "negative_log_likelihood"},
    {"bce", "binary_crossentropy"},
    {"mse", "mean_squared_error"},
    {"mse", "squared_error"},
    {"mseloss", "squared_error"},
    {"l2", "squared_error"},
    {"mae", "mean_absolute_error"},
    {"mae", "absolute_error"},
    {"l1", "absolute_error"},
    {"smoothl1", "huber"},
    {"acc", "accuracy"},
    {"auroc", "auc"},
    {"mcc", "matthews_correlation"},
    {"top5", "top_k_error"},
    {"cd", "contrastive_divergence"},
});

std::string letters(std::string_view name) {
  std::string out;
  for (char c : name)
    if (c != '_' && c != '-' && c != ' ') out += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

std::vector<std::string> sorted_words(std::string_view name) {
  std::vector<std::string> out(1);
  for (char c : name) {
    if (c == '_' || c == '-' || c == ' ')
      out.emplace_back();
    else
      out.back() += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  std::sort(out.begin(), out.end());
  return out;
}

}  // namespace

std::string near_value(std::string_view name, const std::vector<std::string>& candidates) {
  constexpr size_t kFewest = 3;  // letters of a part that says what is meant
  const std::string wanted = letters(name);
  auto first = [&](auto fits) -> std::string {
    auto found = std::find_if(candidates.begin(), candidates.end(), fits);
    return found == candidates.end() ? "" : *found;
  };
  std::string out = first([&](const std::string& candidate) { return letters(candidate) == wanted; });
  for (const auto& [other, ours] : kOtherNames)
    if (out.empty() && other == wanted)
      out = first([&, meant = ours](const std::string& candidate) { return candidate == meant; });
  if (out.empty()) out = nearest_name(name, candidates);
  if (out.empty())
    out = first([&, words = sorted_words(name)](const std::string& candidate) {
      return words.size() > 1 && sorted_words(candidate) == words;
    });
  if (!out.empty()) return out;
  size_t longest = 0;
  for (const std::string& candidate : candidates) {
    const std::string have = letters(candidate);
    if (have.size() < kFewest || have.size() <= longest) continue;
    const bool is_within = have.size() > kFewest && wanted.find(have) != std::string::npos;
    if (is_within || wanted.starts_with(have) || wanted.ends_with(have)) out = candidate, longest = have.size();
  }
  if (out.empty() && wanted.size() >= kFewest)
    out = first([&](const std::string& candidate) { return letters(candidate).starts_with(wanted); });
  return out;
}

}  // namespace thtrain
