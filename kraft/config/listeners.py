"""Convert the listener settings to endpoints, under the rules of KIP-291, KIP-631 and Kafka's own checks.

Rules:

- each listener has a name; ``listener.security.protocol.map`` gives its protocol, of which only PLAINTEXT is served;
- ``listeners`` repeats no name, and no port except port 0 (any free port) and an IPv4 and IPv6 pair;
  as in Kafka, only the bind refuses a pair with 0.0.0.0 or ::;
- ``advertised.listeners`` repeats no name, and has only names of ``listeners``;
- the listeners in ``controller.listener.names`` are the controller's, all others the broker's;
- ``control.plane.listener.name`` is one of the broker's, and not the one between brokers; only with it may
  ``control.plane.force.controller.requests.enable`` be true;
- no host, 0.0.0.0 and :: mean all interfaces; such an address is advertised as the name of the machine, and a broker
  must not advertise 0.0.0.0 or :: itself.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable, Mapping

import attrs

from kraft.config.network_settings import IdentitySettings, ListenerSettings
from kraft.config.setting import invalid, to_text

BROKER = "broker"
CONTROLLER = "controller"
PLAINTEXT = "PLAINTEXT"
PLAINTEXT_ID = 0
"""The id of PLAINTEXT in registrations (``SecurityProtocol.id``)."""
PROTOCOLS = (PLAINTEXT, "SSL", "SASL_PLAINTEXT", "SASL_SSL")
EVERY_INTERFACE = frozenset({"", "0.0.0.0", "::"})
MAX_PORT = 65535
MAX_NODE_ID = 2**31 - 1
CONTROL_PLANE = "control.plane.listener.name"
FORCED = "control.plane.force.controller.requests.enable"

_HOST_AND_PORT = re.compile(r"(?:\[([0-9a-zA-Z:.%_-]{1,255})\]|([0-9a-zA-Z._-]{0,255})):([0-9]{1,5})")
_LISTENER = re.compile(r"([0-9A-Za-z._-]{1,249})://(.*)")
_LISTENER_FORM = "Value must be NAME://host:port, an IPv6 host in brackets"


@attrs.frozen
class Endpoint:
    """A named address. ``host`` is empty for all interfaces. An IPv6 host has no brackets."""

    listener: str
    security_protocol: str
    host: str
    port: int

    def __str__(self) -> str:
        return f"{self.listener}://{address(self.host, self.port)}"


@attrs.frozen
class Voter:
    """A voter of the controller quorum, from ``controller.quorum.voters``."""

    node_id: int
    host: str
    port: int

    def __str__(self) -> str:
        return f"{self.node_id}@{address(self.host, self.port)}"


@attrs.frozen
class Listeners:
    """The addresses that a node binds and those that it advertises, for each of its roles."""

    #: The endpoints that the broker and the controller bind.
    broker: tuple[Endpoint, ...]
    controller: tuple[Endpoint, ...]
    #: The endpoints that each registers. Hosts may still be empty and ports 0: see ``advertise``.
    advertised_broker: tuple[Endpoint, ...]
    advertised_controller: tuple[Endpoint, ...]
    #: The listener between brokers; None if the node is not a broker.
    inter_broker: str | None
    #: ``controller.listener.names``. Brokers use the first.
    controller_names: tuple[str, ...]
    #: The broker's listener for a ZooKeeper-era controller (KIP-291); None: it uses the inter-broker listener.
    control_plane: str | None = None
    #: Whether the control plane serves the four requests of its own alone.
    is_control_plane_forced: bool = False

    @property
    def of_data_plane(self) -> tuple[Endpoint, ...]:
        """The broker's endpoints for clients and other brokers."""
        return tuple(endpoint for endpoint in self.broker if endpoint.listener != self.control_plane)

    @property
    def of_control_plane(self) -> tuple[Endpoint, ...]:
        """The broker's endpoint for the controller; empty if it has none of its own."""
        return tuple(endpoint for endpoint in self.broker if endpoint.listener == self.control_plane)


