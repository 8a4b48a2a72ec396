"""Calls to providers that organizers set: to public addresses only, or agents would reach into the host's network.

What a name means is looked up once a call, and the connection goes to the address that was looked at: a name that means
something else a moment later gains nothing.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import Callable
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address
from typing import Final

import httpx

_Address = IPv4Address | IPv6Address
_TRANSLATED: Final = IPv6Network("64:ff9b::/96")  # an IPv4 address behind a translator (RFC 6052)
_UNICAST: Final = IPv6Network("2000::/3")  # all of IPv6 that is given out to the public (RFC 4291, IANA)


class NotPublic(Exception):
    """A name means an address that is not public."""


def is_public(address: _Address) -> bool:
    """Whether an address is one of the public Internet, and not of a host or a network of its own."""
    if isinstance(address, IPv6Address):
        if address in _TRANSLATED:
            return is_public(IPv4Address(int(address) & 0xFFFFFFFF))
        inner = address.ipv4_mapped or address.sixtofour
        if inner is not None:
            return is_public(inner)
        return address in _UNICAST and address.is_global
    return address.is_global and not address.is_multicast


class PublicTransport(httpx.AsyncHTTPTransport):
    """Connects to allowed addresses only; certificates are still those of the name."""

    def __init__(self, *, allowed: Callable[[_Address], bool] = is_public, limits: httpx.Limits) -> None:
        super().__init__(limits=limits, trust_env=False)
        self._allowed = allowed

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Look the name up, look at what it means, and connect to that.

        Raises:
            NotPublic
            httpx.ConnectError: the name means nothing.
        """
        host = request.url.host
        try:
            found = await asyncio.get_running_loop().getaddrinfo(host, request.url.port, type=socket.SOCK_STREAM)
        except (OSError, UnicodeError) as error:  # the latter of a name that cannot be one
            raise httpx.ConnectError("the name was not found", request=request) from error
        addresses = [str(entry[4][0]) for entry in found]
        if not all(self._allowed(ip_address(address)) for address in addresses):
            raise NotPublic
        request.extensions = {**request.extensions, "sni_hostname": host}
        for address in addresses[:-1]:
            request.url = request.url.copy_with(host=address)  # the header Host was made from the name
            with contextlib.suppress(httpx.ConnectError):
                return await super().handle_async_request(request)
        request.url = request.url.copy_with(host=addresses[-1])
        return await super().handle_async_request(request)
