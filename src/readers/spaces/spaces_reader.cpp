#include "readers/spaces/spaces_reader.hpp"

#include <algorithm>
#include <array>

#include "readers/printable.hpp"

namespace forerun {
namespace {

using spaces::Description;
using spaces::Field;
using spaces::Space;

constexpr std::array<const Space*, 4> kSpaces = {&spaces::kNasBench201, &spaces::kFbnet, &spaces::kOnceForAll,
                                                 &spaces::kResnet};
constexpr std::size_t kMaxDescriptionBytes = std::size_t{1} << 16;
constexpr std::int64_t kMaxBatch = std::int64_t{1} << 22;

class Candidate final : public Network {
 public:
  Candidate(const Space& space, Description description) : space_(space), description_(std::move(description)) {
    inputs_.format = "search space";
    inputs_.blocks.emplace_back();
    Value image;
    image.name = "image";
    image.dtype = DType::Float32;
    image.role = ValueRole::Input;
    image.has_shape = true;
    const std::int64_t side = description_.numbers[space.side][0];
    image.dims = {kUnknownDim, 3, side, side};
    image.dim_names = {"batch", "", "", ""};
    inputs_.values.push_back(std::move(image));
    inputs_.main().inputs = {0};
  }
  [[nodiscard]] const Graph* open_inputs() const override { return &inputs_; }

  [[nodiscard]] Result<Graph> expand(const Binding& binding, const CancelToken&) const override {
    const auto bound = binding.inputs.find("image");
    const Dims& asked = bound == binding.inputs.end() ? inputs_.values[0].dims : bound->second;
    const std::int64_t batch = asked.front() == kUnknownDim ? binding.batch.value_or(1) : asked.front();
    if (batch < 1 || batch > kMaxBatch) return bad_input("batch must lie in 1 … " + std::to_string(kMaxBatch));
    Dims given = asked;
    given.front() = kUnknownDim;
    if (given != inputs_.values[0].dims)
      return bad_input("--input: the description states the image's size; only its batch is free");
    FORERUN_TRY(Graph graph, space_.build(description_, batch));
    graph.name = std::string(space_.name);
    graph.format = inputs_.format;
    graph.origin.framework = Framework::PyTorch;
    graph.origin.exporter = std::string(space_.name);
    graph.origin.task = NetworkTask::Vision;
    return graph;
  }

 private:
  const Space& space_;
  Description description_;
  Graph inputs_;
};

std::string choices_of(const Field& field) {
  std::string list;
  for (const std::string_view word : field.words) list += (list.empty() ? "" : ", ") + std::string(word);
  return list;
}

// One word or number of a field.
Status take(const Field& field, const Json& value, const std::string& where, Description& into, std::size_t place) {
  if (!field.words.empty()) {
    const auto* text = value.get_ptr<const std::string*>();
    const auto* found = text == nullptr ? field.words.data() + field.words.size()
                                        : std::find(field.words.data(), field.words.data() + field.words.size(), *text);
    if (found == field.words.data() + field.words.size())
      return bad_input(where + ": " + printable(value.dump()) + " is none of " + choices_of(field));
    into.words[place].push_back(*found);
    return ok();
  }
  const bool is_whole = value.is_number_integer();
  const std::int64_t number = is_whole ? value.get<std::int64_t>() : 0;
  if (number < 1 || number > field.most)
    return bad_input(where + ": " + printable(value.dump()) + " is not a whole number from 1 to " +
                     std::to_string(field.most));
  into.numbers[place].push_back(number);
  return ok();
}

Result<Description> read_description(const Space& space, const Json& json, const std::string& name) {
  Description into;
  into.words.resize(space.fields.size());
  into.numbers.resize(space.fields.size());
  std::size_t known = 1;  // model_type
  for (std::size_t i = 0; i < space.fields.size(); ++i) {
    const Field& field = space.fields[i];
    const std::string where = name + ": '" + std::string(field.key) + "'";
    const auto found = json.find(field.key);
    if (found == json.end()) {
      if (field.fallback == 0) return bad_input(where + " is missing");
      into.numbers[i].assign(field.count, field.fallback);
      continue;
    }
    ++known;
    if (field.count == 1) {
      FORERUN_CHECK(take(field, *found, where, into, i));
      continue;
    }
    if (!found->is_array() || found->size() != field.count)
      return bad_input(where + ": expected a list of " + std::to_string(field.count));
    for (const Json& value : *found) FORERUN_CHECK(take(field, value, where, into, i));
  }
  if (known == json.size()) return into;
  for (const auto& [key, value] : json.items()) {
    if (key != "model_type" && std::none_of(space.fields.begin(), space.fields.end(),
                                            [&key = key](const Field& field) { return field.key == key; }))
      return bad_input(name + ": " + std::string(space.name) + " has no field " + in_quotes(key));
  }
  return into;
}

// "|op~0|+|op~0|op~1|+|…|" as a list of operations.
Json operations_of(std::string_view cell) {
  Json list = Json::array();
  for (std::size_t at = cell.find('|'); at != std::string_view::npos;) {
    const std::size_t next = cell.find('|', at + 1), tilde = cell.find('~', at + 1);
    if (next == std::string_view::npos) break;
    if (tilde < next) list.push_back(std::string(cell.substr(at + 1, tilde - at - 1)));
    at = next;
  }
  return list;
}

}  // namespace

std::span<const Space* const> search_spaces() { return kSpaces; }

const Space* find_search_space(std::string_view model_type) {
  const auto found =
      std::find_if(kSpaces.begin(), kSpaces.end(), [&](const Space* space) { return space->name == model_type; });
  return found == kSpaces.end() ? nullptr : *found;
}

bool is_candidate(const Json& description) {
  const auto type = description.is_object() ? description.find("model_type") : description.end();
  return type != description.end() && type->is_string() &&
         find_search_space(type->get_ref<const std::string&>()) != nullptr;
}

Result<std::unique_ptr<Network>> make_candidate(const Json& description, const std::string& name) {
  const Space& space = *find_search_space(description.at("model_type").get_ref<const std::string&>());
  const auto cell = &space == &spaces::kNasBench201 ? description.find("cell") : description.end();
  if (cell != description.end() && cell->is_string()) {
    Json listed = description;
    listed.erase("cell");
    listed["operations"] = operations_of(cell->get_ref<const std::string&>());
    return make_candidate(listed, name);
  }
  FORERUN_TRY(Description read, read_description(space, description, name));
  return std::unique_ptr<Network>(std::make_unique<Candidate>(space, std::move(read)));
}

bool is_candidate_file(const Source& source) {
  if (source.is_folder || source.bytes.size() > kMaxDescriptionBytes ||
      source.bytes.find("\"model_type\"") == std::string_view::npos)
    return false;
  const auto json = parse_json_text(source.bytes, "description", kMaxDescriptionBytes);
  return json && is_candidate(*json);
}

Result<std::unique_ptr<Network>> read_candidate_source(const Source& source) {
  FORERUN_TRY(const Json json, parse_json_text(source.bytes, source.path.string(), kMaxDescriptionBytes));
  return make_candidate(json, source.path.string());
}

}  // namespace forerun
