// Matrix products on a device of which nothing was known: neither its rows nor constants that they showed.
#include <fmt/format.h>

#include <map>
#include <span>

#include "base/on_cores.hpp"
#include "evaluation/trees/operator_errors.hpp"
#include "evaluation/trees/tree_report.hpp"
#include "training/products/product_fit.hpp"

namespace forerun {
namespace {

std::vector<OperatorRows> rows_of(std::span<const OperatorExample> examples, const Catalogue& catalogue,
                                  const ProductConstants& constants, const std::string& device, bool of_it) {
  std::vector<OperatorRows> rows = make_operator_rows(examples, catalogue, constants);
  std::erase_if(rows, [&](const OperatorRows& row) { return (row.device == device) != of_it; });
  return rows;
}

// Products of a device by some constants, and by trees that other devices' sweeps taught against them.
class WithoutDevice {
 public:
  static Result<WithoutDevice> train(const TreeStudy& study, const Catalogue& catalogue,
                                     const ProductConstants& constants, const std::string& device) {
    const std::vector<OperatorRows> rows = rows_of(study.products, catalogue, constants, device, false);
    FORERUN_TRY(const TreeNodes trees, train_kernels(rows, transfer_training()));
    return WithoutDevice(catalogue, constants, device, {Forest(trees), kinds_of(rows)});
  }
  [[nodiscard]] OperatorErrors judge(std::span<const OperatorExample> examples) const {
    OperatorErrors errors;
    for (const OperatorRows& row : rows_of(examples, *catalogue_, constants_, device_, true)) {
      errors.add(row, transferred_us(row, transfer_));
    }
    return errors;
  }

 private:
  WithoutDevice(const Catalogue& catalogue, const ProductConstants& constants, std::string device,
                TransferForest transfer)
      : catalogue_(&catalogue), constants_(constants), device_(std::move(device)), transfer_(std::move(transfer)) {}
  const Catalogue* catalogue_;
  ProductConstants constants_;
  std::string device_;
  TransferForest transfer_;
};

// One set of rows by the constants that ship and by those fitted without the device.
struct Compared {
  OperatorErrors shipped, fitted;
};
void add_row(ReportTable& table, const std::string& name, const Compared& c, const ProgressLine& progress) {
  table.rows.push_back({name, std::to_string(c.shipped.learned.size()), mape_cell(c.fitted.learned),
                        mape_cell(c.fitted.physics), mape_cell(c.shipped.learned), mape_cell(c.shipped.physics)});
  progress(fmt::format("{} {}: {} % with constants fitted without it, {} % with those that ship", table.caption, name,
                       mape_cell(c.fitted.learned), mape_cell(c.shipped.learned)));
}
// Every device, then all rows and the mean over devices.
ReportTable tabulate(std::string caption, const std::map<std::string, Compared>& devices,
                     const ProgressLine& progress) {
  ReportTable table{.caption = std::move(caption),
                    .columns = {"device", "rows", "constants and trees without it", "physics alone",
                                "constants that ship, trees without it", "physics alone"},
                    .rows = {}};
  Compared all;
  double shipped = 0, fitted = 0;
  for (const auto& [device, compared] : devices) {
    add_row(table, device, compared, progress);
    all.shipped.append(compared.shipped);
    all.fitted.append(compared.fitted);
    shipped += measure_accuracy(compared.shipped.learned).mape / double(devices.size());
    fitted += measure_accuracy(compared.fitted.learned).mape / double(devices.size());
  }
  add_row(table, "all rows", all, progress);
  table.rows.push_back(
      {"mean over devices", "", fmt::format("{:.1f}", fitted), "", fmt::format("{:.1f}", shipped), ""});
  return table;
}

}  // namespace

Result<ReportSection> report_products(const TreeStudy& study, const TreeReportOptions& options,
                                      const ProgressLine& progress) {
  ReportSection section;
  section.id = "kernels-products";
  section.heading = "Kernels: GEMMs on a device of which nothing was known";
  FORERUN_TRY(const Catalogue catalogue, Catalogue::load());
  const ProductFit fit(study.products, catalogue);
  if (fit.errors(kProducts).size() < 2) {
    section.text = "Only one device was measured in these data: the tables need the public operator sweeps.";
    return section;
  }
  std::map<std::string, Compared> sweeps, layers;
  for (const OperatorExample& e : study.products) {
    if (catalogue.find(e.device)) sweeps[e.device];
  }
  for (const OperatorExample& e : study.layers) {
    if (catalogue.find(e.device)) layers[e.device];
  }
  std::map<std::string, ProductConstants> fitted;
  for (const auto* table : {&sweeps, &layers}) {
    for (const auto& [device, compared] : *table) fitted[device];
  }
  std::vector<std::string> devices;
  for (const auto& [device, constants] : fitted) devices.push_back(device);
  on_cores(
      devices.size(), [&](std::size_t i) { fitted.at(devices[i]) = fit.run(devices[i]); }, options.threads);
  progress("constants fitted without each device");
  for (const std::string& device : devices) {
    FORERUN_TRY(const WithoutDevice by_fitted, WithoutDevice::train(study, catalogue, fitted.at(device), device));
    FORERUN_TRY(const WithoutDevice by_shipped, WithoutDevice::train(study, catalogue, kProducts, device));
    if (sweeps.contains(device)) sweeps[device] = {by_shipped.judge(study.products), by_fitted.judge(study.products)};
    if (layers.contains(device)) layers[device] = {by_shipped.judge(study.layers), by_fitted.judge(study.layers)};
  }
  section.text =
      "How much the figures of the section on operators gain from constants set with those rows in view, and what to "
      "expect of a new card. The shipped GEMM constants were set by hand with all sweeps in view. Here a search finds "
      "them without each device, starting from textbook values and penalised for leaving them "
      "([method](../method/devices-never-measured.md)), so that nothing only this device shows (tiles of a library, a "
      "driver, a memory) is known; the trees are trained without it too, on GEMMs alone. The form of the model was "
      "chosen with all devices in view. The second table has rows that no constant was set by: Vidur's decoder layers "
      "in fp16, including a card (A40) that no sweep has.";
  section.tables.push_back(tabulate("Sweeps: leave one device out (MAPE, %)", sweeps, progress));
  if (!layers.empty())
    section.tables.push_back(tabulate("Decoder layers: leave one device out (MAPE, %)", layers, progress));
  return section;
}

}  // namespace forerun
