import pytest

from evlearn.belief import FocalSets, MassFunction


@pytest.fixture
def m():
    return MassFunction(["a", "b", "c"], {"a": 0.5, "b,c": 0.3, "Ω": 0.2})


def test_notation_of_masses_belief_and_plausibility(m):
    assert m["a"] == 0.5
    assert m["c,b"] == 0.3
    assert m["b"] == 0
    assert m.bel("b,c") == pytest.approx(0.3)
    assert m.pl("a") == pytest.approx(0.7)
    assert m.q("b,c") == pytest.approx(0.5)
    assert m.contour() == pytest.approx({"a": 0.7, "b": 0.5, "c": 0.5})
    assert m.betp() == pytest.approx({"a": 0.5 + 0.2 / 3, "b": 0.15 + 0.2 / 3, "c": 0.15 + 0.2 / 3})
    assert list(m) == ["{a}", "{b,c}", "Ω"]
    assert len(m) == 3
    assert repr(m) == "m({a}) = 0.5\nm({b,c}) = 0.3\nm(Ω) = 0.2"


def test_operators_are_the_classical_rules(m):
    other = MassFunction(["a", "b", "c"], {"b": 0.6, "Ω": 0.4})
    conjunction = m & other
    assert conjunction[""] == pytest.approx(0.3)
    assert m.conflict(other) == pytest.approx(0.3)
    assert (m + other)["a"] == pytest.approx(0.2 / 0.7)
    assert (m | other)["a,b"] == pytest.approx(0.3)
    assert conjunction.normalize()["a"] == pytest.approx(0.2 / 0.7)
    assert conjunction.normalize("yager")["Ω"] == pytest.approx(0.08 + 0.3)


@pytest.mark.parametrize("rule", ["yager", "dubois_prade", "average", "cautious"])
def test_rules_have_names(m, rule):
    combined = m.combine(m, rule)
    assert sum(combined[label] for label in combined) == pytest.approx(1)
    if rule in ("average", "cautious"):
        assert [combined[label] for label in m] == pytest.approx([m[label] for label in m])


def test_conditioning_and_nonspecificity(m):
    assert m.condition("b,c")["b,c"] == pytest.approx(1)
    assert m.condition("b,c", normalize=False)[""] == pytest.approx(0.5)
    assert m.nonspecificity() == pytest.approx(0.3 + 0.2 * 1.584962500721156)


def test_conversion_from_and_to_arrays(m):
    full = FocalSets.full(["a", "b", "c"])
    assert m.to_array(full).shape == (8,)
    assert MassFunction.from_array(m.to_array(full), full) == m
    assert m != MassFunction(["a", "b"], {"a": 1.0})
    assert m != MassFunction(["a", "b", "c"], {"a": 1.0})
    assert "<td>{b,c}</td><td>0.3</td>" in m._repr_html_()


def test_an_incomplete_mass_function_is_an_error():
    m = MassFunction(["a", "b"])
    assert "without masses" in repr(m)
    m["a"] = 0.9
    with pytest.raises(ValueError, match=r'sum to 0.9 instead of 1; .* m\["Ω"\] = 0.1'):
        m.bel("a")


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda m: m.__setitem__("a", 1.5), "between 0 and 1, got 1.5"),
        (lambda m: m.__setitem__("z", 0.5), "element 'z', which is outside the frame"),
        (lambda m: m.combine(m, "magic"), "rule must be one of"),
        (lambda m: m + MassFunction(["x"], {"x": 1}), "same frame"),
        (lambda m: MassFunction(["a", "b"], {"a": 1}) + MassFunction(["a", "b"], {"b": 1}), "conflict 1"),
        (lambda m: MassFunction(["a", "b"], {"a": 1}).condition("b"), "on='b' is impossible"),
    ],
)
def test_errors_contain_a_remedy(m, call, message):
    with pytest.raises(ValueError, match=message):
        call(m)


def test_a_random_set_sums_probabilities_of_states_with_the_same_set():
    states = {1: 0.5, 2: 0.3, 3: 0.2}
    m = MassFunction.from_random_set(["a", "b", "c"], states, {1: "a", 2: "b,c", 3: "c,b"})
    assert m["a"] == 0.5
    assert m["b,c"] == pytest.approx(0.5)
    # Belief is the probability of states that imply a set, plausibility of those that are compatible with it.
    assert m.bel("b,c") == pytest.approx(0.5)
    assert m.pl("a,b") == pytest.approx(1)
    with pytest.raises(ValueError, match=r"must have the same states, but only one of them has \['3'\]"):
        MassFunction.from_random_set(["a", "b"], {1: 0.5, 3: 0.5}, {1: "a"})
    with pytest.raises(ValueError, match=r"the masses sum to 0\.5 instead of 1"):
        MassFunction.from_random_set(["a", "b"], {1: 0.5}, {1: "a"})
