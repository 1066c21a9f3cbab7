#include "compiler/codegen/entry_helpers.h"

#include <cctype>
#include <unordered_set>

namespace thtrain {
namespace {

enum class In : uint8_t { kBoth, kCpp, kC99, kCuda };

struct EntryHelper {
  std::string_view name;
  In languages;
  const char* definition;

  bool is_in(kernel::Language language) const {
    if (languages == In::kCuda) return language == kernel::Language::kCuda;
    return languages == In::kBoth || (languages == In::kC99) == (language == kernel::Language::kC99);
  }
};

// Each before those that call it.
constexpr EntryHelper kEntryHelpers[] = {
    {"th_max", In::kBoth, "static inline long th_max(long a, long b) { return a > b ? a : b; }\n"},
    {"th_min", In::kBoth, "static inline long th_min(long a, long b) { return a < b ? a : b; }\n"},
    {"th_floor_div", In::kBoth,
     "static inline long th_floor_div(long a, long b) { return a / b - (a % b != 0 && (a < 0) != (b < 0)); }\n"},
    {"th_bits", In::kCpp,
     "static inline long th_bits(double x) { long b; __builtin_memcpy(&b, &x, sizeof b); return b; }\n"},
    {"th_bits", In::kC99, "static inline long th_bits(double x) { long b; memcpy(&b, &x, sizeof b); return b; }\n"},
    {"ThNumber", In::kCpp,
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
    {"ThNumber", In::kC99,
     "// A length that knows whether its arithmetic stayed within 2^63.\n"
     "typedef struct ThNumber {\n"
     "  long value;\n"
     "  bool fits;\n"
     "} ThNumber;\n"
     "static inline ThNumber th_number_of(long value) { return (ThNumber){value, true}; }\n"},
    {"differ", In::kBoth,
     "// Fails by that check, and says so, unless the lengths are equal.\n"
     "static inline bool differ(ThContext* ctx, int check, long length, long expected) {\n"
     "  if (length == expected) return false;\n"
     "  ctx->fail(ctx, check, length, expected);\n"
     "  return true;\n"
     "}\n"},
    {"run", In::kCpp,
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
    {"run_parallel", In::kCpp,
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
    {"run_parallel", In::kC99,
     "// Runs a kernel by all threads, where the range is longer than `grain`; each takes a multiple of `multiple`.\n"
     "static inline void run_parallel(ThContext* ctx, ThBody kernel, void* const* buffers, const long* lengths,\n"
     "                                long range, long grain, long multiple) {\n"
     "  if (ctx->threads > 1 && range > grain)\n"
     "    ctx->parallel_for(ctx, kernel, buffers, lengths, range, grain, multiple);\n"
     "  else\n"
     "    kernel(ctx, buffers, lengths, 0, range);\n"
     "}\n"},
    {"run_reference", In::kCpp,
     "// A step that no kernel is written for.\n"
     "template <int Buffers>\n"
     "static inline void run_reference(ThContext* ctx, int step, void* const (&buffers)[Buffers]) {\n"
     "  ctx->call_reference(ctx, step, buffers);\n"
     "}\n"},
    {"probe", In::kCpp,
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
    {"launch", In::kCuda,
     "// Launches a kernel that uses these buffers (those of complements it writes); arguments have the types of its\n"
     "// parameters.\n"
     "template <int Uses, class... Arguments>\n"
     "static inline void launch(ThContext* ctx, int kernel, const int (&uses)[Uses], long blocks, int threads,\n"
     "                          Arguments... arguments) {\n"
     "  void* list[] = {&arguments..., 0};\n"
     "  static const unsigned sizes[] = {sizeof arguments..., 0};\n"
     "  if (blocks > 0)\n"
     "    ctx->device->launch(ctx, kernel, 0, uses, Uses, blocks, threads, list, sizes, sizeof...(Arguments));\n"
     "}\n"},
    {"launch_checked", In::kCuda,
     "// The same for a kernel that takes the word of failure last: it has checks (1), or is behind one that has (2).\n"
     "template <int Uses, class... Arguments>\n"
     "static inline void launch_checked(ThContext* ctx, int kernel, int checks, const int (&uses)[Uses], long blocks,\n"
     "                                  int threads, Arguments... arguments) {\n"
     "  long* failure = ctx->device->failure;\n"
     "  void* list[] = {&arguments..., &failure, 0};\n"
     "  static const unsigned sizes[] = {sizeof arguments..., sizeof failure};\n"
     "  if (blocks > 0)\n"
     "    ctx->device->launch(ctx, kernel, checks, uses, Uses, blocks, threads, list, sizes, sizeof...(Arguments) + "
     "1);\n"
     "}\n"},
    {"ask_library", In::kCuda,
     "// Calls a function of a library that uses these buffers.\n"
     "template <int Uses, class Function, class... Arguments>\n"
     "static inline void ask_library(ThContext* ctx, Function function, const int (&uses)[Uses],\n"
     "                               Arguments... arguments) {\n"
     "  function(ctx, uses, Uses, arguments...);\n"
     "}\n"},
    {"copy_in", In::kCuda,
     "static inline void copy_in(ThContext* ctx, const int (&uses)[2], void* to, const void* from, long bytes) {\n"
     "  ctx->device->copy_in(ctx, uses, to, from, bytes);\n"
     "}\n"},
    {"copy_out", In::kCuda,
     "static inline void copy_out(ThContext* ctx, const int (&uses)[2], void* to, const void* from, long bytes) {\n"
     "  ctx->device->copy_out(ctx, uses, to, from, bytes);\n"
     "}\n"},
    {"done", In::kCuda,
     "// Waits for all that was asked for so far: false where something has failed. Each place has a number.\n"
     "static inline bool done(ThContext* ctx, int place) {\n"
     "  ctx->device->wait(ctx, place);\n"
     "  return !ctx->failure.word;\n"
     "}\n"},
    {"left", In::kCuda,
     "// Asks for all of it, and waits for nothing: its failures are read later.\n"
     "static inline bool left(ThContext* ctx, int place) {\n"
     "  ctx->device->leave(ctx, place);\n"
     "  return !ctx->failure.word;\n"
     "}\n"},
    {"checks_held", In::kCuda,
     "// Waits for the kernels with checks: false where one has failed.\n"
     "static inline bool checks_held(ThContext* ctx, int place) {\n"
     "  ctx->device->check(ctx, place);\n"
     "  return !ctx->failure.word;\n"
     "}\n"},
    {"number_at", In::kCuda,
     "// A number on the device, of that buffer.\n"
     "template <class T>\n"
     "static inline T number_at(ThContext* ctx, int buffer, const T* at) {\n"
     "  T out = 0;\n"
     "  const int uses[] = {buffer, buffer};\n"
     "  ctx->device->copy_out(ctx, uses, &out, at, sizeof out);\n"
     "  ctx->device->wait(ctx, -1);\n"
     "  return out;\n"
     "}\n"},
};

// Of lengths that may not fit. In C99 calls stand for operators.
constexpr EntryHelper kCheckedHelpers[] = {
    {"differ", In::kCpp,
     "static inline bool differ(ThContext* ctx, int check, int too_large, ThNumber length, ThNumber expected) {\n"
     "  if (length.fits && expected.fits) return differ(ctx, check, length.value, expected.value);\n"
     "  ctx->fail(ctx, too_large, 0, 0);\n"
     "  return true;\n"
     "}\n"},
    {"th_max", In::kCpp,
     "static inline ThNumber th_max(ThNumber a, ThNumber b) {\n"
     "  return ThNumber(th_max(a.value, b.value), a.fits && b.fits);\n"
     "}\n"},
    {"th_min", In::kCpp,
     "static inline ThNumber th_min(ThNumber a, ThNumber b) {\n"
     "  return ThNumber(th_min(a.value, b.value), a.fits && b.fits);\n"
     "}\n"},
    {"th_floor_div", In::kCpp,
     "static inline ThNumber th_floor_div(ThNumber a, ThNumber b) {\n"
     "  return ThNumber(th_floor_div(a.value, b.value), a.fits && b.fits);\n"
     "}\n"},
    {"th_checked_add", In::kC99,
     "static inline ThNumber th_checked_add(ThNumber a, ThNumber b) {\n"
     "  const long x = a.value, y = b.value;\n"
     "  const bool over = y >= 0 ? x > LONG_MAX - y : x < LONG_MIN - y;\n"
     "  return (ThNumber){over ? 0 : x + y, a.fits && b.fits && !over};\n"
     "}\n"},
    {"th_checked_mul", In::kC99,
     "static inline ThNumber th_checked_mul(ThNumber a, ThNumber b) {\n"
     "  const long x = a.value, y = b.value;\n"
     "  const bool over = x > 0 ? (y > 0 ? x > LONG_MAX / y : y < LONG_MIN / x)\n"
     "                          : (y > 0 ? x < LONG_MIN / y : x != 0 && y < LONG_MAX / x);\n"
     "  return (ThNumber){over ? 0 : x * y, a.fits && b.fits && !over};\n"
     "}\n"},
    {"th_checked_max", In::kC99,
     "static inline ThNumber th_checked_max(ThNumber a, ThNumber b) {\n"
     "  return (ThNumber){a.value > b.value ? a.value : b.value, a.fits && b.fits};\n"
     "}\n"},
    {"th_checked_min", In::kC99,
     "static inline ThNumber th_checked_min(ThNumber a, ThNumber b) {\n"
     "  return (ThNumber){a.value < b.value ? a.value : b.value, a.fits && b.fits};\n"
     "}\n"},
    {"th_checked_floor_div", In::kC99,
     "static inline ThNumber th_checked_floor_div(ThNumber a, ThNumber b) {\n"
     "  const long x = a.value, y = b.value;\n"
     "  return (ThNumber){x / y - (x % y != 0 && (x < 0) != (y < 0)), a.fits && b.fits};\n"
     "}\n"},
    {"differ_checked", In::kC99,
     "static inline bool differ_checked(ThContext* ctx, int check, int too_large, ThNumber length,\n"
     "                                  ThNumber expected) {\n"
     "  if (length.fits && expected.fits && length.value == expected.value) return false;\n"
     "  const bool fits = length.fits && expected.fits;\n"
     "  ctx->fail(ctx, fits ? check : too_large, fits ? length.value : 0, fits ? expected.value : 0);\n"
     "  return true;\n"
     "}\n"},
};

}  // namespace

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

std::string entry_helpers(std::string_view entry, kernel::Language language) {
  const std::unordered_set<std::string_view> called = called_names(entry);
  std::string out;
  const bool has_numbers = entry.find("ThNumber") != std::string_view::npos || called.contains("th_number_of");
  for (const EntryHelper& helper : kEntryHelpers)
    if (helper.is_in(language) && (called.contains(helper.name) || (has_numbers && helper.name == "ThNumber")))
      out += helper.definition;
  if (has_numbers)
    for (const EntryHelper& helper : kCheckedHelpers)
      if (helper.is_in(language) && called.contains(helper.name)) out += helper.definition;
  return out;
}

}  // namespace thtrain
