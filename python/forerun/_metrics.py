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
        """First token in ms: prefill of one prompt."""
        return self.estimate("ttft_ms")

    @property
    def tpot_ms(self) -> Optional[Estimate]:
        """Next token in ms: one decode step of all requests in flight, half way through their outputs."""
        return self.estimate("tpot_ms")

    @property
    def loaded_ttft_ms(self) -> Optional[Estimate]:
        """First token, loaded in ms: the prefill with its wait behind other requests, as vLLM runs them."""
        return self.estimate("loaded_ttft_ms")

    @property
    def loaded_tpot_ms(self) -> Optional[Estimate]:
        """Next token, loaded in ms: time between a request's tokens, others' prefills included."""
        return self.estimate("loaded_tpot_ms")

    @property
    def request_latency_ms(self) -> Optional[Estimate]:
        """Request in ms: ttft + (output tokens - 1) x tpot."""
        return self.estimate("request_latency_ms")

    @property
    def tokens_per_s(self) -> Optional[Estimate]:
        """Tokens in /s: generated tokens of all requests, prefills included."""
        return self.estimate("tokens_per_s")

    @property
    def energy_per_token_j(self) -> Optional[Estimate]:
        """Energy per token in J: a request's prefill and its share of the decode steps, by generated token."""
        return self.estimate("energy_per_token_j")

    @property
    def serving_memory_mb(self) -> Optional[Estimate]:
        """Serving memory in MB: device memory with all caches full."""
        return self.estimate("serving_memory_mb")
