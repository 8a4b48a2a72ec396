"""The JSON Schema (draft-07, as the guide's) of a scenario with its ground truth, generated from the models."""

from __future__ import annotations

from typing import Any, Final

from pydantic.json_schema import GenerateJsonSchema, JsonSchemaMode, JsonSchemaValue
from pydantic_core import CoreSchema

from gauntlet_scoring.ground_truth import GroundTruth

DRAFT_07: Final = "http://json-schema.org/draft-07/schema#"
_REFERENCES: Final = "#/definitions/{model}"


class _Draft07(GenerateJsonSchema):
    """What pydantic writes for draft 2020-12, in the words of draft-07."""

    schema_dialect = DRAFT_07

    def generate(self, schema: CoreSchema, mode: JsonSchemaMode = "validation") -> JsonSchemaValue:
        content: dict[str, Any] = _older(super().generate(schema, mode))
        definitions = content.pop("$defs", {})
        return {"$schema": DRAFT_07, **content, "definitions": definitions}


def ground_truth_schema() -> dict[str, Any]:
    """The schema of one scenario. A file holds one, an array of them, or one a line."""
    return GroundTruth.model_json_schema(schema_generator=_Draft07, ref_template=_REFERENCES)


def _older(value: Any) -> Any:
    """Beside ``$ref`` draft-07 reads nothing, and it has no ``discriminator``."""
    if isinstance(value, list):
        return [_older(each) for each in value]
    if not isinstance(value, dict):
        return value
    content = {key: _older(each) for key, each in value.items() if key != "discriminator"}
    if "$ref" in content and len(content) > 1:
        reference = content.pop("$ref")
        return {**content, "allOf": [{"$ref": reference}]}
    return content
