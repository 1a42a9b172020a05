"""Some starts of real commands on logs with a damaged commit mark."""

from tests.torture.campaigns import starts


def test_commands_start_while_one_slot_of_the_mark_is_valid() -> None:
    outcome = starts.run_some(3, 3 * len(starts.COMMANDS))
    assert [failure.message for failure in outcome.failures] == []
