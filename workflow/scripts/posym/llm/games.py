"""The two games asked of a model: replies through inspect-ai, or the likeliest token of the window from its own logits.

inspect-ai has the providers, repeats calls that fail (with the waits that a provider's client takes from Retry-After), limits
calls in flight, and writes a log that `inspect view` shows. The task, the scorer and the ledger of replies are ours: its cache keeps no
filtered reply and can lose one to a kill, so each reply is put on disk here as soon as it arrives.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

from posym.errors import InputError
from posym.llm.budget import check_budget, estimate
from posym.llm.configuration import is_local
from posym.llm.ledger import Ledger, Reply, item_key
from posym.llm.onehop import ALL_BANDS, Item, prompt
from posym.llm.scorer import CORRECT, FAILED, OVERLONG, REFUSED, outcome

REPLY, NEXT_TOKEN = "reply", "next-token"
DETAILS = 300  # characters of an error message shown to the user
Say = Callable[..., None]


@dataclass(frozen=True)
class Question:
    """One prompt of one task; `number` is its place among the task's prompts of its run, `key` its name in the ledger."""

    task: str
    item: Item
    number: int
    text: str
    key: str


@dataclass(frozen=True)
class Answered:
    """A question, the method, and what came back: `outcome` is one of `posym.llm.scorer.OUTCOMES`."""

    question: Question
    method: str
    reply: str
    stop_reason: str
    outcome: str
    tokens_in: int
    tokens_out: int


def questions(task: str, items: list[Item]) -> list[Question]:
    """The prompts of one task in their order."""
    made = []
    for run, group in groupby(items, key=lambda item: item.run):
        for number, item in enumerate(group):
            text = prompt(task, item.window)
            made.append(Question(task, item, number, text, item_key(task, text, run, number)))
    return made


def api_key(model: dict[str, Any]) -> str:
    """The key of an API model from the environment; a missing one raises `InputError`."""
    value = os.environ.get(model["key"], "")
    if not value:
        raise InputError(f"{model['name']} needs an API key: set the environment variable {model['key']}")
    return value


