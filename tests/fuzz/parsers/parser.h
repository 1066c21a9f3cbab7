// What the fuzzers of parsers share: a parser under test, with inputs to start from.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace thtrain::fuzz {

/// A reader of bytes that this process did not write. Any bytes may come in: it accepts them or refuses them, with a
/// UserError where it has errors. Every other exception, a crash, a leak and an allocation beyond all measure is a
/// fault.
struct Parser {
  const char* name;
  /// Were the bytes accepted? May throw std::logic_error where a property of accepted bytes does not hold.
  bool (*parse)(std::string_view bytes);
  /// Small inputs, each of which is accepted.
  std::vector<std::string> (*seeds)();
};

extern const Parser kToml, kNpy, kNpz, kIdx, kCsv, kLibsvm, kMatrixMarket, kSparseNpz, kCacheEntry, kProgramImage,
    kTuning, kTuningImport, kFunctionFile;

/// Throws std::logic_error: a fault of the parser that no sanitizer sees.
void require(bool holds, const char* what);

}  // namespace thtrain::fuzz
