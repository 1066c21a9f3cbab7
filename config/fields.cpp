// What a declaration of fields notes in the schema.
#include "config/config.h"

namespace thtrain {

FieldBuilder::FieldBuilder(Schema& schema, FieldSpec spec) : schema_(schema), index_(schema.fields.size()) {
  schema.fields.push_back(std::move(spec));
}

FieldBuilder& FieldBuilder::range(const Range& range) {
  spec().range = range;
  return *this;
}

FieldBuilder& FieldBuilder::one_of(std::vector<std::string> names) {
  spec().choices = std::move(names);
  return *this;
}

FieldBuilder& FieldBuilder::unit(std::string_view unit) {
  spec().unit = unit;
  return *this;
}

FieldBuilder& FieldBuilder::help(std::string_view help) {
  spec().help = help;
  return *this;
}

FieldBuilder& FieldBuilder::required() {
  spec().required = true;
  return *this;
}

FieldBuilder& FieldBuilder::one_or_list() {
  spec().one_or_list = true;
  return *this;
}

FieldBuilder& FieldBuilder::words(std::initializer_list<std::pair<std::string_view, int64_t>> words) {
  for (const auto& [word, value] : words) {
    spec().choices.emplace_back(word);
    spec().choice_values.push_back(value);
  }
  return *this;
}

FieldBuilder& FieldBuilder::synonyms(std::initializer_list<std::string_view> names) {
  spec().synonyms.assign(names.begin(), names.end());
  return *this;
}

FieldBuilder& FieldBuilder::independent() {
  spec().independent = true;
  return *this;
}

FieldBuilder& FieldBuilder::by_name() {
  spec().by_name = true;
  return *this;
}

void FieldTable::about(std::string_view text) {
  schema_.about = text;
}

void FieldTable::absent(std::initializer_list<std::string_view> names, std::string_view hint) {
  for (std::string_view name : names) schema_.absent[std::string(name)] = hint;
}

ptrdiff_t FieldTable::offset_of(const void* member) const {
  return static_cast<const std::byte*>(member) - static_cast<const std::byte*>(schema_.defaults);
}

FieldBuilder FieldTable::add(std::string_view name, const FieldAccess& access, const void* member) {
  return {schema_, {.name = std::string(name), .group = group_, .access = &access, .offset = offset_of(member)}};
}

FieldBuilder FieldTable::add_kind(std::string_view name, const FieldAccess& access, const void* member,
                                  std::string_view tag) {
  FieldBuilder field = add(name, access, member);
  schema_.fields.back().tag = tag.empty() ? name : tag;
  schema_.fields.back().inlined = tag.empty();
  return field;
}

}  // namespace thtrain
