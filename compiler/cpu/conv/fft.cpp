#include "compiler/cpu/conv/fft.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>

#include "compiler/base/str.h"
#include "compiler/cpu/conv/conv_functions.h"
#include "compiler/cpu/conv/library_step.h"
#include "compiler/cpu/conv/tiles.h"

namespace thtrain {
namespace {

using kernel::PointerTo;

constexpr int64_t kBatchBytes = 64 << 20;  // of spectra of images and results

int64_t rounded(int64_t elements) {
  constexpr int64_t kUnit = 16;
  return ceil_div(elements, kUnit) * kUnit;
}

enum Part : size_t { kX, kW, kY };

// What spectra of an operand are: transforms of its planes, by frequency, with zeros around them.
std::string recipe_of(const Convolution& c, const FftWork& work, size_t part) {
  auto list = [](const auto& axes, auto number) { return join(axes, "x", number); };
  return str("spectra ", list(work.lengths, [](int64_t length) { return str(length); }), " from ",
             list(c.axes, [&](const ConvAxis& axis) { return str(part == kX ? axis.before : 0); }));
}

// Elements of the four parts of the workspace: spectra of images, filters and results, and the threads' own.
std::array<int64_t, 4> parts_of(const Convolution& c, const FftWork& work) {
  const int64_t spectrum = 2 * work.frequencies();
  return {work.batch * c.c * spectrum, c.f * c.channels() * spectrum, work.batch * c.f * spectrum,
          kFftWalkers * (fft_plane_elements(work) + kFftPlanes * fft_spectrum_elements(work))};
}

}  // namespace

int64_t fft_plane_elements(const FftWork& work) {
  return rounded(work.elements());
}

int64_t fft_spectrum_elements(const FftWork& work) {
  return rounded(2 * work.frequencies());
}

FftWork fft_work(const Convolution& c) {
  FftWork out{.lengths = fft_lengths(c), .batch = 1};
  const int64_t of_image = (c.c + c.f) * 2 * out.frequencies() * static_cast<int64_t>(size_of(c.dtype));
  out.batch = even_part(c.n, std::max<int64_t>(1, kBatchBytes / of_image));
  return out;
}

double fft_error_bound(const Convolution& c) {
  const double unit = c.dtype == DType::kFloat32 ? 0x1p-24 : 0x1p-53,
               length = static_cast<double>(fft_work(c).elements());
  return unit * std::sqrt(length) * (21 * std::max(1.0, std::log2(length)) + 2 * static_cast<double>(fft_terms(c) + 4));
}

int64_t fft_workspace(const Convolution& c) {
  int64_t elements = 0;
  for (int64_t part : parts_of(c, fft_work(c))) elements += part;
  return row_major_bytes(c) + elements * static_cast<int64_t>(size_of(c.dtype));
}

void lower_fft(kernel::StepBuilder& b, const Convolution& c) {
  const FftWork work = fft_work(c);
  const std::array<int64_t, 4> elements = parts_of(c, work);
  // Which of the parts are the spectra of the inputs.
  const std::array<size_t, 2> of_input = c.pass == ConvPass::kForward         ? std::array<size_t, 2>{kX, kW}
                                         : c.pass == ConvPass::kInputGradient ? std::array<size_t, 2>{kW, kY}
                                                                              : std::array<size_t, 2>{kX, kY};
  std::array<std::optional<int>, 4> parts;
  std::array<bool, 2> is_there = {false, false};
  for (size_t i = 0; i < 2; ++i) {
    if (of_input[i] != kW && work.batch < c.n) continue;  // those of some images at a time
    const auto derived = b.derived({i, recipe_of(c, work, of_input[i])}, c.dtype, elements[of_input[i]]);
    parts[of_input[i]] = derived.operand.index;
    is_there[i] = derived.is_there;
  }
  for (size_t part = 0; part < parts.size(); ++part)
    if (!parts[part]) parts[part] = b.workspace(c.dtype, elements[part]).index;
  const bool has_filters = c.pass != ConvPass::kWeightGradient && is_there[c.pass == ConvPass::kForward ? 1 : 0];
  const std::array<kernel::Operand, 2> inputs =
      has_filters ? std::array<kernel::Operand, 2>{b.input(0), b.input(1)} : row_major_inputs(b, c);
  LibraryArguments arguments = conv_arguments(c);
  for (int64_t length : work.lengths) arguments.emplace_back(Dim(length));
  arguments.emplace_back(Dim(work.batch));
  for (bool there : is_there) arguments.emplace_back(Dim(there ? 1 : 0));
  for (const kernel::Operand& input : inputs) arguments.emplace_back(PointerTo{input.index});
  arguments.emplace_back(PointerTo{b.output().index});
  for (const std::optional<int>& part : parts) arguments.emplace_back(PointerTo{*part});
  b.call_library({conv_fft_function(c.dtype), std::move(arguments)});
}

}  // namespace thtrain
