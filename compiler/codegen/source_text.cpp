#include "compiler/codegen/source_text.h"

#include <cctype>
#include <unordered_set>
#include <vector>

#include "compiler/base/str.h"
#include "compiler/codegen/embedded_text.h"

namespace thtrain {

namespace {

struct EntryHelper {
  std::string_view name;
  const char* definition;
};

// Each before those that call it.
constexpr EntryHelper kEntryHelpers[] = {
    {"th_max", "static inline long th_max(long a, long b) { return a > b ? a : b; }\n"},
    {"th_min", "static inline long th_min(long a, long b) { return a < b ? a : b; }\n"},
    {"th_floor_div",
     "static inline long th_floor_div(long a, long b) { return a / b - (a % b != 0 && (a < 0) != (b < 0)); }\n"},
    {"th_bits", "static inline long th_bits(double x) { long b; __builtin_memcpy(&b, &x, sizeof b); return b; }\n"},
    {"ThNumber",
     "// A length that knows whether its arithmetic stayed within 2^63.\n"
     "struct ThNumber {\n"
     "  long value;\n"
     "  bool fits;\n"
     "  ThNumber(long value, bool fits = true) : value(value), fits(fits) {}\n"
     "};\n"
     "static inline ThNumber operator+(ThNumber a, ThNumber b) {\n"
     "  bool over = __builtin_add_overflow(a.value, b.value, &a.value);\n"
     "  return ThNumber(a.value, a.fits && b.fits && !over);\n"
     "}\n"
     "static inline ThNumber operator*(ThNumber a, ThNumber b) {\n"
     "  bool over = __builtin_mul_overflow(a.value, b.value, &a.value);\n"
     "  return ThNumber(a.value, a.fits && b.fits && !over);\n"
     "}\n"},
    {"differ",
     "// Fails by that check, and says so, unless the lengths are equal.\n"
     "static inline bool differ(ThContext* ctx, int check, long length, long expected) {\n"
     "  if (length == expected) return false;\n"
     "  ctx->fail(ctx, check, length, expected);\n"
     "  return true;\n"
     "}\n"},
    {"run",
     "// Runs a kernel over [0, range).\n"
     "template <int Buffers>\n"
     "static inline void run(ThContext* ctx, ThBody kernel, void* const (&buffers)[Buffers], long range) {\n"
     "  kernel(ctx, buffers, 0, 0, range);\n"
     "}\n"
     "template <int Buffers, int Lengths>\n"
     "static inline void run(ThContext* ctx, ThBody kernel, void* const (&buffers)[Buffers],\n"
     "                       const long (&lengths)[Lengths], long range) {\n"
     "  kernel(ctx, buffers, lengths, 0, range);\n"
     "}\n"},
    {"run_parallel",
     "// The same by all threads, where the range is longer than `grain`; each takes a multiple of `multiple`.\n"
     "static inline void share(ThContext* ctx, ThBody kernel, void* const* buffers, const long* lengths, long range,\n"
     "                         long grain, long multiple) {\n"
     "  if (ctx->threads > 1 && range > grain)\n"
     "    ctx->parallel_for(ctx, kernel, buffers, lengths, range, grain, multiple);\n"
     "  else\n"
     "    kernel(ctx, buffers, lengths, 0, range);\n"
     "}\n"
     "template <int Buffers>\n"
     "static inline void run_parallel(ThContext* ctx, ThBody kernel, void* const (&buffers)[Buffers], long range,\n"
     "                                long grain, long multiple) {\n"
     "  share(ctx, kernel, buffers, 0, range, grain, multiple);\n"
     "}\n"
     "template <int Buffers, int Lengths>\n"
     "static inline void run_parallel(ThContext* ctx, ThBody kernel, void* const (&buffers)[Buffers],\n"
     "                                const long (&lengths)[Lengths], long range, long grain, long multiple) {\n"
     "  share(ctx, kernel, buffers, lengths, range, grain, multiple);\n"
     "}\n"},
    {"run_reference",
     "// A step that no kernel is written for.\n"
     "template <int Buffers>\n"
     "static inline void run_reference(ThContext* ctx, int step, void* const (&buffers)[Buffers]) {\n"
     "  ctx->call_reference(ctx, step, buffers);\n"
     "}\n"},
    {"probe",
     "// Shows a step's operands, before it (after = 0) or after it, and the iterations of the loops around it.\n"
     "template <int Buffers>\n"
     "static inline void probe(ThContext* ctx, int step, int after, void* const (&buffers)[Buffers]) {\n"
     "  if (ctx->probe) ctx->probe(ctx, step, after, buffers, 0);\n"
     "}\n"
     "template <int Buffers, int Loops>\n"
     "static inline void probe(ThContext* ctx, int step, int after, void* const (&buffers)[Buffers],\n"
     "                         const long (&iterations)[Loops]) {\n"
     "  if (ctx->probe) ctx->probe(ctx, step, after, buffers, iterations);\n"
     "}\n"},
};

// The same functions of a length that may not fit.
constexpr EntryHelper kCheckedHelpers[] = {
    {"differ",
     "static inline bool differ(ThContext* ctx, int check, int too_large, ThNumber length, ThNumber expected) {\n"
     "  if (length.fits && expected.fits) return differ(ctx, check, length.value, expected.value);\n"
     "  ctx->fail(ctx, too_large, 0, 0);\n"
     "  return true;\n"
     "}\n"},
    {"th_max",
     "static inline ThNumber th_max(ThNumber a, ThNumber b) {\n"
     "  return ThNumber(th_max(a.value, b.value), a.fits && b.fits);\n"
     "}\n"},
    {"th_min",
     "static inline ThNumber th_min(ThNumber a, ThNumber b) {\n"
     "  return ThNumber(th_min(a.value, b.value), a.fits && b.fits);\n"
     "}\n"},
    {"th_floor_div",
     "static inline ThNumber th_floor_div(ThNumber a, ThNumber b) {\n"
     "  return ThNumber(th_floor_div(a.value, b.value), a.fits && b.fits);\n"
     "}\n"},
};

}  // namespace

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

// The names before opening parentheses, in one walk: the entry of a large program has a million characters.
static std::unordered_set<std::string_view> called_names(std::string_view text) {
  auto is_of_name = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; };
  std::unordered_set<std::string_view> out;
  for (size_t end = text.find('('); end != std::string_view::npos; end = text.find('(', end + 1)) {
    size_t begin = end;
    while (begin > 0 && is_of_name(text[begin - 1])) --begin;
    out.insert(text.substr(begin, end - begin));
  }
  return out;
}

