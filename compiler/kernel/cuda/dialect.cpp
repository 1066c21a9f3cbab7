#include "compiler/kernel/cuda/dialect.h"

#include <cstdio>

#include "compiler/kernel/c/dialect.h"

namespace thtrain::kernel::cuda {
namespace {

using c::ElementName, c::name_of_element;

// The first check that a thread finds broken is kept; the host reads it behind the kernel.
constexpr const char* kFail =
    "static __device__ void th_fail(long* failure, long check, long value, long limit) {\n"
    "  if (atomicCAS((unsigned long long*)failure, 0ULL, (unsigned long long)check + 1ULL) != 0ULL) return;\n"
    "  failure[1] = value;\n"
    "  failure[2] = limit;\n"
    "}\n";

const char* name_of(AtomicKind kind) {
  static constexpr const char* kNames[] = {"atomicAdd", "atomicMin", "atomicMax", "atomicAnd", "atomicOr"};
  return kNames[static_cast<int>(kind)];
}

// The atomic functions know int, unsigned, and the two that are spelled "long long"; a sum has the same bits with and
// without a sign.
std::string atomic_type(DType dtype, AtomicKind kind) {
  switch (dtype) {
    case DType::kInt32:
      return "int";
    case DType::kUInt32:
      return "unsigned";
    case DType::kInt64:
      return kind == AtomicKind::kAdd ? "unsigned long long" : "long long";
    case DType::kUInt64:
      return "unsigned long long";
    default:
      break;
  }
  TH_CHECK(false, "an atomic operation on ", thtrain::name_of(dtype));
  return {};
}

size_t bytes_of(const TermType& type) {
  return size_of(type.dtype) * static_cast<size_t>(type.lanes);
}

std::string address(const std::string& buffer, const std::string& index) {
  return index == "0L" ? buffer : str("(", buffer, " + ", index, ")");
}

class CudaDialect : public c::ScalarDialect {
 public:
  // A vector is elements side by side that one instruction loads or stores; nothing is computed with it.
  std::string type(const TermType& t, Helpers& h) const override {
    if (!t.is_vector()) return ScalarDialect::type(t, h);
    const c::ElementName element = name_of_element(t.dtype);
    std::string out = str(element.brief, "x", t.lanes);
    if (h.need(out))
      h.add(str("struct alignas(", bytes_of(t), ") ", out, " {\n  ", element.c, " x[", t.lanes, "];\n};\n"));
    return out;
  }

  std::string term(const TermNode& n, const std::vector<std::string>& a, Helpers& h) const override {
    if (n.prim == Prim::kIsAligned)
      return str("((unsigned long)", address(n.name, a[0]), " % ", n.integer, "UL == 0UL)");
    if (n.prim != Prim::kLoad || !n.type.is_vector()) return ScalarDialect::term(n, a, h);
    TH_CHECK(is_constant(n.args[1], 1) && n.args.size() == 2, "a vector of a device whose lanes are not side by side");
    return str("*(const ", type(n.type, h), "*)", address(n.name, a[0]));
  }

  std::string store(const Store& s, const StoreText& text, Helpers& h) const override {
    const TermType& of = s.value.type();
    if (!of.is_vector()) return ScalarDialect::store(s, text, h);
    TH_CHECK(is_constant(s.stride, 1) && !static_cast<bool>(s.count),
             "a vector of a device whose lanes are not side by side");
    return str("*(", type(of, h), "*)", address(s.buffer, text.index.operand()), " = ", text.value.alone(), ";");
  }

  std::string local_array(const LocalArray& s, Helpers& h) const override {
    if (!s.type.is_vector()) return ScalarDialect::local_array(s, h);
    return str("alignas(", bytes_of(s.type), ") ", name_of_element(s.type.dtype).c, " ", s.name, "[",
               s.count * s.type.lanes, "];");
  }

  std::string constant(const TermNode& node) const override {
    static const c::SpecialFloats singles{"__int_as_float(0x7f800000)", "__int_as_float(0x7fffffff)"},
        doubles{"__longlong_as_double(0x7ff0000000000000LL)", "__longlong_as_double(0x7fffffffffffffffLL)"};
    return c::constant_text(node, node.type.dtype == DType::kFloat32 ? singles : doubles);
  }

