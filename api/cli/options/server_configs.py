"""Server-level configs of `serve` and `broker`: a config that the command does not use is refused.

A config without effect must not be accepted: users would think that it is set.
"""

from api.cli.options.parameters import bad_parameter

TOPIC_POLICY = "create.topic.policy.class.name"
CONFIG_POLICY = "alter.config.policy.class.name"

SERVE, BROKER = "serve", "broker"
"""The commands with server-level configs."""


def used_configs(command: str) -> frozenset[str]:
    """Return the names of the configs that a command uses."""
    from controller.decisions.config_definitions.brokers import OF_EACH_PROCESS
    from controller.decisions.configs.static import DECIDING

    if command == BROKER:
        return OF_EACH_PROCESS
    return OF_EACH_PROCESS | DECIDING | {TOPIC_POLICY, CONFIG_POLICY}


def check_server_config(command: str, name: str, value: str) -> None:
    """Check the name and value of a server-level config.

    Raises:
        typer.BadParameter: the config is unknown, unused, has an invalid value, or is a secret.
    """
    from controller.decisions.config_definitions.brokers import broker_config
    from controller.decisions.config_definitions.resources import unknown_config
    from controller.decisions.security.tokens import SECRET_KEY
    from replay.image import configs

    if name == SECRET_KEY:
        raise bad_parameter(
            "other users can see a secret on the command line; use --secret-key-file",
            param_hint=f"--config {SECRET_KEY}",
        )
    definition = broker_config(name)
    try:
        if definition is None:
            raise ValueError(str(unknown_config(configs.BROKER, name)))
        if name not in used_configs(command):
            raise ValueError(_unused(command, name))
        definition.check(value)
    except ValueError as error:
        raise bad_parameter(str(error), param_hint=f"--config {name}") from None


def _unused(command: str, name: str) -> str:
    if name in used_configs(SERVE):
        return f"{name} has no effect on a broker; give it to `metalog serve`"
    return f"{name} has no effect on `metalog {command}`, so it cannot be set here"
