"""Speed of training on one CPU core, side by side: our engine, transformers' Trainer, a plain loop, matrix products alone.

One repetition runs a few optimizer steps of every contender in turn, so that a disturbance of the machine meets all of
them; ratios are taken within a repetition. Model and batch default to the paper's (12 layers, batch 64 x 17 tokens).
The limit is the time that the same matrix products take alone, by torch.mm and by the engine's own product; the fraction
reported refers to the faster of the two.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F
from transformers import (
    GPTJConfig,
    GPTJForCausalLM,
    PrinterCallback,
    Trainer,
    TrainerCallback,
    TrainingArguments,
    get_linear_schedule_with_warmup,
)
from transformers.utils import logging

import common
from common import one_thread, timed
from posym.model import Parameters, Shape, initial_parameters
from posym.products import product
from posym.training.cpu import CpuEngine
from posym.training.recipe import Recipe


def peer_model(parameters: Parameters, attention: str, dropout: float) -> GPTJForCausalLM:
    """transformers' GPT-J with the same weights."""
    shape = parameters.shape
    config = GPTJConfig(
        vocab_size=shape.vocabulary,
        n_positions=shape.positions,
        n_embd=shape.hidden_size,
        n_layer=shape.layers,
        n_head=1,
        n_inner=shape.mlp_size,
        rotary_dim=shape.hidden_size,
        activation_function="gelu_new",
        embd_pdrop=dropout,
        attn_pdrop=dropout,
        resid_pdrop=dropout,
        tie_word_embeddings=False,
        use_cache=False,
        bos_token_id=None,
        eos_token_id=None,
        attn_implementation=attention,  # type: ignore[call-arg]
    )
    model = GPTJForCausalLM(config)
    model.load_state_dict({name: tensor.clone() for name, tensor in parameters.named.items()})
    return model.train()


class Rows(torch.utils.data.Dataset[dict[str, Tensor]]):
    """The training set as Trainer wants it."""

    def __init__(self, tokens: Tensor, answers: Tensor) -> None:
        self.tokens, self.answers = tokens, answers

    def __len__(self) -> int:
        return len(self.tokens)

    def __getitem__(self, row: int) -> dict[str, Tensor]:
        return {"input_ids": self.tokens[row], "labels": self.answers[row]}


class AnswerTrainer(Trainer):
    """Trainer with this task's loss, which spares it the output head at every slot but the last."""

    def compute_loss(self, model: Any, inputs: dict[str, Tensor], *_: Any, **__: Any) -> Tensor:
        logits = model(inputs["input_ids"], logits_to_keep=1).logits[:, -1]
        return F.cross_entropy(logits, inputs["labels"])


class Clock(TrainerCallback):
    """When each optimizer step of a Trainer ended."""

    def __init__(self) -> None:
        self.ends: list[float] = []

    def on_step_end(self, *_: Any, **__: Any) -> None:
        self.ends.append(time.perf_counter())


def trainer_steps(model: GPTJForCausalLM, rows: Rows, recipe: Recipe, steps: int) -> float:
    """Seconds a step of `Trainer`, its start-up and first step left out."""
    clock = Clock()
    with tempfile.TemporaryDirectory() as folder:
        arguments = TrainingArguments(
            output_dir=folder,
            max_steps=steps + 1,
            per_device_train_batch_size=recipe.batch_size,
            learning_rate=recipe.learning_rate,
            warmup_steps=recipe.warmup_steps,
            adam_beta1=recipe.betas[0],
            adam_beta2=recipe.betas[1],
            adam_epsilon=recipe.epsilon,
            weight_decay=recipe.weight_decay,
            max_grad_norm=recipe.gradient_clip,
            lr_scheduler_type="linear",
            logging_strategy="no",
            save_strategy="no",
            report_to=[],
            disable_tqdm=True,
            use_cpu=True,
            dataloader_num_workers=0,
        )
        trainer = AnswerTrainer(model=model, args=arguments, train_dataset=rows, callbacks=[clock])
        trainer.remove_callback(PrinterCallback)
        trainer.train()
    return (clock.ends[-1] - clock.ends[0]) / steps


def plain_loop(model: GPTJForCausalLM, tokens: Tensor, answers: Tensor, recipe: Recipe) -> Callable[[int], float]:
    """transformers' model in the leanest loop that autograd allows: fused AdamW, batches by index."""
    optimizer = torch.optim.AdamW(
        model.parameters(),
        lr=recipe.learning_rate,
        betas=recipe.betas,
        eps=recipe.epsilon,
        weight_decay=recipe.weight_decay,
        fused=True,
    )
    schedule = get_linear_schedule_with_warmup(optimizer, recipe.warmup_steps, recipe.steps)
    done = 0

    def seconds(steps: int) -> float:
        nonlocal done
        start = time.perf_counter()
        for _ in range(steps):
            rows = torch.from_numpy(recipe.batch_rows(done, len(tokens)))
            logits = model(tokens[rows], logits_to_keep=1).logits[:, -1]
            optimizer.zero_grad()
            F.cross_entropy(logits, answers[rows]).backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), recipe.gradient_clip)
            optimizer.step()
            schedule.step()
            done += 1
        return (time.perf_counter() - start) / steps

    return seconds


