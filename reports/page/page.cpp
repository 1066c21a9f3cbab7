#include "reports/page/page.h"

#include "compiler/base/error.h"
#include "compiler/base/file.h"
#include "compiler/base/str.h"
#include "reports/page/markup.h"

namespace thtrain {

std::string html_cell(std::string_view markup, std::string_view kind) {
  return str("<td", kind.empty() ? "" : str(" class=\"", kind, "\""), ">", markup, "</td>");
}

std::string html_table(std::string_view head_markup, std::string_view rows_markup) {
  return str("<div class=\"wide\"><table>\n<thead><tr>", head_markup, "</tr></thead>\n<tbody>\n", rows_markup,
             "</tbody></table></div>\n");
}

std::string html_folded(std::string_view summary_markup, std::string_view markup, bool is_open) {
  return str("<details", is_open ? " open=\"open\"" : "", "><summary>", summary_markup, "</summary>\n", markup,
             "</details>\n");
}

std::string html_pre(std::string_view markup) {
  return str("<pre><code>", markup, "</code></pre>\n");
}

// As JSON allows it, so that nothing in a text ends the element that it is in.
static std::string json_in_markup(std::string_view json) {
  std::string out;
  for (char c : json)
    if (c == '<')
      out += "\\u003c";
    else if (c == '>')
      out += "\\u003e";
    else if (c == '&')
      out += "\\u0026";
    else
      out += c;
  return out;
}

static std::string maker_text(std::string_view maker) {
  return str("<meta name=\"generator\" content=\"", markup_text(maker), "\"/>");
}

std::string page_text(const PageParts& parts) {
  std::string out =
      "<!DOCTYPE html>\n<html xmlns=\"http://www.w3.org/1999/xhtml\" lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n";
  out += str(maker_text(parts.maker),
             "\n<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n<title>",
             markup_text(parts.title), "</title>\n<style>", kPageStyle, parts.style, "</style>\n</head>\n<body>\n",
             parts.body);
  if (!parts.data.empty())
    out += str("<script type=\"application/json\" id=\"data\">", json_in_markup(parts.data), "</script>\n");
  return out + str("<script>//<![CDATA[\n", parts.script, "//]]></script>\n</body>\n</html>\n");
}

bool is_page_of(const std::string& path, std::string_view maker) {
  try {
    return InputFile(path).beginning(1024).find(maker_text(maker)) != std::string::npos;
  } catch (const UserError&) {
    return false;
  }
}

}  // namespace thtrain
