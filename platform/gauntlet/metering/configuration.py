"""What the operator sets of language models: providers with their keys, and prices. Read once, at the start."""

from __future__ import annotations

from decimal import Decimal
from typing import Annotated, Any, Final, TypeVar
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, SecretStr, TypeAdapter, ValidationError

from gauntlet_scoring.phrases import first_phrase


def checked_url(url: str, *, https: bool = False) -> str:
    """The address of a provider without a slash at its end.

    Raises:
        ValueError: it is no http or https address, or it holds a user, a query or a fragment.
    """
    if not url.isprintable() or " " in url:
        raise ValueError("must hold no space and no line break")
    try:
        parts = urlsplit(url)
        _ = (parts.port, (parts.hostname or "").encode("idna"))
    except ValueError:
        raise ValueError("must have a host name and, where it has one, a port that there can be") from None
    if https and parts.scheme != "https":
        raise ValueError("must begin with https://")
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError("must begin with https:// or http:// and name a host, such as https://api.example.org/v1")
    if parts.username or parts.query or parts.fragment:
        raise ValueError("must hold no user, no query and no fragment")
    return url.rstrip("/")


def checked_key(key: SecretStr) -> SecretStr:
    """A provider's key that a request can carry; the empty one is none.

    Raises:
        ValueError: it holds what no key can hold; the message does not quote it.
    """
    text = key.get_secret_value()
    if not (text.isascii() and (not text or text.isprintable())) or " " in text:
        raise ValueError("holds a space, a line break or a letter that no key has: copy it anew")
    return key


_HIGHEST_PRICE: Final = 10**9
_PRICE_DIGITS: Final = 6  # a token costs a millionth of it, and amounts are kept with twelve
T = TypeVar("T")


class _Setting(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Provider(_Setting):
    """A provider that the operator pays for."""

    url: Annotated[str, AfterValidator(checked_url)]
    key: Annotated[SecretStr, AfterValidator(checked_key)] = SecretStr("")
    limit_field: str = "max_tokens"
    competitions: list[str] | None = None  # slugs of those that may use it; all where None


def checked_price(price: Decimal) -> Decimal:
    """What a million tokens cost.

    Raises:
        ValueError: what it makes a call cost could not be stored to the last digit (`metering.models`).
    """
    if not 0 <= price <= _HIGHEST_PRICE or price != round(price, _PRICE_DIGITS):
        raise ValueError(f"must be from 0 to {_HIGHEST_PRICE} with at most {_PRICE_DIGITS} digits after the point")
    return price


class Price(_Setting):
    """What a million tokens cost, in whatever currency budgets are given in."""

    tokens_in: Annotated[Decimal, AfterValidator(checked_price)] = Field(alias="in")
    tokens_out: Annotated[Decimal, AfterValidator(checked_price)] = Field(default=Decimal(0), alias="out")


def read_providers(value: Any) -> dict[str, Provider]:
    """The setting MODEL_PROVIDERS.

    Raises:
        ValueError: what is wrong with it, without the keys in it.
    """
    return _checked(TypeAdapter(dict[str, Provider]), value)


def read_prices(value: Any) -> dict[str, Price]:
    """The setting MODEL_PRICES, by model or by ``provider/model``, which comes first. Prices are texts or numbers.

    Raises:
        ValueError: what is wrong with it.
    """
    return _checked(TypeAdapter(dict[str, Price]), value)


def _checked(adapter: TypeAdapter[T], value: Any) -> T:
    try:
        return adapter.validate_python(value)
    except ValidationError as error:
        raise ValueError(first_phrase(error)) from None
