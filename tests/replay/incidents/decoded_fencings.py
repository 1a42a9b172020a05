"""Why brokers were fenced, by the records of a real log as another program decoded them."""

from collections.abc import Iterator
from itertools import pairwise

from tests.real_logs import DataSet

STOPPED = "was fenced (controlled shutdown, inferred)"
STALLED = "was fenced (missed heartbeats; it did not restart"


class DecodedFencings:
    """The records of a real log as another program decoded them, replayed by rules of its own."""

    def __init__(self, data_set: DataSet) -> None:
        self.rows = [row for each in data_set.segments for row in each.oracle()]
        self.terms = [n for n, row in enumerate(self.rows) if row["type"] == "LeaderChangeMessage"]

    def fencings(self) -> Iterator[tuple[int, int, bool]]:
        """Yield index and broker of each fencing of one that was up, and whether it led anything.

        A broker leads until the batch that fences it.
        """
        led: dict[tuple[str, int], int] = {}
        in_batch: dict[tuple[str, int], int] = {}
        up: set[int] = set()
        batch_at = -1
        for number, row in enumerate(self.rows):
            record = row["data"]
            if row["batchBaseOffset"] != batch_at:
                batch_at, led, in_batch = row["batchBaseOffset"], {**led, **in_batch}, {}
            if row["type"] in ("PartitionRecord", "PartitionChangeRecord"):
                if record["leader"] >= -1:
                    in_batch[record["topicId"], record["partitionId"]] = record["leader"]
            elif row["type"] == "RemoveTopicRecord":
                led = {key: node for key, node in led.items() if key[0] != record["topicId"]}
            elif row["type"] == "UnfenceBrokerRecord":
                up.add(record["id"])
            elif row["type"] == "RegisterBrokerRecord":
                up.discard(record["brokerId"])
            elif row["type"] == "BrokerRegistrationChangeRecord":
                node = record["brokerId"]
                if record["fenced"] == 1 and node in up:
                    yield number, node, node in led.values()
                if record["fenced"] == -1:
                    up.add(node)
                elif record["fenced"] == 1 or record.get("inControlledShutdown") == 1:
                    up.discard(node)

    def reasons(self) -> dict[int, tuple[str, int]]:
        """Return, by the offset of each fencing that others explain, why, and what shows it."""
        found = {}
        for number, node, led in self.fencings():
            back, is_new = self._back(number, node)
            if back is None:
                continue
            text = None
            if not is_new:
                text = f"{STALLED}{self._paused(number)})"
            elif not led and self._is_end(number, node):
                text = STOPPED
            if text is not None:
                found[self.rows[number]["offset"]] = text, self.rows[back]["offset"]
        return found

    def stops_by_term(self) -> list[int]:
        """Return the time of an orderly stop, for each term that has one."""
        stops = [offset for offset, (text, _) in self.reasons().items() if text == STOPPED]
        terms = [self.rows[each]["offset"] for each in self.terms]
        times = {row["offset"]: row["timestamp"] for row in self.rows}
        return list({max(it for it in terms if it < at): times[at] for at in stops}.values())

    def _before(self, number: int) -> tuple[int, bool]:
        """Return the longest pause in the 9 s before a row, and whether there are NoOps."""
        begin = max(each for each in self.terms if each < number)
        time = self.rows[number]["timestamp"]
        near = [row for row in self.rows[begin:number] if time - row["timestamp"] < 9_000]
        first = number - len(near) - 1
        near = self.rows[max(first, begin) : number]
        times = [*(row["timestamp"] for row in near), time]
        pauses = [after - before for before, after in pairwise(times)]
        return max(pauses), "NoOpRecord" in {row["type"] for row in near}

    def _paused(self, number: int) -> str:
        pause, has_noops = self._before(number)
        if pause < 2_000 or not has_noops:
            return ""
        return f", and the controller wrote nothing for up to {round(pause / 1_000, 1):g} s"

    def _is_end(self, number: int, node: int) -> bool:
        begin = max(each for each in self.terms if each < number)
        end = min((each for each in self.terms if each > number), default=None)
        time = self.rows[number]["timestamp"]
        if end is None or self.rows[end - 1]["timestamp"] - time > 500:
            return False
        pause, has_noops = self._before(number)
        if pause >= 2_000 or not has_noops:
            return False
        leader = self.rows[begin]["data"]["leaderId"]
        down = {
            row["data"]["brokerId"]
            for row in self.rows[begin:end]
            if row["type"] == "BrokerRegistrationChangeRecord"
            and row["timestamp"] >= time - 500
            and (row["data"]["fenced"] == 1 or row["data"].get("inControlledShutdown") == 1)
        }
        brokers = {
            row["data"]["brokerId"] for row in self.rows[:number] if "RegisterB" in row["type"]
        }
        return leader in down and (node == leader or down == brokers)

    def _back(self, number: int, node: int) -> tuple[int | None, bool]:
        """Return what registered or unfenced a broker next, and whether another process did."""
        runs = [
            row["data"]["incarnationId"]
            for row in self.rows[:number]
            if row["type"] == "RegisterBrokerRecord" and row["data"]["brokerId"] == node
        ]
        for index, row in enumerate(self.rows[number + 1 :], number + 1):
            record = row["data"]
            if row["type"] == "RegisterBrokerRecord" and record["brokerId"] == node:
                return index, record["incarnationId"] != runs[-1]
            if record.get("fenced") == -1 and record.get("brokerId") == node:
                return index, False
        return None, False
