#include "compiler/codegen/identifiers.h"

#include <cctype>

#include "compiler/base/str.h"
#include "compiler/ir/dim.h"

namespace thtrain {

Identifiers::Identifiers() {
  static constexpr const char* kTaken[] = {
      "args",     "ctx",          "int",          "long",           "float",    "double",   "char",    "for",
      "if",       "do",           "new",          "return",         "while",    "const",    "static",  "this",
      "auto",     "bool",         "short",        "void",           "switch",   "case",     "default", "delete",
      "class",    "struct",       "union",        "enum",           "template", "operator", "not",     "and",
      "or",       "xor",          "signed",       "unsigned",       "register", "private",  "public",  "using",
      "run",      "run_parallel", "differ",       "run_reference",  "probe",    "share",    "th_max",  "th_min",
      "th_bits",  "th_floor_div", "th_number_of", "differ_checked", "inline",   "restrict", "true",    "false",
      "INFINITY", "NAN",          "LONG_MAX",     "LONG_MIN"};
  for (const char* name : kTaken) used_.emplace(name, 1);
}

std::string Identifiers::unique(std::string_view wish) {
  std::string name;
  for (char c : readable(wish)) name += std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  if (name.empty() || std::isdigit(static_cast<unsigned char>(name[0]))) name = "v_" + name;
  auto [at, fresh] = used_.try_emplace(name, 1);
  if (fresh) return name;
  std::string numbered;
  do numbered = str(name, "_", ++used_[name]);
  while (!used_.try_emplace(numbered, 1).second);
  return numbered;
}

}  // namespace thtrain
