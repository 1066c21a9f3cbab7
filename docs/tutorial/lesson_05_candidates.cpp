// Lesson 5: a convolution of our own as one more candidate. The tuner times it with the others, debug mode checks it,
// and a function may take it by name. docs/decisions/0014 says how candidates work. `./thtrain lesson 5` builds
// and runs it.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string>

#include "compiler/api.h"
#include "compiler/base/error.h"
#include "compiler/codegen/entry_abi.h"
#include "compiler/libraries/library_functions.h"
#include "compiler/ops/candidates.h"
#include "compiler/ops/conv/convolution.h"
#include "compiler/tuning/candidate_trials.h"
#include "compiler/tuning/tuner.h"

using namespace thtrain;

// Images [n, c, h, w] and results [n, f, ...] lie row by row; filters in any layout, so their strides are passed too.
// The parameters are written once: here for C++, below as text for the generated program that calls the function.
#define CONV_PARAMETERS                                                                                          \
  long n, long c, long h, long w, long f, long kh, long kw, const float *x, const float *filters, long stride_f, \
      long stride_c, long stride_h, long stride_w, float *y
#define TEXT_OF(...) TEXT_OF_TOKENS(__VA_ARGS__)
#define TEXT_OF_TOKENS(...) #__VA_ARGS__

// For each filter, a sum over all channels and taps at every position. The innermost loop goes along a row.
static void direct(CONV_PARAMETERS, long channels) {
  const long rows = h - kh + 1, columns = w - kw + 1;
  for (long i = 0; i < n * f; ++i) {
    float* out = y + i * rows * columns;
    for (long p = 0; p < rows * columns; ++p) out[p] = 0;
    for (long channel = 0; channel < channels; ++channel)
      for (long row = 0; row < rows; ++row)
        for (long a = 0; a < kh; ++a)
          for (long b = 0; b < kw; ++b) {
            const float tap = filters[i % f * stride_f + channel * stride_c + a * stride_h + b * stride_w];
            const float* in = x + ((i / f * c + channel) * h + row + a) * w + b;
            for (long column = 0; column < columns; ++column) out[row * columns + column] += in[column] * tap;
          }
  }
}

extern "C" void my_conv(ThContext*, CONV_PARAMETERS) {
  direct(n, c, h, w, f, kh, kw, x, filters, stride_f, stride_c, stride_h, stride_w, y, c);
}

// A mistake: the last channel is left out.
extern "C" void my_wrong_conv(ThContext*, CONV_PARAMETERS) {
  direct(n, c, h, w, f, kh, kw, x, filters, stride_f, stride_c, stride_h, stride_w, y, c - 1);
}

// A candidate is a record: its name, the functions that it calls, and what writes the step.
static Candidate candidate(const std::string& name, const std::string& function, const Convolution& lengths) {
  auto lower = [function, lengths](kernel::StepBuilder& builder) {
    const ConvAxis &rows = lengths.axes[1], &columns = lengths.axes[2];
    const kernel::Operand &x = builder.input(0), &filters = builder.input(1);
    const Dims& strides = filters.layout.strides;
    builder.call_library(
        {{.name = function, .parameters = TEXT_OF(CONV_PARAMETERS)},
         {Dim(lengths.n), Dim(lengths.c), Dim(rows.in), Dim(columns.in), Dim(lengths.f), Dim(rows.kernel),
          Dim(columns.kernel), kernel::PointerTo{x.index}, kernel::PointerTo{filters.index}, strides[0], strides[1],
          strides[2], strides[3], kernel::PointerTo{builder.output().index}}});
  };
  return {.name = name, .functions = {function}, .lower = lower};
}

// A source says which of its candidates apply to a key: ours take images of float32 without zeros around them, and
// move by one position.
static std::vector<Candidate> offer(const kernel::ChoiceKey& key, const kernel::Target&) {
  const Convolution lengths = *convolution_of(key);
  const bool is_plain = lengths.rank == 2 && lengths.groups == 1 && lengths.dtype == DType::kFloat32;
  if (!is_plain || lengths.is_padded()) return {};
  for (const ConvAxis& axis : lengths.axes)
    if (axis.stride != 1 || axis.dilation != 1) return {};
  return {candidate("mine", "my_conv", lengths)};
}

// A source may know more by name than it offers for trials: nobody should time the wrong one.
static std::optional<Candidate> find(const kernel::ChoiceKey& key, const std::string& name,
                                     const kernel::Target& target) {
  const std::vector<Candidate> offered = offer(key, target);
  if (offered.empty() || (name != "mine" && name != "wrong")) return std::nullopt;
  return name == "mine" ? offered[0] : candidate("wrong", "my_wrong_conv", *convolution_of(key));
}

static Function convolution(const FunctionOptions& options) {
  Expr x = tensor("x", {2, 3, 16, 16}, DType::kFloat32), w = tensor("w", {4, 3, 5, 5}, DType::kFloat32);
  return function({x, w}, {conv2d(x, w)}, {}, options);
}

int main() {
  add_library_function("my_conv", [] { return LibraryImplementation{reinterpret_cast<void*>(my_conv), "mine 1.0"}; });
  add_library_function("my_wrong_conv", [] {
    return LibraryImplementation{reinterpret_cast<void*>(my_wrong_conv), "mine 1.0"};
  });
  // With the names of all, a function that takes a misspelt one is refused.
  add_candidates({"conv", offer, find, {"mine", "wrong"}});

  // Taken by name, it computes what the others compute, up to the order of the sums.
  RandomState rng(1);
  const Tensor x = Tensor::of(rng.normal(0, 1, 2 * 3 * 16 * 16), {2, 3, 16, 16}).cast(DType::kFloat32);
  const Tensor w = Tensor::of(rng.normal(0, 1, 4 * 3 * 5 * 5), {4, 3, 5, 5}).cast(DType::kFloat32);
  Function ours = convolution({.candidates = {{"conv", "mine"}}});
  Function theirs = convolution({.tune = Tune::kNever});
  const Tensor a = ours({x, w})[0], b = theirs({x, w})[0];
  float difference = 0;
  for (int64_t i = 0; i < a.size(); ++i)
    difference = std::max(difference, std::abs(a.data<float>()[i] - b.data<float>()[i]));
  std::printf("by %s and by %s: the largest difference is %s 1e-4\n", ours.info().choices.at(0).candidate.c_str(),
              theirs.info().choices.at(0).candidate.c_str(), difference < 1e-4f ? "below" : "above");

  // Debug mode compares every step with its definition. It accepts ours, and names the wrong one.
  convolution({.mode = Mode::kDebug, .candidates = {{"conv", "mine"}}})({x, w});
  std::string message;
  try {
    convolution({.mode = Mode::kDebug, .candidates = {{"conv", "wrong"}}})({x, w});
  } catch (const Error& error) {
    message = error.what();
  }
  std::printf("%s\n", message.c_str());

  // The tuner times it with the others. FunctionOptions{.tune = Tune::kAlways} does that by itself, and remembers.
  bool is_timed = false;
  const kernel::ChoiceKey key = ours.info().choices.at(0).key;
  for (const CandidateTrial& trial : time_candidates(key, usable_candidates(key, 0), 1)) {
    std::printf("* %s: %.8f sec\n", trial.candidate.c_str(), trial.seconds);
    is_timed = is_timed || trial.candidate == "mine";
  }
  const bool is_named = message.find("which the candidate wrong computes") != std::string::npos;
  return difference < 1e-4f && is_named && is_timed ? 0 : 1;
}
