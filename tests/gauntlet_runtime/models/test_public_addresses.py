"""Providers that organizers set are called at public addresses only, whatever their name means."""

from __future__ import annotations

from ipaddress import ip_address

import httpx
import pytest
from pydantic import SecretStr

from gauntlet_runtime.gateway.public_addresses import NotPublic, PublicTransport, is_public
from gauntlet_runtime.gateway.upstream import ProviderFailed, Upstream
from gauntlet_runtime.metering import ModelAccess, ModelPatience

REQUEST = {"model": "small", "messages": [{"role": "user", "content": "x"}]}


@pytest.mark.parametrize(
    ("address", "public"),
    [
        ("1.1.1.1", True),
        ("2606:4700:4700::1111", True),
        ("127.0.0.1", False),
        ("10.1.2.3", False),
        ("172.16.0.1", False),
        ("192.168.1.1", False),
        ("169.254.169.254", False),
        ("100.64.0.1", False),
        ("0.0.0.0", False),  # noqa: S104 - an address among others, to which nothing is bound
        ("224.0.0.1", False),
        ("::1", False),
        ("fe80::1", False),
        ("fd00::1", False),
        ("::ffff:127.0.0.1", False),
        ("::ffff:1.1.1.1", True),
        ("64:ff9b::7f00:1", False),
        ("64:ff9b::101:101", True),
        ("2002:7f00:1::", False),
        ("64:ff9b:1::7f00:1", False),  # behind a translator of the host's own network
        ("::7f00:1", False),
        ("::ffff:0:7f00:1", False),
        ("fec0::1", False),
        ("ff0e::1", False),
    ],
)
def test_which_addresses_are_public(address: str, public: bool) -> None:
    assert is_public(ip_address(address)) is public


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "[::1]"])
async def test_a_private_address_is_never_called(host, provider):
    port = provider.url.rpartition(":")[2]
    access = ModelAccess(url=f"http://{host}:{port}", key=SecretStr("k"), public_only=True)
    upstream = Upstream(access, ModelPatience(tries=3))
    with pytest.raises(ProviderFailed, match="not a public one") as failed:
        await upstream.ask("chat/completions", REQUEST, stream=False)
    await upstream.close()
    assert failed.value.tries == 1
    assert provider.seen == []


async def test_an_allowed_address_is_called_by_the_name_that_was_given(provider):
    looked_at = []

    def allowed(address):
        looked_at.append(str(address))
        return True

    transport = PublicTransport(allowed=allowed, limits=httpx.Limits())
    port = provider.url.rpartition(":")[2].partition("/")[0]
    async with httpx.AsyncClient(transport=transport) as client:
        answer = await client.post(f"http://localhost:{port}/v1/chat/completions", json=REQUEST)
    assert answer.status_code == 401  # the server's own words: it was reached, without a key
    assert "127.0.0.1" in looked_at
    assert answer.request.url.host in looked_at
    assert answer.request.headers["host"] == f"localhost:{port}"


async def test_a_name_that_means_nothing_is_a_fault_that_may_pass():
    transport = PublicTransport(limits=httpx.Limits())
    async with httpx.AsyncClient(transport=transport) as client:
        with pytest.raises(httpx.ConnectError):
            await client.get("https://no-such-name.invalid/")


def test_the_refusal_says_nothing_of_the_address():
    assert str(NotPublic()) == ""
