#include "evaluation/ship/restamp.hpp"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <vector>

#include "features/kernel_encoding.hpp"
#include "predictors/roofline/roofline.hpp"
#include "predictors/trees/correction.hpp"
#include "predictors/trees/tree_schemas.hpp"

namespace forerun {
namespace {

Status stamp_trees(BundleManifest& manifest) {
  const auto part = manifest.parts.find("trees");
  auto json = part == manifest.parts.end() ? nlohmann::json() : nlohmann::json::parse(part->second, nullptr, false);
  if (!json.is_object()) return bad_input("its part 'trees' is not an object");
  put_tree_hashes(json);
  part->second = json.dump();
  manifest.schema = tree_schema();
  return ok();
}

Status stamp_network(BundleManifest& manifest) {
  manifest.parts["roofline"] = std::to_string(roofline_hash());
  manifest.schema = kernel_schema();
  return ok();
}

Status stamp_correction(BundleManifest& manifest) {
  manifest.schema = correction_schema();
  return ok();
}

struct Kind {
  std::string_view name;
  Status (*stamp)(BundleManifest& manifest);
};
constexpr std::array kKinds = {Kind{"trees", stamp_trees}, Kind{"gnn", stamp_network},
                               Kind{"correction", stamp_correction}};

}  // namespace

Result<std::string> restamp(const Bundle& bundle) {
  BundleManifest manifest = bundle.manifest();
  const auto kind =
      std::find_if(kKinds.begin(), kKinds.end(), [&](const Kind& row) { return row.name == manifest.kind; });
  if (kind == kKinds.end()) return bad_input(bundle.file_name() + ": no predictor of kind '" + manifest.kind + "'");
  const FeatureSchema before = manifest.schema;
  if (const Status stamped = kind->stamp(manifest); !stamped)
    return bad_input(bundle.file_name() + ": " + stamped.error().message);
  if (manifest.schema.name != before.name || manifest.schema.version != before.version) {
    return bad_input(bundle.file_name() + ": made for features " + before.name + " version " +
                     std::to_string(before.version) + ", which this program does not have: train it again");
  }
  struct Section {
    std::string name;
    std::string_view bytes;
  };
  std::vector<Section> sections;
  for (const std::string& name : bundle.section_names()) {
    FORERUN_TRY(const std::string_view bytes, bundle.section(name));
    sections.push_back({name, bytes});
  }
  // As they lie in the file. An empty one may begin where the next does, and comes first.
  std::stable_sort(sections.begin(), sections.end(), [](const Section& a, const Section& b) {
    return std::pair(a.bytes.data(), a.bytes.size()) < std::pair(b.bytes.data(), b.bytes.size());
  });
  BundleWriter writer(std::move(manifest));
  for (const Section& section : sections) FORERUN_CHECK(writer.add_section(section.name, std::string(section.bytes)));
  return writer.bytes();
}

}  // namespace forerun
