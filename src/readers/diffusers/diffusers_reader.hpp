// Diffusion pipelines in the layout of the `diffusers` library: a folder with a model_index.json and a folder for each
// network. One pass of the pipeline is its text encoders, the denoiser once a step, and the image decoder.
#pragma once

#include "readers/format.hpp"

namespace forerun {

bool is_diffusion_pipeline(const Source& source);
Result<std::unique_ptr<Network>> read_diffusion_pipeline_source(const Source& source);

// The folder of one network of a pipeline: a config.json that names a class of `diffusers`.
bool is_diffusion_component(const Source& source);
Result<std::unique_ptr<Network>> read_diffusion_component_source(const Source& source);

}  // namespace forerun
