#!/usr/bin/env python3
"""Checks data/devices, data/prices and data/carbon: schema, plausibility and cross references.

Standard library only. Usage: tests/data_check.py [DATA_FOLDER]; exit status 1 when anything fails.
"""
import json
import re
import sys
from pathlib import Path

DATA = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).resolve().parent.parent / "data"

REQUIRED = {"id": str, "name": str, "maker": str, "kind": str, "architecture": str, "year": int, "aliases": list,
            "sm_count": int, "peak_tflops": dict, "memory_gib": float, "memory_type": str,
            "memory_bandwidth_gb_per_s": float, "l2_mib": float, "power_limit_w": float, "idle_power_w": float,
            "interconnect": dict, "sources": dict}
OPTIONAL = {"compute_capability": str, "cuda_cores_per_sm": int, "tensor_cores_per_sm": int, "clock_base_mhz": float,
            "clock_boost_mhz": float, "l1_kib_per_sm": float, "shared_memory_kib_per_sm": float,
            "shared_memory_kib_per_block": float, "registers_per_sm": int, "max_threads_per_sm": int,
            "max_threads_per_block": int, "mig": list, "host": dict, "measured": dict,
            "reported": dict}
NVIDIA_REQUIRED = ["compute_capability", "cuda_cores_per_sm", "l1_kib_per_sm", "shared_memory_kib_per_sm",
                   "shared_memory_kib_per_block", "registers_per_sm", "max_threads_per_sm", "max_threads_per_block"]
PEAKS = ["fp64", "fp64_tensor", "fp32", "fp32_tensor", "tf32_tensor", "fp16", "fp16_tensor", "bf16", "bf16_tensor",
         "fp8_tensor", "fp4_tensor", "int8", "int8_tensor", "int4_tensor"]
LINK = {"kind": str, "gb_per_s": float, "pcie_generation": int, "pcie_lanes": int, "pcie_gb_per_s": float}
MIG = {"profile": str, "compute_slices": int, "memory_slices": int, "memory_gib": float, "sm_count": int,
       "instances": int}
