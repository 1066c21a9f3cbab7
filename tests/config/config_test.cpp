#include "config/config.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "compiler/base/nearest_name.h"
#include "config/near_value.h"

namespace thtrain {
namespace {

enum class Colour { kRed = 3, kBlue = -1 };

struct Part : Section {
  static const std::vector<Kind<Part>>& kinds();
};

struct Wheel : Part {
  static constexpr std::string_view kName = "wheel";
  double radius = 0;
  static void describe(Fields<Wheel>& f) {
    f.field("radius", &Wheel::radius).range(above(0)).unit("m").required().help("Half the width.");
  }
};

struct Door : Part {
  static constexpr std::string_view kName = "door";
  bool open = false;
  static void describe(Fields<Door>& f) {
    f.about("A way in.");
    f.field("open", &Door::open).help("Whether one can pass.");
  }
};

const std::vector<Kind<Part>>& Part::kinds() {
  static const std::vector<Kind<Part>> kinds = {kind<Wheel, Part>(), kind<Door, Part>()};
  return kinds;
}

struct Engine : Section {
  int32_t cylinders = 4;
  std::vector<double> gears = {3.5, 2};
  static void describe(Fields<Engine>& f) {
    f.field("cylinders", &Engine::cylinders).synonyms({"pistons"}).help("How many.");
    f.field("gears", &Engine::gears).range(between(0.5, 10)).help("Ratios, low | high.");
    f.check([](const Engine& engine, Findings& findings) {
      if (engine.cylinders % 2 == 1)
        findings.add({.what = "an odd engine", .config = engine.at("cylinders"), .hint = engine.name_of("cylinders")});
    });
  }
};

struct Car : Section {
  std::string name = "none";
  Colour colour = Colour::kRed;
  std::optional<int64_t> year;
  std::optional<Door> trunk;
  Engine engine;
  std::vector<OneOf<Part>> parts;
  std::vector<std::string> owners;
  static void describe(Fields<Car>& f) {
    f.field("name", &Car::name).help("What it is called.");
    f.choice("colour", &Car::colour, {{"red", Colour::kRed}, {"blue", Colour::kBlue}}).help("The paint.");
    f.field("year", &Car::year).range(at_least(1886)).help("When it was built.");
    f.field("trunk", &Car::trunk);
    f.field("engine", &Car::engine);
    f.kind("parts", &Car::parts, "kind").help("The rest.");
    f.field("owners", &Car::owners).one_of({"ann", "bob"}).help("First to last.");
  }
};

ConfigNode at_line(ConfigNode node, int line) {
  node.position.file = node.key_position.file = "car";
  node.position.line = node.key_position.line = line;
  node.position.column = 9;
  node.key_position.column = 1;
  return node;
}
ConfigNode keyed(std::string key, ConfigNode node, int line = 1) {
  node = at_line(std::move(node), line);
  node.key = std::move(key);
  return node;
}
ConfigNode table(std::vector<ConfigNode> entries) {
  return {.kind = ConfigNode::Kind::kTable, .children = std::move(entries)};
}
ConfigNode array(std::vector<ConfigNode> elements) {
  return {.kind = ConfigNode::Kind::kArray, .children = std::move(elements)};
}
ConfigNode text_node(std::string value) {
  return ConfigNode::of(std::move(value));
}

std::string findings_of(ConfigNode root) {
  Findings findings;
  read_config<Car>(at_line(std::move(root), 1), findings);
  return join(findings.sorted(), "\n", [](const Message& message) { return message.text(); });
}

TEST(Config, DefaultsAreTheMembersOwn) {
  Findings findings;
  Car car = read_config<Car>(at_line(table({}), 1), findings);
  EXPECT_TRUE(findings.empty());
  EXPECT_EQ(car.name, "none");
  EXPECT_EQ(car.colour, Colour::kRed);
  EXPECT_FALSE(car.year || car.trunk);
  EXPECT_EQ(car.engine.cylinders, 4);
  EXPECT_EQ(car.engine.path, "engine");
  EXPECT_EQ(car.engine.position.line, 1);
  EXPECT_FALSE(car.engine.has("gears"));
}

TEST(Config, ReadsEveryKindOfField) {
  ConfigNode root = table(
      {keyed("name", text_node("beetle"), 1), keyed("colour", text_node("blue"), 2),
       keyed("year", ConfigNode::of(int64_t{1938}), 3),
       keyed("trunk", table({keyed("open", ConfigNode::of(true), 5)}), 4),
       keyed("engine",
             table({keyed("cylinders", ConfigNode::of(int64_t{6}), 7),
                    keyed("gears", array({ConfigNode::of(int64_t{4}), ConfigNode::of(1.5)}), 8)}),
             6),
       keyed(
           "parts",
           array({at_line(table({keyed("kind", text_node("wheel"), 10), keyed("radius", ConfigNode::of(0.5), 11)}), 9),
                  at_line(table({keyed("kind", text_node("door"), 13)}), 12)}),
           9),
       keyed("owners", array({text_node("bob"), text_node("ann")}), 14)});
  Findings findings;
  Car car = read_config<Car>(root, findings);
  findings.raise();
  EXPECT_EQ(car.name, "beetle");
  EXPECT_EQ(car.colour, Colour::kBlue);
  EXPECT_EQ(car.year, 1938);
  EXPECT_TRUE(car.trunk && car.trunk->open);
  EXPECT_EQ(car.engine.cylinders, 6);
  EXPECT_EQ(car.engine.gears, (std::vector<double>{4, 1.5}));
  ASSERT_EQ(car.parts.size(), 2u);
  const Wheel& wheel = car.parts[0].get<Wheel>();
  EXPECT_EQ(wheel.radius, 0.5);
  EXPECT_EQ(wheel.path, "parts.0");
  EXPECT_EQ(wheel.name_of("radius"), "parts.0.radius");
  EXPECT_EQ(wheel.position.line, 9);
  EXPECT_EQ(wheel.at("radius").line, 11);
  EXPECT_EQ(wheel.at("kind").line, 10);
  EXPECT_EQ(car.parts[1]->position.line, 12);
  EXPECT_EQ(car.owners, (std::vector<std::string>{"bob", "ann"}));

  EXPECT_EQ(toml_text(resolved_config(car)),
            "name = \"beetle\"\ncolour = \"blue\"\nyear = 1938\nowners = [\"bob\", \"ann\"]\n"
            "\n[trunk]\nopen = true\n\n[engine]\ncylinders = 6\ngears = [4.0, 1.5]\n"
            "\n[[parts]]\nkind = \"wheel\"\nradius = 0.5\n\n[[parts]]\nkind = \"door\"\nopen = false\n");
  // What is printed reads back as the same values.
  Car again = read_config<Car>(resolved_config(car), findings);
  findings.raise();
  EXPECT_EQ(toml_text(resolved_config(again)), toml_text(resolved_config(car)));
}

TEST(Config, ReportsAllMistakesInOrderOfTheirLines) {
  ConfigNode root = table({keyed("engine",
                                 table({keyed("pistons", ConfigNode::of(int64_t{6}), 30),
                                        keyed("cylinders", ConfigNode::of(int64_t{1} << 40), 20)}),
                                 19),
                           keyed("colour", text_node("bleu"), 10),
                           keyed("owners", array({text_node("ann"), at_line(text_node("carl"), 5)}), 4)});
  EXPECT_EQ(findings_of(root),
            "error: owners.1 has an unknown value\n  expected: one of \"ann\", \"bob\"\n  got:      \"carl\"\n"
            "  config:   car:5:9\n  hint:     owners: first to last\n"
            "error: colour has an unknown value\n  expected: one of \"red\", \"blue\"\n  got:      \"bleu\"\n"
            "  config:   car:10:9\n  hint:     did you mean \"blue\"?\n"
            "error: engine.cylinders is out of range\n  expected: an integer from -2147483648 to 2147483647\n"
            "  got:      1099511627776\n  config:   car:20:9\n  hint:     cylinders: how many\n"
            "error: unknown key engine.pistons\n  config:   car:30:1\n  hint:     did you mean cylinders?");
}

TEST(Config, AFieldWithAMistakeKeepsItsDefaultAndIsNotChecked) {
  Findings findings;
  ConfigNode root = table(
      {keyed("engine",
             table({keyed("cylinders", ConfigNode::of(int64_t{3}), 2), keyed("gears", ConfigNode::of(1.0), 3)}), 1)});
  Car car = read_config<Car>(root, findings);
  EXPECT_EQ(findings.size(), 1u);  // and not "an odd engine"
  EXPECT_EQ(car.engine.gears.size(), 2u);
}

TEST(Config, ChecksOfSeveralFieldsPointToTheirLine) {
  EXPECT_EQ(findings_of(table({keyed("engine", table({keyed("cylinders", ConfigNode::of(int64_t{3}), 2)}), 1)})),
            "error: an odd engine\n  config:   car:2:9\n  hint:     engine.cylinders");
}

TEST(Config, AnIncompleteFileLacksNothing) {
  ConfigNode root = table({keyed("parts", array({table({}), table({keyed("kind", text_node("wheel"))})}))});
  EXPECT_EQ(findings_of(root),
            "error: parts.0.kind is missing\n  expected: one of \"wheel\", \"door\"\n"
            "error: parts.1.radius is missing\n  expected: a number above 0 (m)\n  hint:     radius: half the width");
  root.incomplete = true;
  EXPECT_EQ(findings_of(root), "");
}

TEST(Config, AnUnquotedWordOfTheCommandLineMayBeAString) {
  ConfigNode year = ConfigNode::of(int64_t{1938});
  year.unquoted = true;
  year.text = "1938";
  Findings findings;
  Car car = read_config<Car>(table({keyed("name", year), keyed("year", year)}), findings);
  findings.raise();
  EXPECT_EQ(car.name, "1938");
  EXPECT_EQ(car.year, 1938);
}

TEST(Config, NumbersThatAreNoNumbersAreOutOfRange) {
  for (double value : {std::nan(""), HUGE_VAL, -HUGE_VAL}) {
    ConfigNode root = table(
        {keyed("parts", array({table({keyed("kind", text_node("wheel")), keyed("radius", ConfigNode::of(value))})}))});
    EXPECT_NE(findings_of(root).find("expected: a finite number above 0 (m)"), std::string::npos) << value;
  }
}

TEST(Config, PrintsTheReferencePage) {
  EXPECT_EQ(reference_page<Car>(), R"(## Top of the file
| key | value | default | meaning |
| --- | --- | --- | --- |
| `name` | a string | `"none"` | What it is called. |
| `colour` | one of "red", "blue" | `"red"` | The paint. |
| `year` | an integer, at least 1886 | none | When it was built. |
| `owners` | an array, each element one of "ann", "bob" | `[]` | First to last. |

## `[trunk]`
A way in.

| key | value | default | meaning |
| --- | --- | --- | --- |
| `open` | true or false | `false` | Whether one can pass. |

## `[engine]`
| key | value | default | meaning |
| --- | --- | --- | --- |
| `cylinders` | an integer | `4` | How many. |
| `gears` | an array, each element a number from 0.5 to 10 | `[3.5, 2.0]` | Ratios, low \| high. |

## `[[parts]]`
The rest. `kind` is one of `"wheel"`, `"door"`.

## `[[parts]]`: kinds with one other key
| kind | key | value | default | meaning |
| --- | --- | --- | --- | --- |
| `wheel` | `radius` | a number above 0 (m) | required | Half the width. |
| `door`: A way in. | `open` | true or false | `false` | Whether one can pass. |
)");
}

TEST(Range, SaysAndKnowsItsEnds) {
  EXPECT_EQ(above(0).text(), "above 0");
  EXPECT_EQ(at_least(1).text(), "at least 1");
  EXPECT_EQ(between(1, 10).text(), "from 1 to 10");
  EXPECT_EQ(from_below(0, 1).text(), "at least 0 and below 1");
  EXPECT_EQ(between_open(0, 1).text(), "above 0 and below 1");
  EXPECT_EQ(Range{}.text(), "");
  EXPECT_FALSE(above(0).contains(0));
  EXPECT_TRUE(at_least(0).contains(0));
  EXPECT_TRUE(between(0, 1).contains(1));
  EXPECT_FALSE(from_below(0, 1).contains(1));
  EXPECT_FALSE(Range{}.contains(std::nan("")));
}

TEST(NearestName, FindsMisspellingsAndNothingElse) {
  std::vector<std::string> names = {"learning_rate", "momentum", "batch_size", "epochs", "seed", "l1", "l2"};
  EXPECT_EQ(nearest_name("learnig_rate", names), "learning_rate");
  EXPECT_EQ(nearest_name("LearningRate", names), "learning_rate");
  EXPECT_EQ(nearest_name("learning-rate", names), "learning_rate");
  EXPECT_EQ(nearest_name("epoch", names), "epochs");
  EXPECT_EQ(nearest_name("epohcs", names), "epochs");
  EXPECT_EQ(nearest_name("L2", names), "l2");
  EXPECT_EQ(nearest_name("lr", names), "");
  EXPECT_EQ(nearest_name("size", names), "");
  EXPECT_EQ(nearest_name("patience", names), "");
  EXPECT_EQ(nearest_name("", names), "");
}

TEST(NearValue, FindsNamesInOtherWords) {
  const std::vector<std::string> layers = {"dense", "activation", "lstm",       "conv",
                                           "pool",  "batch_norm", "layer_norm", "conv_transposed"};
  for (const auto& [written, meant] :
       std::vector<std::pair<const char*, const char*>>{{"Dense", "dense"},
                                                        {"BatchNorm", "batch_norm"},
                                                        {"batchnorm", "batch_norm"},
                                                        {"norm_batch", "batch_norm"},
                                                        {"batch_normalization", "batch_norm"},
                                                        {"max_pool", "pool"},
                                                        {"maxpool", "pool"},
                                                        {"MaxPooling2D", "pool"},
                                                        {"conv2d", "conv"},
                                                        {"convolution", "conv"},
                                                        {"transposed_conv", "conv_transposed"},
                                                        {"fc", "dense"},
                                                        {"fully_connected", "dense"},
                                                        {"relu", "activation"},
                                                        {"act", "activation"},
                                                        {"lsmt", "lstm"},
                                                        {"nonsense", ""},
                                                        {"co", ""},
                                                        {"", ""}})
    EXPECT_EQ(near_value(written, layers), meant) << written;
  EXPECT_EQ(near_value("relu", {"relu", "leaky_relu"}), "relu");
  EXPECT_EQ(near_value("leaky", {"relu", "leaky_relu"}), "leaky_relu");
  EXPECT_EQ(near_value("mse", {"error", "mean_squared_error"}), "mean_squared_error");
  EXPECT_EQ(near_value("mse", {"squared_error", "huber"}), "squared_error");
  EXPECT_EQ(near_value("acc", {"auc", "accuracy"}), "accuracy");
}

TEST(TomlText, EscapesStringsAndKeepsFloatsFloats) {
  EXPECT_EQ(toml_value(text_node("a\"b\\c\n\t\r\x01\x7f\xc3\xa9")), "\"a\\\"b\\\\c\\n\\t\\r\\u0001\\u007F\xc3\xa9\"");
  EXPECT_EQ(toml_value(ConfigNode::of(1.0)), "1.0");
  EXPECT_EQ(toml_value(ConfigNode::of(-0.0)), "-0.0");
  EXPECT_EQ(toml_value(ConfigNode::of(0.1)), "0.1");
  EXPECT_EQ(toml_value(ConfigNode::of(1e300)), "1e+300");
  EXPECT_EQ(toml_value(array({table({keyed("a b", ConfigNode::of(true))})})), "[{\"a b\" = true}]");
  EXPECT_EQ(description(text_node(std::string(59, 'x') + "\xc3\xa9")), "a string, \"" + std::string(59, 'x') + "\"...");
}

}  // namespace
}  // namespace thtrain
