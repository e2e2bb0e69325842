// CLIP's text tower: of CLIP itself and of pipelines that paint from text.
#pragma once

#include "readers/huggingface/config.hpp"
#include "readers/huggingface/graph_builder.hpp"

namespace forerun {

// [batch, tokens, hidden] behind the last norm; at most as many tokens as the network has positions.
ValueId clip_text_states(const Config& config, GraphBuilder& b);

}  // namespace forerun
