// Lesson 10: memory. The fifth stage: the planner puts the nodes into an order, gives every value a location, and lets
// values that do not live at the same time share bytes. We read the plan, draw it, and check that it is right.
// `./thtrain lesson 10` builds and runs it.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "compiler/api.h"
#include "compiler/plan/program.h"

using namespace thtrain;

static void expect(bool holds, const char* what) {
  std::printf("%-60s %s\n", what, holds ? "yes" : "NO");
  if (!holds) std::exit(1);
}

// A temporary, its bytes in the arena, and the steps that touch it: from the first to the last it is alive.
struct Life {
  std::string name;
  int64_t begin = 0, end = 0;  // bytes
  int first = -1, last = -1;   // steps
};

static std::vector<Life> lives_of(const Program& program) {
  std::vector<Life> out(program.buffers.size());
  int number = 0;
  for_each_step(program.body, [&](const Step& step) {
    for (const BufferView& view : step.operands) {
      if (view.buffer < 0) continue;
      Life& life = out[static_cast<size_t>(view.buffer)];
      if (life.first < 0) life.first = number;
      life.last = number;
    }
    ++number;
  });
  for (size_t b = 0; b < out.size(); ++b) {
    const Buffer& buffer = program.buffers[b];
    out[b].name = buffer.name;
    if (buffer.kind != BufferKind::kTemporary) {
      out[b].first = -1;
      continue;
    }
    out[b].begin = buffer.arena_offset.value();
    out[b].end = out[b].begin + buffer.elements.value() * static_cast<int64_t>(size_of(buffer.dtype));
  }
  std::erase_if(out, [](const Life& life) { return life.first < 0; });
  return out;
}

int main() {
  // A chain of layers. Each value is needed by the next one only; all lengths are known, so the plan is all numbers.
  constexpr int kLayers = 8;
  constexpr int64_t kRows = 100, kUnits = 200;
  Expr x = tensor("x", {kRows, kUnits}, DType::kFloat32);
  std::vector<Shared> weights;
  Expr h = x;
  for (int i = 0; i < kLayers; ++i) {
    weights.emplace_back(Tensor::zeros(DType::kFloat32, {kUnits, kUnits}), "W" + std::to_string(i));
    h = tanh(dot(h, weights.back()));
  }
  Function forward = function({x}, {sum(h)}, {}, {.threads = 1, .name = "forward"});
  const Explanation told = forward.explain();
  std::printf("%s\n", told.program.c_str());

  const std::vector<Life> lives = lives_of(*told.plan);
  int64_t all = 0, arena = told.plan->memory.arena_bytes.value(), live = told.plan->memory.lower_bound.value();
  std::printf("temporary             bytes of the arena     alive in the steps\n");
  for (const Life& life : lives) {
    std::printf("%-16s %9lld to %-9lld  %3d to %d  ", life.name.c_str(), static_cast<long long>(life.begin),
                static_cast<long long>(life.end), life.first, life.last);
    for (int step = 0; step <= life.last; ++step) std::printf("%s", step < life.first ? "." : "#");
    std::printf("\n");
    all += life.end - life.begin;
  }
  std::printf("all of them: %lld bytes; the arena: %lld; alive at once: %lld\n\n", static_cast<long long>(all),
              static_cast<long long>(arena), static_cast<long long>(live));

  // What must hold of every plan.
  bool apart = true;
  for (const Life& a : lives)
    for (const Life& b : lives) {
      const bool same_time = a.first <= b.last && b.first <= a.last, same_bytes = a.begin < b.end && b.begin < a.end;
      apart = apart && (&a == &b || !(same_time && same_bytes));
    }
  expect(apart, "what is alive at the same time lies on different bytes");
  expect(arena >= live, "the arena holds what is alive at once");
  expect(2 * arena <= all, "sharing bytes saves half of the memory, or more");

  // Training needs more: the gradient reads the values of the forward pass again, so they stay alive until then.
  const Expr cost = mean(sqr(h));
  std::vector<Expr> wrt;
  for (const Shared& w : weights) wrt.push_back(w.expr());
  const std::vector<Expr> gradients = grad(cost, wrt);
  std::vector<Update> updates;
  for (size_t i = 0; i < weights.size(); ++i) updates.push_back({weights[i], weights[i] - 0.1 * gradients[i]});
  Function train = function({x}, {cost}, updates, {.threads = 1, .name = "train"});
  const int64_t training = train.info().arena_bytes;
  std::printf("forward pass alone: %lld bytes; a training step: %lld bytes\n", static_cast<long long>(arena),
              static_cast<long long>(training));
  expect(training > 3 * arena, "the gradient keeps the values of all layers");

  // In place: a variable that nobody reads any more is written where it lies. No second copy of the weights is made.
  int written = 0;
  for_each_step(train.explain().plan->body, [&](const Step& step) {
    for (size_t k = step.inputs; k < step.inputs + step.outputs; ++k)
      for (size_t i = 0; i < step.inputs; ++i) {
        const int buffer = step.operands[k].buffer;
        if (buffer < 0 || step.operands[i].buffer != buffer) continue;
        written += train.explain().plan->buffers[static_cast<size_t>(buffer)].kind == BufferKind::kShared;
      }
  });
  std::printf("steps that write a weight matrix over itself: %d\n", written);
  expect(written >= kLayers, "every update is in place");
  std::printf("\nTo try: return the values of all layers as outputs. What becomes of the arena?\n");
}