  Enclosing loop(const ForLoop& s, const TermText& begin, const TermText& end, const TermText& step) const override {
    Enclosing out = Statements::loop(s, begin, end, step);
    if (s.mark == LoopMark::kUnrolled) out.open.insert(out.open.begin(), "#pragma unroll");
    if (s.mark == LoopMark::kRolled) out.open.insert(out.open.begin(), "#pragma unroll 1");
    return out;
  }

  std::vector<std::string> fail(const TermText& check, const TermText& value, const TermText& limit,
                                Helpers& h) const override {
    if (h.need("th_fail")) h.add(kFail);
    return {str("th_fail(failure, ", check.operand(), ", ", value.alone(), ", ", limit.alone(), ");"), "return;"};
  }

  // ---- threads of a block

  std::string barrier(const Barrier& s) const override {
    return s.scope == Scope::kBlock ? "__syncthreads();" : "__syncwarp();";
  }

  std::string shared_array(const SharedArray& s, Helpers&) const override {
    return str("alignas(16) __shared__ ", name_of_element(s.dtype).c, " ", s.name, "[", s.count, "];");
  }

  std::string shuffle(const Shuffle& s, const TermText& value, Helpers& h) const override {
    char mask[16];
    std::snprintf(mask, sizeof mask, "0x%08xu", s.mask);
    return str("const ", type(s.value.type(), h), " ", s.name, " = ",
               s.choice == LaneChoice::kBehind ? "__shfl_down_sync(" : "__shfl_sync(", mask, ", ", value.alone(), ", ",
               s.lane, ");");
  }

  std::string atomic(const Atomic& s, const TermText& index, const TermText& value) const override {
    const std::string of = atomic_type(s.value.dtype(), s.kind);
    return str(name_of(s.kind), "((", of, "*)(", s.buffer, " + ", index.operand(), "), (", of, ")", value.operand(),
               ");");
  }

  // ---- functions

  FunctionHead function(const Function& f, Helpers&) const override {
    std::vector<std::string> parameters;
    for (const BufferParameter& b : f.buffers)
      parameters.push_back(str(b.written ? "" : "const ", name_of_element(b.dtype).c, "* ", b.name));
    for (const std::string& length : f.lengths) parameters.push_back("long " + length);
    for (const NumberParameter& n : f.numbers) parameters.push_back(str(name_of_element(n.dtype).c, " ", n.name));
    if (contains<Fail>(f.body) || f.reads_failure) parameters.push_back("long* failure");
    FunctionHead out{.before_name = "extern \"C\" __global__ void ",
                     .after_name = str("(", join(parameters, ", "), ") {"),
                     .first = {"const long block = blockIdx.x, thread = threadIdx.x;"},
                     .close = "}"};
    // Where threads wait for each other and some may fail, one asks for all of the block: the word may change
    // meanwhile.
    const bool waits = contains<Barrier>(f.body) || contains<Shuffle>(f.body);
    if (f.reads_failure && waits && contains<Fail>(f.body))
      out.first.insert(out.first.begin(), {"alignas(16) __shared__ long failed_before[1];",
                                           "if (threadIdx.x == 0) failed_before[0] = *(const volatile long*)failure;",
                                           "__syncthreads();", "if (failed_before[0] != 0) return;"});
    else if (f.reads_failure)
      out.first.insert(out.first.begin(), "if (*(const volatile long*)failure != 0) return;");
    return out;
  }

 protected:
  std::string memcpy_name() const override { return "memcpy"; }

  std::string bit_cast(const TermNode& n, const std::string& a, Helpers&) const override {
    const DType from = n.args[0].dtype(), to = n.type.dtype;
    const bool is_single = size_of(to) == sizeof(float);
    if (is_float(to) && is_float(from)) return a;
    if (is_float(to)) return str(is_single ? "__int_as_float((int)" : "__longlong_as_double(", a, ")");
    const std::string bits = is_float(from) ? str(is_single ? "__float_as_int(" : "__double_as_longlong(", a, ")") : a;
    return str("((", name_of_element(to).c, ")", bits, ")");
  }

  // Contraction is off: a multiply-add that is rounded once is written as such.
  std::string function_of(const TermNode& n) const override {
    if (n.prim == Prim::kFma) return n.type.dtype == DType::kFloat32 ? "__fmaf_rn" : "__fma_rn";
    return ScalarDialect::function_of(n);
  }
};

}  // namespace

const Dialect& dialect() {
  static const CudaDialect cuda;
  return cuda;
}

}  // namespace thtrain::kernel::cuda
