#include "compiler/kernel/cpp/dialect.h"

#include <array>

#include "compiler/kernel/c/statements.h"
#include "compiler/kernel/cpp/terms.h"
#include "compiler/kernel/cpp/types.h"
#include "compiler/kernel/cpp/vectors.h"

namespace thtrain::kernel::cpp {
namespace {

class CppDialect : public c::Statements {
 public:
  explicit CppDialect(Target target) : target_(std::move(target)) {}

  // ---- terms

  std::string type(const TermType& t, Helpers& h) const override { return type_text(t, h); }
  std::string constant(const TermNode& node) const override { return constant_text(node); }
  std::string term(const TermNode& node, const std::vector<std::string>& args, Helpers& h) const override {
    return term_text(node, args, *this, target_, h);
  }

  // ---- statements

  std::string variable(const Var& s, const TermText& value, Helpers& h) const override {
    if (s.number < 0 || !has_own_register(s.start.type())) return Statements::variable(s, value, h);
    return str(sum_text(s.start.type(), s.name, s.number, h), " = ", value.alone(), ";");
  }
  std::string add_product(const std::string& name, const TermNode& fma, const std::vector<std::string>& args,
                          Helpers& h) const override {
    return has_own_register(fma.type) ? add_product_text(fma, name, args, h) + ";" : "";
  }

  std::string store(const Store& s, const StoreText& text, Helpers& h) const override {
    return store_text(s, text, h) + ";";
  }

  // Vectors are explicit: of the marks only "unrolled" changes the text.
  Enclosing loop(const ForLoop& s, const TermText& begin, const TermText& end, const TermText& step) const override {
    Enclosing out = Statements::loop(s, begin, end, step);
    if (s.mark == LoopMark::kUnrolled) out.open.insert(out.open.begin(), "#pragma GCC unroll 16");
    return out;
  }

  std::string local_array(const LocalArray& s, Helpers& h) const override {
    return str("alignas(64) ", type(s.type, h), " ", s.name, "[", s.count, "];");
  }

  std::string prefetch(const PrefetchLine& s, const TermText& index) const override {
    const char* kind = s.to == Prefetch::kWrite ? ", 1" : s.to == Prefetch::kL2 ? ", 0, 2" : "";
    return str("__builtin_prefetch(", s.buffer, " + ", index.operand(), kind, ");");
  }

  std::string fence() const override { return "__atomic_thread_fence(__ATOMIC_SEQ_CST);"; }

 protected:
  std::string memcpy_name() const override { return "__builtin_memcpy"; }

 private:
  const Target target_;  // its isa and vectors
};

}  // namespace

const Dialect& dialect(const Target& target) {
  const int bytes = target.vector_bytes;
  TH_CHECK(bytes == 16 || bytes == 32 || bytes == 64, "vectors of ", bytes, " bytes");
  // What libraries of vector maths there are follows from the family of processors.
  const auto of = [](const char* isa) {
    return std::array{CppDialect({.isa = isa, .vector_bytes = 16}), CppDialect({.isa = isa, .vector_bytes = 32}),
                      CppDialect({.isa = isa, .vector_bytes = 64})};
  };
  static const std::array<CppDialect, 3> of_x86 = of("avx512"), of_others = of("other");
  return (target.is_x86() ? of_x86 : of_others)[bytes == 64 ? 2 : bytes / 32];
}

}  // namespace thtrain::kernel::cpp