def address(host: str, port: int) -> str:
    """Return ``host:port``, an IPv6 host in brackets."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def advertise(endpoints: Iterable[Endpoint], hostname: str, bound_ports: Mapping[str, int]) -> tuple[Endpoint, ...]:
    """Return the endpoints for others to connect to: an empty host becomes the machine's name, port 0 the bound one."""
    return tuple(
        attrs.evolve(
            endpoint,
            host=hostname if endpoint.host in EVERY_INTERFACE else endpoint.host,
            port=endpoint.port or bound_ports[endpoint.listener],
        )
        for endpoint in endpoints
    )


def parse_host_port(key: str, text: str, allowed: str) -> tuple[str, int]:
    """Return host and port of ``host:port``. Raises ConfigError, with the text ``allowed``, for another form."""
    match = _HOST_AND_PORT.fullmatch(text)
    if match is None or int(match[3]) > MAX_PORT:
        invalid(key, text, allowed)
    if match[1] is not None and not _is_ipv6(match[1]):
        invalid(key, text, allowed)
    return match[1] or match[2], int(match[3])


def parse_voters(entries: Iterable[str]) -> tuple[Voter, ...]:
    """Return the voters of ``controller.quorum.voters``. Raises ConfigError for a bad or repeated one."""
    key, allowed = "controller.quorum.voters", "Value must be id@host:port, separated by commas"
    voters: dict[int, Voter] = {}
    for entry in entries:
        id_text, _, rest = entry.partition("@")
        if not re.fullmatch(r"[0-9]{1,10}", id_text) or int(id_text) > MAX_NODE_ID:
            invalid(key, entry, allowed)
        host, port = parse_host_port(key, rest, allowed)
        if not host or not port:
            invalid(key, entry, allowed)
        voter = Voter(int(id_text), host, port)
        if voter.node_id in voters:
            invalid(key, entry, f"Node id {voter.node_id} is there more than once")
        voters[voter.node_id] = voter
    return tuple(voters.values())


def build_listeners(identity: IdentitySettings, settings: ListenerSettings, explicit: Iterable[str]) -> Listeners:
    """Return the node's listeners. Raises ConfigError for the first rule that they break.

    ``explicit`` are the names that the configuration file sets. Without an explicit protocol map, controller listeners
    are PLAINTEXT and need no entry in it.
    """
    _check_mode_of_control_plane(identity, settings)
    if identity.in_zookeeper_mode and settings.controller_listener_names:
        why = "Value must be empty without process.roles: a ZooKeeper-era controller uses the broker's listeners"
        invalid("controller.listener.names", ",".join(settings.controller_listener_names), why)
    names = tuple(name.upper() for name in settings.controller_listener_names)
    control_plane = settings.control_plane_listener_name
    protocols = _protocols(settings, names, explicit)
    bound = _parse_endpoints("listeners", settings.listeners, protocols)
    _check_ports(bound)
    advertised = bound
    if settings.advertised_listeners is not None:
        advertised = _parse_endpoints("advertised.listeners", settings.advertised_listeners, protocols)
        _check_subset(advertised, bound)
    listeners = Listeners(
        broker=tuple(endpoint for endpoint in bound if endpoint.listener not in names),
        controller=tuple(endpoint for endpoint in bound if endpoint.listener in names),
        advertised_broker=tuple(endpoint for endpoint in advertised if endpoint.listener not in names),
        advertised_controller=_advertised_controller(bound, advertised, names),
        inter_broker=_inter_broker(settings, protocols, explicit) if identity.is_broker else None,
        controller_names=names,
        control_plane=None if control_plane is None else control_plane.upper(),
        is_control_plane_forced=settings.control_plane_force_controller_requests_enable,
    )
    if CONTROLLER in identity.process_roles:
        _check_controller(listeners, settings, identity.is_broker)
    elif not identity.in_zookeeper_mode:
        _check_controller_is_elsewhere(listeners, settings, advertised)
    if listeners.control_plane is not None:
        _check_control_plane(listeners.control_plane, listeners, protocols)
    if identity.is_broker:
        _check_broker(listeners, settings)
    _check_served(protocols, bound, names)
    return listeners


def _check_mode_of_control_plane(identity: IdentitySettings, settings: ListenerSettings) -> None:
    """Refuse the settings of KIP-291 in KRaft mode with Kafka's text, and its extension without a control plane."""
    name, forced = settings.control_plane_listener_name, settings.control_plane_force_controller_requests_enable
    given = {CONTROL_PLANE: name, FORCED: forced or None}
    for key, value in given.items():
        if value is not None and not identity.in_zookeeper_mode:
            invalid(key, to_text(value), f"{key} is not supported in KRaft mode.")
    if forced and name is None:
        invalid(FORCED, "true", f"Value must be false without {CONTROL_PLANE}: there is no control plane")


