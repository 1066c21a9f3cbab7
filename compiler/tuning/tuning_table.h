// What was measured of candidates, and the text of the file that remembers it.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace thtrain {

/// The time of one candidate for one key.
struct Measured {
  std::string candidate, version;
  double seconds = 0;
  /// How many programs wanted each core while it was timed, where other programs were among them; 0: it was not busy.
  double load = 0;

  friend bool operator==(const Measured&, const Measured&) = default;
};

/// A candidate that was tried and must not be taken for the key.
struct Refused {
  std::string candidate, version, reason;

  friend bool operator==(const Refused&, const Refused&) = default;
};

class TuningTable {
 public:
  /// Times of the key, the least first; empty where nothing was measured.
  const std::vector<Measured>& of(const std::string& key) const;
  /// All times, by key, the least first.
  const std::map<std::string, std::vector<Measured>>& times() const { return measured_; }
  /// Takes over the times of `table`: each instead of that candidate's for that key. Others stay.
  void merge(const TuningTable& table);
  /// The time is rounded to four digits, the load to three. A refusal of that candidate is forgotten.
  void add(const std::string& key, Measured measured);
  /// A time of that candidate is forgotten.
  void refuse(const std::string& key, Refused refused);
  const std::vector<Refused>& refused_of(const std::string& key) const;

  /// A line "key = candidate [version] 3.5e-05; ..." for each key, with " load 7.5" behind the time where the machine
  /// was busy, and a line "refused key = candidate [version] why" for each refusal; `head` is a comment above them.
  std::string text(const std::string& head) const;
  /// Lines that do not read so are kept as they are: another version of thtrain may have written them.
  static TuningTable parse(std::string_view text);

  friend bool operator==(const TuningTable&, const TuningTable&) = default;

 private:
  std::map<std::string, std::vector<Measured>> measured_;  // by key
  std::map<std::string, std::vector<Refused>> refused_;    // by key
  std::vector<std::string> unknown_;                       // lines
};

}  // namespace thtrain
