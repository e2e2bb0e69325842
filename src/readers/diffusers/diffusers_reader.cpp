#include "readers/diffusers/diffusers_reader.hpp"

#include <algorithm>
#include <array>

#include "readers/diffusers/pipeline.hpp"
#include "readers/huggingface/stored_weights.hpp"
#include "readers/printable.hpp"

namespace forerun {
namespace {

using diffusers::Component;
using diffusers::Part;
using diffusers::Pipeline;

constexpr std::size_t kMaxConfigBytes = std::size_t{4} << 20;
constexpr const char* kIndex = "model_index.json";

// Parts of a pipeline that are no network, by the end of their class's name.
constexpr std::array<std::string_view, 6> kNoNetworks = {"Tokenizer",        "TokenizerFast",  "Scheduler",
                                                         "FeatureExtractor", "ImageProcessor", "Processor"};
// Networks that a pipeline carries and that do not belong to making an image.
constexpr std::array<std::string_view, 3> kLeftOut = {"safety_checker", "image_encoder", "watermark"};

class PipelineNetwork final : public Network {
 public:
  explicit PipelineNetwork(Pipeline pipeline) : pipeline_(std::move(pipeline)) {}
  [[nodiscard]] Result<Graph> expand(const Binding& binding, const CancelToken&) const override {
    return diffusers::expand_pipeline(pipeline_, binding);
  }
  [[nodiscard]] bool takes_steps() const override { return true; }
  [[nodiscard]] bool is_fixed_graph() const override { return false; }
  [[nodiscard]] std::optional<Precision> own_precision() const override { return pipeline_.stored; }

 private:
  Pipeline pipeline_;
};

class ComponentNetwork final : public Network {
 public:
  ComponentNetwork(Component component, std::string name, std::optional<Precision> stored)
      : component_(std::move(component)), name_(std::move(name)), stored_(stored) {}
  [[nodiscard]] Result<Graph> expand(const Binding& binding, const CancelToken&) const override {
    return diffusers::expand_component(component_, name_, binding);
  }
  [[nodiscard]] bool is_fixed_graph() const override { return false; }
  [[nodiscard]] std::optional<Precision> own_precision() const override { return stored_; }

 private:
  Component component_;
  std::string name_;
  std::optional<Precision> stored_;
};

Result<Json> read_json(const Folder& folder, const std::string& name) {
  FORERUN_TRY(const FileBytes file, folder.open(name));
  FORERUN_TRY(Json json, parse_json_text(file.view(), folder.path_of(name), kMaxConfigBytes));
  if (!json.is_object()) return bad_input(folder.path_of(name) + ": a configuration must be a JSON object");
  return json;
}

std::string text_of(const Json& json, const char* name) {
  const auto found = json.find(name);
  return found != json.end() && found->is_string() ? found->get<std::string>() : std::string();
}

std::optional<Precision> stored_precision(const Folder& folder) {
  std::vector<std::string> ignored;
  const auto weights = find_stored_weights(folder, ignored);
  return weights && *weights ? (*weights)->precision : std::nullopt;
}

bool ends_with_any(std::string_view name, std::span<const std::string_view> ends) {
  return std::any_of(ends.begin(), ends.end(), [&](std::string_view end) { return name.ends_with(end); });
}

Error no_network(const Source& source, const std::string& name, const std::string& class_name) {
  return bad_input(source.path.string() + ": component " + in_quotes(name) + " (" + printable(class_name) +
                   ") is not a network that Forerun writes out; export it (torch.export.save, or optimum-cli export "
                   "onnx) and give its file, or the folders of the other components");
}

// The folder's name, not the archive's.
std::string name_of(const Source& source) {
  std::error_code ignored;
  const std::filesystem::path full =
      source.folder.is_in_archive() ? source.path.stem() : std::filesystem::weakly_canonical(source.path, ignored);
  return printable(full.filename().string());
}

}  // namespace

bool is_diffusion_pipeline(const Source& source) { return source.is_folder && source.folder.has(kIndex); }

Result<std::unique_ptr<Network>> read_diffusion_pipeline_source(const Source& source) {
  FORERUN_TRY(const Json index, read_json(source.folder, kIndex));
  Pipeline pipeline;
  pipeline.name = name_of(source);
  pipeline.class_name = text_of(index, "_class_name");
  for (const auto& [name, entry] : index.items()) {
    if (!entry.is_array() || entry.size() != 2 || !entry[1].is_string()) continue;
    const auto class_name = entry[1].get<std::string>();
    if (class_name.ends_with("Scheduler")) pipeline.scheduler = class_name;
    if (ends_with_any(class_name, kNoNetworks)) continue;
    if (std::find(kLeftOut.begin(), kLeftOut.end(), name) != kLeftOut.end()) {
      pipeline.warnings.push_back("component " + in_quotes(name) + " is left out");
      continue;
    }
    const auto part = diffusers::part_of(class_name);
    if (!part) return no_network(source, name, class_name);
    if (name.find('/') != std::string::npos || !source.folder.has(name + "/config.json"))
      return bad_input(source.path.string() + ": component " + in_quotes(name) + " has no " + printable(name) +
                       "/config.json; give the whole repository");
    FORERUN_TRY(Json config, read_json(source.folder.below(name), "config.json"));
    if (*part == Part::Denoiser) pipeline.stored = stored_precision(source.folder.below(name));
    pipeline.components.push_back({name, class_name, *part, std::move(config)});
  }
  std::stable_sort(pipeline.components.begin(), pipeline.components.end(),
                   [](const Component& a, const Component& b) { return a.part < b.part; });
  const auto denoisers = std::count_if(pipeline.components.begin(), pipeline.components.end(),
                                       [](const Component& one) { return one.part == Part::Denoiser; });
  if (denoisers != 1)
    return bad_input(source.path.string() + ": " + kIndex + " names " + std::to_string(denoisers) +
                     " denoisers; give a pipeline with one");
  pipeline.warnings.emplace_back("the image decoder is counted, the encoder of the same autoencoder is not");
  return std::unique_ptr<Network>(std::make_unique<PipelineNetwork>(std::move(pipeline)));
}

bool is_diffusion_component(const Source& source) {
  if (!source.is_folder || !source.folder.has("config.json")) return false;
  const auto start = source.folder.head("config.json", 4096);
  return start && start->view().find("\"_diffusers_version\"") != std::string_view::npos;
}

Result<std::unique_ptr<Network>> read_diffusion_component_source(const Source& source) {
  FORERUN_TRY(Json config, read_json(source.folder, "config.json"));
  const std::string name = name_of(source), class_name = text_of(config, "_class_name");
  const auto part = diffusers::part_of(class_name);
  if (!part) return no_network(source, name, class_name);
  return std::unique_ptr<Network>(std::make_unique<ComponentNetwork>(
      Component{name, class_name, *part, std::move(config)}, name, stored_precision(source.folder)));
}

}  // namespace forerun
