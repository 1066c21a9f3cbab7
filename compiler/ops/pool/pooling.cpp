#include "compiler/ops/pool/pooling.h"

#include <algorithm>
#include <array>

#include "compiler/base/str.h"
#include "compiler/ops/key_reader.h"
#include "compiler/ops/pool/pool.h"

namespace thtrain {
namespace {

bool is_sum(const Op* op) {
  return op == &sum_pool_op() || op == &sum_pool_gradient_op();
}

// "2x3": numbers of at least `least`.
std::optional<Ints> numbers(const std::string& text, int64_t least) {
  KeyReader reader(text);
  Ints out;
  do {
    if (!reader.number(out.emplace_back(), least)) return std::nullopt;
  } while (reader.take("x"));
  return reader.is_at_end() ? std::optional(out) : std::nullopt;
}

// "0:0x1:1"
bool read_padding(std::string text, PoolWindows& windows) {
  std::replace(text.begin(), text.end(), ':', 'x');
  const std::optional<Ints> both = numbers(text, 0);
  if (!both || both->size() != 2 * windows.axes()) return false;
  for (size_t i = 0; i < both->size(); ++i) (i % 2 == 0 ? windows.before : windows.after).push_back((*both)[i]);
  return true;
}

// Do the lengths belong together, and is there a window?
bool is_complete(const Pooling& p) {
  const PoolWindows& w = p.windows;
  if (w.axes() < 1 || w.axes() > 3 || w.stride.size() != w.axes() || p.image.size() < w.axes()) return false;
  for (size_t k = 0; k < w.axes(); ++k)
    if (w.before[k] >= w.window[k] || w.after[k] >= w.window[k] ||
        w.count(k, p.image[p.image.size() - w.axes() + k]).value() < 1)
      return false;
  return true;
}

std::vector<std::string> words_of(const std::string& text) {
  std::vector<std::string> out;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(' ', begin), text.size());
    out.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return out;
}

}  // namespace

bool Pooling::has_taps() const {
  constexpr int64_t kMostElements = 16;
  const bool is_gradient = op == &max_pool_gradient_op() || op == &sum_pool_gradient_op();
  const size_t axes = windows.axes();
  int64_t elements = 1;
  for (size_t k = 0; k < axes; ++k) {
    const int64_t length = image[image.size() - axes + k], count = windows.count(k, length).value();
    const bool sticks_out = windows.before[k] > 0 || (count - 1) * windows.stride[k] + windows.window[k] > length;
    if (sticks_out || (is_gradient && windows.stride[k] < windows.window[k])) return false;
    elements *= windows.window[k];
  }
  const int64_t window = windows.window.back();
  return windows.stride.back() == window && (window == 2 || window == 4) && elements <= kMostElements;
}

bool Pooling::has_positions() const {
  constexpr int64_t kMostElements = 25, kMostBytes = 2048;
  if (op != &max_pool_gradient_op() || windows.axes() > 2 || windows.sharing() == 1) return false;
  const int64_t stride = windows.stride.back();
  return (stride == 1 || stride == 2 || stride == 4) && element_count(windows.window) <= kMostElements &&
         image.back() * static_cast<int64_t>(size_of(dtype)) <= kMostBytes;
}

kernel::ChoiceKey key_of(const Pooling& p) {
  const PoolWindows& w = p.windows;
  std::vector<std::string> padding;
  for (size_t k = 0; k < w.axes(); ++k) padding.push_back(str(w.before[k], ":", w.after[k]));
  std::string text = str(p.op->name, " ", name_of(p.dtype), " ", join(p.image, "x"), " w", join(w.window, "x"), " s",
                         join(w.stride, "x"), " p", join(padding, "x"));
  if (!w.ignore_border) text += " border";
  if (is_sum(p.op)) text += str(" ", name_of(p.divisor));
  return {"pool", text};
}

std::optional<Pooling> pooling_of(const kernel::ChoiceKey& key) {
  std::vector<std::string> words = words_of(key.properties);
  if (key.computation != "pool" || words.size() < 6) return std::nullopt;
  Pooling out;
  for (const Op* op :
       {&max_pool_op(), &max_pool_gradient_op(), &max_pool_pick_op(), &sum_pool_op(), &sum_pool_gradient_op()})
    if (words[0] == op->name) out.op = op;
  const std::optional<DType> dtype = dtype_named(words[1]);
  const std::optional<Ints> image = numbers(words[2], 1),
                            window = numbers(words[3].substr(std::min<size_t>(1, words[3].size())), 1),
                            stride = numbers(words[4].substr(std::min<size_t>(1, words[4].size())), 1);
  if (!out.op || !dtype || !image || !window || !stride || !words[3].starts_with('w') || !words[4].starts_with('s') ||
      !words[5].starts_with('p'))
    return std::nullopt;
  out.dtype = *dtype;
  out.image = *image;
  out.windows.window = *window;
  out.windows.stride = *stride;
  if (!read_padding(words[5].substr(1), out.windows)) return std::nullopt;
  size_t next = 6;
  if (next < words.size() && words[next] == "border") {
    out.windows.ignore_border = false;
    ++next;
  }
  bool has_divisor = !is_sum(out.op);
  for (PoolDivisor divisor : {PoolDivisor::kOne, PoolDivisor::kInside, PoolDivisor::kPadded})
    if (!has_divisor && next < words.size() && words[next] == name_of(divisor)) {
      out.divisor = divisor;
      has_divisor = true;
      ++next;
    }
  if (next != words.size() || !has_divisor || !is_complete(out)) return std::nullopt;
  return out;
}

std::optional<Pooling> known_pooling(const Node& node) {
  Pooling out;
  out.op = node.op;
  const bool is_of_image = node.op != &sum_pool_gradient_op();
  const Type& image = is_of_image ? node.inputs[0].type() : node.types[0];
  out.dtype = image.dtype;
  for (const Dim& length : image.dims) {
    if (!length.is_known() || length.is(0)) return std::nullopt;
    out.image.push_back(length.value());
  }
  out.windows = PoolWindows::of(node);
  if (is_sum(node.op)) out.divisor = divisor_of(node.props);
  if (!is_complete(out)) return std::nullopt;
  return out;
}

}  // namespace thtrain
