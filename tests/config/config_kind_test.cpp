#include "config/config_kind.h"

#include <gtest/gtest.h>

#include "config/config.h"

namespace thtrain {
namespace {

// ---- kinds of a polymorphic base: an optimizer, whose keys are in the table that holds it ----

struct Optimizer : Section {
  virtual ~Optimizer() = default;
  virtual double step(double gradient) const = 0;
  static const std::vector<Kind<Optimizer>>& kinds();
};

struct Sgd : Optimizer {
  static constexpr std::string_view kName = "sgd";
  double learning_rate = 0.01;
  bool nesterov = false;
  double step(double gradient) const override { return learning_rate * gradient; }
  static void describe(Fields<Sgd>& f) {
    f.about("The plain one.");
    f.field("learning_rate", &Sgd::learning_rate).range(above(0)).synonyms({"lr"}).help("Length of a step.");
    f.field("nesterov", &Sgd::nesterov).help("Whether it looks ahead.");
    f.check([](const Sgd& c, Findings& findings) {
      if (c.nesterov && c.learning_rate > 1)
        findings.add({.what = str(c.name_of("nesterov"), " looks too far"), .config = c.at("nesterov")});
    });
  }
};

struct Adam : Optimizer {
  static constexpr std::string_view kName = "adam";
  double learning_rate = 0.001;
  double beta1 = 0.9;
  double step(double) const override { return learning_rate; }
  static void describe(Fields<Adam>& f) {
    f.field("learning_rate", &Adam::learning_rate).range(above(0)).synonyms({"lr"}).help("Length of a step.");
    f.field("beta1", &Adam::beta1).range(from_below(0, 1)).help("Of the first moment.");
    f.absent({"amsgrad"}, "this Adam has no such form");
  }
};

const std::vector<Kind<Optimizer>>& Optimizer::kinds() {
  static const std::vector<Kind<Optimizer>> kinds = {kind<Sgd, Optimizer>(), kind<Adam, Optimizer>()};
  return kinds;
}

// ---- kinds of a plain base, one of them with keys that have to be given: a table of its own ----

struct Schedule : Section {
  static const std::vector<Kind<Schedule>>& kinds();
};

struct Constant : Schedule {
  static constexpr std::string_view kName = "constant";
  static void describe(Fields<Constant>& f) { f.about("Always the same."); }
};

struct Cosine : Schedule {
  static constexpr std::string_view kName = "cosine";
  int64_t period = 10;
  static void describe(Fields<Cosine>& f) {
    f.field("period", &Cosine::period).range(at_least(1)).unit("epochs").help("From one restart to the next.");
  }
};

struct Step : Schedule {
  static constexpr std::string_view kName = "step";
  int64_t every = 0;
  static void describe(Fields<Step>& f) { f.field("every", &Step::every).required().help("Epochs between two."); }
};

const std::vector<Kind<Schedule>>& Schedule::kinds() {
  static const std::vector<Kind<Schedule>> kinds = {kind<Constant, Schedule>(), kind<Cosine, Schedule>(),
                                                    kind<Step, Schedule>()};
  return kinds;
}

// ---- a struct that stays an aggregate, and has a member with fields of its own ----

struct Noise {
  enum class Law { kNormal, kUniform };
  Law law = Law::kNormal;
  double width = 1;
};

struct Trainer {
  std::string name = "t";
  Noise noise = {};
  OneOf<Optimizer> optimizer = Sgd();
  OneOf<Schedule> schedule = Constant();
  std::optional<OneOf<Schedule>> second = {};
  int64_t epochs = 20;
  Section section = {};
  static void describe(Fields<Trainer>& f) {
    f.field("name", &Trainer::name).help("What it is called.");
    f.part(&Trainer::noise)
        .choice("noise", &Noise::law, {{"normal", Noise::Law::kNormal}, {"uniform", Noise::Law::kUniform}})
        .help("Its law.");
    f.part(&Trainer::noise).field("noise_width", &Noise::width).range(above(0)).help("Its width.");
    f.inline_kind("optimizer", &Trainer::optimizer).help("How the weights are changed.");
    f.kind("schedule", &Trainer::schedule, "type").by_name().help("How the rate changes.");
    f.kind("second", &Trainer::second, "type").help("Another one.");
    f.field("epochs", &Trainer::epochs).range(at_least(1)).help("How long.");
  }
};

struct Root : Section {
  int64_t seed = 1;
  Trainer trainer;
  static void describe(Fields<Root>& f) {
    f.field("seed", &Root::seed).help("Of all draws.");
    f.field("trainer", &Root::trainer);
  }
};

// ---- tables as a file would give them: one key in each line ----

class Lines {
 public:
  ConfigNode table(std::vector<std::pair<std::string, ConfigNode>> entries) {
    ConfigNode out{.kind = ConfigNode::Kind::kTable, .position = position(++line_)};
    for (auto& [key, value] : entries) {
      const bool is_table = value.is_table();
      if (!is_table) value.position = position(++line_);
      value.key = key;
      value.key_position = value.position;
      value.key_position.column = 1;
      out.children.push_back(std::move(value));
    }
    return out;
  }

