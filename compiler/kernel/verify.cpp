#include "compiler/kernel/verify.h"

#include <bit>
#include <map>
#include <optional>
#include <unordered_map>

#include "compiler/base/error.h"
#include "compiler/base/str.h"
#include "compiler/kernel/uniform_flow.h"

namespace thtrain::kernel {
namespace {

constexpr int64_t kStackBytes = 512 << 10;
constexpr int kWidening = 16;         // registers of the widest vector: compilers take such vectors apart
constexpr size_t kDeviceVector = 16;  // bytes that a thread of a device loads or stores at once
constexpr TermType kIndex{DType::kInt64, 1, 0};

// constant + the sum of factors times loops' variables.
struct Affine {
  int64_t constant = 0;
  std::map<std::string, int64_t> factors = {};

  void add(const Affine& other, int64_t factor) {
    constant += factor * other.constant;
    for (const auto& [name, of] : other.factors)
      if ((factors[name] += factor * of) == 0) factors.erase(name);
  }
};

struct Name {
  enum class Kind : uint8_t { kConstant, kVariable, kArray, kInput, kOutput } kind;
  TermType type;
  std::optional<Affine> value = {};           // of an int64, where it is affine
  std::optional<ElementRange> elements = {};  // of an array or buffer, where known
};

class Verifier {
 public:
  Verifier(const Function& function, const Target& target) : function_(function), target_(target) {}

  void run() {
    for (const BufferParameter& b : function_.buffers)
      add(b.name, {.kind = b.written ? Name::Kind::kOutput : Name::Kind::kInput,
                   .type = {b.dtype, 1, 0},
                   .elements = b.elements});
    for (const std::string& length : function_.lengths) add(length, {Name::Kind::kConstant, kIndex});
    for (const NumberParameter& n : function_.numbers) add(n.name, {Name::Kind::kConstant, {n.dtype, 1, 0}});
    const auto kind = [](bool is_device) { return is_device ? "a device" : "a processor"; };
    require(function_.is_of_device() == target_.is_device(), "written for ", kind(function_.is_of_device()),
            ", and the target is ", kind(target_.is_device()));
    if (function_.is_of_device())
      threads();
    else
      for (const char* of_range : {"begin", "end"}) add(of_range, {Name::Kind::kConstant, kIndex});
    block(function_.body);
    if (!function_.is_of_device()) return;
    require(shared_ <= target_.device.shared_bytes, "shared arrays of ", shared_, " bytes, and a block has ",
            target_.device.shared_bytes);
    const std::string broken = broken_uniformity(function_, target_.device.warp);
    require(broken.empty(), broken);
  }

 private:
  template <class... What>
  void require(bool condition, const What&... what) const {
    TH_CHECK(condition, "kernel ", function_.name, ": ", what...);
  }

  void threads() {
    require(function_.threads <= target_.device.threads, function_.threads, " threads in a block, which has at most ",
            target_.device.threads);
    add("block", {Name::Kind::kConstant, kIndex});
    loops_["thread"] = {0, function_.threads - 1};
    add("thread", {Name::Kind::kConstant, kIndex, Affine{0, {{"thread", 1}}}});
  }

  // ---- names

  void add(const std::string& name, Name what) {
    require(names_.emplace(name, what).second, name, " is defined twice");
    scope_.push_back(name);
  }

  const Name& find(const std::string& name) const {
    const auto at = names_.find(name);
    require(at != names_.end(), name, " is not defined here");
    return at->second;
  }

  void block(const Block& statements) {
    const size_t outside = scope_.size();
    for (const Statement& s : statements) std::visit([&](const auto& kind) { statement(kind); }, s);
    for (; scope_.size() > outside; scope_.pop_back()) names_.erase(scope_.back());
  }

  void branch(const Block& statements) {
    ++branches_;
    nested(statements);
    --branches_;
  }

  void nested(const Block& statements) {
    ++depth_;
    block(statements);
    --depth_;
  }

  // ---- statements

