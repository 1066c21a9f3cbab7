// Where an expression comes from: the source line that built it, the layer's scope, the line of the configuration, and
// whether it belongs to a derivative.
#pragma once

#include <memory>
#include <source_location>
#include <string>
#include <utility>
#include <vector>

#include "compiler/base/error.h"

namespace thtrain {

// ---- for other parts of the compiler --------------------------------------------------------------------------------

/// What a Scope put in place: a path such as "mlp/hidden" and the configuration line that asked for it.
struct ScopeInfo {
  std::string path;
  ConfigPosition config;
};

/// The origin of one node. Cheap to copy; never part of a node's identity.
struct Origin {
  const char* file = "";
  int line = 0;
  std::shared_ptr<const ScopeInfo> scope;  // null outside every Scope
  bool in_gradient = false;                // built by grad or jvp: the rest is of the node that was differentiated

  /// `where` under the scope that is open now.
  static Origin here(const std::source_location& where);
  /// Of a node of the derivative of a node with this origin.
  Origin of_gradient() const;
  /// "mlp/hidden, built at nn/layers/dense.cpp:41"
  std::string text() const;
  ConfigPosition config() const { return scope ? scope->config : ConfigPosition{}; }
};

// ---- errors ---------------------------------------------------------------------------------------------------------

/// While it lives, nodes built on this thread belong to `path` (appended to the scopes around it).
class Scope {
 public:
  explicit Scope(const std::string& path, ConfigPosition config = {});
  ~Scope();
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;

 private:
  std::shared_ptr<const ScopeInfo> outer_;
};

// ---- for other parts of the compiler --------------------------------------------------------------------------------

/// While it lives, nodes built on this thread take this origin: gradients and rewrites inherit so.
class InheritOrigin {
 public:
  explicit InheritOrigin(const Origin& origin);
  ~InheritOrigin();
  InheritOrigin(const InheritOrigin&) = delete;
  InheritOrigin& operator=(const InheritOrigin&) = delete;

 private:
  const Origin* outer_;
};

/// What make() gives. Its UserErrors name `where`, unless they name a line of their own.
template <class Make>
auto located(const std::source_location& where, const Make& make) {
  try {
    return make();
  } catch (const UserError& error) {
    std::vector<Message> messages = error.messages();
    for (Message& message : messages)
      if (message.node.empty()) message.node = Origin::here(where).text();
    throw UserError(std::move(messages));
  }
}

}  // namespace thtrain
