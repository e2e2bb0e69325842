// The accuracy page of the graph networks: the studies' sections, and the protocols compared with the trees.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.hpp"

namespace forerun {

struct GnnPageOptions {
  std::string work;  // folder of the studies' results
  std::string docs;  // folder of the page
  std::string data, public_data;
  bool trees = true;   // cross-validate the trees for the comparison; else the columns stay empty
  std::string bundle;  // where the widths of the average's intervals are stored; "": nowhere
  std::vector<std::pair<std::string, std::string>> sections =
      {};  // names of the studies' results, in order, and their titles
};
// Copies pictures, cross-validates the trees under the same splits, writes docs/accuracy/graph-networks.md and, with
// the trees, the widths of the average's intervals into the bundle.
Status write_gnn_page(const GnnPageOptions& options, const std::function<void(const std::string&)>& say);

}  // namespace forerun