HOST = {"cpu_clock_mhz": float, "cpu_cores": int, "ram_gib": float}
# Names under which published measurements know a device. Where a name is shared by several forms, all are listed.
DATASET_NAMES = {
    "NVIDIA A100-PCIE-40GB": {"a100-pcie-40gb"}, "NVIDIA A100 80GB PCIe": {"a100-pcie-80gb"},
    "NVIDIA A100-SXM4-40GB": {"a100-sxm-40gb"}, "NVIDIA H100 80GB HBM3": {"h100-sxm"}, "NVIDIA L4": {"l4"},
    "Tesla P100-PCIE-16GB": {"p100"}, "Tesla P4": {"p4"}, "Tesla T4": {"t4"},
    "Tesla V100-PCIE-32GB": {"v100-pcie-32gb"}, "AMD Instinct MI100": {"mi100"}, "AMD Instinct MI210": {"mi210"},
    "AMD Instinct MI250": {"mi250"}, "1080ti": {"gtx-1080-ti"}, "2080ti": {"rtx-2080-ti"},
    "titan_rtx": {"titan-rtx"}, "titanx": {"titan-x-pascal"}, "titanxp": {"titan-xp"}, "titan_xp": {"titan-xp"},
    "help:v100": {"v100-sxm-16gb"}, "gold_6226": {"xeon-gold-6226"}, "gold_6240": {"xeon-gold-6240"},
    "silver_4114": {"xeon-silver-4114"}, "silver_4210r": {"xeon-silver-4210r"}, "hwgpt:P100": {"p100"},
    "hwgpt:a100": {"a100-sxm-40gb"}, "a40": {"a40"}, "a6000": {"rtx-a6000"}, "rtx2080": {"rtx-2080"},
    "rtx3080": {"rtx-3080"}, "hwgpt:v100": {"v100-sxm-16gb"}, "a100_sxm": {"a100-sxm-80gb"},
    "a100_pcie": {"a100-pcie-80gb"}, "a30": {"a30"}, "b200_sxm": {"b200"}, "b300_sxm": {"b300"}, "b60": {"arc-b60"},
    "gb200": {"gb200"}, "gb300": {"gb300"}, "h100_pcie": {"h100-pcie"}, "h100_sxm": {"h100-sxm"},
    "h200_sxm": {"h200-sxm"}, "l40s": {"l40s"}, "rtx_pro_6000_server": {"rtx-pro-6000-server"},
    "vidur:a100": {"a100-sxm-80gb"}, "vidur:h100": {"h100-sxm"}, "gavel:k80": {"k80"}, "gavel:p100": {"p100"},
    "gavel:v100": {"v100-sxm-16gb"}, "k80_unconsolidated": {"k80"}, "p100_unconsolidated": {"p100"},
    "v100_unconsolidated": {"v100-sxm-16gb"}, "zeus:v100": {"v100-pcie-32gb"}, "zeus:p100": {"p100"},
    "rtx6000": {"quadro-rtx-6000"}, "rtx3090": {"rtx-3090"}, "rtx4090": {"rtx-4090"},
    "pro6000maxq": {"rtx-pro-6000-max-q"}, "i9_10940x": {"core-i9-10940x"}, "i7_12700h": {"core-i7-12700h"},
    "mpt:h100_80gb": {"h100-sxm"}, "mpt:a100_80gb": {"a100-sxm-80gb"}, "mpt:a100_40gb": {"a100-sxm-40gb"},
    "splitwise:a100-80gb": {"a100-sxm-80gb"}, "splitwise:h100-80gb": {"h100-sxm"},
    "A100": {"a100-pcie-40gb", "a100-sxm-40gb", "a100-pcie-80gb", "a100-sxm-80gb"},
    "V100": {"v100-pcie-16gb", "v100-sxm-16gb", "v100-pcie-32gb", "v100-sxm-32gb"},
    "H100": {"h100-pcie", "h100-sxm", "h100-nvl"},
}
CONTRACT_IDS = ("p4 p100 t4 l4 l40s a10 a30 a40 v100-sxm-16gb v100-pcie-32gb a100-pcie-40gb a100-sxm-40gb "
                "a100-pcie-80gb a100-sxm-80gb h100-pcie h100-sxm h200-sxm b200 rtx-3090 rtx-4090 rtx-5090 mi210 "
                "mi250 mi300x").split()
MIG_DEVICES = ("a30 a100-pcie-40gb a100-sxm-40gb a100-pcie-80gb a100-sxm-80gb h100-pcie h100-sxm h100-nvl h200-sxm "
               "b200 gh200-96gb").split()

passed = 0
failures = []


def check(condition, message):
    global passed
    if condition:
        passed += 1
    else:
        failures.append(message)
    return condition


def is_type(value, kind):
    if isinstance(value, bool):
        return False
    return isinstance(value, (int, float)) if kind is float else isinstance(value, kind)


def positive(value):
    return not isinstance(value, bool) and isinstance(value, (int, float)) and value > 0


def normal(name):
    """How names are compared: letters and digits only, in lower case."""
    return re.sub(r"[^a-z0-9]", "", name.lower())


def unique_pairs(pairs):
    keys = [key for key, _ in pairs]
    if len(keys) != len(set(keys)):
        raise ValueError("a key stands twice: " + ", ".join(sorted({k for k in keys if keys.count(k) > 1})))
    return dict(pairs)


def read(path):
    try:
        value = json.loads(path.read_text(encoding="utf-8"), object_pairs_hook=unique_pairs)
    except (OSError, ValueError) as error:
        check(False, f"{path.name}: {error}")
        return None
    return value if check(isinstance(value, dict), f"{path.name}: not an object") else None


