"""The page as a reader meets it: opened from disk in Chromium, with no network, by keyboard, on a phone, in the dark."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from report_inputs import STEPS, Inputs, learned
from report_pages import Page, rows

if TYPE_CHECKING:
    from playwright.sync_api import Browser
    from playwright.sync_api import Page as Tab

pytestmark = pytest.mark.browser
WIDE, NARROW = 1280, 360


@pytest.fixture(scope="module")
def page_file(inputs_once: Inputs, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A page that stands alone: nothing that it was made of is beside it."""
    file = tmp_path_factory.mktemp("alone") / "report of a run.html"
    file.write_text(inputs_once.copy(tmp_path_factory.mktemp("page") / "inputs").page(), encoding="utf-8")
    return file


@pytest.fixture
def visit(browser: Browser, page_file: Path) -> Iterator[Callable[..., Tab]]:
    """Open the page; whatever it complains of or asks for is an error at the end."""
    complaints: list[str] = []
    contexts = []

    def open_page(width: int = WIDE, **options: Any) -> Tab:
        context = browser.new_context(viewport={"width": width, "height": 800}, **options)
        contexts.append(context)
        tab = context.new_page()
        tab.on("console", lambda message: complaints.append(f"{message.type}: {message.text}"))
        tab.on("pageerror", lambda error: complaints.append(str(error)))
        tab.on("request", lambda request: _note(request.url, page_file, complaints))
        tab.goto(page_file.as_uri())
        return tab

    yield open_page
    for context in contexts:
        context.close()
    assert complaints == []


def _note(url: str, page_file: Path, complaints: list[str]) -> None:
    if not url.startswith("data:") and url != page_file.as_uri():
        complaints.append(f"asked for {url}")


def test_it_opens_from_disk_with_all_figures(visit: Callable[..., Tab], page_file: Path) -> None:
    tab = visit()
    images = tab.locator("img")
    wanted = len(Page(page_file.read_text(encoding="utf-8")).all("img"))
    assert images.count() == wanted == 2
    for place in range(wanted):
        assert images.nth(place).evaluate("image => image.decode().then(() => image.naturalWidth)") > 600
    assert "number task: " in tab.locator("#hops").inner_text()


def test_the_policy_stops_what_is_not_the_pages_own(browser: Browser, page_file: Path) -> None:
    """Without the policy this script would run: so the policy is in force and not only written down."""
    spoiled = page_file.with_name("spoiled.html")
    extra = "<script>document.title = 'ran'</script><img src='https://elsewhere.invalid/x.png' alt=''>"
    spoiled.write_text(page_file.read_text(encoding="utf-8").replace("</main>", f"</main>{extra}"), encoding="utf-8")
    tab = browser.new_page()
    failed: list[str | None] = []
    tab.on("requestfailed", lambda request: failed.append(request.failure))
    tab.goto(spoiled.as_uri())
    assert tab.title() != "ran"
    assert failed == ["csp"]
    tab.context.close()


def test_every_link_leads_somewhere(visit: Callable[..., Tab]) -> None:
    tab = visit(reduced_motion="reduce")
    targets = tab.locator("a[href^='#']").evaluate_all("links => links.map(link => link.getAttribute('href'))")
    assert len(targets) > 8
    for target in targets:
        assert tab.locator(target).count() == 1, target
    tab.locator("nav a", has_text="Length").click()
    assert abs(tab.locator("#length").evaluate("section => section.getBoundingClientRect().top")) < 100


def test_downloaded_numbers_are_those_of_the_files(visit: Callable[..., Tab], inputs_once: Inputs) -> None:
    tab = visit()
    for name in ("accuracy", "length"):
        with tab.expect_download() as waiting:
            tab.locator(f"#csv-{name}").click()
        assert waiting.value.suggested_filename == f"{name}.csv"
        saved = Path(waiting.value.path()).read_text(encoding="utf-8")
        assert rows(saved) == rows((inputs_once.tables / f"{name}.csv").read_text(encoding="utf-8"))


def shown(tab: Tab) -> dict[str, list[str]]:
    """By task: accuracy of each hop class as the view has it, the last entry the sentence above it."""
    found = {}
    for panel in tab.locator("#hops-panels table").all():
        task, _, sentence = panel.locator("caption").inner_text().partition(" task: ")
        found[task] = [*panel.locator("td.number").all_inner_texts(), sentence]
    return found


