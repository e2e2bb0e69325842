#include "search/space.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

#include <nlohmann/json.hpp>

#include "readers/printable.hpp"
#include "readers/spaces/spaces_reader.hpp"
#include "search/space_text.hpp"

namespace forerun {

namespace {

using SpaceJson = nlohmann::ordered_json;  // keeps the order of the file

constexpr std::size_t kMaxChoices = 65'000, kMaxAxes = 4096;
constexpr double kMostQuestions = 1e12;

std::uint64_t mixed(std::uint64_t x) {  // splitmix64
  x += 0x9E3779B97F4A7C15ULL;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ULL;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBULL;
  return x ^ (x >> 31);
}

std::string label_of(const SpaceJson& value) { return value.is_string() ? value.get<std::string>() : value.dump(); }
std::string json_quoted(std::string_view text) { return SpaceJson(std::string(text)).dump(); }

double product_of(const std::vector<Axis>& axes, std::size_t first, std::size_t last) {
  double product = 1;
  for (std::size_t i = first; i < last; ++i) product *= double(axes[i].fragments.size());
  return product;
}

// The digits of a number in the axes' mixed base, the last axis fastest.
void take_digits(std::uint64_t number, const std::vector<Axis>& axes, std::size_t first, std::size_t last,
                 Genes& genes) {
  for (std::size_t i = last; i-- > first;) {
    const std::uint64_t choices = axes[i].fragments.size();
    genes[i] = std::uint16_t(number % choices);
    number /= choices;
  }
}

}  // namespace

std::uint64_t shuffled(std::uint64_t i, std::uint64_t total, std::uint64_t seed) {
  int bits = 1;
  while (bits < 32 && (std::uint64_t{1} << (2 * bits)) < total) ++bits;
  const std::uint64_t mask = (std::uint64_t{1} << bits) - 1;
  do {  // walks along its cycle until it is back in range
    std::uint64_t left = i >> bits, right = i & mask;
    for (std::uint64_t round = 0; round < 4; ++round) {
      const std::uint64_t next = left ^ (mixed(right ^ mixed(seed + round)) & mask);
      left = right;
      right = next;
    }
    i = (left << bits) | right;
  } while (i >= total);
  return i;
}

// Reads the parts of a space file.
class SpaceReader {
 public:
  SpaceReader(const std::string& what, QuestionSpace& space) : what_(what), space_(space) {}

  Status read(const SpaceJson& json) {
    if (!json.is_object()) return wrong("expected a mapping of 'question', 'architecture', …");
    for (const auto& [key, value] : json.items()) {
      if (key != "question" && key != "architecture" && key != "variants" && key != "sample" && key != "seed")
        return wrong("unknown key " + in_quotes(key) + "; it has question, architecture, variants, sample, seed");
    }
    if (const auto seed = json.find("seed"); seed != json.end()) {
      if (!seed->is_number_integer()) return wrong("'seed' must be a whole number");
      space_.seed_ = seed->get<std::uint64_t>();
    }
    std::optional<std::int64_t> architectures;
    if (const auto part = json.find("architecture"); part != json.end())
      FORERUN_CHECK(read_architecture(*part, architectures));
    space_.architecture_axes_ = space_.axes_.size();
    if (const auto part = json.find("variants"); part != json.end()) FORERUN_CHECK(read_variants(*part));
    if (const auto part = json.find("question"); part != json.end()) FORERUN_CHECK(read_question(*part));
    return count(architectures, json);
  }

 private:
  [[nodiscard]] Error wrong(const std::string& why) const { return bad_input(what_ + ": " + why); }

  Status add(Axis axis) {
    if (axis.fragments.empty()) return wrong("'" + axis.name + "' has no choices");
    if (axis.fragments.size() > kMaxChoices) return wrong("'" + axis.name + "' has more than 65,000 choices");
    if (space_.axes_.size() >= kMaxAxes) return wrong("more than 4,096 things to choose");
    space_.axes_.push_back(std::move(axis));
    return ok();
  }

  // A field of the request or of the description: a list is a list of choices.
  Status add_field(const std::string& key, const SpaceJson& value, bool is_config) {
    if (!value.is_array()) {
      std::string& fixed = is_config ? space_.fixed_config_ : space_.fixed_;
      fixed += (fixed.empty() ? "" : ",") + json_quoted(key) + ":" + value.dump();
      return ok();
    }
    Axis axis{.name = key, .is_config = is_config};
    for (const SpaceJson& choice : value) {
      axis.labels.push_back(label_of(choice));
      axis.fragments.push_back(json_quoted(key) + ":" + choice.dump());
    }
    return add(std::move(axis));
  }

  Status read_question(const SpaceJson& part) {
    if (!part.is_object()) return wrong("'question': expected a mapping of fields of a request");
    for (const bool is_device : {false, true}) {  // the device changes fastest
      for (const auto& [key, value] : part.items()) {
        if ((key == "device") == is_device) FORERUN_CHECK(add_field(key, value, false));
      }
    }
    return ok();
  }

  // Fields that vary together: layouts of several devices, say.
  Status read_variants(const SpaceJson& part) {
    if (!part.is_array()) return wrong("'variants': expected a list of mappings");
    Axis axis{.name = "variants"};
    for (const SpaceJson& choice : part) {
      if (!choice.is_object()) return wrong("'variants': expected a list of mappings");
      std::string text = choice.dump();
      axis.labels.push_back(text);
      axis.fragments.push_back(text.substr(1, text.size() - 2));
    }
    return add(std::move(axis));
  }