  void statement(const Comment&) {}
  void statement(const Fence&) {}
  void statement(const Let& s) {
    term(s.value);
    add(s.name, {Name::Kind::kConstant, s.value.type(), affine(s.value)});
  }
  void statement(const Var& s) {
    term(s.start);
    add(s.name, {Name::Kind::kVariable, s.start.type()});
  }
  void statement(const Assign& s) {
    term(s.value);
    const Name& to = find(s.name);
    require(to.kind == Name::Kind::kVariable, s.name, " is assigned, and no variable");
    require(to.type == s.value.type(), s.name, " is assigned a value of another type");
  }
  void statement(const Store& s) {
    term(s.value);
    number(s.stride, "a stride");
    if (s.count) number(s.count, "a number of lanes");
    const Name& to = find(s.buffer);
    require(to.kind == Name::Kind::kArray || to.kind == Name::Kind::kOutput, "a store to ", s.buffer,
            ", which is not written");
    require(to.type.dtype == s.value.dtype(), "a ", name_of(s.value.dtype()), " is stored to ", s.buffer, " of ",
            name_of(to.type.dtype));
    access(s.buffer, to, s.index, s.value.lanes(), s.stride, s.count);
  }
  void statement(const ForLoop& s) {
    number(s.begin, "a loop's begin");
    number(s.end, "a loop's end");
    number(s.step, "a loop's step");
    require(!is_number(s.step) || s.step.node().integer > 0, "a loop over ", s.name, " in steps that are not positive");
    const bool are_numbers = is_number(s.begin) && is_number(s.end) && is_number(s.step);
    const size_t outside = scope_.size();
    Name variable{Name::Kind::kConstant, kIndex};
    if (are_numbers) {
      const int64_t begin = s.begin.node().integer, last = s.end.node().integer - 1, step = s.step.node().integer;
      if (last < begin) return;  // no iteration
      loops_[s.name] = {begin, begin + (last - begin) / step * step};
      variable.value = Affine{0, {{s.name, 1}}};
    }
    add(s.name, std::move(variable));
    nested(s.body);
    names_.erase(s.name);
    scope_.resize(outside);
  }
  void statement(const If& s) {
    condition(s.condition);
    branch(s.then);
    branch(s.otherwise);
  }
  void statement(const While& s) {
    condition(s.condition);
    branch(s.body);
  }
  void statement(const LocalArray& s) {
    require(s.count > 0, "an array of ", s.count, " elements");
    vector(s.type);
    stack_ += s.count * s.type.lanes * static_cast<int64_t>(size_of(s.type.dtype));
    require(stack_ <= kStackBytes, "local arrays of ", stack_, " bytes");
    add(s.name, {Name::Kind::kArray, s.type, {}, ElementRange{0, s.count * s.type.lanes - 1}});
  }
  void statement(const PrefetchLine& s) {
    number(s.index, "an index");
    const Name& of = find(s.buffer);
    require(of.kind >= Name::Kind::kArray, "a prefetch of ", s.buffer, ", which is no buffer");
  }
  void statement(const Fail& s) {
    number(s.check, "a check's number");
    for (const Term& shown : {s.value, s.limit}) {
      term(shown);
      require(!shown.type().is_vector(), "a check shows a vector");
    }
  }

  // ---- of devices

  void of_device(const char* what) const { require(function_.is_of_device(), what, " in a kernel of a processor"); }
  void statement(const Barrier&) { of_device("a barrier"); }
  void statement(const SharedArray& s) {
    of_device("a shared array");
    require(depth_ == 0, "a shared array within a loop or branch");
    require(s.count > 0, "an array of ", s.count, " elements");
    shared_ += s.count * static_cast<int64_t>(size_of(s.dtype));
    add(s.name, {Name::Kind::kArray, {s.dtype, 1, 0}, {}, ElementRange{0, s.count - 1}});
  }
  void statement(const Shuffle& s) {
    of_device("a shuffle");
    term(s.value);
    require(!s.value.type().is_vector(), "a shuffle of a vector");
    require(s.lane >= 0 && s.lane < target_.device.warp, "a shuffle from lane ", s.lane, " of ", target_.device.warp);
    add(s.name, {Name::Kind::kConstant, s.value.type()});
  }
  void statement(const Atomic& s) {
    of_device("an atomic operation");
    term(s.value);
    const Name& to = find(s.buffer);
    const DType dtype = s.value.dtype();
    require(to.kind == Name::Kind::kArray || to.kind == Name::Kind::kOutput, "an atomic operation on ", s.buffer,
            ", which is not written");
    require(to.type.dtype == dtype, "an atomic operation with an element of ", name_of(dtype), " on ", s.buffer, " of ",
            name_of(to.type.dtype));
    require(is_int(dtype) && size_of(dtype) >= 4, "an atomic operation on elements of ", name_of(dtype),
            ": integers of 32 and 64 bits have them");
    access(s.buffer, to, s.index, 1, 1, {});
  }

  // ---- terms

