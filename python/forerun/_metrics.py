"""Written by tests/metrics_check.py --write from the program's table of metrics (src/records/metric.cpp)."""
from __future__ import annotations

from typing import TYPE_CHECKING, Optional

if TYPE_CHECKING:
    from ._reports import Estimate

PASS_METRICS = ("latency_ms", "throughput_per_s", "memory_mb", "device_memory_mb", "energy_j", "power_w")


class MetricProperties:
    """One property per metric; None where it was not estimated."""

    def estimate(self, metric: str) -> Optional[Estimate]:
        raise NotImplementedError

    @property
    def latency_ms(self) -> Optional[Estimate]:
        """Latency in ms: one pass over the whole batch, or one training step, device synchronised before and after."""
        return self.estimate("latency_ms")

    @property
    def throughput_per_s(self) -> Optional[Estimate]:
        """Throughput in /s: samples per second at this batch."""
        return self.estimate("throughput_per_s")

    @property
    def memory_mb(self) -> Optional[Estimate]:
        """Allocator peak in MB: peak bytes held by the framework's allocator."""
        return self.estimate("memory_mb")

    @property
    def device_memory_mb(self) -> Optional[Estimate]:
        """Device memory in MB: what the whole process occupies on the device."""
        return self.estimate("device_memory_mb")

    @property
    def energy_j(self) -> Optional[Estimate]:
        """Energy in J: board energy of one pass or step."""
        return self.estimate("energy_j")

    @property
    def power_w(self) -> Optional[Estimate]:
        """Power in W: mean board power while passes run back to back."""
        return self.estimate("power_w")

    @property
    def ttft_ms(self) -> Optional[Estimate]:
        """First token in ms: time to first token under the load, waiting included; mean."""
        return self.estimate("ttft_ms")

    @property
    def tpot_ms(self) -> Optional[Estimate]:
        """Next token in ms: time between a request's output tokens under the load; mean."""
        return self.estimate("tpot_ms")

    @property
    def loaded_ttft_ms(self) -> Optional[Estimate]:
        """First token, loaded in ms: the same as ttft_ms."""
        return self.estimate("loaded_ttft_ms")

    @property
    def loaded_tpot_ms(self) -> Optional[Estimate]:
        """Next token, loaded in ms: the same as tpot_ms."""
        return self.estimate("loaded_tpot_ms")

    @property
    def request_latency_ms(self) -> Optional[Estimate]:
        """Request in ms: from sending a request to its last token; mean."""
        return self.estimate("request_latency_ms")

    @property
    def tokens_per_s(self) -> Optional[Estimate]:
        """Tokens in /s: generated tokens of all requests on all devices."""
        return self.estimate("tokens_per_s")

    @property
    def energy_per_token_j(self) -> Optional[Estimate]:
        """Energy per token in J: energy of all devices, idle time included, by generated token."""
        return self.estimate("energy_per_token_j")

    @property
    def serving_memory_mb(self) -> Optional[Estimate]:
        """Serving memory in MB: what the engine needs on one device: weights, activations, and the KV caches of the requests in flight."""
        return self.estimate("serving_memory_mb")
