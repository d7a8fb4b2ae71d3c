"""Tests that quoted numbers agree with the record; pages quote it by includes, or as listed here."""

import importlib
import re
from pathlib import Path

import pytest

from benchmarks.common import record

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
GUIDE = [path for folder in ("guide", "papers") for path in sorted((DOCS / folder).glob("*.rst"))]
GUIDE += [DOCS / "faq.rst", DOCS / "install.rst", DOCS / "index.rst"]
#: Mention of a page of the record, a file of results, or a command that creates one.
CITES = re.compile(r"record/\w|benchmarks/results|benchmarks\.studies")
#: Numbers in a paragraph that cites the record, which are not results; only these texts are exempt.
NOT_MEASURED = {
    "guide/nightly_jobs.rst": [
        "alarms at the level 0.05",
        "a shift of 0.3 or 0.15 standard deviations",
        "moved by 0.6 standard deviations",
        "a cluster that is 1.5 times as large",
    ],
    "guide/ecm.rst": ["without the factor 0.4"],
    "papers/prototypes.rst": ["without the factor 0.4"],
    "papers/theory.rst": ["a belief of 0.9 need not be right"],
}


def quoted():
    """Yield sentences of pages with the expected numbers."""
    load = record.load
    biopsies, credit, languages = load("case_biopsies"), load("case_credit"), load("case_languages")
    yield "case_studies/biopsies.rst", f"the cell nuclei of {biopsies['samples']} breast biopsies"
    yield "case_studies/biopsies.rst", f"time to check {biopsies['looks']} of the {biopsies['samples']}"
    yield "case_studies/biopsies.rst", f"means over {biopsies['repetitions']} random halves"
    yield "case_studies/biopsies.rst", f"From a budget of {100 * overtaking(biopsies):.0f} % on"
    looks = [credit["methods"][gaps]["evidential neighbors"]["look"]["mean"] for gaps in credit["methods"]]
    yield "record/decisions.rst", f"A bank has {credit['samples']:,} past applications"
    yield "record/decisions.rst", f"{looks[1]:.0f} of 100 applications are reviewed instead of {looks[0]:.0f}"
    yield "case_studies/cells.rst", f"the genes of {load('case_cells')['samples']} blood cells"
    sure = sum(len(entry["candidates"]) == 1 for entry in languages["map"])
    yield "case_studies/languages.rst", f"4 clusters of {languages['samples']} languages"
    yield "case_studies/languages.rst", f"reviews the {languages['looks']} with the largest doubt"
    yield "case_studies/languages.rst", f"{sure} languages are sure"
    printed = load("reproduction_kcevclus")["printed_weight"]
    yield (
        "record/reproduction.rst",
        f"the weight of the equation, {printed['within']} of {printed['cells']} cells of Table 2 agree",
    )
    butterfly = [
        entry for entry in load("reproduction_nnevclus")["cells"] if entry["table"] == "NN-EVCLUS, Table 1"
    ]
    assert all(entry["within"] for entry in butterfly)
    yield "record/reproduction.rst", f"all {len(butterfly)} cells agree"
    starts, embeddings = load("scale_starts"), load("scale_many_embeddings")
    yield (
        "record/scale.rst",
        f"{starts['rows']:,} rows of {starts['features']} features in {starts['clusters']} clusters",
    )
    sets = {entry["focal_sets"] for entry in embeddings["runs"]}.pop()
    yield (
        "record/scale.rst",
        f"{embeddings['features']} features, {embeddings['clusters']} clusters and {sets} focal sets",
    )
    balls = {
        entry["assumed_model"]: f"{entry['length']:.2f}"
        for entry in load("reproduction_coverage")["cells"]
        if (entry["true_model"], entry["interval"], entry["confidence"]) == ("EII", "BelPl", 0.9)
    }
    yield "papers/mixture_models.rst", f"longer, {balls['VVV']} instead of {balls['EII']} for VVV on equal balls"
    weeks = load("embeddings_job")["first week"]
    names = ("CCM from k-means", "CCM", "CredalClusterer(k-means)")
    start, topics, labels = (f"{weeks[name]['AUROC, unseen']:.2f}" for name in names)
    distance = f"{weeks[names[0]]['AUROC, unseen (distance)']:.2f}"
    yield "guide/ccm.rst", f"{start} for outlier scores and {distance} for distances"
    yield "guide/ccm.rst", f"it is {topics} for outlier scores"
    yield "guide/ccm.rst", f"around k-means, {labels}"
    means = load("scale_ensemble")["means"]
    yield "guide/ensemble.rst", f"the ARI of k-means with 10 clusters is {means['k-means']['ari']:.2f}"


def overtaking(biopsies):
    """Return the smallest share of reviews from which on these methods leave fewer errors than the mixture."""
    curves = biopsies["curves"]
    names = ("CCM", "ECM", "CredalEnsemble", "fuzzy c-means")
    behind = [
        share
        for position, share in enumerate(biopsies["shares"])
        if any(curves[name][position] >= curves["Gaussian mixture"][position] for name in names)
    ]
    return min(share for share in biopsies["shares"] if share > max(behind))


def words(text):
    """Return the text without line breaks."""
    return " ".join(text.split())


