#include "compiler/codegen/source_text.h"

#include <vector>

#include "compiler/base/str.h"
#include "compiler/codegen/embedded_text.h"
#include "compiler/codegen/entry_helpers.h"

namespace thtrain {

// What C99's kernels and helpers call.
static constexpr const char* kC99Headers =
    "#include <limits.h>\n#include <math.h>\n#include <stdbool.h>\n#include <string.h>\n";

// The header without its comments and the lines that they leave empty.
static std::string without_comments(std::string_view header) {
  std::string code;
  for (size_t i = 0; i < header.size();) {
    const bool is_block = header.substr(i, 2) == "/*", is_line = header.substr(i, 2) == "//";
    const size_t end = is_block ? header.find("*/", i) : is_line ? header.find('\n', i) : i;
    if (is_block || is_line)
      i = end + (is_block ? 2 : 0);
    else
      code += header[i++];
  }
  std::string out;
  for (size_t begin = 0; begin < code.size();) {
    const size_t end = code.find('\n', begin);
    const std::string line = code.substr(begin, end - begin);
    if (const size_t last = line.find_last_not_of(' '); last != std::string::npos)
      out += line.substr(0, last + 1) + "\n";
    begin = end + 1;
  }
  return out;
}

const std::string& interface_text() {
  static const std::string text =
      str("// The interface between a program and what runs it: compiler/codegen/entry_abi.h\n",
          without_comments(embedded::entry_abi_h), "\n");
  return text;
}

// One thing of a helper's text: a function with the comment and template head before it, or anything else.
struct HelperPart {
  std::string_view text;
  size_t head = 0;  // of a function: the characters before its body; 0: no function that can be declared before
};

// A function begins at the beginning of a line and ends with "}" at the beginning of a line, or on its first line.
static std::vector<HelperPart> parts_of(std::string_view text) {
  std::vector<HelperPart> out;
  for (size_t begin = 0; begin < text.size();) {
    size_t line = begin;
    auto starts = [&](std::string_view word) { return text.substr(line, word.size()) == word; };
    while (starts("// ") || starts("template ")) line = text.find('\n', line) + 1;
    const size_t brace = starts("static inline ") ? text.find(" {", line) : std::string_view::npos;
    if (brace == std::string_view::npos) {
      // A type, a declaration, or what is between #if and #endif: with all that follows, up to the next function.
      size_t end = text.find("\nstatic inline ", line);
      const size_t type_end = text.find("\n};\n", line);
      if (text.substr(line, 1) == "#" || end == std::string_view::npos)
        end = text.size();
      else
        end = type_end != std::string_view::npos && type_end < end ? type_end + 4 : end + 1;
      out.push_back({text.substr(begin, end - begin)});
      begin = end;
      continue;
    }
    size_t end = text.find('\n', brace);
    if (text[end - 1] != '}') end = text.find("\n}\n", brace) + 2;
    out.push_back({text.substr(begin, end + 1 - begin), brace - begin});
    begin = end + 1;
  }
  return out;
}

std::string declarations_of(std::string_view helpers) {
  std::string out;
  for (const HelperPart& part : parts_of(helpers))
    out += part.head ? str(part.text.substr(0, part.head), ";\n") : std::string(part.text);
  return out;
}

std::string definitions_of(std::string_view helpers) {
  std::string out;
  for (const HelperPart& part : parts_of(helpers))
    if (part.head) out += part.text;
  return out;
}

static std::string declarations_of_kernels(const SourceText& source) {
  std::string out;
  for (const KernelText& kernel : source.kernels) out += str("static void ", kernel.name, kKernelParameters, ";\n");
  return out;
}

static std::string definitions_of_kernels(const SourceText& source) {
  std::string out;
  for (const KernelText& kernel : source.kernels)
    out += str("\n", kernel.comment, "static void ", kernel.name, kernel.code);
  return out;
}

// C99 has no templates to declare: helpers are short, and each is defined before what calls it.
static std::string whole_c99_text(const SourceText& source) {
  std::string out = str(source.comment, "\n", kC99Headers, "\n", interface_text());
  const std::string of_entry = entry_helpers(source.entry, source.language);
  if (!of_entry.empty()) out += str("// What the program calls.\n", of_entry, "\n");
  if (!source.kernels.empty()) out += str("// Its kernels.\n", declarations_of_kernels(source), "\n");
  out += source.entry;
  if (!source.helpers.empty()) out += "\n// Helpers of the kernels.\n";
  for (const std::string& helper : source.helpers) out += helper;
  return out + definitions_of_kernels(source);
}

std::string device_text(const SourceText& source) {
  std::string out = join(source.helpers, "");
  for (const KernelText& kernel : source.kernels)
    out += str(out.empty() ? "" : "\n", kernel.comment, "extern \"C\" __global__ void ", kernel.name, kernel.code);
  return out;
}

NamedText device_text_of(const SourceText& source, const KernelText& kernel) {
  SourceText one{.language = source.language, .comment = {}, .helpers = {}, .kernels = {kernel}, .entry = {}};
  KernelText& own = one.kernels[0];
  own.name = "k_" + kernel.label;
  own.comment.clear();
  for (const uint32_t helper : kernel.helpers) one.helpers.push_back(source.helpers[helper]);
  return {own.name, device_text(one)};
}

std::string host_text(const SourceText& source) {
  if (source.language != kernel::Language::kCuda) return whole_text(source);
  static const std::string device_interface =
      str("// What it calls of a device: compiler/codegen/device_text/device_abi.h\n",
          without_comments(embedded::device_abi_h), "\n");
  const std::string of_entry = entry_helpers(source.entry, source.language);
  std::string out = source.comment + "\n" + interface_text() + device_interface;
  if (!of_entry.empty()) out += str("// What the program calls.\n", of_entry, "\n");
  return out + source.entry;
}

std::string whole_text(const SourceText& source) {
  if (source.language == kernel::Language::kC99) return whole_c99_text(source);
  if (source.language == kernel::Language::kCuda)
    return host_text(source) +
           (source.kernels.empty() ? "" : str("\n// The kernels, which are compiled apart.\n\n", device_text(source)));
  const std::string of_entry = entry_helpers(source.entry, source.language);
  std::string out = source.comment + "\n" + interface_text();
  if (!of_entry.empty() || !source.kernels.empty())
    out += "// What the program calls: helpers, which are defined at the end, and kernels.\n";
  out += declarations_of(of_entry);
  out += declarations_of_kernels(source);
  if (!of_entry.empty() || !source.kernels.empty()) out += "\n";
  out += source.entry;
  if (!source.helpers.empty()) out += "\n// Types and helpers of the kernels.\n";
  for (const std::string& helper : source.helpers) out += declarations_of(helper);
  out += definitions_of_kernels(source);
  std::string definitions;
  for (const std::string& helper : source.helpers) definitions += definitions_of(helper);
  definitions += definitions_of(of_entry);
  return definitions.empty() ? out : str(out, "\n// Definitions of the helpers.\n", definitions);
}

}  // namespace thtrain
