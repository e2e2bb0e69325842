// The length of a run: by steps, samples, tokens or epochs, and never by two of them.
#include "service/estimate.hpp"

namespace forerun {

Status check_run(const Request& request) {
  if (request.epochs && !request.dataset_samples)
    return bad_input("--epochs: of how many samples? give --dataset-samples");
  if (request.dataset_samples && !request.train)
    return bad_input("--dataset-samples: epochs are of training; give --train, or --samples for inference");
  if (request.dataset_samples && (request.steps || request.samples || request.parallel.tokens))
    return bad_input("--dataset-samples: the length of a run is given by it or by --steps, --samples or --tokens");
  return ok();
}

}  // namespace forerun
