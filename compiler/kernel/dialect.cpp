#include "compiler/kernel/dialect.h"

#include "compiler/kernel/c/dialect.h"
#include "compiler/kernel/cpp/dialect.h"
#include "compiler/kernel/cuda/dialect.h"

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

static std::string no_form(const char* what) {
  TH_CHECK(false, what, " in a language of processors");
  return {};
}

std::string Dialect::barrier(const Barrier&) const {
  return no_form("a barrier");
}
std::string Dialect::shared_array(const SharedArray&, Helpers&) const {
  return no_form("a shared array");
}
std::string Dialect::shuffle(const Shuffle&, const TermText&, Helpers&) const {
  return no_form("a shuffle");
}
std::string Dialect::atomic(const Atomic&, const TermText&, const TermText&) const {
  return no_form("an atomic operation");
}

const Dialect& dialect_of(const Target& target) {
  switch (target.language()) {
    case Language::kC99:
      return c::dialect();
    case Language::kCuda:
      return cuda::dialect();
    case Language::kCpp:
      break;
  }
  return cpp::dialect(target);
}

}  // namespace thtrain::kernel
