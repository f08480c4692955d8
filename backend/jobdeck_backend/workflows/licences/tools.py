"""The reading of one document as tools: called by the graph's stages, and by a model that wants to look.

The document is bound, not passed, so that no event repeats it.
"""

from hashlib import sha256
from typing import Any

from langchain_core.tools import BaseTool, StructuredTool

from jobdeck_backend.workflows.licences.clauses import split_clauses
from jobdeck_backend.workflows.licences.review import review_identity, review_obligations
from jobdeck_backend.workflows.review_input import Document

CLAUSE_CHARACTERS_MAX = 1_500


class DocumentTools:
    """Tools over one document; each returns plain JSON."""

    def __init__(self, document: Document) -> None:
        self._document = document
        self.read_document = _tool(self._read_document)
        self.split_clauses = _tool(self._split_clauses)
        self.identify_licence = _tool(self._identify_licence)
        self.find_obligations = _tool(self._find_obligations)
        self.read_clause = _tool(self._read_clause)

    def _read_document(self) -> dict[str, Any]:
        """The document's title, size and fingerprint."""
        text = self._document.text
        return {
            "title": self._document.title,
            "characters": len(text),
            "lines": text.count("\n") + 1,
            "words": len(text.split()),
            "sha256": sha256(text.encode("utf-8", "replace")).hexdigest(),
        }

    def _split_clauses(self) -> list[dict[str, Any]]:
        """The document's clauses: number, heading and position of each."""
        return [clause.plain() for clause in split_clauses(self._document.text)]

    def _identify_licence(self) -> dict[str, Any]:
        """Which licences the document holds, how sure that is, and how it departs from their wording."""
        return review_identity(self._document.text)

    def _find_obligations(self) -> dict[str, Any]:
        """What the document allows, asks and excludes, each with the clause that says so."""
        return review_obligations(self._document.text)

    def _read_clause(self, number: int) -> str:
        """The words of one clause, by its number in the list of clauses."""
        clauses = split_clauses(self._document.text)
        if not 1 <= number <= len(clauses):
            raise ValueError(f"there are clauses 1 to {len(clauses)}, no {number}")
        clause = clauses[number - 1]
        return " ".join(self._document.text[clause.start : clause.end].split())[:CLAUSE_CHARACTERS_MAX]


def _tool(function: Any) -> BaseTool:
    return StructuredTool.from_function(
        function, name=function.__name__.lstrip("_"), description=function.__doc__
    )
