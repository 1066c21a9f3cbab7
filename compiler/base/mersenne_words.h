// The 624 words of MT19937 as vectors: what RandomState computes many numbers with.
#pragma once

#include <cstddef>
#include <cstdint>

namespace thtrain {

/// The next 624 words instead of the last ones.
void mersenne_twist(uint32_t* key);
/// The numbers that `count` words give.
void mersenne_temper(const uint32_t* words, uint32_t* out, size_t count);
/// low + range u for `count` numbers u of 53 bits in [0, 1), each of two words, which are tempered here. In float64,
/// and rounded to float32 then.
void mersenne_uniforms(const uint32_t* words, double low, double range, double* out, size_t count);
void mersenne_uniforms(const uint32_t* words, double low, double range, float* out, size_t count);

}  // namespace thtrain