  void vector(const TermType& type) const {
    const size_t element = type.mask_bytes ? static_cast<size_t>(type.mask_bytes) : size_of(type.dtype);
    if (function_.is_of_device()) {
      const size_t bytes = static_cast<size_t>(type.lanes) * element;
      return require(!type.is_vector() || (std::has_single_bit(bytes) && bytes <= kDeviceVector), "a vector of ", bytes,
                     " bytes on a device");
    }
    require(!type.is_vector() || type.lanes <= kWidening * target_.lanes_of_bytes(element), "a vector of ",
            type.lanes * static_cast<int64_t>(element), " bytes");
  }

  void condition(const Term& t) {
    term(t);
    require(t.dtype() == DType::kBool && !t.type().is_vector(), "a condition that is no single bool");
  }

  void number(const Term& t, const char* what) {
    term(t);
    require(t.type() == kIndex, what, " that is no single int64");
  }

  void term(const Term& t) {
    const TermNode& node = t.node();
    if (node.prim == Prim::kConstant) return;
    if (node.prim == Prim::kVariable) {
      const Name& name = find(node.name);
      require(name.kind <= Name::Kind::kVariable, node.name, " is a buffer, and no value");
      return require(name.type == node.type, node.name, " is used with another type");
    }
    vector(node.type);
    for (const Term& arg : node.args) term(arg);
    if (node.prim == Prim::kIsAligned) {
      of_device("the alignment of an address");
      number(node.args[0], "an index");
      require(find(node.name).kind >= Name::Kind::kArray, "the address of ", node.name, ", which is no buffer");
    }
    require(!function_.is_of_device() || !node.type.is_vector() || node.prim == Prim::kLoad,
            "a vector that a device computes");
    if (node.prim != Prim::kLoad && node.prim != Prim::kGather) return;
    const Name& from = find(node.name);
    require(from.kind >= Name::Kind::kArray, "a load of ", node.name, ", which is no buffer");
    require(from.type.dtype == node.type.dtype, "a load of ", name_of(node.type.dtype), " from ", node.name, " of ",
            name_of(from.type.dtype));
    if (node.prim == Prim::kLoad)
      access(node.name, from, node.args[0], node.type.lanes, node.args[1],
             node.args.size() == 3 ? node.args[2] : Term());
  }

  void access(const std::string& name, const Name& buffer, const Term& index, int lanes, const Term& stride,
              const Term& count) {
    number(index, "an index");
    const std::optional<Affine> at = affine(index);
    const bool has_count = static_cast<bool>(count);
    if (branches_ > 0 || !buffer.elements || !at) return;
    if (has_count && is_number(count) && count.node().integer == 0) return;  // no lanes
    ElementRange range{at->constant, at->constant};
    auto extend = [&](int64_t first, int64_t last) {
      range.least += std::min(first, last);
      range.greatest += std::max(first, last);
    };
    for (const auto& [loop, factor] : at->factors)
      extend(factor * loops_.at(loop).least, factor * loops_.at(loop).greatest);
    if (is_number(stride) && (!has_count || is_number(count)))
      extend(0, stride.node().integer * ((has_count ? count.node().integer : lanes) - 1));
    require(range.least >= buffer.elements->least && range.greatest <= buffer.elements->greatest, "elements ",
            range.least, " to ", range.greatest, " of ", name, ", which has ", buffer.elements->least, " to ",
            buffer.elements->greatest);
  }

  static bool is_number(const Term& t) { return t.node().prim == Prim::kConstant; }

  std::optional<Affine> affine(const Term& t) const {
    const TermNode& node = t.node();
    if (node.type != kIndex) return {};
    if (node.prim == Prim::kConstant) return Affine{node.integer};
    if (node.prim == Prim::kVariable) return find(node.name).value;
    if (node.prim != Prim::kAdd && node.prim != Prim::kSub && node.prim != Prim::kMul) return {};
    std::optional<Affine> a = affine(node.args[0]), b = affine(node.args[1]);
    if (!a || !b) return {};
    if (node.prim == Prim::kMul) {
      if (!a->factors.empty()) std::swap(a, b);
      if (!a->factors.empty()) return {};
      Affine out;
      out.add(*b, a->constant);
      return out;
    }
    a->add(*b, node.prim == Prim::kAdd ? 1 : -1);
    return a;
  }
  const Function& function_;
  const Target& target_;
  std::unordered_map<std::string, Name> names_;
  std::vector<std::string> scope_;
  std::unordered_map<std::string, ElementRange> loops_;  // those whose bounds are numbers
  int64_t stack_ = 0, shared_ = 0;
  int branches_ = 0, depth_ = 0;
};

}  // namespace

void verify(const Function& function, const Target& target) {
  Verifier(function, target).run();
}

}  // namespace thtrain::kernel