@pytest.fixture
def pages(monkeypatch):
    """Return the package of the pages, and a function that returns the parts of a page."""
    monkeypatch.syspath_prepend(DOCS)
    package = importlib.import_module("record_pages")

    def parts(page):
        return importlib.import_module(f"record_pages.{page}").parts(package.read_results)

    return package, parts


@pytest.mark.parametrize(("page", "text"), list(quoted()))
def test_quoted_sentences_agree_with_the_results(page, text):
    assert words(text) in words((DOCS / page).read_text(encoding="utf-8")), f"{page} must have: {text}"


@pytest.mark.parametrize("path", GUIDE, ids=lambda path: path.stem)
def test_a_paragraph_that_cites_the_record_includes_its_numbers_or_is_listed(path):
    page = str(path.relative_to(DOCS))
    exempt = [words(text) for name, text in quoted() if name == page]
    exempt += NOT_MEASURED.get(page, [])
    for paragraph in re.split(r"\n\s*\n", path.read_text(encoding="utf-8")):
        prose = words(re.sub(r"``[^`]*``|:\w+:`[^`]*`", "", paragraph))
        if CITES.search(paragraph):
            for text in exempt:
                prose = prose.replace(text, "")
            assert not re.search(r"\d*\.\d+", prose), f"{page}: include what record_pages/quoted.py makes of it"


def test_the_included_parts_are_the_generated_parts(pages):
    package, parts = pages
    included = {
        name
        for path in [*DOCS.glob("*.rst"), *DOCS.glob("*/*.rst")]
        for name in re.findall(r"\.\. include:: \S*generated/(\w+)\.inc", path.read_text(encoding="utf-8"))
    }
    generated = {
        f"{page}_{name}" for page in package.PAGES for name, part in parts(page).items() if isinstance(part, str)
    }
    assert included <= generated
    assert {name for name in generated if name.startswith(("quoted_", "landing_"))} <= included


@pytest.mark.slow
def test_the_front_page_and_the_verdicts_have_the_same_figures(pages):
    package, parts = pages
    landing = importlib.import_module("record_pages.landing")
    common = {
        "reproduction": r"\d+ of \d+ published numbers",
        "peers": r"\d+ to \d+ times",
        "scale": r"[\d.]+ minutes",
    }
    for _, text, page in landing.proved(package.read_results):
        figures = re.findall(common[page], text)
        assert figures
        for figure in figures:
            assert figure in parts(page)["verdict"], (page, figure)


#: Number of words before a number, minimum number of these without digits and marks, and number of words after it.
N_BEFORE, N_PLAIN, N_AFTER = 5, 4, 2
NUMBER = re.compile(r"\d[\d.,]*(?<![.,])")
#: Words of contexts in which numbers differ between pages, with the reason.
DIFFERENT = {"expensive than": "the same sentence about the data of each case study"}
#: Minimum number of contexts that several pages have, so that the search does not become empty.
MIN_REPEATED = 20


def contexts(text):
    """Yield each number of the sentences of a page, with the words before and after it."""
    for paragraph in re.split(r"\n\s*\n", text):
        if ">>>" in paragraph or paragraph.lstrip().startswith("* -"):
            continue
        tokens = re.sub(r"[`*|()\[\];:]", " ", paragraph).split()
        for i, token in enumerate(tokens):
            before, number = tokens[max(i - N_BEFORE, 0) : i], NUMBER.match(token)
            if number and sum(word.strip(",.%").isalpha() for word in before) >= N_PLAIN:
                yield " ".join([*before, "#", *tokens[i + 1 : i + 1 + N_AFTER]]), number[0]


def test_contexts_of_numbers():
    text = "The score of a method is 0.74, and\nthat of *CCM* is 0.47.\n\n>>> a = 3\n"
    assert list(contexts(text)) == [
        ("score of a method is # and that", "0.74"),
        ("and that of CCM is #", "0.47"),
    ]


@pytest.mark.slow
def test_a_figure_has_the_same_value_on_all_pages(pages):
    package, parts = pages
    generated = {
        f"{page}_{name}": part
        for page in package.PAGES
        for name, part in parts(page).items()
        if isinstance(part, str)
    }

    def rendered(path):
        text = path.read_text(encoding="utf-8")
        return re.sub(r"\.\. include:: \S*generated/(\w+)\.inc", lambda match: generated[match[1]], text)

    written_by_sphinx = {DOCS / "gallery", DOCS / "paper_figures"}
    paths = [*DOCS.glob("*.rst"), *(path for path in DOCS.glob("*/*.rst") if path.parent not in written_by_sphinx)]
    paths += [ROOT / "README.md", ROOT / "CHANGELOG.md"]
    values, n_repeated = {}, 0
    for path in paths:
        for context, number in contexts(rendered(path)):
            values.setdefault(context, {}).setdefault(str(path.relative_to(ROOT)), set()).add(number)
    for context, by_page in values.items():
        if len(by_page) > 1 and not any(text in context for text in DIFFERENT):
            n_repeated += 1
            assert len(set().union(*by_page.values())) == 1, f"{context}: {by_page}"
    assert n_repeated > MIN_REPEATED
