// How deep a TOML text nests, before a parser that calls itself for each level sees it.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace thtrain {

/// Levels of tables and arrays that a configuration may have; an experiment has four.
inline constexpr size_t kMaxLevels = 100;

/// What a message says about a text that has more.
inline const std::string kTooDeep = "tables and arrays are nested too deep";
inline const std::string kAllowedDepth = "at most 100 levels";

/// The byte of the first key or bracket that is deeper than kMaxLevels, by brackets, braces and the dots of keys
/// together; npos where there is none.
size_t first_too_deep(std::string_view text);

}  // namespace thtrain
