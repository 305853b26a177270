"""Snakemake's own report: it needs no network, has every figure with its caption in its section, and reruns nothing."""

from __future__ import annotations

import json
import re

from report_pages import Page, check
from workflow_runs import Checkout


def test_snakemake_report(finished: Checkout) -> None:
    finished.run("--report", "snakemake-report.html")
    html = (finished.folder / "snakemake-report.html").read_text(encoding="utf-8")
    found = {
        name: json.loads(match[1])
        for name in ("categories", "results")
        if (match := re.search(rf"var {name} = (\{{.*?\}});?$", html, re.MULTILINE))
    }
    assert sorted(found["categories"]) == ["0 Report", "1 Learning", "2 Heads", "3 Length", "4 Mechanism", "5 Theory"]
    results = found["results"]
    drawn = {f"results/tiny/figures/{path.name}" for path in (finished.folder / "results/tiny/figures").glob("*.svg")}
    assert set(results) == drawn | {"results/tiny/report.html"}
    for name, result in results.items():
        assert len(result["caption"]) > 100, name
        assert "problematic" not in result["caption"], name
        assert "system-message" not in result["caption"], name
    assert (
        "<p>Accuracy by hop over training (paper Fig. 2A)</p>"
        in results["results/tiny/figures/accuracy.svg"]["caption"]
    )
    assert "Experiment <tt" in html
    assert finished.jobs("--cores", "2") == {}


def test_the_projects_own_report_of_a_real_run(finished: Checkout) -> None:
    results = finished.folder / "results" / "tiny"
    page = Page((results / "report.html").read_text(encoding="utf-8"))
    check(page)
    assert sorted(page.pictures()) == sorted(path.read_bytes() for path in (results / "figures").glob("*.svg"))
    assert page.data() == {path.name: path.read_text() for path in (results / "tables").glob("*.csv")}
    assert str(finished.folder) not in page.html
    for paragraphs in page.all("figcaption"):
        assert len(paragraphs.text.split()) > 20
