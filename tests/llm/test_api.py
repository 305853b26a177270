"""The API path against transformers' own OpenAI-compatible server, with a proxy before it that breaks things."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import servers
import tiny_models

from posym.errors import InputError
from posym.llm import games, onehop

KEY = "sk-planted-0123456789"
VARIABLE = "LOOPBACK_API_KEY"
REQUESTS = {"max_tokens": 6, "attempt_seconds": 10, "retries": 4, "failures": 0}


def entry(address: str, **changes: Any) -> dict[str, Any]:
    return {
        "name": "openai-api/loopback/tiny",
        "source": "",
        "dtype": "float32",
        "methods": ["reply"],
        "options": {"temperature": 0},
        "connections": 3,
        "key": VARIABLE,
        "base_url": address,
        "price_in": 1.0,
        "price_out": 1.0,
        "budget": 1.0,
        **changes,
    }


@pytest.fixture(scope="module")
def upstream(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("tiny")
    with servers.model_server(tiny_models.save("llama", folder / "tiny"), folder / "server.log") as address:
        yield address


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, KEY)


def ask(model: dict[str, Any], folder: Path, items: int = 8, said: list[str] | None = None) -> list[games.Answered]:
    asked = games.questions("letter", onehop.make_items("letter", 0, 12, items, 4))
    say = (lambda text, *values: said.append(text % values)) if said is not None else (lambda *_: None)
    return games.ask(model, REQUESTS, asked, folder, say)


def holds_key(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file() and KEY.encode() in path.read_bytes()]


@pytest.mark.heavy
def test_faults_lose_no_reply_and_count_none_twice(upstream: str, tmp_path: Path) -> None:
    with servers.Proxy(upstream, [], KEY) as good:
        plain = ask(entry(good.address), tmp_path / "plain")
    with servers.Proxy(upstream, list(servers.FAULTS), KEY, hang=13) as bad:
        said: list[str] = []
        spoilt = ask(entry(bad.address), tmp_path / "spoilt", said=said)
        assert "8 calls, about" in said[0]
        assert "US dollars" in said[0]
        assert sum(bad.spoilt.values()) == len(servers.FAULTS)
        assert set(bad.passed.values()) == {1}
        assert len(bad.passed) == 8
        # `connections` is 3; the one call that hangs goes on at the proxy after the client has given it up
        assert bad.most_in_flight <= 3 + 1
        again = ask(entry(bad.address), tmp_path / "spoilt")
        assert again == spoilt
        assert set(bad.passed.values()) == {1}, "a rerun asked for what is there"
    empty = [one for one in spoilt if not one.reply]
    assert [one.outcome for one in empty] == ["refused"]
    kept = {one.question.key: one.reply for one in plain}
    assert all(one.reply == kept[one.question.key] for one in spoilt if one.reply)
    assert not holds_key(tmp_path)
    (row,) = [row for row in games.table_rows("m", spoilt) if row["slot_band"] == 0]
    assert (row["items"], row["failed"], row["refused"]) == (8, 0, 1)


@pytest.mark.heavy
def test_a_server_that_stays_broken_ends_in_one_sentence(upstream: str, tmp_path: Path) -> None:
    with servers.Proxy(upstream, [], "another key") as proxy, pytest.raises(InputError) as caught:
        ask(entry(proxy.address), tmp_path)
    assert "the first call failed, nothing else was asked" in str(caught.value)
    assert "Incorrect API key" in str(caught.value)
    assert KEY not in str(caught.value)
    assert not proxy.passed


def test_over_budget_and_missing_keys_are_refused_before_any_call(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(InputError, match=r"8 calls, .* above its budget of 0.00: nothing was asked"):
        ask(entry("http://127.0.0.1:9", budget=0), tmp_path)
    with pytest.raises(InputError, match="options has 'temprature', which inspect-ai's GenerateConfig does not know"):
        ask(entry("http://127.0.0.1:9", options={"temprature": 0}), tmp_path)
    with pytest.raises(InputError, match=r"nosuch/model is no model that inspect-ai can call"):
        ask(entry("http://127.0.0.1:9", name="nosuch/model"), tmp_path)
    monkeypatch.delenv(VARIABLE)
    with pytest.raises(InputError, match=f"needs an API key: set the environment variable {VARIABLE}"):
        ask(entry("http://127.0.0.1:9"), tmp_path)


OVERLAY = """
experiment: loopback
stages: [llm]
llm:
  lengths: [12, 16]
  runs: 1
  items: 10
  max_tokens: 6
  attempt_seconds: 10
  retries: 4
  models:
    - {{name: openai-api/loopback/tiny, source: "", dtype: float32, methods: [reply], options: {{temperature: 0}},
       connections: 2, key: {key}, base_url: "{address}", price_in: 1.0, price_out: 1.0, budget: 1.0}}
"""


@pytest.mark.heavy
def test_a_killed_run_goes_on_and_draws(upstream: str, tmp_path: Path) -> None:
    from workflow_runs import copy_workflow

    checkout = copy_workflow(tmp_path / "checkout")
    faults = ["", "", "", *servers.FAULTS]
    with servers.Proxy(upstream, faults, KEY, hang=13, slow=0.3) as proxy:
        (checkout.folder / "overlay.yaml").write_text(OVERLAY.format(key=VARIABLE, address=proxy.address))
        arguments = ["--cores", "2", "--configfile", "overlay.yaml"]
        first = checkout.start(*arguments, config=None, start_new_session=True)
        for _ in range(600):
            if sum(proxy.passed.values()) >= 5:
                break
            assert first.poll() is None, first.communicate()[0]
            time.sleep(0.2)
        os.killpg(first.pid, signal.SIGKILL)
        first.communicate()
        time.sleep(2)
        in_flight = sum(proxy.passed.values())
        checkout.run("--unlock", "--configfile", "overlay.yaml", config=None)
        output = checkout.run(*arguments, config=None)
        total = sum(proxy.passed.values())
    ledgers = list((checkout.folder / "results/loopback/llm/work").rglob("*.jsonl"))
    assert len(ledgers) == 1
    assert len(ledgers[0].read_text().splitlines()) == 1 + 40
    assert in_flight >= 5
    assert 40 <= total <= 40 + 2, "only calls in flight at the kill may be asked again"
    assert "replies are here; missing:" in output
    results = checkout.folder / "results" / "loopback"
    for file in ("figures/llm_games.png", "figures/llm_games.svg", "tables/llm_games.csv"):
        assert (results / file).stat().st_size > 0
    check = "import pandas as p; t = p.read_parquet('results/loopback/llm/openai-api_loopback_tiny.parquet'); t = t[t.slot_band == 0];"
    check += " print(t['items'].sum(), t.failed.sum())"
    counted = subprocess.run(
        [sys.executable, "-c", check], cwd=checkout.folder, capture_output=True, text=True, check=True
    )
    assert counted.stdout.split() == ["40", "0"]
    assert not holds_key(checkout.folder)
    assert KEY not in output


def test_snakemake_names_a_missing_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from workflow_runs import copy_workflow

    monkeypatch.delenv(VARIABLE)
    checkout = copy_workflow(tmp_path / "checkout")
    (checkout.folder / "overlay.yaml").write_text(OVERLAY.format(key=VARIABLE, address="http://127.0.0.1:9"))
    output = checkout.run("-n", "--configfile", "overlay.yaml", config=None, check=False)
    assert VARIABLE in output
    assert "exit status 1" in output
