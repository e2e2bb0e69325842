// Vision networks of published trainings, rebuilt from what their papers state.
#pragma once

#include <memory>

#include "readers/reader.hpp"

namespace forerun {

// The temperature-downscaling U-Net (K. Panner Selvam, PhD-FSTM-2025-034): input 96 x 128 x 3, two outputs 96 x 128 x
// 1, 3,525,650 trainable parameters. One convolution in the second and third level and at the bottom, two elsewhere,
// which follows from the parameters.
[[nodiscard]] std::shared_ptr<const Network> published_unet();
// ResNet-18 for 32 x 32 images: a 3 x 3 stem and no pooling before the first stage.
[[nodiscard]] std::shared_ptr<const Network> small_image_resnet18();

}  // namespace forerun
