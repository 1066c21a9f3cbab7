// The hash that names and checks everything in the cache: 128 bits of XXH3.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

namespace thtrain {

/// 32 lower-case hex digits. Each part goes in with its length before it, so {"ab", "c"} differs from {"a", "bc"}.
/// The same on every machine. It finds accidents; it is no defence against somebody who forges a collision.
std::string content_hash(std::initializer_list<std::string_view> parts);

}  // namespace thtrain
