#include "trainers/config_edits.h"

#include "tests/support/training_support.h"

namespace thtrain {
namespace {

TEST(ConfigEdits, NamesEachKey) {
  Experiment then = small_experiment(), now = then;
  EXPECT_EQ(config_edits(resolved_toml(then), resolved_toml(now)), std::vector<std::string>());
  sgd_of(now).learning_rate = 0.25;
  now.trainer.patience = 40;
  now.model.layers[0].get<Dense::Options>().units = 9;
  now.trainer.validation_frequency = 7;
  std::vector<std::string> expected = {"model.layers.0.units: 8 then, 9 now",
                                       "trainer.learning_rate: 0.05 then, 0.25 now", "trainer.patience: 0 then, 40 now",
                                       "trainer.validation_frequency: not set then, 7 now"};
  EXPECT_EQ(config_edits(resolved_toml(then), resolved_toml(now)), expected);
  EXPECT_EQ(config_edits(resolved_toml(now), resolved_toml(then)).back(),
            "trainer.validation_frequency: 7 then, not set now");
}

}  // namespace
}  // namespace thtrain