std::string entry_helpers(std::string_view entry) {
  const std::unordered_set<std::string_view> called = called_names(entry);
  std::string out;
  const bool has_numbers = entry.find("ThNumber") != std::string_view::npos;
  for (const EntryHelper& helper : kEntryHelpers)
    if (called.contains(helper.name) || (has_numbers && helper.name == "ThNumber")) out += helper.definition;
  if (has_numbers)
    for (const EntryHelper& helper : kCheckedHelpers)
      if (called.contains(helper.name)) out += helper.definition;
  return out;
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
      // A type, a declaration, or what stands between #if and #endif: with all that follows, up to the next function.
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

std::string whole_text(const SourceText& source) {
  const std::string of_entry = entry_helpers(source.entry);
  std::string out = source.comment + "\n" + interface_text();
  if (!of_entry.empty() || !source.kernels.empty())
    out += "// What the program calls: helpers, which are defined at the end, and kernels.\n";
  out += declarations_of(of_entry);
  for (const KernelText& kernel : source.kernels) out += str("static void ", kernel.name, kKernelParameters, ";\n");
  if (!of_entry.empty() || !source.kernels.empty()) out += "\n";
  out += source.entry;
  if (!source.helpers.empty()) out += "\n// Types and helpers of the kernels.\n";
  for (const std::string& helper : source.helpers) out += declarations_of(helper);
  for (const KernelText& kernel : source.kernels)
    out += str("\n", kernel.comment, "static void ", kernel.name, kernel.code);
  std::string definitions;
  for (const std::string& helper : source.helpers) definitions += definitions_of(helper);
  definitions += definitions_of(of_entry);
  return definitions.empty() ? out : str(out, "\n// Definitions of the helpers.\n", definitions);
}

}  // namespace thtrain
