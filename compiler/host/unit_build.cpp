#include "compiler/host/unit_build.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>

#include "compiler/base/content_hash.h"
#include "compiler/base/error.h"
#include "compiler/base/side_by_side.h"
#include "compiler/host/compile_units.h"

namespace thtrain {
namespace {

constexpr const char* kUnits = "units";
constexpr const char* kKernels = "kernels";

}  // namespace

UnitBuild::UnitBuild(Setting setting, const SourceText& source) : setting_(std::move(setting)), source_(source) {
  for (const KernelText& kernel : source.kernels) symbols_.push_back(kernel_symbol(source, kernel));
}

std::string UnitBuild::kernel_entry(size_t kernel) const {
  return str(content_hash({"kernel", symbols_[kernel], setting_.key}), "-", setting_.compiler_part);
}

std::map<std::string, std::string> UnitBuild::stored_objects(std::vector<size_t>& missing) const {
  std::map<std::string, std::string> out;
  for (size_t k = 0; k < symbols_.size(); ++k) {
    std::optional<EntryStore::Entry> unit = setting_.store->read(kKernels, kernel_entry(k));
    bool is_there = unit && out.contains(unit->content);
    if (unit && !is_there)
      if (auto object = setting_.store->read(kUnits, unit->content)) {
        out.emplace(unit->content, std::move(object->content));
        is_there = true;
      }
    if (!is_there) missing.push_back(k);
  }
  return out;
}

std::vector<UnitBuild::Unit> UnitBuild::compile(const std::vector<size_t>& missing) {
  std::vector<Unit> units;
  units.push_back({{}, "", entry_text(source_, symbols_)});
  for (std::vector<size_t>& kernels : deal_kernels(missing, source_, setting_.processes)) {
    std::string text = unit_text(source_, symbols_, kernels);
    units.push_back({std::move(kernels), "", std::move(text)});
  }
  // What takes longest begins first.
  std::stable_sort(units.begin(), units.end(),
                   [](const Unit& a, const Unit& b) { return a.text.size() > b.text.size(); });
  for (Unit& unit : units)
    unit.name = str(content_hash({"unit", unit.text, setting_.key}), "-", setting_.compiler_part);

  CompilerGroup group;
  auto compile_one = [&](size_t i) {
    const std::vector<std::string> flags = units[i].kernels.empty() ? entry_flags() : *setting_.flags;
    units[i].object = made_in([&] { return setting_.store->workplace(kUnits, units[i].name + ".cpp", units[i].text); },
                              [&](const EntryStore::Workplace& location) {
                                compile_unit(*setting_.compiler, flags, location.source, location.output,
                                             {location.folder->get(), location.folder_path}, group);
                              });
  };
  // The entry is short: where it alone would wait for one of several processes, it does not.
  const size_t processes = setting_.processes;
  const size_t at_once = processes > 1 && units.size() == processes + 1 ? units.size() : processes;
  run_side_by_side(units.size(), at_once, compile_one, [&] { group.is_cancelled = true; });
  compiled_ += missing.size();
  return units;
}

std::string UnitBuild::link(const std::vector<Unit>& units, const std::map<std::string, std::string>& stored,
                            const std::string& path) const {
  std::vector<std::string> objects;
  for (const Unit& unit : units) objects.push_back(unit.object);
  for (const auto& [name, object] : stored) objects.push_back(object);
  return made_in([&] { return setting_.store->workplace(objects); },
                 [&](const EntryStore::Workplace& location) {
                   link_objects(*setting_.compiler, *setting_.flags, location.inputs, path, location.output,
                                {location.folder->get(), location.folder_path});
                 });
}

void UnitBuild::keep(const std::vector<Unit>& units) const {
  for (const Unit& unit : units) {
    if (unit.kernels.empty()) continue;
    setting_.store->write(kUnits, unit.name + ".o", unit.object);
    for (size_t k : unit.kernels) setting_.store->write(kKernels, kernel_entry(k), unit.name + ".o");
  }
}

std::string UnitBuild::run(const std::string& path) {
  std::vector<size_t> missing;
  std::map<std::string, std::string> stored = stored_objects(missing);
  std::vector<Unit> units = compile(missing);
  std::string out;
  try {
    out = link(units, stored, path);
  } catch (const InternalError&) {
    if (stored.empty()) throw;
    // What was found does not link: an entry that holds, and is of no use.
    compiled_ = 0;
    missing.resize(symbols_.size());
    std::iota(missing.begin(), missing.end(), size_t{0});
    units = compile(missing);
    out = link(units, {}, path);
  }
  keep(units);
  return out;
}

}  // namespace thtrain
