// What the keys of schedules need to change a short run.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "compiler/base/str.h"

namespace thtrain {

using Words = std::vector<std::string>;

/// What a key needs to matter, and the values that are tried; each gives another outcome than none.
struct Witness {
  Words with = {};        // overrides of both experiments
  Words values = {};      // as they are typed; none: what follows from the type
  bool may_fail = false;  // with these values: then the error is the outcome
};

/// Those of a schedule: what its keys need to matter.
inline void add_schedules(std::map<std::string, Witness>& w, const std::string& schedule) {
  const Words momentum = {"trainer.momentum=0.5"};
  auto add = [&](const char* key, const Words& with, const Words& values = {}) {
    Witness& out = w[str(schedule, key)];
    if (schedule.ends_with("momentum_schedule")) out.with = momentum;
    for (const std::string& word : with) out.with.push_back(str(schedule, '.', word));
    out.values = values;
  };
  const char* kKinds[] = {"constant", "step",           "multistep", "exponential", "polynomial",
                          "cosine",   "one_over_epoch", "one_cycle", "plateau"};
  for (const char* kind : kKinds) {
    const std::string key = str('[', kind, "].");
    const Words first = std::string(kind) == "multistep" ? Words{"milestones=[1]"} : Words();
    Words warmed = first;
    warmed.push_back("warmup=2");
    add((key + "warmup").c_str(), first);
    add((key + "warmup_start").c_str(), warmed);
    if (std::string(kind) != "plateau") add((key + "per").c_str(), warmed);
  }
  add("[step].every", {}, {"1", "2"});
  add("[step].decay", {"every=1"});
  add("[multistep].milestones", {"milestones=[1]"}, {"[2]", "[1, 2]"});
  add("[multistep].decay", {"milestones=[1]"});
  for (const char* key : {"[exponential].decay", "[one_over_epoch].decay", "[polynomial].length", "[polynomial].power",
                          "[polynomial].first", "[polynomial].last", "[cosine].length", "[cosine].last",
                          "[one_cycle].length", "[one_cycle].rise", "[one_cycle].start", "[one_cycle].last"})
    add(key, {});
  add("[cosine].restarts", {"length=2"});
  add("[cosine].growth", {"length=1", "restarts=true"});
  add("[plateau].patience", {}, {"0", "1"});
  for (const char* key : {"decay", "threshold", "threshold_mode", "cooldown", "last"})
    add(str("[plateau].", key).c_str(), {"patience=0"});
  for (const char* key : {"threshold", "threshold_mode"})
    w[str(schedule, "[plateau].", key)].with.push_back(schedule + ".decay=0.9");
  w[schedule + "[plateau].threshold"].values = {"0.75"};
  w[schedule + "[plateau].threshold_mode"].with.push_back(schedule + ".threshold=0.75");
  for (const char* key : {"decay", "patience", "threshold", "threshold_mode", "cooldown", "last"})
    for (const char* word : {"trainer.epochs=6", "trainer.validation_frequency=1", "trainer.momentum=0.5"})
      w[str(schedule, "[plateau].", key)].with.emplace_back(word);
}

}  // namespace thtrain
