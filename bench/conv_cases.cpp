// The configurations of convolutions and of networks with convolutions.
#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <string_view>

#include "bench/workloads.h"
#include "compiler/base/error.h"

namespace thtrain {

namespace {

constexpr int64_t kLargestNumber = 1'000'000;
constexpr double kMostElements = 2147483648.0;  // of an array

// soumith/convnet-benchmarks, L1 to L5, with batch 16 instead of 128: so that the three passes of all five take
// about a minute.
constexpr const char* kLayers[] = {"i3x128x128,k96x11x11,b16", "i64x64x64,k128x9x9,b16", "i128x32x32,k128x9x9,b16",
                                   "i128x16x16,k128x7x7,b16", "i384x13x13,k384x3x3,b16"};

constexpr const char* kForm = "parts i and k, and if wanted b, s and p, such as i64x56x56,k64x3x3,b16,s1x1,p1x1";

struct PartForm {
  size_t least, most;  // how many numbers
  int64_t lowest;
  const char* expected;
};

const std::map<char, PartForm>& part_forms() {
  static const std::map<char, PartForm> forms = {
      {'i', {3, 3, 1, "i, channels, width and height of the images, such as i64x56x48"}},
      {'k', {3, 3, 1, "k, how many filters, their width and height, such as k128x5x3"}},
      {'b', {1, 1, 1, "b and the batch, such as b64"}},
      {'s', {1, 2, 1, "s, the horizontal and the vertical stride, such as s2x1"}},
      {'p', {2, 2, 0, "p, the zeros left and right and those above and below, such as p1x2"}}};
  return forms;
}

// "64x56x48" -> 64, 56, 48; empty where one is no integer in the limits.
std::vector<int64_t> integers(std::string_view text, int64_t lowest) {
  std::vector<int64_t> out;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find('x', begin), text.size());
    int64_t value = 0;
    const auto [stop, error] = std::from_chars(text.data() + begin, text.data() + end, value);
    if (error != std::errc() || stop != text.data() + end || value < lowest || value > kLargestNumber) return {};
    out.push_back(value);
    begin = end + 1;
  }
  return out;
}

std::map<char, std::vector<int64_t>> parts_of(const std::string& config) {
  std::map<char, std::vector<int64_t>> out;
  size_t number = 1;
  for (size_t begin = 0; begin <= config.size(); ++number) {
    const size_t end = std::min(config.find(',', begin), config.size());
    const std::string part = config.substr(begin, end - begin);
    const auto refuse = [&](const std::string& expected) {
      throw UserError(Message{
          .what = str("bench conv: part ", number, " of ", config, " cannot be ", part.empty() ? "empty" : part),
          .expected = expected});
    };
    const auto form = part.empty() ? part_forms().end() : part_forms().find(part[0]);
    if (form == part_forms().end()) refuse(kForm);
    const std::vector<int64_t> numbers = integers(std::string_view(part).substr(1), form->second.lowest);
    if (numbers.size() < form->second.least || numbers.size() > form->second.most)
      refuse(str(form->second.expected, "; ", form->second.lowest, " to ", kLargestNumber));
    if (!out.emplace(part[0], numbers).second)
      throw UserError(Message{.what = str("bench conv: part ", number, " of ", config, " is a second ", part[0])});
    begin = end + 1;
  }
  for (const char part : {'i', 'k'})
    if (!out.contains(part))
      throw UserError(Message{.what = str("bench conv: ", config, " has no part ", part), .expected = kForm});
  return out;
}

void check_filter(const std::string& config, const char* side, int64_t kernel, int64_t image, int64_t padding) {
  if (kernel <= image + 2 * padding) return;
  throw UserError(Message{.what = str("bench conv: the filters of ", config, " do not fit into its images"),
                          .expected = str("a ", side, " of at most ", image + 2 * padding,
                                          padding > 0 ? ", with the zeros around the image" : ""),
                          .got = std::to_string(kernel)});
}

void check_sizes(const std::string& config, const ConvCase& c) {
  const auto check = [&](const char* what, std::initializer_list<int64_t> lengths) {
    double elements = 1;
    for (const int64_t length : lengths) elements *= static_cast<double>(length);
    if (elements > kMostElements)
      throw UserError(Message{.what = str("bench conv: the ", what, " of ", config, " are too large"),
                              .expected = "at most 2,147,483,648 elements"});
  };
  check("images", {c.batch, c.channels, c.height + 2 * c.pad_y, c.width + 2 * c.pad_x});
  check("filters", {c.filters, c.channels, c.kernel_height, c.kernel_width});
  check("results", {c.batch, c.filters, c.out_height(), c.out_width()});
}

