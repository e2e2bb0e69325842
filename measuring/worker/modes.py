"""The table of modes: what a request's "mode" runs."""
import gc

import torch

import llm_mode
import network_mode
import operator_mode
import workspace_mode


class Session:
    """What stays between requests: the device, the clock, and the last network, so that rows of one network build it once."""

    def __init__(self, device, dry, clock, lock):
        self.device, self.dry, self.clock, self.lock = device, dry, clock, lock
        self.network, self.network_key = None, None
        self.points = 0

    def drop(self):
        """Frees the network and all that the allocator keeps: the next memory reading starts from nothing."""
        self.network, self.network_key = None, None
        gc.collect()
        if self.clock.cuda:
            try:
                torch.cuda.synchronize()
                torch._C._cuda_clearCublasWorkspaces()
                torch.cuda.empty_cache()
            except Exception:
                pass


def operator(session, request):
    session.points += 1
    with session.lock:
        if session.points % 40 == 0:
            session.drop()
        return operator_mode.measure(request, session.clock, session.device, session.dry)


def workspace(session, request):
    with session.lock:
        return workspace_mode.measure(request, session.clock, session.device)


MODES = {"operator": operator, "workspace": workspace, "inference": network_mode.inference, "training": network_mode.training, "llm": llm_mode.llm}
