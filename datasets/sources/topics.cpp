#include "datasets/sources/topics.h"

#include <map>

#include "datasets/data_fields.h"
#include "datasets/split_mix.h"

namespace thtrain {

namespace {

/// 0 <= r < count, r with a probability of about 1 / (r + 1): between two powers of 2 all alike, and these as likely.
int64_t by_rank(SplitMix& random, int64_t count) {
  int64_t octaves = 1;
  while ((int64_t{1} << octaves) <= count) ++octaves;
  while (true) {
    const int64_t first = int64_t{1} << random.below(static_cast<uint64_t>(octaves));
    const int64_t rank = first - 1 + static_cast<int64_t>(random.below(static_cast<uint64_t>(first)));
    if (rank < count) return rank;
  }
}

}  // namespace

TopicTexts generate_topics(int64_t n, int64_t topics, int64_t words, int64_t length, double about, int64_t seed,
                           int64_t part) {
  SparseNumbers numbers;
  std::vector<size_t> begins{0};
  TopicTexts out{.x = nullptr, .y = Tensor::empty(DType::kInt64, {n})};
  for (int64_t i = 0; i < n; ++i) {
    SplitMix random = SplitMix::of(static_cast<uint64_t>(seed), static_cast<uint64_t>(part), static_cast<uint64_t>(i));
    const auto topic = static_cast<int64_t>(random.below(static_cast<uint64_t>(topics)));
    out.y.data<int64_t>()[i] = topic;
    std::map<int64_t, int> counts;
    for (int64_t k = 0; k < length; ++k) {
      const bool is_of_topic = random.uniform() < about;
      ++counts[is_of_topic ? words - 1 - topic - topics * by_rank(random, words / topics) : by_rank(random, words)];
    }
    for (const auto& [word, count] : counts) numbers.add(word, count);
    begins.push_back(numbers.values.size());
  }
  out.x = std::make_shared<const HeldSparseRows>(std::move(numbers), std::move(begins), words);
  return out;
}

void TopicsConfig::fill(DatasetOptions& out) const {
  GeneratorConfig::fill(out);
  out.read = [topics = topics, words = words, length = length, about = about](const DatasetOptions& options,
                                                                              DType floatx) {
    const std::string origin = str("the generator \"topics\", seed ", options.seed);
    require_fits(options, origin, length * (options.train + options.valid + options.test), DType::kFloat64, floatx);
    auto set = [&](int64_t n, int64_t part) {
      TopicTexts made = generate_topics(n, topics, words, length, about, options.seed, part);
      return Split({.raw = outline(DType::kFloat64, {n, words}),
                    .source = std::move(made.x),
                    .origin = origin,
                    .where = options.where},
                   {.raw = made.y, .origin = origin, .where = options.where}, Targets::kClasses, scale_or(options, 1));
    };
    return SourceData{.train = set(options.train, 0),
                      .valid = set(options.valid, 1),
                      .test = set(options.test, 2),
                      .classes = topics,
                      .streamed = false};
  };
}

void TopicsConfig::describe(Fields<TopicsConfig>& f) {
  f.about(
      "Texts as bags of words: how often each word occurs, of which only the words that do are kept. The classes are "
      "the "
      "topics; some words of a text are its topic's, the others anybody's.");
  f.field("topics", &TopicsConfig::topics).range(between(2, 1000)).unit("classes").help("Number of topics.");
  f.field("words", &TopicsConfig::words).range(between(2, 2147483647)).unit("numbers").help("Words that there are.");
  f.field("length", &TopicsConfig::length).range(at_least(1)).unit("words").help("Words of a text.");
  f.field("about", &TopicsConfig::about)
      .range(between(0, 1))
      .help("Part of the words of a text that are its topic's own.");
  describe_generator(f);
  f.check([](const TopicsConfig& c, Findings& findings) {
    if (c.words < c.topics)
      findings.add({.what = "data.words leaves a topic without a word of its own",
                    .expected = str("at least ", c.topics, ", as data.topics"),
                    .got = str(c.words),
                    .config = c.at("words")});
    check_sparse(c, findings);
  });
}

Kind<DataConfig> topics_source() {
  return kind<TopicsConfig, DataConfig>();
}

}  // namespace thtrain
