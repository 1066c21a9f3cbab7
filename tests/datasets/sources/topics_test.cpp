#include "datasets/sources/topics.h"

#include "datasets/load.h"
#include "tests/support/datasets_support.h"
#include "tests/support/dtypes.h"

namespace thtrain::topics_test {
namespace {

TEST(Topics, TextsHaveTheirLengthAndWordsOfTheirTopic) {
  constexpr int64_t kTexts = 400, kTopics = 4, kWords = 1000, kLength = 60;
  const TopicTexts made = generate_topics(kTexts, kTopics, kWords, kLength, 0.5, 1, 0);
  std::vector<int64_t> of_topic(kTopics);
  double own = 0, first_words = 0;
  for (int64_t i = 0; i < kTexts; ++i) {
    SparseNumbers row;
    made.x->append(i, row);
    const int64_t topic = made.y.as_int(i);
    ++of_topic[static_cast<size_t>(topic)];
    double count = 0;
    for (size_t e = 0; e < row.columns.size(); ++e) {
      if (e > 0) {
        ASSERT_LT(row.columns[e - 1], row.columns[e]);
      }
      count += row.values[e];
      const int64_t from_the_last = kWords - 1 - row.columns[e];
      if (from_the_last % kTopics == topic && from_the_last < kWords / 2) own += row.values[e];
      if (row.columns[e] == 0) first_words += row.values[e];
    }
    EXPECT_EQ(count, kLength);
  }
  for (int64_t count : of_topic) EXPECT_NEAR(static_cast<double>(count), kTexts / kTopics, 30);
  EXPECT_NEAR(own / (kTexts * kLength), 0.5, 0.1);
  EXPECT_NEAR(first_words / (kTexts * kLength), 0.5 / 10, 0.01);  // a tenth of the octaves is the first word alone
}

TEST(Topics, ItsKeysMatter) {
  TopicsConfig config;
  config.n_train = 20;
  config.words = 100;
  auto all = [](const TopicsConfig& c) {
    DatasetOptions options{.name = "topics"};
    c.fill(options);
    const Dataset data = load_dataset(options, k64);
    EXPECT_TRUE(data.train.is_sparse());
    EXPECT_EQ(data.classes(), c.topics);
    std::string out = data.text();
    for (const std::string& name : data.class_names) out += name;
    const Batch train = data.train.read(0, data.train.size(), k64);
    for (const Tensor& t : {train.x, train.y}) out += t.text(10000);
    return out;
  };
  const std::string plain = all(config);
  EXPECT_EQ(all(config), plain);
  auto differs = [&](auto change) {
    TopicsConfig other = config;
    change(other);
    EXPECT_NE(all(other), plain);
  };
  differs([](auto& c) { c.n_train = 21; });
  differs([](auto& c) { c.n_valid = 3; });
  differs([](auto& c) { c.n_test = 3; });
  differs([](auto& c) { c.seed = 2; });
  differs([](auto& c) { c.topics = 3; });
  differs([](auto& c) { c.words = 101; });
  differs([](auto& c) { c.length = 51; });
  differs([](auto& c) { c.about = 0.2; });
  differs([](auto& c) { c.standardize = Standardization::By::kScales; });
  differs([](auto& c) { c.class_names = {"a", "b", "c", "d", "e", "f", "g", "h", "i", "j"}; });
}

}  // namespace
}  // namespace thtrain::topics_test
