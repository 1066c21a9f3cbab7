#include "compiler/kernel/c/dialect.h"

namespace thtrain::kernel::c {
namespace {

void require_scalar(const TermType& t) {
  TH_CHECK(!t.is_vector(), "a vector in a scalar language");
}

Term zero_of(const TermType& t) {
  return is_float(t.dtype) ? kernel::constant(t.dtype, 0) : constant_int(t.dtype, 0);
}

}  // namespace

std::string ScalarDialect::type(const TermType& t, Helpers&) const {
  require_scalar(t);
  return name_of_element(t.dtype).c;
}

std::string ScalarDialect::term(const TermNode& n, const std::vector<std::string>& a, Helpers& h) const {
  require_scalar(n.type);
  if (std::string text = scalar_text(n, a); !text.empty()) return text;
  // What concerns the lanes of a vector does nothing to one element.
  if (n.prim == Prim::kInRegister || n.prim == Prim::kSplat || n.prim == Prim::kReduceLanes) return a[0];
  if (n.prim == Prim::kIota) return constant(zero_of(n.type).node());
  if (n.prim == Prim::kBitCast) return bit_cast(n, a[0], h);
  const std::string arguments = n.prim == Prim::kScale ? str(a[0], ", (int)", a[1]) : join(a, ", ");
  return str(function_of(n), "(", arguments, ")");
}

std::string ScalarDialect::function_of(const TermNode& n) const {
  const auto name = [&]() -> std::string {
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
    TH_CHECK(false, "a term of a scalar language without a printed form");
    return {};
  };
  return name() + (n.type.dtype == DType::kFloat32 ? "f" : "");
}

std::string ScalarDialect::store(const Store& s, const StoreText& text, Helpers&) const {
  require_scalar(s.value.type());
  return str(s.buffer, "[", text.index.alone(), "] = ", text.value.alone(), ";");
}

std::string ScalarDialect::local_array(const LocalArray& s, Helpers& h) const {
  return str(type(s.type, h), " ", s.name, "[", s.count, "];");
}

namespace {

class C99Dialect : public ScalarDialect {
 public:
  std::string constant(const TermNode& node) const override {
    static const SpecialFloats special{"INFINITY", "NAN"};
    return constant_text(node, special);
  }

 protected:
  std::string memcpy_name() const override { return "memcpy"; }

  std::string bit_cast(const TermNode& n, const std::string& a, Helpers& h) const override {
    const ElementName from = name_of_element(n.args[0].dtype()), to = name_of_element(n.type.dtype);
    const std::string name = str("bits_of_", from.brief, "_as_", to.brief);
    if (h.need(name))
      h.add(str("static inline ", to.c, " ", name, "(", from.c, " x) {\n  ", to.c,
                " r;\n  memcpy(&r, &x, sizeof r);\n  return r;\n}\n"));
    return str(name, "(", a, ")");
  }
};

}  // namespace

const Dialect& dialect() {
  static const C99Dialect c99;
  return c99;
}

}  // namespace thtrain::kernel::c