def check_fields(where, record, schema, required=()):
    for key in required:
        check(key in record, f"{where}: {key} is missing")
    for key, value in record.items():
        if not check(key in schema, f"{where}: unknown key {key}"):
            continue
        ok = check(is_type(value, schema[key]), f"{where}.{key}: wrong type {value!r}")
        if ok and schema[key] in (int, float):
            check(value > 0, f"{where}.{key}: not positive: {value!r}")
        if ok and schema[key] is str:
            check(value.strip() != "", f"{where}.{key}: empty")


def check_peaks(where, device):
    peaks = device["peak_tflops"]
    check_fields(f"{where}.peak_tflops", peaks, {key: float for key in PEAKS}, ["fp32"])
    for tensor, plain in [("fp16_tensor", "fp16"), ("bf16_tensor", "bf16"), ("tf32_tensor", "fp32"),
                          ("fp32_tensor", "fp32"), ("fp64_tensor", "fp64"), ("fp16_tensor", "tf32_tensor"),
                          ("fp8_tensor", "bf16_tensor"), ("fp4_tensor", "fp8_tensor"), ("fp32", "fp64")]:
        if tensor in peaks and plain in peaks:
            check(peaks[tensor] >= peaks[plain], f"{where}: {tensor} {peaks[tensor]} below {plain} {peaks[plain]}")
    check(all(0.001 <= value <= 50000 for value in peaks.values()), f"{where}: a peak rate is out of range")
    if device["maker"] == "NVIDIA" and "clock_boost_mhz" in device:
        computed = device["sm_count"] * device["cuda_cores_per_sm"] * 2 * device["clock_boost_mhz"] / 1e6
        check(abs(computed / peaks["fp32"] - 1) < 0.05, f"{where}: fp32 {peaks['fp32']} against {computed:.1f} from cores and clock")


def check_mig(where, device):
    profiles = [row.get("profile") for row in device["mig"]]
    check(len(profiles) == len(set(profiles)), f"{where}: a MIG profile stands twice")
    for row in device["mig"]:
        name = f"{where}.mig {row.get('profile')}"
        check_fields(name, row, MIG, MIG)
        if set(row) != set(MIG):
            continue
        match = re.fullmatch(r"(\d)g\.(\d+)gb", row["profile"])
        if check(match is not None, f"{name}: profile name"):
            check(int(match[1]) == row["compute_slices"], f"{name}: compute_slices against the name")
            check(0.85 <= row["memory_gib"] / int(match[2]) <= 1.0, f"{name}: memory_gib against the name")
        check(row["instances"] * row["memory_gib"] <= device["memory_gib"], f"{name}: instances need more memory than the card has")
        check(row["instances"] * row["sm_count"] <= device["sm_count"], f"{name}: instances need more SMs than the card has")
    whole = max(device["mig"], key=lambda row: row["compute_slices"])
    for row in device["mig"]:
        check(row["instances"] * row["compute_slices"] <= whole["compute_slices"], f"{where}.mig {row['profile']}: compute slices")
        check(row["instances"] * row["memory_slices"] <= whole["memory_slices"], f"{where}.mig {row['profile']}: memory slices")


