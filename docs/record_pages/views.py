"""Parts of the case study on clusters of several views."""

from .tables import interval_text, provenance, table

VIEWS, ORACLE = "CredalEnsemble, views", "best view"
DATA = "multiple features"


def parts(read_results):
    """Return the texts of the page."""
    results = read_results("answers_views")
    cases = results["judged"][DATA]
    return {
        "ari": scores(cases, "ari"),
        "doubt": doubt(cases),
        "gains": gains(cases),
        "made": provenance(results),
    }


def scores(cases, score):
    """Return the means of a score, by method and case."""
    methods = list(next(iter(cases.values()))["means"])
    rows = [[method, *(f"{case['means'][method][score]:.3f}" for case in cases.values())] for method in methods]
    return table(["method", *cases], rows)


def doubt(cases):
    """Return the doubt of both ensembles: AURC, sure samples, their errors, and detection of foreign views."""
    rows = []
    for name, case in cases.items():
        for method in (VIEWS, case["best other"]):
            means = case["means"][method]
            sure = means.get("sure")
            rows.append(
                [
                    name,
                    method,
                    f"{means['aurc']:.4f}",
                    None if sure is None else f"{100 * sure:.0f} %",
                    None if sure is None else f"{100 * means['falsely sure'] / sure:.1f} %",
                    f"{means['detection']:.2f}" if "detection" in means else None,
                ]
            )
    return table(["case", "method", "AURC", "sure", "sure and wrong, of all sure", "detection"], rows)


def gains(cases):
    """Return the gains in ARI and AURC over the method with the next best ARI."""
    rows = [
        [
            name,
            case["best other"],
            *(interval_text(case["gains"][case["best other"]][score], "+.3f") for score in ("ari", "aurc")),
        ]
        for name, case in cases.items()
    ]
    return table(["case", "best other method", "gain in ARI", "decrease of the AURC"], rows)
