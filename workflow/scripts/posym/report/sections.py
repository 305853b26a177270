"""Where each figure stands in the report. Standard library only: the Snakefile reads it in every job."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Section:
    """A part of the report: its anchor, heading, the question it is about, and its figures in order."""

    anchor: str
    title: str
    question: str
    figures: tuple[str, ...]


SECTIONS = (
    Section(
        "learning",
        "Learning",
        "Is the number task learned hop after hop, and the letter task at all hops at once?",
        ("accuracy",),
    ),
    Section(
        "heads",
        "Heads",
        "Which heads follow positions, which follow symbols, and when do they become pure?",
        ("scores", "pure_heads"),
    ),
    Section(
        "length",
        "Length",
        "How far beyond the length of training does each model go on working, and what fails first?",
        ("length", "restriction", "discrepancy"),
    ),
    Section(
        "mechanism",
        "Mechanism",
        "What does each head compute, with which RoPE planes, and what breaks without it?",
        ("functions", "ablation", "frequencies", "flow", "geometry"),
    ),
    Section(
        "theory",
        "Theory",
        "How does the discrepancy of the paper's two constructions depend on length, and do its bounds hold?",
        ("theory_discrepancy", "theory_corrections"),
    ),
    Section(
        "language-models",
        "Language models",
        "Do pretrained models show the same difference between the two games with one hop?",
        ("llm_games", "llm_heads"),
    ),
)
OTHER = Section("more", "More figures", "Figures that were added to the workflow.", ())


def section_of(figure: str) -> Section:
    """The section of a figure, which is known by what stands before the first dot of its name."""
    kind = figure.partition(".")[0]
    return next((section for section in SECTIONS if kind in section.figures), OTHER)


def place(figure: str) -> tuple[int, int, str]:
    """What figures are sorted by: section, order within it, name."""
    section, kind = section_of(figure), figure.partition(".")[0]
    number = SECTIONS.index(section) if section in SECTIONS else len(SECTIONS)
    return number, section.figures.index(kind) if kind in section.figures else 0, figure


def category(figure: str) -> str:
    """The section's name in Snakemake's own report, which sorts by name."""
    return f"{place(figure)[0] + 1} {section_of(figure).title}"