def dense_products(shape: Shape, batch: int, slots: int) -> list[tuple[Tensor, Tensor, Tensor]]:
    """Operands and results of the dense products of a step, forward and backward; those inside the attention left out."""
    hidden, mlp = shape.hidden_size, shape.mlp_size
    every, query = batch * slots, batch  # rows
    layer = [(every, hidden, 3 * hidden + mlp), (every, hidden, hidden), (every, mlp, hidden)]
    last = [(every, hidden, 2 * hidden), (query, hidden, hidden + mlp), (query, hidden, hidden), (query, mlp, hidden)]
    found = []
    for rows, inputs, outputs in layer * (shape.layers - 1) + last + [(query, hidden, shape.vocabulary)]:
        vectors, weights, gradient = torch.randn(rows, inputs), torch.randn(outputs, inputs), torch.randn(rows, outputs)
        found += [
            (vectors, weights.t(), torch.empty(rows, outputs)),
            (gradient, weights, torch.empty(rows, inputs)),
            # Either orientation gives the weights' gradient: the faster one is taken.
            (vectors.t(), gradient, torch.empty(inputs, outputs))
            if inputs <= outputs
            else (gradient.t(), vectors, torch.empty(outputs, inputs)),
        ]
    return found


def measure(arguments: argparse.Namespace) -> dict[str, list[float]]:
    """Seconds a step of every contender, one value a repetition."""
    shape = Shape(arguments.vocabulary, arguments.layers, arguments.hidden, arguments.mlp, positions=64)
    steps, repetitions = arguments.steps, arguments.repetitions
    total = (steps + 1) * (repetitions + 1)
    recipe = Recipe(total, arguments.batch, 1e-4, total // 9, (0.95, 0.999), 1e-8, 1e-4, 1.0, arguments.dropout, 0)
    generator = torch.Generator().manual_seed(0)
    tokens = torch.randint(0, shape.vocabulary, (20_000, arguments.slots), generator=generator)
    answers = torch.randint(0, shape.vocabulary, (len(tokens),), generator=generator)
    parameters = initial_parameters(shape, seed=0, standard_deviation=0.02)
    models = {attention: peer_model(parameters, attention, recipe.dropout) for attention in ("eager", "sdpa")}
    loop = plain_loop(peer_model(parameters, "sdpa", recipe.dropout), tokens, answers, recipe)
    engine = CpuEngine(parameters, tokens.to(torch.uint16), answers, recipe)
    products = dense_products(shape, recipe.batch_size, arguments.slots)
    rows = Rows(tokens, answers)
    contenders: dict[str, Callable[[int], float]] = {
        "ours": lambda turn: timed(lambda: engine.run(turn * steps, (turn + 1) * steps)) / steps,
        "Trainer (eager)": lambda _turn: trainer_steps(models["eager"], rows, recipe, steps),
        "Trainer (sdpa)": lambda _turn: trainer_steps(models["sdpa"], rows, recipe, steps),
        "plain loop (sdpa)": lambda _turn: loop(steps),
        "products alone (torch.mm)": lambda _turn: (
            timed(lambda: [torch.mm(left, right, out=out) for _ in range(steps) for left, right, out in products])
            / steps
        ),
        "products alone (the engine's)": lambda _turn: (
            timed(lambda: [product(left, right).numel() for _ in range(steps) for left, right, _ in products]) / steps
        ),
    }
    seconds: dict[str, list[float]] = {name: [] for name in contenders}
    for turn in range(repetitions + 1):  # the first is a warm-up
        for name, work in contenders.items():
            value = work(turn)
            if turn > 0:
                seconds[name].append(value)
    return seconds


def rows_of(seconds: dict[str, list[float]], arguments: argparse.Namespace) -> list[dict[str, Any]]:
    """One row a comparison, in the columns of benchmarks/results.csv."""
    ours = seconds.pop("ours")
    limits = [min(pair) for pair in zip(*(seconds[name] for name in seconds if "alone" in name), strict=True)]
    fraction = statistics.median(limit / own for limit, own in zip(limits, ours, strict=True))
    trainers = sorted(
        (name for name in seconds if "Trainer" in name), key=lambda name: statistics.median(seconds[name])
    )
    case = (
        f"{arguments.layers} layers of {arguments.hidden}/{arguments.mlp}, batch {arguments.batch} x {arguments.slots}, "
        f"dropout {arguments.dropout}, float32, 1 core"
    )
    return [
        common.row(
            "train",
            case,
            "steps/s",
            ours,
            seconds[name],
            f"transformers {name}" if "alone" not in name else name,
            value=lambda duration: 1 / duration,
            limit_fraction=f"{fraction:.2f}",
        )
        for name in [*trainers, *(name for name in seconds if name not in trainers)]
    ]


def main() -> None:
    parser = common.parser(__doc__)
    parser.set_defaults(repetitions=9)
    parser.add_argument("--layers", type=int, default=12)
    parser.add_argument("--hidden", type=int, default=128, help="hidden size, which is also the head's")
    parser.add_argument("--mlp", type=int, default=512)
    parser.add_argument("--vocabulary", type=int, default=136)
    parser.add_argument("--batch", type=int, default=64, help="sequences a batch")
    parser.add_argument("--slots", type=int, default=17, help="tokens a sequence")
    parser.add_argument("--dropout", type=float, default=0.1)
    parser.add_argument("--steps", type=int, default=5, help="optimizer steps a contender and repetition")
    arguments = parser.parse_args()
    logging.set_verbosity_error()
    with one_thread():
        rows = rows_of(measure(arguments), arguments)
    common.report(rows, write=arguments.write)


if __name__ == "__main__":
    main()
