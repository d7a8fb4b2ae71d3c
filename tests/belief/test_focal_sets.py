import copy
import pickle
import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evlearn.belief import FocalSets, reorder_masses
from strategies import families


def test_sets_are_ordered_by_size_then_lexicographically_with_the_empty_set_first():
    assert list(FocalSets.full(3)) == [(), (0,), (1,), (2,), (0, 1), (0, 2), (1, 2), (0, 1, 2)]


@given(families())
def test_order_is_by_size_and_then_lexicographic_for_every_family(focal_sets):
    assert list(focal_sets) == sorted(set(focal_sets), key=lambda subset: (len(subset), subset))


@pytest.mark.parametrize("c", [2, 3, 4, 5])
def test_named_families_contain_the_sets_of_r(reference, c):
    arrays = reference("makeF").arrays
    families_of_r = {
        f"c{c}_full_Omega_int": FocalSets.full(c),
        f"c{c}_simple_Omega_int": FocalSets.simple(c),
        f"c{c}_simple_noOmega_int": FocalSets.singletons(c),
        f"c{c}_pairs_Omega_int": FocalSets.pairs(c),
        f"c{c}_pairs_noOmega_int": FocalSets.pairs(c, include_omega=False),
    }
    if c == 4:
        families_of_r["c4_pairs_sel_12_13_Omega_int"] = FocalSets.pairs(4, [(0, 1), (0, 2)])
        families_of_r["c4_pairs_sel_12_13_noOmega_int"] = FocalSets.pairs(4, [(0, 1), (0, 2)], include_omega=False)
    for name, focal_sets in families_of_r.items():
        table = arrays[name]
        assert FocalSets.from_membership(table) == focal_sets, name
        if "full" not in name:  # R orders full families by binary codes
            np.testing.assert_array_equal(focal_sets.membership, table, err_msg=name)


def test_families_of_small_frames_have_no_duplicates():
    assert list(FocalSets.pairs(2)) == [(), (0,), (1,), (0, 1)]
    assert list(FocalSets.simple(1)) == [(), (0,)]
    assert list(FocalSets([(1, 0), (0, 1), ()], 2)) == [(), (0, 1)]


def test_structure_matrices_follow_their_definitions():
    sets = FocalSets.full(3)
    as_sets = [set(subset) for subset in sets]
    for k, a in enumerate(as_sets):
        for j, b in enumerate(as_sets):
            assert sets.conflict_matrix[k, j] == (not a & b)
            assert sets.emptiness_matrix[k, j] == (not a or not b)
            assert sets.same_singleton_matrix[k, j] == (k == j and len(a) == 1)
            assert sets.jaccard_matrix[k, j] == (len(a & b) / len(a | b) if a | b else 1)
            assert sets.subset_matrix()[k, j] == (a <= b)
            assert sets.intersects_matrix()[k, j] == bool(a & b)


def test_jaccard_matrix_of_the_pairwise_frame_is_the_published_one(seed_examples):
    np.testing.assert_array_equal(
        FocalSets.full(2).jaccard_matrix, seed_examples["jousselme_matrix_pairwise_frame"]["J"]
    )


def test_structure_matrices_cannot_be_changed():
    with pytest.raises(ValueError, match="read-only"):
        FocalSets.full(2).conflict_matrix[0, 0] = 3
    with pytest.raises(ValueError, match="read-only"):
        FocalSets.full(2).membership[0, 0] = True


@given(families())
def test_index_finds_every_set_and_positions_agree(focal_sets):
    assert [focal_sets.index(subset) for subset in focal_sets] == list(range(len(focal_sets)))
    np.testing.assert_array_equal(focal_sets.positions(focal_sets.membership), np.arange(len(focal_sets)))
    assert all(subset in focal_sets for subset in focal_sets)


@given(families(), st.sampled_from(["intersection", "union"]))
def test_closure_is_the_smallest_closed_family(focal_sets, operation):
    closed = focal_sets.closure(operation)
    combine = frozenset.__and__ if operation == "intersection" else frozenset.__or__
    expected = {frozenset(subset) for subset in focal_sets}
    while True:
        larger = expected | {combine(a, b) for a in expected for b in expected}
        if larger == expected:
            break
        expected = larger
    assert {frozenset(subset) for subset in closed} == expected
    gap = closed.intersection_gap if operation == "intersection" else closed.union_gap
    assert gap is None
    gap = focal_sets.intersection_gap if operation == "intersection" else focal_sets.union_gap
    assert (gap is None) == (len(closed) == len(focal_sets))


