"""Parses resources that have configs: `topic/NAME`, `namespace/NAME`, `broker/ID`, `cluster`."""

import re
from typing import TYPE_CHECKING, Annotated

from api.cli.admin.texts import topic_ref
from api.cli.options.parameters import Argument, bad_parameter

if TYPE_CHECKING:
    from controller.decisions.lookup import TopicRef

ConfigResourceArgument = Annotated[
    str,
    Argument(
        metavar="RESOURCE",
        help="topic/NAME, topic/@ID, namespace/NAME, broker/ID, cluster, group/NAME, "
        "client-metrics/NAME or broker-logger/ID.",
        show_default=False,
    ),
]

# As in the names of objects, a colon does as well.
_FORM = re.compile(r"([A-Za-z_-]+)[/:](.+)", re.DOTALL)


def config_resource(text: str, namespace: str) -> "tuple[int, TopicRef]":
    """Return the type and the name of a resource.

    Args:
        namespace: The namespace that contains the resource, if it is a topic or a namespace.
    """
    from controller.decisions.configs.effective import CLUSTER_DEFAULT
    from controller.decisions.names import full_name
    from replay.image.configs import BROKER, NAMESPACE, RESOURCE_TYPES, TOPIC

    if text == "cluster":
        return BROKER, CLUSTER_DEFAULT
    form = _FORM.fullmatch(text)
    type_ = RESOURCE_TYPES.get(form[1].lower().replace("_", "-")) if form else None
    if form is None or type_ is None:
        known = ", ".join(f"{name}/NAME" for name in RESOURCE_TYPES)
        raise bad_parameter(f"{text!r} is none of {known} and cluster")
    if type_ == TOPIC:
        return type_, topic_ref(form[2], namespace)
    return type_, full_name(namespace, form[2]) if type_ == NAMESPACE else form[2]