def _protocols(
    settings: ListenerSettings, controller_names: tuple[str, ...], explicit: Iterable[str]
) -> dict[str, str]:
    """Return ``listener.security.protocol.map``; without an explicit map, also PLAINTEXT for controller listeners."""
    key, protocols = "listener.security.protocol.map", dict[str, str]()
    text = settings.listener_security_protocol_map
    for entry in map(str.strip, text.split(",") if text else ()):
        name, _, protocol = (part.strip().upper() for part in entry.partition(":"))
        if not name or protocol not in PROTOCOLS:
            invalid(key, entry, f"Value must be NAME:PROTOCOL with a protocol of {', '.join(PROTOCOLS)}")
        if name in protocols:
            invalid(key, entry, f"Listener name {name} is mapped more than once")
        protocols[name] = protocol
    used = {*controller_names, *(text.partition("://")[0].strip().upper() for text in settings.listeners)}
    if key not in explicit and not used & (set(PROTOCOLS) - {PLAINTEXT}):
        protocols |= dict.fromkeys(controller_names, PLAINTEXT)
    return protocols


def _parse_endpoints(key: str, entries: tuple[str, ...], protocols: Mapping[str, str]) -> tuple[Endpoint, ...]:
    endpoints: dict[str, Endpoint] = {}
    for entry in entries:
        match = _LISTENER.fullmatch(entry)
        if match is None:
            invalid(key, entry, _LISTENER_FORM)
        name = match[1].upper()
        host, port = parse_host_port(key, match[2], _LISTENER_FORM)
        if name not in protocols:
            invalid(key, entry, f"No security protocol defined for listener {name} in listener.security.protocol.map")
        if name in endpoints:
            invalid(key, ",".join(entries), f"Each listener must have a different name; {name} is there twice")
        endpoints[name] = Endpoint(name, protocols[name], host, port)
    return tuple(endpoints.values())


def _check_ports(bound: tuple[Endpoint, ...]) -> None:
    """Require distinct ports, except for two listeners that share one on an IPv4 and an IPv6 address."""
    by_port: dict[int, list[Endpoint]] = {}
    for endpoint in bound:
        if endpoint.port:
            by_port.setdefault(endpoint.port, []).append(endpoint)
    for port, sharers in by_port.items():
        hosts = [endpoint.host for endpoint in sharers]
        pair = len(hosts) == 2 and any(map(_is_ipv4, hosts)) and any(map(_is_ipv6, hosts))
        if len(hosts) > 1 and not pair:
            why = f"Each listener must have a different port; only one IPv4 and one IPv6 address may share {port}"
            invalid("listeners", _shown(bound), why)


def _check_subset(advertised: tuple[Endpoint, ...], bound: tuple[Endpoint, ...]) -> None:
    known = {endpoint.listener for endpoint in bound}
    for endpoint in advertised:
        if endpoint.listener not in known:
            why = f"Listener {endpoint.listener} is not defined in listeners"
            invalid("advertised.listeners", endpoint, why)


def _advertised_controller(
    bound: tuple[Endpoint, ...], advertised: tuple[Endpoint, ...], names: tuple[str, ...]
) -> tuple[Endpoint, ...]:
    """Return the controller's advertised endpoints in the order of ``names``: an advertised address, else the bound
    one.
    """
    by_name = {endpoint.listener: endpoint for endpoint in (*bound, *advertised)}
    return tuple(by_name[name] for name in names if name in by_name)


def _inter_broker(settings: ListenerSettings, protocols: Mapping[str, str], explicit: Iterable[str]) -> str:
    name = settings.inter_broker_listener_name
    if name is None:
        return settings.security_inter_broker_protocol
    if "security.inter.broker.protocol" in explicit:
        invalid("inter.broker.listener.name", name, "Only one of it and security.inter.broker.protocol may be set")
    if name.upper() not in protocols:
        invalid("inter.broker.listener.name", name, f"Listener {name} is not defined in listener.security.protocol.map")
    return name.upper()