  Status read_architecture(const SpaceJson& part, std::optional<std::int64_t>& sample) {
    const auto type = part.is_object() ? part.find("model_type") : part.end();
    if (type == part.end() || !type->is_string())
      return wrong("'architecture': expected a mapping with model_type: a search space or a Hugging Face architecture");
    const spaces::Space* space = find_search_space(type->get<std::string>());
    for (const auto& [key, value] : part.items()) {
      if (key == "sample") {
        if (!value.is_number_integer() || value.get<std::int64_t>() < 1) return wrong("'sample' must be 1 or more");
        sample = value.get<std::int64_t>();
        continue;
      }
      const spaces::Field* field = field_of(space, key);
      if (space != nullptr && field == nullptr && key != "model_type") {
        return wrong("'architecture': " + std::string(space->name) + " has no field " + in_quotes(key));
      }
      FORERUN_CHECK(field != nullptr && field->count > 1 ? add_positions(*field, value) : add_field(key, value, true));
    }
    if (space == nullptr) return ok();
    for (const spaces::Field& field : space->fields) {  // what the file does not say varies as published
      if (part.contains(field.key)) continue;
      SpaceJson choices = SpaceJson::array();
      for (const std::string_view word : field.words) choices.push_back(std::string(word));
      for (const std::int64_t number : field.numbers) choices.push_back(number);
      if (choices.empty() || (field.fallback != 0 && field.count == 1)) continue;
      FORERUN_CHECK(field.count > 1 ? add_positions(field, choices) : add_field(std::string(field.key), choices, true));
    }
    return ok();
  }

  static const spaces::Field* field_of(const spaces::Space* space, std::string_view key) {
    if (space == nullptr) return nullptr;
    const auto found = std::find_if(space->fields.begin(), space->fields.end(),
                                    [&](const spaces::Field& field) { return field.key == key; });
    return found == space->fields.end() ? nullptr : &*found;
  }

  // A list of the description, each place of which takes one of the choices.
  Status add_positions(const spaces::Field& field, const SpaceJson& choices) {
    ++group_;
    for (std::size_t place = 0; place < field.count; ++place) {
      Axis axis{.name = std::string(field.key) + "[" + std::to_string(place) + "]",
                .is_config = true,
                .group = group_,
                .key = std::string(field.key)};
      const SpaceJson one = SpaceJson::array({choices});
      for (const SpaceJson& choice : choices.is_array() ? choices : one) {
        axis.labels.push_back(label_of(choice));
        axis.fragments.push_back(choice.dump());
      }
      FORERUN_CHECK(add(std::move(axis)));
    }
    return ok();
  }

  Status count(std::optional<std::int64_t> architectures, const SpaceJson& json) {
    const std::size_t split = space_.architecture_axes_;
    space_.all_architectures_ = product_of(space_.axes_, 0, split);
    space_.all_rest_ = product_of(space_.axes_, split, space_.axes_.size());
    const auto sample = json.find("sample");
    if (sample != json.end()) {
      if (!sample->is_number_integer() || sample->get<std::int64_t>() < 1) return wrong("'sample' must be 1 or more");
      // Questions of the whole space, whatever they are about.
      space_.architecture_axes_ = space_.axes_.size();
      space_.all_architectures_ *= space_.all_rest_;
      space_.all_rest_ = 1;
      architectures = sample->get<std::int64_t>();
    }
    const double asked = std::min(space_.all_architectures_, double(architectures.value_or(kMostQuestions)));
    if (asked * space_.all_rest_ >= kMostQuestions)
      return wrong("more than 10^12 questions; take a sample: sample: 100000");
    space_.architectures_ = std::int64_t(asked);
    space_.rest_ = std::int64_t(space_.all_rest_);
    return ok();
  }

  const std::string& what_;
  QuestionSpace& space_;
  std::int32_t group_ = -1;
};

Result<QuestionSpace> QuestionSpace::read(std::string_view text, const std::string& what) {
  FORERUN_TRY(const SpaceJson json, parse_space_text(text, what));
  QuestionSpace space;
  FORERUN_CHECK(SpaceReader(what, space).read(json));
  return space;
}

Genes QuestionSpace::genes_of(std::int64_t i) const {
  Genes genes(axes_.size());
  const auto architecture = std::uint64_t(i / rest_);
  take_digits(std::uint64_t(i % rest_), axes_, architecture_axes_, axes_.size(), genes);
  if (double(architectures_) >= all_architectures_) {
    take_digits(architecture, axes_, 0, architecture_axes_, genes);
  } else if (all_architectures_ < 0x1p62) {
    take_digits(shuffled(architecture, std::uint64_t(all_architectures_), seed_), axes_, 0, architecture_axes_, genes);
  } else {  // two of so many are hardly ever equal
    std::uint64_t state = mixed(seed_) ^ architecture;
    for (std::size_t axis = 0; axis < architecture_axes_; ++axis) {
      state = mixed(state);
      genes[axis] = std::uint16_t(state % axes_[axis].fragments.size());
    }
  }
  return genes;
}

std::string QuestionSpace::question(const Genes& genes) const {
  std::string config = fixed_config_, fields = fixed_;
  for (std::size_t i = 0; i < axes_.size(); ++i) {
    const Axis& axis = axes_[i];
    std::string& into = axis.is_config ? config : fields;
    if (axis.fragments[genes[i]].empty()) continue;  // a variant that changes nothing
    const bool opens = axis.group < 0 || i == 0 || axes_[i - 1].group != axis.group;
    if (!into.empty() && into.back() != '[') into += ",";
    if (axis.group >= 0 && opens) into += json_quoted(axis.key) + ":[";
    into += axis.fragments[genes[i]];
    if (axis.group >= 0 && (i + 1 == axes_.size() || axes_[i + 1].group != axis.group)) into += "]";
  }
  if (config.empty()) return "{" + fields + "}";
  return "{\"config\":{" + config + "}" + (fields.empty() ? "" : ",") + fields + "}";
}

}  // namespace forerun