def test_sets_may_be_written_by_name_number_or_text():
    sets = FocalSets.full(["a", "b", "c"])
    notations = [("a", "c"), (0, 2), "a,c", "{c, a}", ["c", 0], range(0, 3, 2)]
    assert len({sets.index(subset) for subset in notations}) == 1
    assert sets.index("") == sets.index("∅") == sets.index(()) == 0
    assert sets.index("Ω") == sets.index("a,b,c") == len(sets) - 1
    assert FocalSets.full(3).index("0,2") == FocalSets.full(3).index((0, 2))


def test_labels_are_readable_with_and_without_names():
    assert FocalSets.full(3).labels == ("∅", "{0}", "{1}", "{2}", "{0,1}", "{0,2}", "{1,2}", "Ω")
    assert FocalSets.pairs(["x", "y", "z"]).labels[4] == "{x,y}"
    assert repr(FocalSets.simple(2)) == "FocalSets(∅, {0}, {1}, Ω; 2 elements)"
    assert "502 sets on 500 elements" in repr(FocalSets.simple(500))


def test_families_are_values():
    assert FocalSets.full(3) == FocalSets([(0,), (1,), (2,), (0, 1), (0, 2), (1, 2), (0, 1, 2)], 3)
    assert FocalSets.full(3) != FocalSets.full(["a", "b", "c"])
    assert FocalSets.full(3) != "full"
    assert len({FocalSets.full(3), FocalSets.full(3), FocalSets.simple(3)}) == 2
    assert pickle.loads(pickle.dumps(FocalSets.pairs(["a", "b", "c"]))) == FocalSets.pairs(["a", "b", "c"])
    assert FocalSets.full(2).with_names(["a", "b"]).with_names(None) == FocalSets.full(2)


def test_with_omega_adds_the_frame_once():
    assert FocalSets.singletons(3).with_omega() == FocalSets.simple(3)
    assert FocalSets.simple(3).with_omega() == FocalSets.simple(3)
    assert not FocalSets.singletons(3).has_omega


def test_singleton_positions_are_negative_for_missing_sets():
    np.testing.assert_array_equal(FocalSets([(2,), (0, 1)], 3).singleton_positions, [-1, -1, 1])


def test_reorder_masses_accepts_r_order_and_adds_the_empty_set():
    binary = np.array([[0, 0], [1, 0], [0, 1], [1, 1]])[::-1]
    masses, focal_sets = reorder_masses(np.array([[1, 2, 3, 4]], dtype=np.float32), binary, 2)
    assert focal_sets == FocalSets.full(2)
    assert masses.dtype == np.float32
    np.testing.assert_array_equal(masses, [[4, 3, 2, 1]])
    masses, focal_sets = reorder_masses([[1, 0]], [("b",), ("a",)], ["a", "b"])
    assert focal_sets.labels == ("∅", "{a}", "{b}")
    np.testing.assert_array_equal(masses, [[0, 0, 1]])


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: FocalSets([(0, 5)], 3), r"element 5, which is outside the frame of 3 .* 0 to 2.*enlarge"),
        (lambda: FocalSets([(-1,)], 3), "element -1"),
        (lambda: FocalSets(["a,d"], ["a", "b"]), r"element 'd'.*named a, b"),
        (lambda: FocalSets.full(21), r"frame has 21 elements.*2\^21"),
        (lambda: FocalSets.full(0), "at least one element"),
        (lambda: FocalSets.full([]), "at least one element"),
        (lambda: FocalSets.full(["a", "a"]), "names must be different"),
        (lambda: FocalSets(["a,b"], ["a,b", "c"]), r"element 'a'.*named \"a,b\", c"),
        (lambda: FocalSets(['"\\x"'], ["a"]), "not a JSON string"),
        (lambda: FocalSets.pairs(3, [(0, 0)]), "pairs must be sets of 2"),
        (lambda: FocalSets.from_membership([[0, 2]]), "zeros and ones"),
        (lambda: FocalSets.from_membership([[0, 1]], 3), "2 columns but frame has 3"),
        (lambda: FocalSets.simple(3).index((0, 1)), r"\{0,1\} is not one of the 5 focal sets.*with_sets"),
        (lambda: FocalSets.simple(3).closure("sum"), "operation must be 'intersection' or 'union', got 'sum'"),
        (lambda: FocalSets.full(17).conflict_matrix, "does not fit in memory"),
        (lambda: FocalSets.full(2).subset_matrix(FocalSets.full(3)), "must have the same frame"),
        (lambda: reorder_masses([[1, 0, 0]], [(0,)], 2), "3 columns, but sets has 1"),
        (lambda: reorder_masses([[1, 0]], [(0,), (0,)], 2), "contains a set twice"),
    ],
)
def test_errors_contain_the_fault_and_a_remedy(make, message):
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.parametrize("frame", ["abc", True, 2.5])
def test_invalid_frames_are_errors(frame):
    with pytest.raises(TypeError, match="frame must be"):
        FocalSets.full(frame)


