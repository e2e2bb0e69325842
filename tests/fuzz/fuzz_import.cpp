// Any bytes as a file of measurements: CSV of a campaign, CSV as exported, one line of JSON. Rows that are taken must
// survive being written as JSON and read again.
#include <cstdlib>
#include <string>
#include <string_view>

#include "base/csv.hpp"
#include "store/import_format.hpp"
#include "store/measurement_json.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  forerun::ImportOptions options;
  options.campaign = options.device = "fuzz";
  const forerun::ImportFile file{"/nonexistent/vision_inference.csv", "vision_inference", options};
  const auto sink = [](const forerun::Measurement& row) -> forerun::Status {
    const auto again = forerun::measurement_from_json(forerun::measurement_to_json(row));
    if (!again) std::abort();
    return forerun::ok();
  };
  (void)forerun::measurement_from_json(text);
  auto csv = forerun::CsvReader::from_text(text);
  if (!csv) return 0;
  if (forerun::is_exported_csv(*csv)) (void)forerun::import_exported_csv(*csv, file, sink);
  auto campaign = forerun::CsvReader::from_text(text);
  if (campaign && forerun::is_campaign_csv(*campaign)) (void)forerun::import_campaign_csv(*campaign, file, sink);
  return 0;
}
