// Body graphs from lambdas: what is built while a lambda runs is the body, what it uses from before is captured.
#pragma once

#include <functional>
#include <memory>
#include <source_location>
#include <span>
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
/// What has an effect and was built while `build` ran is
/// an effect of the body, also where no result needs it. UserError, located at `where`, where a result is empty.
Body make_body(const std::vector<Expr>& inputs, const std::function<std::vector<Expr>()>& build,
               const std::source_location& where);

/// Gives the bodies the same captures, each once, in the order of the list; their graphs' inputs follow.
std::vector<Expr> share_captures(std::span<Body> bodies);

/// The value under the lengths of `type`: proved where they can be, else checked when a call begins. The value itself
/// where its dtype or rank is another: the op's type rule says so.
Expr typed_as(const Expr& value, const Type& type);
/// The same for each of several, by the types of others.
std::vector<Expr> typed_as(const std::vector<Expr>& values, std::span<const Expr> like);

}  // namespace thtrain