def test_slices_and_invalid_numbers_are_errors():
    with pytest.raises(TypeError, match=r"use list\(focal_sets\)"):
        FocalSets.full(3)[1:3]
    with pytest.raises(ValueError, match="element '01'"):
        FocalSets(["01"], 3)


@pytest.mark.slow
def test_the_repr_of_a_large_family_is_immediate():
    assert repr(FocalSets.full(20)).endswith("1048576 sets on 20 elements)")


def test_a_number_as_a_set_is_an_error_with_a_remedy():
    with pytest.raises(TypeError, match=r"write \(1,\)"):
        FocalSets([1], 3)


def test_arrays_of_a_family_are_read_only():
    for family in (
        FocalSets.full(3),
        pickle.loads(pickle.dumps(FocalSets.full(3))),
        copy.deepcopy(FocalSets.full(3)),
    ):
        for name in (
            "membership",
            "sizes",
            "bit_codes",
            "singleton_positions",
            "conflict_matrix",
            "moebius_matrix",
        ):
            with pytest.raises(ValueError, match="read-only"):
                getattr(family, name)[-1] = 7


def test_a_wide_frame_takes_no_more_memory_than_its_table():
    tracemalloc.start()
    family = FocalSets([[5], [7, 9]], 2**16)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert len(family) == 3
    assert peak < 30 * 2**16


@pytest.mark.parametrize("n_elements", [1, 7, 8, 9, 31, 32, 33, 100])
def test_sets_are_in_one_order_on_frames_of_any_width(n_elements):
    random = np.random.default_rng(n_elements)
    rows = random.random((50, n_elements)) < random.random((50, 1))
    family = FocalSets.from_membership(np.vstack([rows, rows[:10]]))
    expected = sorted(
        {tuple(np.flatnonzero(row).tolist()) for row in rows} | {()}, key=lambda subset: (len(subset), subset)
    )
    assert list(family) == expected


CELLS = {"T": {"CD4": ["naive", "memory"], "CD8": None}, "myeloid": ["monocyte", "dendritic"], "B": None}
PARENTS = {"naive": "CD4", "memory": "CD4", "CD4": "T", "CD8": "T", "B": None}
PARENTS |= {"monocyte": "myeloid", "dendritic": "myeloid"}
LISTS = [[["naive", "memory"], "CD8"], ["monocyte", "dendritic"], "B"]
LEAVES = ["naive", "memory", "CD8", "monocyte", "dendritic", "B"]


@pytest.mark.parametrize(
    "tree", [CELLS, PARENTS, LISTS, [{"T": [{"CD4": ["naive", "memory"]}, "CD8"]}, ["monocyte", "dendritic"], "B"]]
)
def test_the_sets_of_a_tree_are_its_inner_nodes(tree):
    nodes = ["naive,memory", "monocyte,dendritic", "naive,memory,CD8"]
    assert FocalSets.from_tree(tree, LEAVES) == FocalSets.simple(LEAVES).with_sets(nodes)
    assert set(FocalSets.from_tree(tree).frame) == set(LEAVES)


def test_a_tree_of_numbers_has_numbered_elements():
    assert FocalSets.from_tree([[0, 1], [2, [3, 4]]]) == FocalSets.simple(5).with_sets([(0, 1), (3, 4), (2, 3, 4)])
    assert FocalSets.from_tree([[2, 0], 1], 3) == FocalSets.simple(3).with_sets([(0, 2)])


def test_nodes_of_a_tree_outside_the_frame_are_ignored_and_inner_nodes_may_be_elements():
    sets = FocalSets.from_tree(CELLS, ["B", "CD4", "CD8", "naive"])
    assert sets.labels[5:] == ("{CD4,naive}", "{CD4,CD8,naive}", "Ω")


@pytest.mark.parametrize(
    ("tree", "frame", "message"),
    [
        ("a,b", None, "tree must be a dict or a list, got 'a,b'"),
        ({"a": ["b"], "c": ["b"]}, None, "tree contains 'b' more than once"),
        ({"a": "b", "b": "a"}, None, "tree must not have a cycle"),
        ({"a": 3}, None, "children of 'a' in tree must be a list, a dict or None, got 3"),
        ([], None, r"tree must contain the names of clusters or classes, got \[\]"),
        ({"a": ["b", "c"]}, ["b", "d"], "tree lacks 'd', which is in the frame"),
    ],
)
def test_wrong_trees_are_refused(tree, frame, message):
    with pytest.raises((TypeError, ValueError), match=message):
        FocalSets.from_tree(tree, frame)
