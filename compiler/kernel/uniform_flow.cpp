#include "compiler/kernel/uniform_flow.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "compiler/base/str.h"

namespace thtrain::kernel {
namespace {

// Among which threads a value, or whether a statement runs, is the same.
enum class Same : uint8_t { kInBlock, kInWarp, kNowhere };

class Flow {
 public:
  Flow(const Function& function, int warp) : function_(function), warp_(warp) {
    names_["thread"] = Same::kNowhere;
    for (const BufferParameter& buffer : function.buffers)
      if (!buffer.written) read_only_.insert(buffer.name);
  }

  std::string run() {
    do {
      has_changed_ = false;
      failing_ = Same::kInBlock;
      block(function_.body, Same::kInBlock);
    } while (has_changed_);
    is_known_ = true;
    failing_ = Same::kInBlock;
    block(function_.body, Same::kInBlock);
    return broken_;
  }

 private:
  void raise(Same& what, Same to) {
    if (what >= to) return;
    what = to;
    has_changed_ = true;
  }

  Same of(const Term& t) const {
    if (!static_cast<bool>(t)) return Same::kInBlock;
    const TermNode& n = t.node();
    if (n.prim == Prim::kVariable) {
      const auto at = names_.find(n.name);
      return at == names_.end() ? Same::kInBlock : at->second;
    }
    if (n.prim == Prim::kLoad && !read_only_.count(n.name) && !shared_.count(n.name)) return Same::kNowhere;
    if (n.prim == Prim::kDiv && is_thread(n.args[0]) && is_warps(n.args[1])) return Same::kInWarp;
    Same out = Same::kInBlock;
    for (const Term& arg : n.args) out = std::max(out, of(arg));
    return out;
  }

  static bool is_thread(const Term& t) { return t.node().prim == Prim::kVariable && t.node().name == "thread"; }
  bool is_warps(const Term& t) const {
    return t.node().prim == Prim::kConstant && t.node().integer > 0 && t.node().integer % warp_ == 0;
  }

  void block(const Block& statements, Same flow) {
    for (const Statement& s : statements) std::visit([&](const auto& kind) { statement(kind, flow); }, s);
  }

  void wait(const char* what, Same flow, Same needed) {
    if (!is_known_ || !broken_.empty()) return;
    const char* where = needed == Same::kInBlock ? "block" : "warp";
    if (flow > needed)
      broken_ = str(what, " where not all threads of a ", where, " come");
    else if (failing_ > needed)
      broken_ = str(what, " in a kernel that single threads of a ", where, " leave by a check");
  }

  void statement(const Let& s, Same) { raise(names_[s.name], of(s.value)); }
  void statement(const Var& s, Same) { raise(names_[s.name], of(s.start)); }
  void statement(const Assign& s, Same flow) { raise(names_[s.name], std::max(of(s.value), flow)); }
  void statement(const ForLoop& s, Same flow) {
    const Same bounds = std::max({of(s.begin), of(s.end), of(s.step)});
    raise(names_[s.name], std::max(of(s.begin), of(s.step)));
    loop(s.body, std::max(flow, bounds));
  }
  // Of a branch that all threads of a block take alike, those that leave in one side do not miss in the other one.
  void statement(const If& s, Same flow) {
    const Same inside = std::max(flow, of(s.condition)), before = failing_;
    block(s.then, inside);
    const Same after_then = failing_;
    if (inside == Same::kInBlock) failing_ = before;
    block(s.otherwise, inside);
    failing_ = std::max(failing_, after_then);
  }
  void statement(const While& s, Same flow) { loop(s.body, std::max(flow, of(s.condition))); }
  // Twice: who leaves in an iteration misses in the next one. Loops inside have been seen twice then.
  void loop(const Block& body, Same flow) {
    const bool is_outermost = !is_in_loop_;
    is_in_loop_ = true;
    block(body, flow);
    if (is_outermost) block(body, flow);
    is_in_loop_ = !is_outermost;
  }
  void statement(const Fail&, Same flow) { failing_ = std::max(failing_, flow); }
  void statement(const Barrier& s, Same flow) {
    wait(s.scope == Scope::kBlock ? "a barrier" : "a barrier of a warp", flow,
         s.scope == Scope::kBlock ? Same::kInBlock : Same::kInWarp);
  }
  void statement(const Shuffle& s, Same flow) {
    wait("a shuffle", flow, Same::kInWarp);
    raise(names_[s.name], s.choice == LaneChoice::kNumber ? Same::kInWarp : Same::kNowhere);
  }
  void statement(const Comment&, Same) {}
  void statement(const Store&, Same) {}
  void statement(const LocalArray&, Same) {}
  void statement(const PrefetchLine&, Same) {}
  void statement(const Fence&, Same) {}
  void statement(const SharedArray& s, Same) { shared_.insert(s.name); }
  void statement(const Atomic&, Same) {}

  const Function& function_;
  const int warp_;
  std::unordered_map<std::string, Same> names_;         // of variables that are not the same in a block
  std::unordered_set<std::string> read_only_, shared_;  // buffers; arrays of the block
  Same failing_ = Same::kInBlock;                       // where threads leave the function
  bool has_changed_ = false, is_known_ = false, is_in_loop_ = false;
  std::string broken_;
};

}  // namespace

std::string broken_uniformity(const Function& function, int warp) {
  return Flow(function, warp).run();
}

}  // namespace thtrain::kernel
