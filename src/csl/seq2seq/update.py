"""One update of the weights from a batch, without waiting for the device.

The gradient of a batch is summed over micro-batches: the same gradient, with less memory. On a CPU that is faster, too;
a GPU takes as long for one large pass as for several small ones, and gets a whole batch. On one GPU, the pass over a
micro-batch (forward and backward) is captured as a CUDA graph the second time that its shape comes up, and replayed
from then on; so is the step of AdamW. A small model would otherwise spend most of its time launching kernels. On
several GPUs, and on the CPU, the same code runs as it is written.
"""

import logging
import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from csl.hub import first_line
from csl.seq2seq.batches import Batch
from csl.seq2seq.config import TrainConfig
from csl.seq2seq.loss import PackedLoss, PaddedLoss
from csl.seq2seq.packing import Packer

if TYPE_CHECKING:
    from accelerate import Accelerator
    from transformers import PreTrainedModel

LOG = logging.getLogger("csl.train")
MICRO_BATCH = 32  # pairs in a pass on a CPU
BF16 = ("avx512_bf16", "amx_bf16")  # instructions of CPUs
CLIP = 1.0  # norm of the gradient, at most


def trained(network: torch.nn.Module) -> list[torch.nn.Parameter]:
    """Give the parameters that are trained: all, or those of adapters."""
    return [parameter for parameter in network.parameters() if parameter.requires_grad]


def new_optimizer(network: torch.nn.Module, config: TrainConfig, device: torch.device) -> torch.optim.Optimizer:
    """Make the optimizer of a config; its rate is set at every step."""
    if config.optimizer == "adafactor":
        from transformers import Adafactor

        return Adafactor(trained(network), lr=config.rate, scale_parameter=False, relative_step=False)
    if device.type != "cuda":
        return torch.optim.AdamW(trained(network), lr=config.rate, weight_decay=0.0)
    rate = torch.tensor(config.rate, device=device)  # a tensor, so that a captured step reads the rate of now
    return torch.optim.AdamW(trained(network), lr=rate, weight_decay=0.0, fused=True, capturable=True)


def set_rate(optimizer: torch.optim.Optimizer, config: TrainConfig, step: int) -> None:
    """Set the learning rate of a step, the first of which is 0."""
    rate = config.rate * min(1.0, (step + 1) / (config.warmup + 1))
    if config.schedule == "linear":
        rate *= 1 - step / config.steps
    for group in optimizer.param_groups:
        if isinstance(group["lr"], torch.Tensor):
            group["lr"].fill_(rate)
        else:
            group["lr"] = rate


def micro_batches(config: TrainConfig, device: torch.device, pairs: float) -> int:
    """Give the number of micro-batches for so many pairs of a process, on average: the same in each process."""
    size = config.micro_batch_size or (MICRO_BATCH if device.type == "cpu" else config.batch_size)
    return min(math.ceil(pairs / size), max(1, int(pairs)))


def has_bf16(device: torch.device) -> bool:
    """Whether a GPU, or a CPU, has instructions for products of bf16."""
    if device.type == "cuda":
        return torch.cuda.is_bf16_supported(including_emulation=False)
    if device.type != "cpu" or not hasattr(torch.cpu, "get_capabilities"):  # older versions of torch do not tell
        return False
    known = torch.cpu.get_capabilities()
    return any(known.get(name, False) for name in BF16)


@contextmanager
def autocast(config: TrainConfig, device: torch.device, *, cache: bool = True) -> Iterator[None]:
    """Compute in bf16 where the config and the device want it. Never in fp16: T5 overflows there."""
    bf16 = config.precision == "bf16" or (config.precision == "auto" and has_bf16(device))
    with torch.autocast(device.type, torch.bfloat16, enabled=bf16, cache_enabled=cache):
        yield


@contextmanager
def own_stream(device: torch.device) -> Iterator[None]:
    """Work on a stream that can be captured; nothing to do without a GPU."""
    if device.type != "cuda":
        yield
        return
    stream = torch.cuda.Stream(device)  # type: ignore[no-untyped-call]
    stream.wait_stream(torch.cuda.current_stream(device))
    with torch.cuda.stream(stream):
        yield
    torch.cuda.synchronize(device)


