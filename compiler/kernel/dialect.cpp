#include "compiler/kernel/dialect.h"

#include "compiler/kernel/c/dialect.h"
#include "compiler/kernel/cpp/dialect.h"

namespace thtrain::kernel {

std::string Helpers::text() const {
  std::string out;
  for (const std::string& definition : definitions_) out += definition;
  return out;
}

std::string TermText::alone() const {
  if (text_.size() < 2 || text_.front() != '(' || text_.back() != ')') return text_;
  int depth = 0;
  for (size_t i = 0; i + 1 < text_.size(); ++i) {
    depth += text_[i] == '(' ? 1 : text_[i] == ')' ? -1 : 0;
    if (depth == 0) return text_;
  }
  return text_.substr(1, text_.size() - 2);
}

const Dialect& dialect_of(const Target& target) {
  return target.kind == Target::Kind::kC99 ? c::dialect() : cpp::dialect(target);
}

}  // namespace thtrain::kernel