@contextmanager
def private_folders() -> Iterator[None]:
    """Keep what inspect-ai writes besides its logs (traces, buffers) out of the home folder, and throw it away."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        changed = {"XDG_DATA_HOME": folder, "XDG_CACHE_HOME": folder, "INSPECT_TRACE_FILE": f"{folder}/trace.log"}
        before = {name: os.environ.get(name) for name in changed}
        os.environ.update(changed)
        try:
            yield
        finally:
            for name, value in before.items():
                os.environ.pop(name, None) if value is None else os.environ.update({name: value})


def ask(
    model: dict[str, Any],
    requests: dict[str, int],
    asked: list[Question],
    folder: Path,
    say: Say,
    path: str = "",
    device: str = "cpu",
    tell: Callable[[int], None] = lambda _replies: None,
) -> list[Answered]:
    """Replies of a model to all questions, one a question, asking only for those that `folder`/replies lacks.

    `model` and `requests` are the configuration's entry and its `max_tokens, attempt_seconds, retries, failures`; `path` is where a
    local model is. Before the first call the number of calls and their estimated cost are said and held against the budget. The longest
    prompt goes first and alone: a wrong name, a refused key or a short context ends the job there. Raises `InputError` for these, for a
    missing key, for an estimate above the budget and for more than `failures` calls without a reply.
    """
    name = model["name"]
    if not is_local(model):
        api_key(model)
    identity = {"model": name, "source": model["source"], "dtype": model["dtype"], "options": model["options"]}
    identity |= {"base_url": model["base_url"], "max_tokens": requests["max_tokens"]}
    ledger = Ledger(folder / "replies", identity, tell)
    missing = [question for question in asked if question.key not in ledger.replies]
    needed = estimate([q.text for q in missing], requests["max_tokens"], model["price_in"], model["price_out"])
    say("%s: %d of %d replies are here; missing: %s", name, len(asked) - len(missing), len(asked), needed)
    check_budget(name, needed, model["budget"])
    errors: dict[str, str] = {}
    if missing:
        with private_folders():
            caller = _Caller(model, requests, ledger, folder / "inspect", path, device)
            longest = max(missing, key=lambda question: (question.item.length, len(question.text)))
            refusals = caller.call([longest])
            if refusals and len(missing) > requests["failures"]:
                raise InputError(f"{name}: the first call failed, nothing else was asked: {refusals[longest.key]}")
            rest = sorted((q for q in missing if q is not longest), key=lambda q: (q.task, q.item.length))
            errors = refusals | (caller.call(rest) if rest else {})
    if len(errors) > requests["failures"]:
        raise InputError(
            f"{name}: {len(errors)} of {len(missing)} calls got no reply, more than llm.failures: {requests['failures']}; run again to"
            f" ask for these alone; the first one: {next(iter(errors.values()))}"
        )
    return [_judged(question, ledger.replies.get(question.key)) for question in asked]


def _judged(question: Question, reply: Reply | None) -> Answered:
    if reply is None:
        return Answered(question, REPLY, "", "", FAILED, 0, 0)
    judged = outcome(reply.text, question.item.answer, reply.stop_reason)
    return Answered(question, REPLY, reply.text, reply.stop_reason, judged, reply.tokens_in, reply.tokens_out)


class _Caller:
    """One model of inspect-ai and the ledger that its replies go to."""

    def __init__(
        self, model: dict[str, Any], requests: dict[str, int], ledger: Ledger, logs: Path, path: str, device: str
    ) -> None:
        from inspect_ai.model import GenerateConfig, get_model

        self.name, self.ledger, self.logs, self.connections = model["name"], ledger, logs, model["connections"]
        self.model_name = f"hf/{model['name']}" if is_local(model) else model["name"]
        settings = {
            "max_tokens": requests["max_tokens"],
            "attempt_timeout": requests["attempt_seconds"],
            "max_retries": requests["retries"],
            "max_connections": model["connections"],
            "adaptive_connections": False,
            **model["options"],
        }
        unknown = sorted(set(model["options"]) - set(GenerateConfig.model_fields))
        if unknown:
            raise InputError(
                f"{self.name}: options has {unknown[0]!r}, which inspect-ai's GenerateConfig does not know"
            )
        arguments: dict[str, Any] = {}
        if is_local(model):
            arguments = {"model_path": path, "device": device, "dtype": model["dtype"], "do_sample": False}
        else:
            arguments = {"api_key": api_key(model), "base_url": model["base_url"] or None}
        try:
            self.model = get_model(self.model_name, config=GenerateConfig(**settings), memoize=False, **arguments)
        except Exception as error:  # providers raise what they like: unknown names, missing packages, missing addresses
            raise InputError(f"{self.name} is no model that inspect-ai can call: {_one_line(error)}") from None

    def call(self, asked: list[Question]) -> dict[str, str]:
        """Ask, put the replies into the ledger, and return the error of each call that got none, by key."""
        import inspect_ai
        from inspect_ai.dataset import MemoryDataset, Sample

        samples = [
            Sample(input=question.text, target=question.item.answer, id=question.key, metadata=_metadata(question))
            for question in asked
        ]
        task = inspect_ai.Task(
            dataset=MemoryDataset(samples), solver=_reply_solver(self.ledger), scorer=_reply_scorer(), name="onehop"
        )
        logs = inspect_ai.eval(
            task,
            model=self.model,
            display="none",
            log_dir=str(self.logs),
            log_format="json",
            log_realtime=False,
            log_level="critical",
            ctl_server=False,
            fail_on_error=False,
            retry_on_error=1,
            max_samples=self.connections,
        )
        if logs[0].status != "success":
            error = logs[0].error.message if logs[0].error else "it was stopped"
            raise InputError(f"{self.name}: the evaluation stopped: {_one_line(error)}; run again to go on")
        failed = {str(s.id): _cause(s.error) for s in logs[0].samples or [] if s.error}
        return {
            question.key: failed.get(question.key, "no reply")
            for question in asked
            if question.key not in self.ledger.replies
        }


def _metadata(question: Question) -> dict[str, Any]:
    item = question.item
    return {"task": question.task, "run": item.run, "length": item.length, "slot_band": item.slot_band}


def _cause(error: Any) -> str:
    """The provider's own words: inspect-ai's message opens with the whole request, its traceback ends with what went wrong."""
    lines = [line for line in error.traceback.splitlines() if line.strip()]
    return _one_line(lines[-1] if lines else error.message)


def _one_line(error: object) -> str:
    text = " ".join(str(error).split()) or type(error).__name__
    return text if len(text) <= DETAILS else f"{text[:DETAILS]}.."


def _reply_solver(ledger: Ledger) -> Any:
    from inspect_ai.solver import solver

    @solver
    def one_reply() -> Any:
        async def solve(state: Any, generate: Any) -> Any:
            state = await generate(state)
            output, usage = state.output, state.output.usage
            ledger.add(
                Reply(
                    item=str(state.sample_id),
                    text=output.completion,
                    stop_reason=str(output.stop_reason),
                    tokens_in=usage.input_tokens if usage else 0,
                    tokens_out=usage.output_tokens if usage else 0,
                )
            )
            return state

        return solve

    return one_reply()


def _reply_scorer() -> Any:
    from inspect_ai.scorer import Score, accuracy, scorer

    @scorer(metrics=[accuracy()], name="onehop")
    def judged() -> Any:
        async def score(state: Any, target: Any) -> Any:
            found = outcome(state.output.completion, target.text, str(state.output.stop_reason))
            return Score(value=float(found == CORRECT), answer=state.output.completion, explanation=found)

        return score

    return judged()


def table_rows(model: str, answered: list[Answered]) -> list[dict[str, object]]:
    """Rows of `llm/{model}.parquet`: one a task, run, length, slot band and method, and one over the whole window (band 0).

    `items` are the calls with a reply, `accuracy` the share of them that is correct; `failed` calls are counted beside. A cell
    without any reply has accuracy 0 and items 0.
    """
    cells: dict[tuple[Any, ...], list[Answered]] = {}
    for one in answered:
        item = one.question.item
        for band in (ALL_BANDS, item.slot_band):
            cells.setdefault((one.question.task, item.run, item.length, band, one.method), []).append(one)
    rows: list[dict[str, object]] = []
    for (task, run, length, band, method), cell in sorted(cells.items()):
        count = {name: sum(one.outcome == name for one in cell) for name in (CORRECT, REFUSED, OVERLONG, FAILED)}
        items = len(cell) - count[FAILED]
        rows.append(
            {
                "model": model,
                "task": task,
                "run": run,
                "length": length,
                "slot_band": band,
                "method": method,
                "accuracy": count[CORRECT] / items if items else 0.0,
                "correct": count[CORRECT],
                "items": items,
                "refused": count[REFUSED],
                "overlong": count[OVERLONG],
                "failed": count[FAILED],
                "tokens_in": sum(one.tokens_in for one in cell),
                "tokens_out": sum(one.tokens_out for one in cell),
            }
        )
    return rows


def reply_rows(answered: list[Answered]) -> list[dict[str, object]]:
    """Rows of `llm/{model}-replies.parquet`: one a question and method, with the raw reply."""
    return [
        {
            "task": one.question.task,
            "run": one.question.item.run,
            "length": one.question.item.length,
            "slot_band": one.question.item.slot_band,
            "item": one.question.number,
            "method": one.method,
            "answer": one.question.item.answer,
            "reply": one.reply,
            "stop_reason": one.stop_reason,
            "outcome": one.outcome,
            "tokens_in": one.tokens_in,
            "tokens_out": one.tokens_out,
        }
        for one in answered
    ]
