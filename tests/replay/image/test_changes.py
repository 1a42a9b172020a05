"""Changes of persistent maps: reads see the pending changes, which are applied once."""

from immutables import Map

from replay.image.changes import MapDelta, NestedMapDelta

BASE = Map({"a": 1, "b": 2, "c": 3})


def test_newest_values_are_read_over_those_below() -> None:
    delta = MapDelta(BASE)
    delta.put("a", 10)
    delta.put("d", 4)
    assert delta.take("b") == 2
    assert delta.take("b") is None
    assert [delta.get(key) for key in "abcd"] == [10, None, 3, 4]
    assert sorted(delta.items()) == [("a", 10), ("c", 3), ("d", 4)]
    assert set(delta.changed) == {"a", "b", "d"}
    assert dict(delta.apply()) == {"a": 10, "c": 3, "d": 4}
    assert dict(BASE) == {"a": 1, "b": 2, "c": 3}


def test_map_is_empty_once_all_its_keys_are_taken() -> None:
    delta = MapDelta(BASE)
    for key in "abc":
        assert not delta.is_empty()
        delta.take(key)
    assert delta.is_empty()
    delta.put("a", 1)
    assert not delta.is_empty()


def test_nothing_changed_gives_the_same_map() -> None:
    assert MapDelta(BASE).apply() is BASE
    nested = Map({"outer": BASE})
    delta = NestedMapDelta(nested)
    assert delta.at("outer").get("a") == 1
    assert delta.take("unknown") == {}
    assert delta.changed == []
    assert delta.apply() is nested


def test_taking_an_outer_key_gives_its_newest_values() -> None:
    delta = NestedMapDelta(Map({"outer": BASE, "other": BASE}))
    delta.at("outer").take("a")
    delta.at("outer").put("b", 20)
    assert delta.take("outer") == {"b": 20, "c": 3}
    assert delta.take("outer") == {}
    assert dict(delta.apply()) == {"other": BASE}


def test_inner_map_that_became_empty_is_not_kept() -> None:
    delta = NestedMapDelta(Map({"outer": Map({"a": 1})}))
    delta.at("outer").take("a")
    assert dict(delta.apply()) == {}


def test_outer_key_that_was_taken_can_be_filled_again() -> None:
    delta = NestedMapDelta(Map({"outer": BASE}))
    delta.take("outer")
    delta.at("outer").put("z", 26)
    assert delta.apply() == Map({"outer": Map({"z": 26})})
