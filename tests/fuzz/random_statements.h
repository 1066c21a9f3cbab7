// The statements of random plans, by kinds.
#pragma once

#include "tests/fuzz/plan_draws.h"

namespace thtrain {

class RandomStatements : public PlanDraws {
 public:
  using PlanDraws::PlanDraws;

 protected:
  /// One of any kind; none where what was drawn has no type.
  void add_statement();

 private:
  void add_arithmetic();
  void add_smooth();
  void add_elementwise();
  void add_literal();
  void add_reduction();
  void add_dot();
  void add_softmax();
  void add_pooling();
  void add_shape();
  void add_part();
  void add_gather();
  void add_choice();
  void add_cast();
  void add_masked();
  void add_control();
  void add_indexed();
  void add_ordered();
  void add_cumulated();
  void add_batched();
  void add_factored();
  void add_transformed();

  size_t some_leaf(const std::function<bool(const Expr&)>& fits);
};

}  // namespace thtrain