def expected(step: int) -> dict[str, list[str]]:
    """What the view should have at a step, from how the inputs were made."""
    found = {}
    for task in ("number", "letter"):
        done = [learned(task, hops, step) for hops in (1, 2, 3, 4)]
        values = ["0.97 [0.87, 1.00]" if yes else "0.13 [0.05, 0.26]" for yes in done]
        found[task] = [*values, f"{sum(done)} of 4 hop classes at 0.9 or more"]
    return found


def test_the_steps_of_training_by_keyboard(visit: Callable[..., Tab]) -> None:
    tab = visit()
    slider = tab.get_by_label("Training step")
    slider.focus()
    tab.keyboard.press("Home")
    seen = []
    for step in STEPS:
        assert slider.get_attribute("aria-valuetext") == f"step {step} of {STEPS[-1]}"
        assert tab.locator("#hops-now").inner_text() == f"{step} of {STEPS[-1]}"
        assert shown(tab) == expected(step)
        widths = tab.locator("#hops-panels .fill").evaluate_all(
            "bars => bars.map(bar => bar.offsetWidth / bar.parentNode.offsetWidth)"
        )
        wanted = [
            0.975 if learned(task, hops, step) else 0.125 for task in ("number", "letter") for hops in (1, 2, 3, 4)
        ]
        assert widths == pytest.approx(wanted, abs=0.02)
        seen.append(shown(tab))
        tab.keyboard.press("ArrowRight")
    assert [panel["number"][-1][0] for panel in seen] == ["0", "1", "2", "3", "4"]
    assert [panel["letter"][-1][0] for panel in seen] == ["0", "0", "4", "4", "4"]
    tab.keyboard.press("Tab")
    assert tab.evaluate("document.activeElement.id") == "hops-play"
    assert tab.locator("#hops-play").evaluate("button => { button.click(); return button.textContent; }") == "Pause"
    tab.get_by_role("button", name="Play").wait_for()
    assert shown(tab) == expected(STEPS[-1])


def test_it_opens_where_hops_differ_most(visit: Callable[..., Tab]) -> None:
    assert shown(visit())["number"][-1] in ("1 of 4 hop classes at 0.9 or more", "2 of 4 hop classes at 0.9 or more")


def test_without_scripts_figures_and_numbers_remain(visit: Callable[..., Tab]) -> None:
    tab = visit(java_script_enabled=False)
    assert not tab.locator("#hops").is_visible()
    assert tab.locator("img").first.is_visible()
    assert tab.locator("#csv-accuracy").is_visible()


@pytest.mark.parametrize("width", [320, NARROW, 768, WIDE])
def test_nothing_sticks_out(visit: Callable[..., Tab], width: int) -> None:
    tab = visit(width)
    for closed in tab.locator("details").all():
        closed.evaluate("part => { part.open = true; }")
    assert tab.evaluate("document.documentElement.scrollWidth") == width
    for part in tab.locator("[data-label]").all():
        scrolls = part.evaluate("part => part.scrollWidth > part.clientWidth")
        assert (part.get_attribute("tabindex") == "0") == scrolls, part.get_attribute("data-label")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [NARROW, WIDE])
def test_accessibility(visit: Callable[..., Tab], width: int, scheme: str) -> None:
    """axe-core's rules, all of them, contrast among them, with everything unfolded."""
    from axe_playwright_python.sync_playwright import Axe

    tab = visit(width, color_scheme=scheme)
    tab.locator("details").evaluate_all("parts => parts.forEach(part => { part.open = true; })")
    found = Axe().run(tab, options={"resultTypes": ["violations", "incomplete"]}).response
    checked = {rule["id"] for rule in found["passes"]}
    assert {"color-contrast", "image-alt", "label", "heading-order", "html-has-lang"} <= checked
    assert [f"{rule['id']}: {node['html'][:200]}" for rule in found["violations"] for node in rule["nodes"]] == []


def test_the_dark_page_is_dark_and_its_figures_are_not(visit: Callable[..., Tab]) -> None:
    tab = visit(color_scheme="dark")
    background = "element => getComputedStyle(element).backgroundColor.match(/\\d+/g).slice(0, 3).map(Number)"
    assert max(tab.locator("body").evaluate(background)) < 50
    assert min(tab.locator(".picture").first.evaluate(background)) == 255


def test_on_paper_everything_is_open(visit: Callable[..., Tab]) -> None:
    tab = visit()
    tab.emulate_media(media="print")
    assert not tab.locator("nav").is_visible()
    assert len(tab.pdf()) > 20_000
    assert tab.locator("details[open]").count() == 0  # as before