class Updater:
    """Updates a network, in `own_stream`, and sums the losses of batches on the device."""

    def __init__(
        self,
        network: "PreTrainedModel",
        config: TrainConfig,
        accelerator: "Accelerator",
        packer: Packer | None = None,
        *,
        capture: bool = True,
    ) -> None:
        """Pairs are packed into rows where there is a `packer`, and padded otherwise."""
        self.device = accelerator.device
        self._config, self._accelerator = config, accelerator
        self._capturing = capture and self.device.type == "cuda" and accelerator.num_processes == 1
        self._loss_of = PackedLoss(network, packer, single=not self._capturing) if packer else PaddedLoss(network)
        self.network: torch.nn.Module = accelerator.prepare_model(self._loss_of)
        self.optimizer = new_optimizer(self.network, config, self.device)
        self._loss = torch.zeros((), device=self.device)
        for parameter in trained(self.network):
            parameter.grad = torch.zeros_like(parameter)  # in one place for good, as captured graphs need it
        self._graphs: dict[Any, tuple[Any, list[torch.Tensor]]] = {}
        self._seen: set[Any] = set()

    def __call__(self, batch: Batch, step: int) -> None:
        """Update the weights; the first step is 0."""
        workers, own = self._accelerator.num_processes, self._accelerator.process_index
        set_rate(self.optimizer, self._config, step)
        torch.manual_seed(self._config.seed * 1_000_003 + step * workers + own)  # dropout depends on nothing else
        self.optimizer.zero_grad(set_to_none=False)
        # the mean over the batch's tokens is the sum of the parts' weighted losses, averaged over the processes
        weight = np.array(workers / batch.tokens, np.float32)
        number = micro_batches(self._config, self.device, len(batch.source) / workers)
        for arrays in self._loss_of.passes(batch.part(own, workers), number):
            self._run(self._backward, weight, *arrays)
        if self._config.optimizer == "adamw":
            self._run(self._step)
        else:  # Adafactor counts its steps in Python, and cannot be captured
            self._step()

    def take_loss(self, steps: int) -> float:
        """Give the mean loss of the last steps, over all processes; waits for the device."""
        mean = self._accelerator.reduce(self._loss / steps, "mean").item()
        self._loss.zero_()
        return float(mean)

    def _backward(self, weight: torch.Tensor, *arrays: torch.Tensor) -> None:
        with autocast(self._config, self.device, cache=not self._capturing):
            loss = self.network(*arrays) * weight
        loss.backward()
        self._loss += loss.detach()

    def _step(self) -> None:
        torch.nn.utils.clip_grad_norm_(trained(self.network), CLIP)
        self.optimizer.step()

    def _run(self, function: Callable[..., None], *arrays: np.ndarray[Any, Any]) -> None:
        """Call a function with arrays as tensors on the device; from the second time on as a graph, if that may be."""
        tensors = [torch.from_numpy(array) for array in arrays]
        if not self._capturing:
            function(*(tensor.to(self.device) for tensor in tensors))
            return
        pinned = [tensor.pin_memory() for tensor in tensors]
        key = function.__name__, *(tensor.shape for tensor in tensors)
        if key not in self._seen:  # the first time as it is: libraries set themselves up, the optimizer its state
            self._seen.add(key)
            function(*(tensor.to(self.device, non_blocking=True) for tensor in pinned))
            torch.cuda.empty_cache()  # a graph has memory of its own
            return
        if key not in self._graphs:
            inputs = [tensor.to(self.device) for tensor in tensors]
            graph, pool = torch.cuda.CUDAGraph(), next((g.pool() for g, _ in self._graphs.values()), None)
            try:
                with torch.cuda.graph(graph, pool=pool, stream=torch.cuda.current_stream()):
                    function(*inputs)
            except RuntimeError as error:  # a network that looks at its values, and so cannot be recorded
                LOG.warning(f"not captured as a CUDA graph, and slower: {first_line(error)}")
                self._capturing = False
                function(*inputs)
                return
            self._graphs[key] = graph, inputs
        graph, inputs = self._graphs[key]
        for old, new in zip(inputs, pinned, strict=True):
            old.copy_(new, non_blocking=True)
        graph.replay()
