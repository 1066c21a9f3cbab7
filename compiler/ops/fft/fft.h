// Transforms of Fourier, and what is made of them.
#pragma once

#include <optional>
#include <source_location>
#include <vector>

#include "compiler/ops/operand.h"
#include "compiler/ops/shape/length_list.h"

namespace thtrain {

// ---- transforms of Fourier -----------------------------------------------------------------------------------------

/// What divides by the number of elements N: the inverse transform, both transforms by sqrt(N), or the forward one. The
/// names are NumPy's.
enum class FftNorm { kBackward, kOrtho, kForward };

/// y[k] = sum over j of x[j] e^(-2 pi i j k / n) along an axis, as NumPy's fft: n is the axis' length, or x is cut or
/// filled up with zeros to n. Complex; other numbers are made complex. ifft has the other sign.
Expr fft(const Operand& x, std::optional<Length> n = {}, int64_t axis = -1, FftNorm norm = FftNorm::kBackward);
Expr ifft(const Operand& x, std::optional<Length> n = {}, int64_t axis = -1, FftNorm norm = FftNorm::kBackward);
/// Of real numbers: the results k = 0 ... n / 2, of which the others are conjugates.
Expr rfft(const Operand& x, std::optional<Length> n = {}, int64_t axis = -1, FftNorm norm = FftNorm::kBackward);
/// The n real numbers whose rfft is x; n is 2 (m - 1) for m results unless it is given. Imaginary parts of x[0], and of
/// x[n / 2] for an even n, count as 0.
Expr irfft(const Operand& x, std::optional<Length> n = {}, int64_t axis = -1, FftNorm norm = FftNorm::kBackward);

/// The same along several axes, all where none are named; lengths as `n`, one for each axis. rfftn takes the last one
/// of the axes for the real numbers.
Expr fftn(const Operand& x, const std::vector<int64_t>& axes = {}, const LengthList& lengths = {},
          FftNorm norm = FftNorm::kBackward);
Expr ifftn(const Operand& x, const std::vector<int64_t>& axes = {}, const LengthList& lengths = {},
           FftNorm norm = FftNorm::kBackward);
Expr rfftn(const Operand& x, const std::vector<int64_t>& axes = {}, const LengthList& lengths = {},
           FftNorm norm = FftNorm::kBackward);
Expr irfftn(const Operand& x, const std::vector<int64_t>& axes = {}, const LengthList& lengths = {},
            FftNorm norm = FftNorm::kBackward);
/// Along the last two axes.
Expr fft2(const Operand& x, const LengthList& lengths = {}, FftNorm norm = FftNorm::kBackward);
Expr ifft2(const Operand& x, const LengthList& lengths = {}, FftNorm norm = FftNorm::kBackward);
Expr rfft2(const Operand& x, const LengthList& lengths = {}, FftNorm norm = FftNorm::kBackward);
Expr irfft2(const Operand& x, const LengthList& lengths = {}, FftNorm norm = FftNorm::kBackward);

/// Frequency 0 to the middle of the axes (all where none are named), and back.
Expr fftshift(const Operand& x, const std::vector<int64_t>& axes = {});
Expr ifftshift(const Operand& x, const std::vector<int64_t>& axes = {});
/// The frequencies of fft's and of rfft's results for n samples that are `spacing` apart: 0, 1, ..., -1 over n spacing.
/// Of floatX where no dtype is given.
Expr fftfreq(const Length& n, double spacing = 1, std::optional<DType> dtype = {},
             std::source_location where = std::source_location::current());
Expr rfftfreq(const Length& n, double spacing = 1, std::optional<DType> dtype = {},
              std::source_location where = std::source_location::current());

/// The cosine transform of type 2, 2 times the sum of x[j] cos(pi k (2 j + 1) / 2 n), or of type 3, its inverse times
/// 2 n, as SciPy's dct; idct(x, t) is the inverse of dct(x, t). With kOrtho both are orthogonal. By rfft and irfft.
Expr dct(const Operand& x, int64_t type = 2, std::optional<Length> n = {}, int64_t axis = -1,
         FftNorm norm = FftNorm::kBackward);
Expr idct(const Operand& x, int64_t type = 2, std::optional<Length> n = {}, int64_t axis = -1,
          FftNorm norm = FftNorm::kBackward);

// ---- for other parts of the compiler -------------------------------------------------------------------------------

const Op& fft_op();
const Op& rfft_op();
const Op& irfft_op();

}  // namespace thtrain