def check_device(path, device):
    where = path.stem
    check_fields(where, device, {**REQUIRED, **OPTIONAL}, REQUIRED)
    if failures and any(f.startswith(where + ":") for f in failures):
        return
    check(device["id"] == path.stem, f"{where}: id {device['id']} is not the file's name")
    check(re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", device["id"]), f"{where}: id is not lower case words")
    check(device["kind"] in ("gpu", "cpu", "accelerator"), f"{where}: kind {device['kind']}")
    check(2010 <= device["year"] <= 2030, f"{where}: year {device['year']}")
    check(all(isinstance(a, str) and a.strip() for a in device["aliases"]), f"{where}: an alias is not text")
    check(len(device["aliases"]) == len(set(device["aliases"])), f"{where}: an alias stands twice")
    check("default" in device["sources"], f"{where}: sources.default is missing")
    check(all(isinstance(s, str) and s.strip() for s in device["sources"].values()), f"{where}: a source is not text")
    known = {**REQUIRED, **OPTIONAL, "default": str, "sm_limits": str}
    check(all(key in known for key in device["sources"]), f"{where}: a source names no figure")
    if device["maker"] == "NVIDIA":
        for key in NVIDIA_REQUIRED:
            check(key in device, f"{where}: {key} is missing")
        check(re.fullmatch(r"\d+\.\d", device.get("compute_capability", "")), f"{where}: compute_capability")
    else:
        check("compute_capability" not in device, f"{where}: compute_capability is NVIDIA's")
    check(20 <= device["memory_bandwidth_gb_per_s"] <= 10000, f"{where}: bandwidth out of range")
    check(4 <= device["memory_gib"] <= 1024, f"{where}: memory out of range")
    check(device["idle_power_w"] < device["power_limit_w"] / 2, f"{where}: idle power against the limit")
    if "clock_base_mhz" in device and "clock_boost_mhz" in device:
        check(device["clock_base_mhz"] <= device["clock_boost_mhz"], f"{where}: base clock above boost")
    if "shared_memory_kib_per_sm" in device:
        check(device["shared_memory_kib_per_block"] <= device["shared_memory_kib_per_sm"], f"{where}: shared memory per block")
    check_peaks(where, device)
    link = device["interconnect"]
    check_fields(f"{where}.interconnect", link, LINK, ["pcie_generation", "pcie_lanes", "pcie_gb_per_s"])
    check(("kind" in link) == ("gb_per_s" in link), f"{where}: link kind and rate go together")
    lane = link["pcie_gb_per_s"] / link["pcie_lanes"] / 2 ** (link["pcie_generation"] - 3)
    check(0.9 <= lane <= 1.1, f"{where}: PCIe rate against generation and lanes")
    if "host" in device:
        check_fields(f"{where}.host", device["host"], HOST)
    if "mig" in device:
        check_mig(where, device)


def check_architectures(devices):
    files = {path.stem: read(path) for path in sorted((DATA / "architectures").glob("*.json"))}
    for name, architecture in files.items():
        where = f"architectures/{name}"
        check(architecture.get("architecture") == name, f"{where}: its name is not the file's")
        check(architecture.get("sources"), f"{where}: sources are missing")
        check(any(device["architecture"] == name for device in devices.values()), f"{where}: no device of it")
    for device in devices.values():
        architecture = files.get(device["architecture"])
        if check(architecture, f"{device['id']}: no file of its architecture {device['architecture']}"):
            capability = device.get("compute_capability")
            check(capability is None or capability in architecture.get("compute_capabilities", {}),
                  f"{device['id']}: its architecture does not list {capability}")


def check_names(devices):
    names = {}
    for device in devices.values():
        for name in [device["id"], device["name"], *device["aliases"]]:
            check(normal(name) != "", f"{device['id']}: name {name!r} has no letters or digits")
            names.setdefault(normal(name), set()).add(device["id"])
    ids = {normal(i): i for i in devices}
    check(len(ids) == len(devices), "two ids differ only in punctuation")
    for device in devices.values():
        check(names[normal(device["name"])] == {device["id"]}, f"{device['id']}: its full name is ambiguous")
        for alias in device["aliases"]:
            owner = ids.get(normal(alias))
            check(owner in (None, device["id"]), f"{device['id']}: alias {alias!r} is the id of {owner}")
            if re.match(r"(NVIDIA|AMD|Intel|Tesla|GeForce|Quadro)\b", alias):
                check(names[normal(alias)] == {device["id"]}, f"{device['id']}: runtime name {alias!r} is ambiguous")
    for name, expected in DATASET_NAMES.items():
        found = {ids[normal(name)]} if normal(name) in ids else names.get(normal(name), set())
        check(found == expected, f"{name!r} resolves to {sorted(found)}, not {sorted(expected)}")


def check_prices(path, table, devices):
    where = f"prices/{path.name}"
    check(set(table) == {"date", "currency", "source", "note", "prices"}, f"{where}: keys")
    check(table.get("date") == path.stem and re.fullmatch(r"\d{4}-\d{2}", path.stem), f"{where}: date against the file's name")
    check(table.get("currency") == "USD", f"{where}: currency")
    for device, kinds in table.get("prices", {}).items():
        check(device in devices, f"{where}: no device {device}")
        check(kinds and set(kinds) <= {"on_demand", "spot"}, f"{where} {device}: kinds")
        for kind, price in kinds.items():
            name = f"{where} {device}.{kind}"
            check_fields(name, {k: v for k, v in price.items() if k != "providers"},
                         {"median_usd_per_hour": float, "low": float, "high": float}, ["median_usd_per_hour", "low", "high"])
            rates = price.get("providers", {})
            if not check(rates and all(positive(v) for v in rates.values()), f"{name}: providers"):
                continue
            check(price["low"] <= price["median_usd_per_hour"] <= price["high"], f"{name}: low, median, high")
            check(price["low"] == min(rates.values()) and price["high"] == max(rates.values()), f"{name}: range against providers")
            check(0.02 <= price["median_usd_per_hour"] <= 30, f"{name}: price out of range")


def check_carbon(path, table):
    where = f"carbon/{path.name}"
    required = {"date", "unit", "source", "world", "countries", "regions", "pue"}
    if not check(required <= set(table), f"{where}: keys"):
        return
    check(table["unit"] == "gCO2e/kWh", f"{where}: unit")
    check(300 <= table["world"]["g_per_kwh"] <= 700, f"{where}: world mean")
    two = set()
    for code, country in table["countries"].items():
        name = f"{where} {code}"
        check(re.fullmatch(r"[A-Z]{3}", code), f"{name}: ISO 3166-1 alpha-3 code")
        check(re.fullmatch(r"[A-Z]{2}", country.get("iso2", "")), f"{name}: alpha-2 code")
        check(country.get("iso2") not in two, f"{name}: alpha-2 code stands twice")
        two.add(country.get("iso2"))
        check(positive(country.get("g_per_kwh")) and country["g_per_kwh"] <= 1600, f"{name}: intensity")
        check(isinstance(country.get("name"), str) and is_type(country.get("year"), int), f"{name}: name and year")
    for code, region in table["regions"].items():
        name = f"{where} {code}"
        check(re.fullmatch(r"(aws|azure|gcp):[a-z0-9-]+", code), f"{name}: region code")
        check(region.get("country") in table["countries"], f"{name}: country {region.get('country')}")
        check(positive(region.get("g_per_kwh")) and region["g_per_kwh"] <= 1200, f"{name}: intensity")
        check(region.get("basis") in ("grid", "provider", "country"), f"{name}: basis")
    for provider, row in table["pue"].items():
        check(1 <= row.get("pue", 0) <= 2.5 and row.get("source"), f"{where} pue {provider}")
    check({"default", "aws", "azure", "gcp"} <= set(table["pue"]), f"{where}: PUE providers")


def main():
    devices = {}
    for path in sorted((DATA / "devices").glob("*.json")):
        device = read(path)
        if device is not None:
            check_device(path, device)
            devices[path.stem] = device
    check(len(devices) >= 50, f"only {len(devices)} devices")
    for needed in CONTRACT_IDS:
        check(needed in devices, f"device {needed} is missing")
    for needed in MIG_DEVICES:
        check("mig" in devices.get(needed, {}), f"device {needed} has no MIG profiles")
    check_names(devices)
    check_architectures(devices)
    prices = sorted((DATA / "prices").glob("*.json"))
    check(prices, "no prices")
    for path in prices:
        table = read(path)
        if table is not None:
            check_prices(path, table, devices)
    carbon = sorted((DATA / "carbon").glob("*.json"))
    check(carbon, "no carbon intensities")
    for path in carbon:
        table = read(path)
        if table is not None:
            check_carbon(path, table)
    for failure in failures:
        print(failure)
    print(f"data: {passed} passed, {len(failures)} failed")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