ConvCase config_of(const std::string& config) {
  std::map<char, std::vector<int64_t>> parts = parts_of(config);
  ConvCase c;
  c.channels = parts['i'][0], c.width = parts['i'][1], c.height = parts['i'][2];
  c.filters = parts['k'][0], c.kernel_width = parts['k'][1], c.kernel_height = parts['k'][2];
  if (parts.contains('b')) c.batch = parts['b'][0];
  if (parts.contains('s')) c.stride_x = parts['s'].front();
  if (parts.contains('s') && parts['s'].size() > 1) c.stride_y = parts['s'][1];
  if (parts.contains('p')) c.pad_x = parts['p'][0], c.pad_y = parts['p'][1];
  check_filter(config, "width", c.kernel_width, c.width, c.pad_x);
  check_filter(config, "height", c.kernel_height, c.height, c.pad_y);
  check_sizes(config, c);
  return c;
}

// The number of "3" or "L3"; nullopt of a configuration.
std::optional<int64_t> layer_of(const std::string& word) {
  const std::string digits = word.substr(word.starts_with('L') ? 1 : 0);
  if (digits.empty() || digits.find_first_not_of("0123456789") != std::string::npos) return std::nullopt;
  const std::vector<int64_t> number = integers(digits, 1);
  return number.empty() ? 0 : number[0];
}

}  // namespace

double ConvCase::flops() const {
  return 2 * static_cast<double>(batch * filters * out_height() * out_width()) *
         static_cast<double>(channels * kernel_height * kernel_width);
}

ConvCase conv_case(const std::string& text) {
  static const std::map<std::string, ConvPass> passes = {
      {"fprop", ConvPass::kForward}, {"inputs", ConvPass::kInputGradient}, {"weights", ConvPass::kWeightGradient}};
  const size_t slash = std::min(text.find('/'), text.size());
  const auto pass = passes.find(text.substr(std::min(slash + 1, text.size())));
  if (pass == passes.end())
    throw UserError(Message{.what = "bench: no such case",
                            .expected = "a configuration and fprop, inputs or weights, such as "
                                        "i64x56x56,k64x3x3,b16/fprop",
                            .got = text});
  ConvCase out = config_of(text.substr(0, slash));
  out.pass = pass->second;
  return out;
}

std::vector<std::string> conv_cases(const std::vector<std::string>& words) {
  std::vector<std::string> out;
  for (const std::string& word : words) {
    std::string config = word;
    if (const std::optional<int64_t> layer = layer_of(word)) {
      if (*layer < 1 || *layer > std::ssize(kLayers))
        throw UserError(Message{.what = str("bench conv: there is no layer ", word),
                                .expected = "1 to 5, or a configuration such as i3x64x64,k128x7x7,b64"});
      config = kLayers[*layer - 1];
    }
    config_of(config);
    for (const char* pass : {"/fprop", "/inputs", "/weights"})
      if (std::find(out.begin(), out.end(), config + pass) == out.end()) out.push_back(config + pass);
  }
  return out;
}

ConvnetCase convnet_case(const std::string& text) {
  // Section "ConvNets" of the paper's scripts (pascanur/DeepLearningBenchmarks, theano/convnet.py), and LeNet of the
  // Deep Learning Tutorials. `examples`: those that the scripts walk through.
  static const std::map<std::string, ConvnetCase> networks = {
      {"convsmall", {.image = 32, .kernel = 5, .pool1 = 2, .pool2 = 2, .examples = 600}},
      {"convmed", {.image = 96, .kernel = 7, .pool1 = 3, .pool2 = 3, .examples = 120}},
      {"convlarge", {.image = 256, .kernel = 7, .pool1 = 5, .pool2 = 4, .examples = 120}},
      {"lenet",
       {.image = 28,
        .kernel = 5,
        .pool1 = 2,
        .pool2 = 2,
        .maps1 = 20,
        .maps2 = 50,
        .hidden = 500,
        .examples = 2000,
        .learning_rate = 0.1,
        .is_lenet = true}}};
  const size_t slash = std::min(text.find('/'), text.size());
  const auto network = networks.find(text.substr(0, slash));
  const std::vector<int64_t> batch = integers(std::string_view(text).substr(std::min(slash + 1, text.size())), 1);
  if (network == networks.end() || batch.size() != 1 || batch[0] > network->second.examples)
    throw UserError(Message{.what = "bench: no such case",
                            .expected = "convsmall, convmed, convlarge or lenet, and a batch of at most 600, 120, 120 "
                                        "and 2000, such as convlarge/60",
                            .got = text});
  ConvnetCase out = network->second;
  out.batch = batch[0];
  return out;
}

double flops_per_example(const ConvnetCase& net) {
  const auto layer = [](double passes, int64_t maps, int64_t channels, int64_t kernel, int64_t out) {
    return 2 * passes * static_cast<double>(maps * channels * kernel * kernel * out * out);
  };
  return layer(2, net.maps1, 1, net.kernel, net.image - net.kernel + 1) +
         layer(3, net.maps2, net.maps1, net.kernel, net.pooled1() - net.kernel + 1) +
         layer(3, net.hidden, net.maps2, net.pooled2(), 1) + layer(3, 10, net.hidden, 1, 1);
}

}  // namespace thtrain