 private:
  static ConfigPosition position(int line) {
    return {.file = "a.toml", .line = line, .column = 9, .length = 1, .source_line = {}};
  }
  int line_ = 0;
};

ConfigNode text(std::string value) {
  return ConfigNode::of(std::move(value));
}
ConfigNode number(double value) {
  return ConfigNode::of(value);
}
ConfigNode count(int64_t value) {
  return ConfigNode::of(value);
}

Trainer read(std::vector<std::pair<std::string, ConfigNode>> entries) {
  Findings findings;
  Lines lines;
  Root root = read_config<Root>(lines.table({{"trainer", lines.table(std::move(entries))}}), findings);
  findings.raise();
  return root.trainer;
}

std::string findings_of(std::vector<std::pair<std::string, ConfigNode>> entries,
                        std::vector<std::pair<std::string, ConfigNode>> of_root = {}) {
  Findings findings;
  Lines lines;
  of_root.emplace_back("trainer", lines.table(std::move(entries)));
  read_config<Root>(lines.table(std::move(of_root)), findings);
  return join(findings.sorted(), "\n", [](const Message& message) { return message.text(); });
}

TEST(OneOf, ACopyHasATableOfItsOwn) {
  OneOf<Optimizer> first = Sgd(), second = first;
  second.get<Sgd>().learning_rate = 1;
  EXPECT_EQ(first.get<Sgd>().learning_rate, 0.01);
  EXPECT_EQ(first->step(2), 0.02);
  first = second;
  second = Adam();
  EXPECT_EQ(first->step(2), 2);
  EXPECT_EQ(second.name(), "adam");
  EXPECT_TRUE(second.is<Adam>() && !second.is<Sgd>() && second.is<Optimizer>());
  OneOf<Schedule> none;
  EXPECT_FALSE(none.has_value() || none.is<Cosine>());
  EXPECT_EQ(none.name(), "");
  EXPECT_THROW(*none, UserError);
  EXPECT_THROW(second.get<Sgd>(), UserError);
  EXPECT_EQ(OneOf<Schedule>(Cosine()).get<Cosine>().period, 10);
  EXPECT_FALSE(OneOf<Schedule>(Cosine()).is<Step>());
}

TEST(ConfigKinds, TheDefaultsAreThoseOfTheMembers) {
  Trainer trainer = read({});
  EXPECT_EQ(trainer.optimizer.get<Sgd>().learning_rate, 0.01);
  EXPECT_EQ(trainer.optimizer->path, "trainer");
  EXPECT_EQ(trainer.optimizer->position.line, 1);
  EXPECT_TRUE(trainer.schedule.is<Constant>());
  EXPECT_EQ(trainer.schedule->path, "trainer.schedule");
  EXPECT_FALSE(trainer.second);
}

TEST(ConfigKinds, TheKeysOfAnInlinedKindAreInTheTableOfItsName) {
  Trainer trainer =
      read({{"epochs", count(3)}, {"beta1", number(0.8)}, {"optimizer", text("adam")}, {"noise_width", number(2)}});
  const Adam& adam = trainer.optimizer.get<Adam>();
  EXPECT_EQ(adam.beta1, 0.8);
  EXPECT_EQ(adam.learning_rate, 0.001);
  EXPECT_EQ(adam.name_of("beta1"), "trainer.beta1");
  EXPECT_EQ(adam.at("beta1").line, 3);
  EXPECT_EQ(adam.at("optimizer").line, 4);
  EXPECT_EQ(trainer.section.at("beta1").line, 3);
  EXPECT_EQ(trainer.section.at("optimizer").line, 4);
  EXPECT_EQ(trainer.epochs, 3);
  EXPECT_EQ(trainer.noise.width, 2);
  // The default needs no name.
  EXPECT_EQ(read({{"learning_rate", number(0.5)}}).optimizer.get<Sgd>().learning_rate, 0.5);
}

TEST(ConfigKinds, ANameAloneStandsForTheTableWithItsDefaults) {
  Trainer trainer = read({{"schedule", text("cosine")}});
  EXPECT_EQ(trainer.schedule.get<Cosine>().period, 10);
  EXPECT_EQ(trainer.schedule->position.line, 2);
  EXPECT_EQ(trainer.schedule->at("type").line, 2);
  Lines lines;
  ConfigNode table = lines.table({{"type", text("cosine")}, {"period", count(4)}});
  trainer = read({{"schedule", table}, {"second", table}});
  EXPECT_EQ(trainer.schedule.get<Cosine>().period, 4);
  EXPECT_EQ(trainer.schedule->name_of("period"), "trainer.schedule.period");
  EXPECT_EQ(trainer.second->get<Cosine>().period, 4);
  // As a word of the command line is typed.
  ConfigNode word = text("cosine");
  word.unquoted = true;
  EXPECT_TRUE(read({{"schedule", word}, {"optimizer", text("adam")}}).schedule.is<Cosine>());
}

TEST(ConfigKinds, WhatIsPrintedReadsBackTheSame) {
  Lines lines;
  Root root;
  root.trainer = read({{"optimizer", text("adam")}, {"second", lines.table({{"type", text("cosine")}})}});
  const std::string printed =
      "seed = 1\n\n[trainer]\nname = \"t\"\nnoise = \"normal\"\nnoise_width = 1.0\noptimizer = \"adam\"\n"
      "learning_rate = 0.001\nbeta1 = 0.9\nepochs = 20\n\n[trainer.schedule]\ntype = \"constant\"\n"
      "\n[trainer.second]\ntype = \"cosine\"\nperiod = 10\n";
  EXPECT_EQ(toml_text(resolved_config(root)), printed);
  Findings findings;
  Root again = read_config<Root>(resolved_config(root), findings);
  findings.raise();
  EXPECT_EQ(toml_text(resolved_config(again)), printed);
}

TEST(ConfigKindErrors, AKeyOfAnotherKindSaysSo) {
  EXPECT_EQ(findings_of({{"beta1", number(0.8)}}),
            "error: unknown key trainer.beta1\n  config:   a.toml:2:1\n"
            "  hint:     beta1 is a key of optimizer = \"adam\"");
  EXPECT_EQ(findings_of({{"optimizer", text("adam")}, {"nesterov", ConfigNode::of(true)}}),
            "error: unknown key trainer.nesterov\n  config:   a.toml:3:1\n"
            "  hint:     nesterov is a key of optimizer = \"sgd\"");
  EXPECT_EQ(findings_of({}, {{"beta1", number(0.8)}}),
            "error: unknown key beta1\n  config:   a.toml:3:1\n"
            "  hint:     beta1 is a key of [trainer] with optimizer = \"adam\"");
  EXPECT_EQ(findings_of({}, {{"learning_rate", number(0.8)}}),
            "error: unknown key learning_rate\n  config:   a.toml:3:1\n"
            "  hint:     learning_rate is a key of [trainer]");
}

TEST(ConfigKindErrors, AMisspelledKeyIsCorrectedAmongThoseOfTheKind) {
  EXPECT_EQ(findings_of({{"optimizer", text("adam")}, {"beta_1", number(0.8)}, {"epoch", count(3)}, {"lr", number(1)}}),
            "error: unknown key trainer.beta_1\n  config:   a.toml:3:1\n  hint:     did you mean beta1?\n"
            "error: unknown key trainer.epoch\n  config:   a.toml:4:1\n  hint:     did you mean epochs?\n"
            "error: unknown key trainer.lr\n  config:   a.toml:5:1\n  hint:     did you mean learning_rate?");
  EXPECT_EQ(findings_of({{"optimizer", text("adam")}, {"amsgrad", ConfigNode::of(true)}}),
            "error: unknown key trainer.amsgrad\n  config:   a.toml:3:1\n  hint:     this Adam has no such form");
  EXPECT_EQ(findings_of({{"frobnicate", count(1)}}),
            "error: unknown key trainer.frobnicate\n  config:   a.toml:2:1\n"
            "  hint:     the keys here are name, noise, noise_width, optimizer, schedule, second, epochs, "
            "learning_rate, nesterov");
}

// Of an unknown kind the other keys are not judged.
TEST(ConfigKindErrors, AnUnknownKindIsOneMistake) {
  EXPECT_EQ(
      findings_of({{"optimizer", text("adma")}, {"beta1", number(0.8)}}),
      "error: trainer.optimizer has an unknown value\n  expected: one of \"sgd\", \"adam\"\n  got:      \"adma\"\n"
      "  config:   a.toml:2:9\n  hint:     did you mean \"adam\"?");
  EXPECT_EQ(findings_of({{"optimizer", count(3)}}),
            "error: trainer.optimizer has the wrong type\n  expected: one of \"sgd\", \"adam\"\n  got:      3\n"
            "  config:   a.toml:2:9\n  hint:     write it in quotes: \"3\"");
  EXPECT_EQ(findings_of({{"schedule", text("cosin")}}),
            "error: trainer.schedule has an unknown value\n  expected: one of \"constant\", \"cosine\", \"step\"\n"
            "  got:      \"cosin\"\n  config:   a.toml:2:9\n  hint:     did you mean \"cosine\"?");
}

TEST(ConfigKindErrors, ATableWithoutItsTagAndAValueThatIsNoTable) {
  Lines lines;
  EXPECT_EQ(findings_of({{"schedule", lines.table({{"period", count(3)}})}}),
            "error: trainer.schedule.type is missing\n  expected: one of \"constant\", \"cosine\", \"step\"\n"
            "  config:   a.toml:1:9");
  EXPECT_EQ(findings_of({{"schedule", count(3)}, {"second", text("cosine")}}),
            "error: trainer.schedule has the wrong type\n"
            "  expected: one of \"constant\", \"cosine\", \"step\", or a table with type = one of these\n"
            "  got:      3\n  config:   a.toml:2:9\n  hint:     schedule: how the rate changes\n"
            "error: trainer.second is not a table\n"
            "  expected: a table with type = one of \"constant\", \"cosine\", \"step\"\n"
            "  got:      a string, \"cosine\"\n  config:   a.toml:3:9\n  hint:     second: another one");
}

TEST(ConfigKindErrors, TheKeysAndChecksOfAKindAreItsOwn) {
  EXPECT_EQ(findings_of({{"learning_rate", number(-1)}}),
            "error: trainer.learning_rate is out of range\n  expected: a number above 0\n  got:      -1.0\n"
            "  config:   a.toml:2:9\n  hint:     learning_rate: length of a step");
  EXPECT_EQ(findings_of({{"learning_rate", number(2)}, {"nesterov", ConfigNode::of(true)}}),
            "error: trainer.nesterov looks too far\n  config:   a.toml:3:9");
  EXPECT_EQ(findings_of({{"schedule", text("step")}}),
            "error: trainer.schedule.every is missing\n  expected: an integer\n  config:   a.toml:2:9\n"
            "  hint:     every: epochs between two");
}

TEST(ConfigKinds, TheReferencePageHasATableForEachKindOnce) {
  EXPECT_EQ(reference_page<Root>(), R"(## Top of the file
| key | value | default | meaning |
| --- | --- | --- | --- |
| `seed` | an integer | `1` | Of all draws. |

## `[trainer]`
| key | value | default | meaning |
| --- | --- | --- | --- |
| `name` | a string | `"t"` | What it is called. |
| `noise` | one of "normal", "uniform" | `"normal"` | Its law. |
| `noise_width` | a number above 0 | `1.0` | Its width. |
| `optimizer` | one of "sgd", "adam" | `"sgd"` | How the weights are changed. |
| `epochs` | an integer, at least 1 | `20` | How long. |

## `[trainer]` with `optimizer = "sgd"`
The plain one.

| key | value | default | meaning |
| --- | --- | --- | --- |
| `learning_rate` | a number above 0 | `0.01` | Length of a step. |
| `nesterov` | true or false | `false` | Whether it looks ahead. |

## `[trainer]` with `optimizer = "adam"`
| key | value | default | meaning |
| --- | --- | --- | --- |
| `learning_rate` | a number above 0 | `0.001` | Length of a step. |
| `beta1` | a number, at least 0 and below 1 | `0.9` | Of the first moment. |

## `[trainer.schedule]`
How the rate changes. `type` is one of `"constant"`, `"cosine"`, `"step"`. )"
                                    R"(The name alone, as in `schedule = "constant"`, gives its defaults. )"
                                    R"(Not given: `"constant"`.

## `[trainer.schedule]`: kinds without other keys
- `constant`: Always the same.

## `[trainer.schedule]`: kinds with one other key
| kind | key | value | default | meaning |
| --- | --- | --- | --- | --- |
| `cosine` | `period` | an integer, at least 1 (epochs) | `10` | From one restart to the next. |
| `step` | `every` | an integer | required | Epochs between two. |

## `[trainer.second]`
Another one. `type` is one of `"constant"`, `"cosine"`, `"step"`.

The kinds and their keys are those of [`[trainer.schedule]`](#trainerschedule).
)");
}

}  // namespace
}  // namespace thtrain
