#include "compiler/kernel/cpp/dialect.h"

#include "compiler/kernel/cpp/terms.h"
#include "compiler/kernel/cpp/types.h"
#include "compiler/kernel/cpp/vectors.h"

namespace thtrain::kernel::cpp {
namespace {

class CppDialect : public Dialect {
 public:
  explicit CppDialect(int vector_bytes) : vector_bytes_(vector_bytes) {}

  // ---- terms

  std::string type(const TermType& t, Helpers& h) const override { return type_text(t, h); }
  std::string constant(const TermNode& node) const override { return constant_text(node); }
  std::string term(const TermNode& node, const std::vector<std::string>& args, Helpers& h) const override {
    return term_text(node, args, *this, vector_bytes_, h);
  }

  // ---- statements

  std::string comment(const std::string& text) const override { return "// " + text; }

  std::string let(const Let& s, const TermText& value, Helpers& h) const override {
    return str("const ", type(s.value.type(), h), " ", s.name, " = ", value.alone(), ";");
  }

  std::string variable(const Var& s, const TermText& value, Helpers& h) const override {
    return str(type(s.start.type(), h), " ", s.name, " = ", value.alone(), ";");
  }

  std::string assign(const std::string& name, const TermText& value) const override {
    return str(name, " = ", value.alone(), ";");
  }

  std::string store(const Store& s, const StoreText& text, Helpers& h) const override {
    return store_text(s, text, h) + ";";
  }

  // One thread runs each part of a range, and vectors are explicit: of the marks only "unrolled" changes the text.
  Enclosing loop(const ForLoop& s, const TermText& begin, const TermText& end, const TermText& step) const override {
    std::vector<std::string> open;
    if (s.mark == LoopMark::kUnrolled) open.push_back("#pragma GCC unroll 16");
    const std::string next = is_constant(s.step, 1) ? str("++", s.name) : str(s.name, " += ", step.operand());
    open.push_back(
        str("for (long ", s.name, " = ", begin.alone(), "; ", s.name, " < ", end.operand(), "; ", next, ") {"));
    return {.open = std::move(open), .close = str("}  // ", s.name)};
  }

  Enclosing while_loop(const TermText& condition) const override {
    return {.open = {str("while (", condition.alone(), ") {")}, .close = "}"};
  }

  Enclosing branch(const TermText& condition) const override {
    return {.open = {str("if (", condition.alone(), ") {")}, .close = "}"};
  }

  std::string otherwise() const override { return "} else {"; }

  std::string local_array(const LocalArray& s, Helpers& h) const override {
    return str("alignas(64) ", type(s.type, h), " ", s.name, "[", s.count, "];");
  }

  std::string prefetch(const PrefetchLine& s, const TermText& index) const override {
    const char* kind = s.to == Prefetch::kWrite ? ", 1" : s.to == Prefetch::kL2 ? ", 0, 2" : "";
    return str("__builtin_prefetch(", s.buffer, " + ", index.operand(), kind, ");");
  }

  std::string fence() const override { return "__atomic_thread_fence(__ATOMIC_SEQ_CST);"; }

  std::vector<std::string> fail(const TermText& check, const TermText& value, const TermText& limit) const override {
    return {str("ctx->fail(ctx, (int)", check.operand(), ", ", value.alone(), ", ", limit.alone(), ");"), "return;"};
  }

  // ---- functions

  FunctionHead function(const Function& f, Helpers& h) const override {
    FunctionHead head{
        .before_name = "static void ",
        .after_name = "(ThContext* ctx, void* const* buffers, const long* lengths, long begin, long end) {",
        .close = "}"};
    for (size_t i = 0; i < f.buffers.size(); ++i) {
      const BufferParameter& b = f.buffers[i];
      const std::string pointer = str(b.written ? "" : "const ", name_of_element(b.dtype).c, "*");
      head.first.push_back(str(pointer, " ", b.name, " = (", pointer, ")buffers[", i, "];"));
    }
    for (size_t i = 0; i < f.lengths.size(); ++i)
      head.first.push_back(str("const long ", f.lengths[i], " = lengths[", i, "];"));
    for (size_t i = 0; i < f.numbers.size(); ++i)
      head.first.push_back(str("const ", name_of_element(f.numbers[i].dtype).c, " ", f.numbers[i].name, " = ",
                               number(f.lengths.size() + i, f.numbers[i].dtype, h), ";"));
    return head;
  }

  FunctionHead inline_function(const TermType& result, const Term& parameter, Helpers& h) const override {
    // "inline" alone: where a kernel has many calls, compilers stop inlining, or they would take seconds.
    return {.before_name = str("static inline ", type(result, h), " "),
            .after_name = str("(", type(parameter.type(), h), " ", parameter.node().name, ") {"),
            .close = "}"};
  }

  std::string result(const TermText& value) const override { return str("return ", value.alone(), ";"); }

 private:
  // The number whose bits, as a double's, a length has.
  static std::string number(size_t place, DType dtype, Helpers& h) {
    if (h.need("th_number"))
      h.add(
          "static inline double th_number(long bits) { double x; __builtin_memcpy(&x, &bits, sizeof x); return x; }\n");
    return str(dtype == DType::kFloat32 ? "(float)" : "", "th_number(lengths[", place, "])");
  }

  int vector_bytes_;
};

}  // namespace

const Dialect& dialect(int vector_bytes) {
  static const CppDialect k16(16), k32(32), k64(64);
  TH_CHECK(vector_bytes == 16 || vector_bytes == 32 || vector_bytes == 64, "vectors of ", vector_bytes, " bytes");
  return vector_bytes == 64 ? k64 : vector_bytes == 32 ? k32 : k16;
}

}  // namespace thtrain::kernel::cpp
