// What the labs of sequences must reach, measured from the definitions of their problems.
#include "datasets/sources/reber.h"
#include "tests/support/lab_support.h"
#include "trainers/predict.h"

namespace thtrain {
namespace {

// 10,000 strings that are in no other set: at how many all legal successors have larger probabilities than all other
// symbols at every step, and at how many the symbol before the last one is predicted.
TEST(RnnReber, RanksTheLegalSuccessorsFirstAndRemembersTheSecondSymbol) {
  TemporaryFolder temporary;
  const Experiment experiment = lab("configs/labs/rnn_reber.toml", {"output.plots=false"});
  run_lab(experiment, temporary.path("run"));
  const Dataset data = load_data(experiment, "");
  const Batch test = data.test.all(DType::kFloat32);
  ASSERT_EQ(data.test.size(), 10000);
  const Prediction found = predict(experiment, test.x, temporary.path("run/best.npz"));
  int64_t ranked = 0, remembered = 0;
  for (int64_t i = 0; i < data.test.size(); ++i) {
    const int64_t length = data.test.length(i), first = i * data.test.steps();
    std::vector<int64_t> string = {0};
    bool is_ranked = true;
    for (int64_t step = 0; step < length; ++step) {
      const auto legal = legal_successors(string);
      double least_legal = 1, most_illegal = 0;
      for (int64_t symbol = 0; symbol < 7; ++symbol) {
        const double p = found.probabilities.as_double((first + step) * 7 + symbol);
        if (legal[static_cast<size_t>(symbol)])
          least_legal = std::min(least_legal, p);
        else
          most_illegal = std::max(most_illegal, p);
      }
      is_ranked = is_ranked && least_legal > most_illegal;
      string.push_back(test.y.as_int(first + step));
    }
    ranked += is_ranked;
    remembered += found.classes.as_int(first + length - 2) == string[1];
  }
  EXPECT_GE(ranked, 9900);
  EXPECT_GE(remembered, 9900);
}

}  // namespace
}  // namespace thtrain
