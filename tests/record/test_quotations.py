"""No number stands in two places with two values: other pages quote the record by includes, or as listed here."""

import importlib
import re
from pathlib import Path

import pytest

from benchmarks.common import record

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
GUIDE = [*sorted((DOCS / "guide").glob("*.rst")), DOCS / "faq.rst", DOCS / "install.rst", DOCS / "index.rst"]
#: A page of the record, a file of results, or a command that makes one.
CITES = re.compile(r"record/\w|benchmarks/results|benchmarks\.studies")
#: Settings and parts of formulas beside a mention of the record; the texts are exempt, not the paragraphs.
NOT_MEASURED = {
    "guide/bootclus.rst": ["0.90 was promised"],
    "guide/ecm.rst": ["without the factor 0.4"],
    "guide/theory.rst": ["a belief of 0.9 right in nine cases"],
    # Measured once, with all features in every node; no file has it.
    "guide/doubtful_labels.rst": ["about .98, .83 and .76"],
}


def quoted():
    """Sentences that were written by hand: the page, and what it must say by the results."""
    read = record.read
    biopsies, credit, languages = read("case_biopsies"), read("case_credit"), read("case_languages")
    yield "case_studies/biopsies.rst", f"the cell nuclei of {biopsies['samples']} breast biopsies"
    yield "case_studies/biopsies.rst", f"time to check {biopsies['looks']} of the {biopsies['samples']}"
    yield "case_studies/biopsies.rst", f"means over {biopsies['repetitions']} random halves"
    yield "case_studies/biopsies.rst", f"From a budget of {100 * overtaking(biopsies):.0f} % on"
    looks = [credit["methods"][gaps]["evidential neighbours"]["look"]["mean"] for gaps in credit["methods"]]
    yield "case_studies/credit.rst", f"A bank has {credit['samples']:,} past applications"
    yield "case_studies/credit.rst", f"they ask about {looks[1]:.0f} of 100 instead of {looks[0]:.0f}"
    yield "case_studies/cells.rst", f"the genes of {read('case_cells')['samples']} blood cells"
    sure = sum(len(one["candidates"]) == 1 for one in languages["map"])
    yield "case_studies/languages.rst", f"four clusters of {languages['samples']} languages"
    yield "case_studies/languages.rst", f"at the {languages['looks']} with the largest doubt"
    yield "case_studies/languages.rst", f"EVCLUS is sure of {sure} languages"
    printed = read("reproduction_kcevclus")["printed_weight"]
    yield "record/reproduction.rst", f"its weight {printed['within']} of {printed['cells']} cells of Table 2 agree"
    butterfly = [one for one in read("reproduction_nnevclus")["cells"] if one["table"] == "NN-EVCLUS, Table 1"]
    assert all(one["within"] for one in butterfly)
    yield "record/reproduction.rst", f"all {len(butterfly)} cells come out"
    starts, many = read("scale_starts"), read("scale_many_embeddings")
    yield (
        "record/scale.rst",
        f"{starts['rows']:,} rows of {starts['features']} features in {starts['clusters']} clusters",
    )
    sets = {one["focal_sets"] for one in many["runs"]}.pop()
    yield "record/scale.rst", f"{many['features']} features, {many['clusters']} clusters and {sets} focal sets"
    balls = {
        one["assumed_model"]: f"{one['length']:.2f}"
        for one in read("reproduction_coverage")["cells"]
        if (one["true_model"], one["interval"], one["confidence"]) == ("EII", "BelPl", 0.9)
    }
    yield "guide/bootclus.rst", f"longer, {balls['VVV']} instead of {balls['EII']} for VVV on equal balls"
    means = read("scale_ensemble")["means"]
    pieces = means["15 Gaussians, 10 halves"]
    yield "guide/ensemble.rst", f"k-means with ten clusters has {means['k-means']['ari']:.2f}"
    yield (
        "../CHANGELOG.md",
        f"area under the risk-coverage curve {pieces['aurc']:.3f} (mean of five seeds; k-means "
        f"{means['k-means']['aurc']:.2f}) in {pieces['least_cpu_seconds']:.1f} s CPU",
    )


def overtaking(biopsies):
    """The least share of looks from which on all of these leave fewer errors than the mixture."""
    curves = biopsies["curves"]
    names = ("CCM", "ECM", "CredalEnsemble", "fuzzy c-means")
    behind = [
        share
        for place, share in enumerate(biopsies["shares"])
        if any(curves[name][place] >= curves["Gaussian mixture"][place] for name in names)
    ]
    return min(share for share in biopsies["shares"] if share > max(behind))


def words(text):
    """Text without line breaks."""
    return " ".join(text.split())


@pytest.fixture
def pages(monkeypatch):
    """Modules that make parts of pages, and the parts of each."""
    monkeypatch.syspath_prepend(DOCS)
    made = importlib.import_module("record_pages")

    def parts(page):
        return importlib.import_module(f"record_pages.{page}").parts(made.read)

    return made, parts


@pytest.mark.parametrize(("page", "text"), list(quoted()))
def test_what_was_written_by_hand_is_what_the_results_say(page, text):
    assert words(text) in words((DOCS / page).read_text(encoding="utf-8")), f"{page} must have: {text}"


@pytest.mark.parametrize("path", GUIDE, ids=lambda path: path.stem)
def test_a_paragraph_that_cites_the_record_includes_its_figures_or_is_listed(path):
    page = str(path.relative_to(DOCS))
    known = [words(text) for name, text in quoted() if name == page]
    known += NOT_MEASURED.get(page, [])
    for paragraph in re.split(r"\n\s*\n", path.read_text(encoding="utf-8")):
        prose = words(re.sub(r"``[^`]*``|:\w+:`[^`]*`", "", paragraph))
        if CITES.search(paragraph):
            for text in known:
                prose = prose.replace(text, "")
            assert not re.search(r"\d*\.\d+", prose), f"{page}: include what record_pages/quoted.py makes of it"


def test_every_part_that_the_guide_includes_is_made_and_every_part_made_for_it_is_included(pages):
    made, parts = pages
    included = {
        name
        for path in [*DOCS.glob("*.rst"), *DOCS.glob("*/*.rst")]
        for name in re.findall(r"\.\. include:: \S*generated/(\w+)\.inc", path.read_text(encoding="utf-8"))
    }
    known = {
        f"{page}_{name}" for page in made.PAGES for name, part in parts(page).items() if isinstance(part, str)
    }
    assert included <= known
    assert {name for name in known if name.startswith(("quoted_", "landing_"))} <= included


def test_the_front_page_and_the_verdicts_have_the_same_figures(pages):
    made, parts = pages
    landing = importlib.import_module("record_pages.landing")
    common = {
        "reproduction": r"\d+ of \d+ published numbers",
        "peers": r"\d+ to \d+ times",
        "scale": r"[\d.]+ minutes",
    }
    for _, text, page in landing.proved(made.read):
        figures = re.findall(common[page], text)
        assert figures
        for figure in figures:
            assert figure in parts(page)["verdict"], (page, figure)
