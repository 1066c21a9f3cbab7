// Lesson 19: the spectrum of a signal. Two tones are hidden in noise; rfft() finds them. A low-pass filter drops what
// is above a frequency, and a filter that is learned by grad() through the transforms finds out by itself which
// frequencies to keep. `./thtrain lesson 19` runs it.
//
// Source: A. V. Oppenheim, R. W. Schafer, Discrete-Time Signal Processing, 3rd edition, 2010, chapters 8 and 10.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <random>

#include "compiler/api.h"

using namespace thtrain;

static void expect(bool holds, const char* what) {
  std::printf("%-70s %s\n", what, holds ? "yes" : "NO");
  if (!holds) std::exit(1);
}

constexpr int64_t kSamples = 2000, kSignals = 20, kFrequencies = kSamples / 2 + 1;
constexpr double kRate = 1000;  // samples a second
constexpr double kPi = 3.14159265358979;

int main() {
  // Signals of 2 seconds: 50 Hz, half as much of 120 Hz, each with a phase of its own; and noise of the same height.
  std::mt19937 random(5);
  std::normal_distribution<double> noise(0, 1);
  std::uniform_real_distribution<double> phase(0, 2 * kPi);
  std::vector<double> clean, noisy;
  for (int64_t s = 0; s < kSignals; ++s) {
    const double first = phase(random), second = phase(random);
    for (int64_t i = 0; i < kSamples; ++i) {
      const double t = static_cast<double>(i) / kRate;
      clean.push_back(std::sin(2 * kPi * 50 * t + first) + 0.5 * std::sin(2 * kPi * 120 * t + second));
      noisy.push_back(clean.back() + noise(random));
    }
  }
  const Tensor wanted = Tensor::of(clean, {kSignals, kSamples}), heard = Tensor::of(noisy, {kSignals, kSamples});

  // The spectrum: how much of each frequency there is. The mean over the signals leaves little of the noise.
  Expr x = matrix("x"), spectrum = rfft(x), frequency = rfftfreq(kSamples, 1 / kRate);
  Expr power = mean(sqr(real(spectrum)) + sqr(imag(spectrum)), 0);
  Function strongest = function({x}, {take(frequency, argtopk(power, 2)), mean(sum(sqr(x), 1))});
  Function power_of = function({x}, {power});
  const Tensor peaks = strongest({heard})[0];
  std::printf("the strongest frequencies: %.1f Hz and %.1f Hz\n", peaks.as_double(0), peaks.as_double(1));
  expect(peaks.as_double(0) == 50 && peaks.as_double(1) == 120, "the two tones are found");
  // Parseval: the squares of a signal sum up to those of its spectrum, of which rfft gives one half.
  const Tensor of_frequencies = power_of({heard})[0];
  double energy = 0;
  for (int64_t k = 0; k < kFrequencies; ++k)
    energy += of_frequencies.as_double(k) * (k == 0 || k == kFrequencies - 1 ? 1 : 2) / kSamples;
  expect(std::abs(energy / strongest({heard})[1].as_double() - 1) < 1e-12, "time and frequencies have the same energy");

  // A low-pass filter: what is above 80 Hz is dropped, the second tone too.
  Function low_pass = function({x}, {irfft(where(frequency < 80.0, spectrum, 0.0))});
  const Tensor low = low_pass({heard})[0];
  const auto error_of = [&](const Tensor& y) {
    double sum = 0;
    for (int64_t i = 0; i < y.size(); ++i) sum += std::pow(y.as_double(i) - wanted.as_double(i), 2);
    return std::sqrt(sum / static_cast<double>(y.size()));
  };
  std::printf("root mean square error: %.3f before, %.3f after the low-pass filter\n", error_of(heard), error_of(low));
  expect(error_of(low) < 0.6 * error_of(heard), "the low-pass filter drops more noise than signal");

  // A gain for each frequency, learned from pairs of noisy and clean signals. The derivative passes irfft and rfft.
  // No frequency changes the slope at another one: the second derivatives are a diagonal, forward mode gives it at
  // once, and one step of Newton's method is enough.
  Shared gains(Tensor::of(std::vector<double>(kFrequencies, 0.5), {kFrequencies}), "gains");
  Expr y = matrix("y"), filtered = irfft(spectrum * gains.expr()), loss = mean(sqr(filtered - y));
  Expr slope = grad(loss, gains.expr()), curvature = jvp({slope}, {gains.expr()}, {ones_like(gains)})[0];
  Function step = function({x, y}, {loss}, {{gains, gains - slope / curvature}});
  const double before = step({heard, wanted})[0].as_double(), after = step({heard, wanted})[0].as_double();
  std::printf("loss: %.4f, and %.6f after one step\n", before, after);
  const Tensor found = gains.get_value(), learned = function({x}, {filtered})({heard})[0];
  const auto gain_at = [&](double hertz) { return found.as_double(static_cast<int64_t>(hertz * kSamples / kRate)); };
  std::printf("gains: %.2f at 50 Hz, %.2f at 120 Hz, %.2f at 200 Hz; root mean square error %.3f\n", gain_at(50),
              gain_at(120), gain_at(200), error_of(learned));
  expect(gain_at(50) > 0.95 && gain_at(120) > 0.95 && std::abs(gain_at(200)) < 0.1, "the filter keeps the two tones");
  expect(error_of(learned) < 0.2 * error_of(low), "it is better than the low-pass filter");
  return 0;
}

// To try: print the error on signals that the filter was not trained on. Write the low-pass filter as a convolution
// with irfft of its gains: which is faster, and from which length on? Transform images with rfft2().
