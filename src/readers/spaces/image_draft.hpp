// An image network under construction: a chain of convolutions, norms and activations, as PyTorch runs them.
#pragma once

#include "readers/graph_draft.hpp"

namespace forerun::spaces {

class ImageDraft : public GraphDraft {
 public:
  ImageDraft(std::int64_t batch, std::int64_t side);

  ValueId x;                  // the last result
  std::int64_t channels = 3;  // of it

  ValueId apply(std::string_view op, std::vector<ValueId> inputs, std::vector<Attribute> attributes = {});
  void conv(std::int64_t out, std::int64_t kernel, std::int64_t stride, std::int64_t groups = 1, bool bias = false);
  void norm();
  void relu() { apply("Relu", {x}); }
  void hard_swish() { apply("HardSwish", {x}); }
  void add(ValueId other) { apply("Add", {x, other}); }
  void average_pool(std::int64_t kernel, std::int64_t stride, std::int64_t pad);
  void max_pool(std::int64_t kernel, std::int64_t stride, std::int64_t pad);
  void classify(std::int64_t classes);
  Result<Graph> take();

 private:
  void pool(std::string_view op, std::int64_t kernel, std::int64_t stride, std::int64_t pad);
};

}  // namespace forerun::spaces
