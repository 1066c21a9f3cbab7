// Pages for a browser, one file each that needs no network: their frame, their styles, and the pieces that they share.
#pragma once

#include <string>
#include <string_view>

namespace thtrain {

// Below, texts named `markup` are HTML already; others are escaped.

/// A table's cell, of the class `kind`: "number", "code", ...
std::string html_cell(std::string_view markup, std::string_view kind = {});
/// `head` are cells, `rows` are rows; wider than the page it can be scrolled.
std::string html_table(std::string_view head_markup, std::string_view rows_markup);
/// <details>
std::string html_folded(std::string_view summary_markup, std::string_view markup, bool is_open = false);
std::string html_pre(std::string_view markup);

struct PageParts {
  std::string title = {};
  std::string maker = {};  // "thtrain report", for is_page_of()
  std::string style = {};  // besides kPageStyle
  std::string body = {};   // markup
  std::string data = {};   // JSON for the script, the text of the element of id "data"; "": none
  std::string script = {};
};
/// The whole file, well-formed XML too; light and dark as the reader's system says.
std::string page_text(const PageParts& parts);

/// Is at `path` a page that this maker wrote? False where it cannot be read.
bool is_page_of(const std::string& path, std::string_view maker);

/// What all pages look like. Without < and &.
extern const char* const kPageStyle;

}  // namespace thtrain
