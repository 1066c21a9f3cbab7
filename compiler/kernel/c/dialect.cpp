#include "compiler/kernel/c/dialect.h"

#include "compiler/kernel/c/statements.h"
#include "compiler/kernel/c/terms.h"

namespace thtrain::kernel::c {
namespace {

// The same bits as another dtype of the same size.
std::string bit_cast_text(const TermNode& n, const std::string& a, Helpers& h) {
  const ElementName from = name_of_element(n.args[0].dtype()), to = name_of_element(n.type.dtype);
  const std::string name = str("bits_of_", from.brief, "_as_", to.brief);
  if (h.need(name))
    h.add(str("static inline ", to.c, " ", name, "(", from.c, " x) {\n  ", to.c,
              " r;\n  memcpy(&r, &x, sizeof r);\n  return r;\n}\n"));
  return str(name, "(", a, ")");
}

// The function of libm, by its name for doubles.
std::string function_of(const TermNode& n) {
  switch (n.prim) {
    case Prim::kSqrt:
      return "sqrt";
    case Prim::kFabs:
      return "fabs";
    case Prim::kFloor:
      return "floor";
    case Prim::kCeil:
      return "ceil";
    case Prim::kRint:
      return "rint";
    case Prim::kTrunc:
      return "trunc";
    case Prim::kFma:
      return "fma";
    case Prim::kCopySign:
      return "copysign";
    case Prim::kScale:
      return "ldexp";
    case Prim::kMath:
      return n.name;
    default:
      break;
  }
  TH_CHECK(false, "a term of scalar C99 without a printed form");
  return {};
}

class C99Dialect : public Statements {
 public:
  std::string type(const TermType& t, Helpers&) const override {
    require_scalar(t);
    return name_of_element(t.dtype).c;
  }

  std::string constant(const TermNode& node) const override {
    static const SpecialFloats special{"INFINITY", "NAN"};
    return constant_text(node, special);
  }

  std::string term(const TermNode& n, const std::vector<std::string>& a, Helpers& h) const override {
    require_scalar(n.type);
    if (std::string text = scalar_text(n, a); !text.empty()) return text;
    // What concerns the lanes of a vector does nothing to one element.
    if (n.prim == Prim::kInRegister || n.prim == Prim::kSplat || n.prim == Prim::kReduceLanes) return a[0];
    if (n.prim == Prim::kIota) return constant(constant_of(n.type).node());
    if (n.prim == Prim::kBitCast) return bit_cast_text(n, a[0], h);
    const char* suffix = n.type.dtype == DType::kFloat32 ? "f" : "";
    const std::string arguments = n.prim == Prim::kScale ? str(a[0], ", (int)", a[1]) : join(a, ", ");
    return str(function_of(n), suffix, "(", arguments, ")");
  }

  std::string store(const Store& s, const StoreText& text, Helpers&) const override {
    require_scalar(s.value.type());
    return str(s.buffer, "[", text.index.alone(), "] = ", text.value.alone(), ";");
  }

  std::string local_array(const LocalArray& s, Helpers& h) const override {
    return str(type(s.type, h), " ", s.name, "[", s.count, "];");
  }

  // Of no use to results, and nothing that C99 can say.
  std::string prefetch(const PrefetchLine&, const TermText&) const override { return {}; }
  std::string fence() const override { return {}; }

 protected:
  std::string memcpy_name() const override { return "memcpy"; }

 private:
  static void require_scalar(const TermType& t) { TH_CHECK(!t.is_vector(), "a vector in scalar C99"); }
  static Term constant_of(const TermType& t) {
    return is_float(t.dtype) ? kernel::constant(t.dtype, 0) : constant_int(t.dtype, 0);
  }
};

}  // namespace

const Dialect& dialect() {
  static const C99Dialect c99;
  return c99;
}

}  // namespace thtrain::kernel::c
