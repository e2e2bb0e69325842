#include "readers/diffusers/merge_graphs.hpp"

#include <iterator>
#include <utility>
#include <vector>

namespace forerun::diffusers {

NamedValues append_graph(Graph& to, Graph part, std::int32_t block, const NamedValues& given,
                         const std::string& prefix) {
  std::vector<ValueId> now(part.values.size(), kNoValue);
  std::vector<std::size_t> open;  // inputs that nothing is given for
  for (const ValueId id : part.main().inputs) {
    const auto found = given.find(part.values[std::size_t(id)].name);
    if (found != given.end()) {
      now[std::size_t(id)] = found->second;
    } else {
      open.push_back(std::size_t(id));
    }
  }
  for (std::size_t i = 0; i < part.values.size(); ++i) {
    if (now[i] != kNoValue) continue;
    now[i] = ValueId(to.values.size());
    to.values.push_back(std::move(part.values[i]));
  }
  for (const std::size_t id : open) {
    Value& value = to.values[std::size_t(now[id])];
    value.name = prefix + "." + value.name;
    to.main().inputs.push_back(now[id]);
  }
  const auto modules = std::int32_t(to.modules.size());
  to.modules.insert(to.modules.end(), std::make_move_iterator(part.modules.begin()),
                    std::make_move_iterator(part.modules.end()));
  for (Node& node : part.main().nodes) {
    for (std::vector<ValueId>* ids : {&node.inputs, &node.outputs}) {
      for (ValueId& id : *ids) id = id == kNoValue ? kNoValue : now[std::size_t(id)];
    }
    if (node.module != kNoModule) node.module += modules;
    to.blocks[std::size_t(block)].nodes.push_back(std::move(node));
  }
  NamedValues outputs;
  for (const ValueId id : part.main().outputs)
    outputs[to.values[std::size_t(now[std::size_t(id)])].name] = now[std::size_t(id)];
  to.warnings.insert(to.warnings.end(), part.warnings.begin(), part.warnings.end());
  return outputs;
}

}  // namespace forerun::diffusers
