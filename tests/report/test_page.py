"""The page without a browser: self-contained, complete, escaped, repeatable, and clear refusals of broken inputs."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

import pytest

from report_inputs import SCRIPTS, VERDICTS, Inputs, claim, configuration
from report_pages import Page, check, rows

HOSTILE = [
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "</style></script><script src=//example.org></script>",
    "{{ 7 * 7 }}{% for x in y %}",
    "`<b>` & &lt;b&gt; 'quoted'",
    "a#b?c=%3Cscript%3E",
]


def text_of(page: Page) -> str:
    return " ".join(page.one("body").text.split())


def test_a_page_is_whole_and_holds_what_went_in(inputs: Inputs) -> None:
    page = Page(inputs.page())
    check(page)
    assert page.pictures() == [(inputs.figures / f"{name}.svg").read_bytes() for name in ("accuracy", "length")]
    assert page.data() == {path.name: path.read_text() for path in inputs.tables.glob("*.csv")}
    assert [head.text for head in page.all("h2")] == ["Scorecard", "Learning", "Length", "How it was run"]
    captions = [" ".join(caption.text.split()) for caption in page.all("figcaption")]
    assert captions[0].startswith("One panel a task, a line a hop class; x is the optimizer step")
    assert "Band: 95 % Wilson interval over items; 1 seed, 40 items a point" in captions[0]
    assert "168 rows" not in captions[0]
    assert f"{len(rows(page.data()['accuracy.csv']))} rows, also in tables/accuracy.csv" in captions[0]
    assert "clustered by prefix" in captions[1]


def test_numbers_beside_the_figures(inputs: Inputs) -> None:
    page = Page(inputs.page())
    cells = [
        [cell.text for cell in page.elements if cell.tag in ("th", "td") and line in cell.parents]
        for line in page.all("tr")
    ]
    for hops in (1, 2, 3, 4):
        name = "1 hop" if hops == 1 else f"{hops} hops"
        assert [f"number, {name}", "0.97 [0.87, 1.00]", str(100 * hops)] in cells
        assert [f"letter, {name}", "0.97 [0.87, 1.00]", "200"] in cells
    assert ["850 (833)", "0.25 [0.23, 0.28]", "1.00 [0.90, 1.00]"] in cells
    assert ["number, train.parquet", "115,200", "ab" * 32] in cells
    assert ["number, seed 0", "cpu", "float32", "1", "3 min 56 s", "2"] in cells


def test_every_setting_stands_there_with_its_meaning(inputs: Inputs) -> None:
    page = Page(inputs.page())
    (settings,) = page.all("table", "settings")
    lines = [line for line in page.all("tr") if settings in line.parents][1:]
    cells = [
        [cell.text for cell in page.elements if cell.tag in ("th", "td") and line in cell.parents] for line in lines
    ]
    assert all(meaning for _, _, meaning in cells), cells
    assert ["training.learning_rate", "0.0001", "Largest learning rate, reached after the warm-up."] in cells
    keys = {key for key, _, _ in cells}
    assert {"mechanism.flow.example", "alphabets.letter.integers", "theory.seed"} <= keys
    assert not [key for key in keys if key.startswith("llm")], "no language model is part of this experiment"


def test_verdicts_are_words_with_a_symbol_and_claims_hold_their_parts_and_choices(inputs: Inputs) -> None:
    page = Page(inputs.page())
    articles = page.all("article")
    assert [" ".join(article.text.split()).split(" ", 1)[0] for article in articles] == ["1", "2", "3", "4"]
    symbols = set()
    for article, verdict in zip(articles, VERDICTS, strict=True):
        shown = [one for one in page.all("span", "verdict") if article in one.parents]
        symbol, word = shown[0].text.split(" ", 1)
        assert word == verdict
        symbols.add(symbol)
        assert [one.text.split(" ", 1)[1] for one in shown] == [
            verdict,
            verdict,
            "inconclusive",
        ]  # itself, part, choice
        for text in (
            "0.59 [0.54, 0.64]",
            ">= 0.8",
            "section 5",
            "Some evidence.",
            "gamma 0.1",
            "accuracy at 0.1",
            "\N{MINUS SIGN}2",
        ):
            assert text in article.text
    assert len(symbols) == 4
    assert "1 reproduced, 1 not reproduced, 1 inconclusive, 1 not run." in text_of(page)


@pytest.mark.parametrize("hostile", HOSTILE)
def test_text_from_outside_stays_text(inputs: Inputs, hostile: str) -> None:
    part = {"statistic": hostile, "value": None, "paper": hostile, "threshold": hostile, "verdict": "not run"}
    words = dict.fromkeys(("id", "claim", "source", "statistic", "paper", "threshold", "evidence"), hostile)
    choice = {
        "choice": hostile,
        "statistic": hostile,
        "value": hostile,
        "low": hostile,
        "high": hostile,
        "verdict": "not run",
    }
    inputs.write_scorecard([claim(**words, parts=[part], choices=[choice])])
    inputs.config = configuration(experiment=hostile, seeds=[0])
    picture = inputs.figures / "length.svg"
    svg = picture.read_text()
    for tag in ("dc:title", "dc:description"):
        before, _, rest = svg.partition(f"<{tag}>")
        svg = f"{before}<{tag}>{escape(hostile)}</{tag}>{rest.partition(f'</{tag}>')[2]}"
    picture.write_text(svg)
    table = inputs.tables / "accuracy.csv"
    table.write_text(table.read_text().replace("task,hops", '"{}",hops'.format(hostile.replace('"', '""')), 1) + "\n")
    inputs_table = (inputs.tables / "length.csv").read_text()
    table.rename(inputs.tables / "extra_figure.csv")
    (inputs.figures / "accuracy.svg").rename(inputs.figures / "extra_figure.svg")
    page = Page(inputs.page())
    check(page)
    assert len(page.all("script")) == len(page.all("style")) == 1
    assert len(page.all("img")) == 2
    shown = hostile.replace("`", "")
    assert f"Report of the experiment {hostile}" in page.one("header").text
    (article,) = page.all("article")
    assert article.text.count(hostile) + article.text.count(shown) >= 8
    assert page.all("img")[0].attributes["alt"] == hostile
    assert hostile in page.all("figcaption")[1].text
    assert page.data()["length.csv"] == inputs_table
    assert hostile in next(iter(rows(page.data()["extra_figure.csv"])[0]))


def test_no_scorecard_and_no_models_and_no_figures(inputs: Inputs) -> None:
    inputs.has_scorecard = False
    inputs.config = configuration(stages=["theory", "report"])
    for path in [*inputs.figures.iterdir(), *inputs.tables.iterdir(), *inputs.folder.glob("*-*.json")]:
        path.unlink()
    page = Page(inputs.page())
    check(page)
    assert "No scorecard in this experiment: add scorecard to stages in its configuration." in text_of(page)
    assert not page.all("article")
    assert [caption.text for caption in page.all("caption")] == ["The experiment's configuration"]


def test_where_language_models_lie_stays_out(inputs: Inputs) -> None:
    places = ["/home/me/model", "~/model", "../model", "pypi:package==1/file.gguf"]
    models = [{"name": f"local/{place}", "source": source} for place, source in enumerate(places)]
    models.append({"name": "openai/x", "source": "", "base_url": "https://inside.example.org"})
    inputs.config = configuration(stages=["llm", "report"], llm={"models": models})
    for trained in inputs.folder.glob("model-*.json"):
        trained.unlink()
    page = inputs.page()
    check(Page(page))
    assert all(f"local/{place}" in page for place in range(4))
    assert places[3] in page
    assert not [place for place in (*places[:3], "inside.example.org") if place in page]


def test_an_empty_scorecard(inputs: Inputs) -> None:
    inputs.write_scorecard([])
    assert "The scorecard holds no claims." in text_of(Page(inputs.page()))


def test_the_same_input_gives_the_same_bytes_wherever_it_lies(inputs: Inputs, tmp_path: Path) -> None:
    page = inputs.page()
    assert inputs.copy(tmp_path / "elsewhere").page() == page
    assert str(tmp_path) not in page


def test_a_figure_nobody_knows_has_a_place(inputs: Inputs) -> None:
    for folder, suffix in ((inputs.figures, "svg"), (inputs.tables, "csv")):
        (folder / f"length.{suffix}").rename(folder / f"llm_heads.local_x.{suffix}")
        (folder / f"accuracy.{suffix}").rename(folder / f"my_own.{suffix}")
    page = Page(inputs.page())
    check(page)
    assert [head.text for head in page.all("h2")][1:3] == ["Language models", "More figures"]
    assert "Accuracy on inputs longer than those of training (paper Fig. 5B): local_x" in [
        head.text for head in page.all("h3")
    ]


def break_scorecard(value: Any) -> Any:
    return lambda inputs: inputs.write_scorecard(value)


REFUSALS: dict[str, tuple[Any, str]] = {
    "verdict": (
        break_scorecard([claim("maybe")]),
        "claim 1 has the verdict 'maybe': it should be one of reproduced, not",
    ),
    "verdict of a part": (
        break_scorecard([claim(), claim(parts=[{"verdict": None}])]),
        "claim 2, part 1 has the verdict None",
    ),
    "text": (break_scorecard([{"id": "1", "verdict": "reproduced"}]), "claim 1 lacks id, claim, source or evidence"),
    "no list": (break_scorecard({"claims": []}), "scorecard.json should be a list of claims"),
    "no JSON": (lambda inputs: inputs.scorecard.write_text("[{"), "scorecard.json is not readable JSON"),
    "picture": (
        lambda inputs: (inputs.figures / "length.svg").write_text("<svg"),
        "length.svg is no SVG of this workflow",
    ),
    "size": (
        lambda inputs: (inputs.figures / "length.svg").write_text("<svg/>"),
        "length.svg is no SVG of this workflow",
    ),
    "no rows": (lambda inputs: (inputs.tables / "length.csv").write_text("a,b\n"), "length.csv has no rows"),
    "no CSV": (lambda inputs: (inputs.tables / "length.csv").write_bytes(b"\xff\xfe"), "length.csv is no readable CSV"),
    "columns": (
        lambda inputs: (inputs.tables / "length.csv").write_text("task,hops\nnumber,0\n"),
        "length.csv is not the table of its figure (KeyError('extra'))",
    ),
    "no partner": (lambda inputs: (inputs.tables / "length.csv").unlink(), "figure length came without its table"),
    "manifest": (
        lambda inputs: (inputs.folder / "model-letter.json").write_text("{}"),
        "model-letter.json lacks 'task'",
    ),
}


@pytest.mark.parametrize("case", REFUSALS)
def test_broken_inputs_are_named(inputs: Inputs, case: str) -> None:
    spoil, sentence = REFUSALS[case]
    spoil(inputs)
    assert sentence in inputs.refusal()


def test_every_figure_of_the_workflow_has_words() -> None:
    from posym.captions import caption
    from posym.figures.catalogue import figure_names

    folder = SCRIPTS / "posym"
    modules = [folder / "figures" / f"{name}.py" for name in figure_names()]
    modules += [folder / "figures" / "llm" / f"{name}.py" for name in ("games", "heads")]
    modules += [folder / "theory_figures" / f"{name}.py" for name in ("discrepancy", "corrections")]
    for module in modules:
        title, _, description = caption(module).partition("\n\n")
        assert 20 < len(title) < 130, module
        assert len(description) > 60, module
        assert "Data:" not in description, module
        assert not title.endswith("."), module
