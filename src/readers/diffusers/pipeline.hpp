// A pipeline as its files describe it, and its graph.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "graph/graph.hpp"
#include "readers/json_text.hpp"
#include "records/workload.hpp"

namespace forerun::diffusers {

enum class Part : std::uint8_t { TextEncoder, Denoiser, Decoder };

struct Component {
  std::string name;        // "unet"
  std::string class_name;  // "UNet2DConditionModel"
  Part part = Part::Denoiser;
  Json config;
};

struct Pipeline {
  std::string name, class_name, scheduler;
  std::vector<Component> components;  // in the order they run
  std::vector<std::string> warnings;
  std::optional<Precision> stored;
};

// nullopt for a class whose network is not written here.
[[nodiscard]] std::optional<Part> part_of(std::string_view class_name);

// One pass: an image for each sample of the batch.
Result<Graph> expand_pipeline(const Pipeline& pipeline, const Binding& binding);
// One call of one network.
Result<Graph> expand_component(const Component& component, const std::string& name, const Binding& binding);

}  // namespace forerun::diffusers
