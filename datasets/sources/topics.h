// Texts about topics as bags of words, a built-in problem of sparse examples.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "datasets/data_config.h"
#include "datasets/sparse_rows.h"

namespace thtrain {

struct TopicTexts {
  std::shared_ptr<const SparseRows> x;  // [n, words]: how often each word occurs
  Tensor y;                             // int64 [n]: the topic
};

/// `n` texts of `length` words, drawn of so many words; each topic as likely as another. A word is one of its topic's
/// (every topics-th, counted from the last word down) with a probability of `about`, else any. Of both lists the r-th
/// word has about 1 / r of the first one's probability, as in texts (Zipf's law). Integers alone: a seed gives the same
/// texts on every machine. `part` (from 0) and the number of the text are a part of the seed.
TopicTexts generate_topics(int64_t n, int64_t topics, int64_t words, int64_t length, double about, int64_t seed,
                           int64_t part);

struct TopicsConfig : GeneratorConfig {
  static constexpr std::string_view kName = "topics";
  int64_t topics = 10, words = 20000, length = 50;
  double about = 0.1;
  void fill(DatasetOptions& out) const override;
  static void describe(Fields<TopicsConfig>& f);
};

}  // namespace thtrain
