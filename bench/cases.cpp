// Reads the texts of cases.
#include <algorithm>
#include <charconv>
#include <map>
#include <string_view>

#include "bench/workloads.h"
#include "compiler/base/error.h"

namespace thtrain {

namespace {

[[noreturn]] void refuse(const std::string& text, const std::string& expected) {
  throw UserError(Message{.what = "bench: no such case", .expected = expected, .got = text});
}

// "784-500-10" -> 784, 500, 10; empty where one is no positive number.
std::vector<int64_t> numbers(std::string_view text, char separator) {
  std::vector<int64_t> out;
  for (size_t begin = 0; begin <= text.size();) {
    size_t end = std::min(text.find(separator, begin), text.size());
    int64_t value = 0;
    auto [stop, error] = std::from_chars(text.data() + begin, text.data() + end, value);
    if (error != std::errc() || stop != text.data() + end || value < 1) return {};
    out.push_back(value);
    begin = end + 1;
  }
  return out;
}

std::pair<std::string, std::string> halves(const std::string& text) {
  size_t slash = text.find('/');
  return slash == std::string::npos ? std::pair(text, std::string())
                                    : std::pair(text.substr(0, slash), text.substr(slash + 1));
}

}  // namespace

NetCase net_case(const std::string& text) {
  auto [layers, batch] = halves(text);
  std::vector<int64_t> sizes = numbers(layers, '-'), batches = numbers(batch, ' ');
  if (sizes.size() < 2 || batches.size() != 1 || batches[0] > 6000)
    refuse(text, "layers and a batch of at most 6000, such as 784-500-10/60");
  return {std::move(sizes), batches[0]};
}

double flops_per_example(const NetCase& net) {
  double out = 0;
  for (size_t i = 0; i + 1 < net.sizes.size(); ++i)
    out += (i == 0 ? 4.0 : 6.0) * static_cast<double>(net.sizes[i] * net.sizes[i + 1]);
  return out;
}

const std::vector<std::string>& elementwise_formulae() {
  static const std::vector<std::string> names = {"a+1", "2a+3b", "poly2", "2a+b^10", "sigm_tanh"};
  return names;
}

ElementwiseCase elementwise_case(const std::string& text) {
  auto [formula, size] = halves(text);
  const auto& known = elementwise_formulae();
  std::vector<int64_t> sizes = numbers(size, ' ');
  if (std::find(known.begin(), known.end(), formula) == known.end() || sizes.size() != 1)
    refuse(text, str("one of ", join(known, ", "), " and a number of elements, such as poly2/100000"));
  return {formula, sizes[0]};
}

GemmCase gemm_case(const std::string& text) {
  auto [shape, transposed] = halves(text);
  std::vector<int64_t> lengths = numbers(shape, 'x');
  auto is_one = [](char c) { return c == 'N' || c == 'T'; };
  if (lengths.size() != 3 || transposed.size() != 2 || !is_one(transposed[0]) || !is_one(transposed[1]))
    refuse(text, "rows, inner length, columns, and N or T for each operand, such as 60x784x500/NN");
  return {lengths[0], lengths[1], lengths[2], transposed[0] == 'T', transposed[1] == 'T'};
}

LoopCase loop_case(const std::string& text) {
  auto [what, size] = halves(text);
  std::vector<int64_t> sizes = numbers(size, ' ');
  if ((what != "state" && what != "gradient") || sizes.size() != 1)
    refuse(text, "state or gradient, and a number of elements, such as gradient/100");
  return {what == "gradient", sizes[0]};
}

RandomCase random_case(const std::string& text) {
  auto [kind, size] = halves(text);
  std::vector<int64_t> sizes = numbers(size, ' ');
  const size_t at = kind.find('_');
  const std::string generator = kind.substr(0, at), name = at == std::string::npos ? "" : kind.substr(at + 1);
  if ((generator != "mrg" && generator != "mt") || (name != "uniform" && name != "normal") || sizes.size() != 1)
    refuse(text, "mrg_uniform, mrg_normal, mt_uniform or mt_normal, and how many numbers, such as mrg_normal/100000");
  return {generator, name == "normal", sizes[0]};
}

LanguageCase language_case(const std::string& text) {
  const std::string prefix = "int64_";
  auto [what, lengths] = halves(text);
  const bool is_int64 = what.starts_with(prefix);
  if (is_int64) what = what.substr(prefix.size());
  std::vector<int64_t> shape = numbers(lengths, 'x');
  // How many lengths each has; 0: one or more.
  const std::map<std::string, size_t> orders{{"sort", 0}, {"argsort", 0}, {"topk", 0}, {"unique", 0}};
  std::map<std::string, size_t> known{{"matmul", 3},  {"attention", 4}, {"take", 2},     {"scatter_add", 2},
                                      {"mask", 0},    {"mask_rows", 2}, {"set_mask", 0}, {"sum0", 0},
                                      {"sum1", 2},    {"max0", 0},      {"max1", 2},     {"argmax0", 0},
                                      {"argmax1", 2}, {"cumsum0", 0},   {"cumsum1", 2},  {"per_example", 4}};
  known.insert(orders.begin(), orders.end());
  const auto at = is_int64 ? orders.find(what) : known.find(what);
  const bool is_known = is_int64 ? at != orders.end() : at != known.end();
  if (!is_known || shape.empty() || (at->second != 0 && shape.size() != at->second)) {
    std::vector<std::string> names;
    for (const auto& [name, rank] : known) names.push_back(name);
    refuse(text,
           str("one of ", join(names, ", "), ", for what orders perhaps with int64_ before it, and lengths, such ",
               "as sort/1000000, int64_topk/1000x1000 or matmul/1000x4x4"));
  }
  return {std::move(what), is_int64, std::move(shape)};
}

SparseCase sparse_case(const std::string& text) {
  auto [what, rest] = halves(text);
  auto [lengths, share] = halves(rest);
  std::vector<int64_t> shape = numbers(lengths, 'x');
  double percent = 0;
  auto [stop, error] = std::from_chars(share.data(), share.data() + share.size(), percent);
  const std::map<std::string, size_t> known{{"dot", 3}, {"dense", 3}, {"stored", 3}, {"sparse", 2}, {"logistic", 2}};
  const auto at = known.find(what);
  if (at == known.end() || shape.size() != at->second || error != std::errc() || stop != share.data() + share.size() ||
      !(percent > 0 && percent <= 100) || *std::ranges::max_element(shape) > 10'000'000)
    refuse(
        text,
        "dot, dense, stored, sparse or logistic, lengths of at most 10000000, three for the first three and else two, "
        "and a percentage, such as dot/10000x10000x64/0.1");
  shape.push_back(1);
  return {what, shape[0], shape[1], shape[2], percent};
}

RnnCase rnn_case(const std::string& text) {
  auto [layers, batch] = halves(text);
  const size_t at = layers.find('-');
  const std::string kind = layers.substr(0, at), rest = at == std::string::npos ? "" : layers.substr(at + 1);
  const std::vector<int64_t> sizes = numbers(rest, '-'), batches = numbers(batch, ' ');
  if ((kind != "tanh" && kind != "lstm") || sizes.size() != 3 || batches.size() != 1)
    refuse(text, "tanh or lstm, inputs, hidden units, steps, and a batch, such as lstm-128-256-100/32");
  return {kind == "lstm", sizes[0], sizes[1], sizes[2], batches[0]};
}

double flops_per_sequence(const RnnCase& what) {
  return static_cast<double>(what.steps * what.gates() * what.hidden * (4 * what.inputs + 6 * what.hidden));
}

RbmCase rbm_case(const std::string& text) {
  auto [units, batch] = halves(text);
  const std::vector<int64_t> sizes = numbers(units, '-'), batches = numbers(batch, ' ');
  if (sizes.size() != 3 || batches.size() != 1)
    refuse(text, "visible units, hidden units, steps of the chain, and a batch, such as 784-500-15/20");
  return {sizes[0], sizes[1], sizes[2], batches[0]};
}

double flops_per_example(const RbmCase& what) {
  return static_cast<double>((6 + 4 * what.k) * what.visible * what.hidden);
}

}  // namespace thtrain
