// Pieces of HTML and SVG: escaping, numbers, coloured C++.
#pragma once

#include <string>
#include <string_view>

namespace thtrain {

/// Text as it is between tags and inside quoted attributes of HTML and XML. Characters that XML has not become
/// U+FFFD.
std::string markup_text(std::string_view text);

/// A coordinate with one decimal.
std::string coordinate(double value);

/// C++ text, escaped, with <span class="..."> around comments ("c"), keywords and vector types ("k"), literals ("n")
/// and lines of the preprocessor ("p").
std::string cpp_markup(std::string_view text);

/// Four letters for three bytes (RFC 4648), as in the address of a picture that is part of a page.
std::string base64(std::string_view bytes);

}  // namespace thtrain