def _check_controller(listeners: Listeners, settings: ListenerSettings, is_broker: bool) -> None:
    if not listeners.controller:
        why = "It must contain at least one name that appears in listeners when this node is a controller"
        invalid("controller.listener.names", ",".join(settings.controller_listener_names), why)
    if listeners.broker and not is_broker:
        why = "It must only contain listeners of controller.listener.names when process.roles is controller"
        invalid("listeners", ",".join(settings.listeners), why)


def _check_controller_is_elsewhere(
    listeners: Listeners, settings: ListenerSettings, advertised: tuple[Endpoint, ...]
) -> None:
    names = ",".join(settings.controller_listener_names)
    if not names:
        why = "It must contain at least one name, so that the broker knows how to reach the controllers"
        invalid("controller.listener.names", names, why)
    is_advertised = any(endpoint.listener in listeners.controller_names for endpoint in advertised)
    if is_advertised and settings.advertised_listeners is not None:
        why = "It must not contain controller listeners when process.roles is broker"
        invalid("advertised.listeners", ",".join(settings.advertised_listeners), why)
    if listeners.controller:
        why = "It must not contain a name that appears in listeners when process.roles is broker"
        invalid("controller.listener.names", names, why)


def _check_control_plane(name: str, listeners: Listeners, protocols: Mapping[str, str]) -> None:
    """Check KIP-291's listener, with the texts of Apache Kafka."""
    key = CONTROL_PLANE
    if name not in protocols:
        invalid(key, name, f"Listener with {name} defined in {key} not found in listener.security.protocol.map.")
    advertised = [endpoint.listener for endpoint in listeners.advertised_broker]
    if name not in advertised:
        options = f"The valid options based on currently configured listeners are {','.join(advertised)}"
        invalid(key, name, f"{key} must be a listener name defined in advertised.listeners. {options}")
    if name == listeners.inter_broker:
        why = f"{key}, when defined, should have a different value from the inter broker listener name."
        invalid(key, name, f"{why} Currently they both have the value {name}")


def _check_broker(listeners: Listeners, settings: ListenerSettings) -> None:
    shown = ",".join(settings.advertised_listeners or settings.listeners)
    key = "listeners" if settings.advertised_listeners is None else "advertised.listeners"
    if not listeners.advertised_broker:
        invalid(key, shown, "It must contain at least one listener that is not the controller's")
    names = [endpoint.listener for endpoint in listeners.advertised_broker]
    if listeners.inter_broker in listeners.controller_names:
        why = "It must not be one of controller.listener.names"
        invalid("inter.broker.listener.name", listeners.inter_broker, why)
    if listeners.inter_broker not in names:
        why = f"It must be a listener that is advertised; these are {','.join(names)}"
        invalid("inter.broker.listener.name", listeners.inter_broker, why)
    for endpoint in listeners.advertised_broker:
        if endpoint.host in EVERY_INTERFACE - {""}:
            why = f"Others cannot connect to {endpoint.host}: set advertised.listeners to an address that they can use"
            invalid("advertised.listeners", endpoint, why)


def _check_served(protocols: Mapping[str, str], bound: tuple[Endpoint, ...], controller_names: tuple[str, ...]) -> None:
    for name in dict.fromkeys((*(endpoint.listener for endpoint in bound), *controller_names)):
        protocol = protocols.get(name)
        if protocol is None:
            why = f"No security protocol defined for listener {name} in listener.security.protocol.map"
            invalid("controller.listener.names", name, why)
        if protocol != PLAINTEXT:
            why = f"Only {PLAINTEXT} listeners are supported today, and this one is {protocol}"
            invalid("listener.security.protocol.map", f"{name}:{protocol}", why)


def _shown(endpoints: Iterable[Endpoint]) -> str:
    return ",".join(map(str, endpoints))


def _is_ipv4(host: str) -> bool:
    return _is_address(host, ipaddress.IPv4Address)


def _is_ipv6(host: str) -> bool:
    return _is_address(host, ipaddress.IPv6Address)


def _is_address(host: str, kind: type[ipaddress.IPv4Address] | type[ipaddress.IPv6Address]) -> bool:
    try:
        kind(host)
    except ValueError:
        return False
    return True
