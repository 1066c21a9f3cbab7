// Body graphs from lambdas: what is built while a lambda runs is the body, what it uses from before is captured.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <source_location>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "compiler/ir/graph.h"

namespace thtrain {

/// A body graph and the values from outside that it reads. The graph's inputs are those it was made for, then one for
/// each capture.
struct Body {
  std::shared_ptr<Graph> graph;
  std::vector<Expr> captures;
};

/// The graph of what `build` gives for `inputs` (input leaves, made for this body). A node that was built while `build`
/// ran is in the body; any other value that the body reads is captured, but for constants, which are part of the body.
/// What has an effect and was built while `build` ran is an effect of the body, also where no result needs it, and so
/// are the lengths that the body defines. UserError, located at `where`, where a result is empty, and where it has a
/// length that the body defines.
Body make_body(const std::vector<Expr>& inputs, const std::function<std::vector<Expr>()>& build,
               const std::source_location& where);

/// What the builder of a body found out while it built.
struct BodyParts {
  std::vector<Expr> inputs;  // input leaves, made for this body
  std::vector<Expr> outputs;
  std::vector<std::pair<Expr, Expr>> replaced = {};  // leaves from outside, and what stands for them inside
};

/// The same where the inputs are known when the body is built.
Body make_body(const std::function<BodyParts()>& build, const std::source_location& where);

/// What a derivative of a loop or a branch captures besides what its own bodies read: an output of the node itself
/// where it prints. The derivative runs iterations or a side again without their effects, so the node belongs to every
/// function that computes the derivative, and prints there once. Empty: it has no effect.
std::optional<Expr> kept_for_effects(const Node& node);

/// Gives the bodies the same captures, each once, in the order of the list; their graphs' inputs follow.
std::vector<Expr> share_captures(std::span<Body> bodies);

/// The value under the lengths of `type`: proved where they can be, else checked when a call begins. The value itself
/// where its dtype, its rank or a known length is another: the op's type rule says so. An error of the check begins
/// with `whose` ("repeat: state 0") and is located at `where`.
Expr typed_as(const Expr& value, const Type& type, const std::string& whose = {},
              const std::source_location& where = std::source_location::current());

}  // namespace thtrain
