"""Commands of kafka-acls for access control entries."""

from records.text import uuid_text
from replay.image.acls import Acl
from replay.image.metadata import MetadataImage
from replay.kafka_commands.command import Command, NotSaid, Said

_OPERATIONS = {
    2: "All",
    3: "Read",
    4: "Write",
    5: "Create",
    6: "Delete",
    7: "Alter",
    8: "Describe",
    9: "ClusterAction",
    10: "DescribeConfigs",
    11: "AlterConfigs",
    12: "IdempotentWrite",
    13: "CreateTokens",
    14: "DescribeTokens",
    15: "TwoPhaseCommit",
}
_CLUSTER = 4
_RESOURCES = {2: "--topic", 3: "--group", 5: "--transactional-id", 6: "--delegation-token"}
_USER = 7
_PREFIXED = 4
_ALLOW = 3

_Entry = tuple[int, int, str, str, str, int, int]


def acl_commands(before: MetadataImage, after: MetadataImage) -> Said:
    """Yield the commands that turn the ACLs of one state into those of another.

    ACLs are compared by content; an added ACL gets a new id.
    """
    old, new = _entries(before), _entries(after)
    for entry in sorted(old.keys() - new.keys()):
        yield _command("--remove", old[entry], "--force")
    for entry in sorted(new.keys() - old.keys()):
        yield _command("--add", new[entry])


def _entries(image: MetadataImage) -> dict[_Entry, Acl]:
    """Return the ACLs by their content, without the id."""
    return {
        (
            *(acl.resource_type, acl.pattern_type, acl.resource_name, acl.principal, acl.host),
            *(acl.operation, acl.permission_type),
        ): acl
        for acl in image.acls()
    }


def _command(verb: str, acl: Acl, *rest: str) -> Command | NotSaid:
    about = f"acl:{uuid_text(acl.id)}"
    resource = _resource(acl)
    if resource is None:
        return NotSaid(object=about, reason="Kafka has no such resource")
    permission = "allow" if acl.permission_type == _ALLOW else "deny"
    arguments = [verb, f"--{permission}-principal", acl.principal]
    arguments += [f"--{permission}-host", acl.host, "--operation", _OPERATIONS[acl.operation]]
    return Command(object=about, tool="kafka-acls", arguments=[*arguments, *resource, *rest])


def _resource(acl: Acl) -> list[str] | None:
    if acl.resource_type == _CLUSTER:
        return ["--cluster"]
    if acl.resource_type == _USER:
        resource = ["--user-principal", acl.resource_name]
    elif acl.resource_type in _RESOURCES:
        resource = [_RESOURCES[acl.resource_type], acl.resource_name]
    else:
        return None
    pattern = "prefixed" if acl.pattern_type == _PREFIXED else "literal"
    return [*resource, "--resource-pattern-type", pattern]
