"""Differences of persistent maps: the values that only one of them has."""

import random

import pytest
from immutables import Map

from replay.image.map_differences import unshared_values


class _Key:
    """A key with many hash collisions, so that equal maps may iterate in different orders."""

    def __init__(self, number: int) -> None:
        self.number = number

    def __hash__(self) -> int:
        return self.number % 7


@pytest.mark.parametrize("seed", range(8))
def test_values_of_one_map_only_are_found_by_identity_in_any_order(seed: int) -> None:
    rng = random.Random(seed)
    keys = [_Key(number) for number in range(40)]
    values = {key: [key.number] for key in keys}
    kept = rng.sample(keys, 30)
    old = Map({key: values[key] for key in kept})
    new = Map({key: values[key] for key in rng.sample(keys, rng.randrange(41))})
    changed = rng.sample(list(new), len(new) // 3)
    new = new.update({key: list(values[key]) for key in changed})
    only_old, only_new = unshared_values(old, new)
    ids_of_old, ids_of_new = set(map(id, old.values())), set(map(id, new.values()))
    assert sorted(map(id, only_old)) == sorted(ids_of_old - ids_of_new)
    assert sorted(map(id, only_new)) == sorted(ids_of_new - ids_of_old)


def test_map_shares_all_its_values_with_itself() -> None:
    one: Map[int, str] = Map({number: f"value {number}" for number in range(100)})
    assert unshared_values(one, one) == ([], [])
    assert unshared_values(one, Map(one.items())) == ([], [])
