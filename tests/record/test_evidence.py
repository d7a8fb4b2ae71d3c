"""The table of evidence."""

import sys
from pathlib import Path

import pytest

from benchmarks import stale

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def pages():
    sys.path.insert(0, str(ROOT / "docs"))
    import record_pages
    from record_pages import evidence

    sys.path.pop(0)
    return record_pages, evidence


@pytest.fixture(scope="module")
def comparisons(pages):
    record_pages, evidence = pages
    return evidence.all_comparisons(record_pages.read_results)


#: Advertised features that need a row, as words of the features of rows.
FEATURES = (
    *("CredalEnsemble", "CCM", "estimate_n_clusters", "tabular_clusterer", "TableEncoder", "FusionClassifier"),
    *("Annotations", "find_label_issues", "ConformalClassifier", "noise of HDBSCAN", "UnseenClassDetector"),
    *("EvidentialForestClassifier", "missing values", "SECM", "DriftMonitor", "track_clusters", "embeddings"),
    *("speed", "sparse masses", "save_model", "data with errors", "views"),
)
#: Packages that the rows compare with.
PACKAGES = ("cleanlab", "MAPIE", "crepes", "crowd-kit", "skops", "faiss", "trimmed k-means")


def test_at_least_5_features_are_better_than_the_best_alternative(pages, comparisons):
    won = pages[1].tasks_won(comparisons)
    features = {feature for feature, _ in won}
    assert len(features) >= 5
    n_tasks = len({(entry.feature, entry.measure) for entry in comparisons})
    text = f"**In {len(won)} of {n_tasks} tasks, of {len(features)} features**"
    assert text in pages[1].in_short(comparisons)


def test_a_task_is_won_only_against_all_alternatives(pages):
    Comparison = pages[1].Comparison

    def row(measure, low):
        gain = {"mean": low + 1, "low": low, "high": low + 2}
        return Comparison("CCM", measure, 1, "k-means", 0, gain, "answers", "generated", "/record/answers")

    assert pages[1].tasks_won([row("ARI", 1), row("ARI", -1), row("AURC", 1)]) == [("CCM", "AURC")]


@pytest.mark.parametrize("word", FEATURES)
def test_each_advertised_feature_has_a_row(comparisons, word):
    assert any(word in comparison.feature for comparison in comparisons)


def test_rows_compare_with_the_packages_for_the_same_task(comparisons):
    # A better alternative of the same row can replace a package, so its name is in the table or in its sources.
    text = " ".join(comparison.alternative for comparison in comparisons)
    source = (ROOT / "docs" / "record_pages" / "evidence.py").read_text()
    for name in PACKAGES:
        assert name in text or f'"{name}' in source


def test_outcomes_agree_with_the_figures(comparisons):
    for comparison in comparisons:
        if comparison.gain is None:
            assert comparison.outcome.startswith("single case")
            continue
        assert comparison.gain["low"] <= comparison.gain["mean"] <= comparison.gain["high"]
        # Small values of some measures are better, so a win or a loss only excludes equality.
        if comparison.outcome != "tie":
            assert comparison.score != comparison.peer_score


def test_losses_are_as_prominent_as_wins(pages, comparisons):
    outcomes, text = pages[1], pages[1].in_short(comparisons)
    single = text.split("Single cases")[1]
    places = {
        outcomes.WIN: text.split("Better than the best alternative")[1].split("Worse, so")[0],
        outcomes.LOSS: text.split("use the alternative")[1].split("No clear difference")[0],
        outcomes.TIE: text.split("No clear difference")[1].split("Single cases")[0],
    }
    for entry in comparisons:
        if entry.outcome in places:
            assert f"{entry.feature} versus {entry.alternative} ({entry.measure})" in places[entry.outcome]
    n_better, n_worse = (
        sum(entry.outcome == outcome for entry in comparisons) for outcome in (outcomes.BETTER, outcomes.WORSE)
    )
    assert f"{n_better} are better and {n_worse} worse" in single


def test_lost_rows_name_the_recommended_alternative(pages, comparisons):
    worse = [entry for entry in comparisons if entry.outcome in (pages[1].LOSS, pages[1].WORSE)]
    text = pages[1].comparison_table(worse, pages[0].read_results)
    assert worse
    for entry in worse:
        assert f"{entry.outcome}; use {entry.alternative}\n" in text


def test_each_row_shows_whether_its_result_is_older_than_the_code(pages, comparisons):
    for entry in comparisons[:3]:
        is_current = stale.status(entry.result).kind == stale.CURRENT
        text = pages[1].comparison_table([entry], pages[0].read_results)
        assert (", current\n" in text) == is_current
        assert (", older than the code\n" in text) == (not is_current)


def test_each_row_names_its_command_date_and_data(pages, comparisons):
    for comparison in comparisons:
        results = pages[0].read_results(comparison.result)
        assert results["command"].startswith("python ")
        assert results["date"]
        assert comparison.data
