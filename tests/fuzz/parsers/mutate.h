// Small changes to inputs, the same for the same seed on every machine.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace thtrain::fuzz {

/// One of `seeds`, with one to eight changes: bits, bytes, numbers in binary and in digits, pieces that go, come twice
/// or come from another seed. At most 4096 bytes.
std::string mutated(const std::vector<std::string>& seeds, uint64_t seed);

}  // namespace thtrain::fuzz
