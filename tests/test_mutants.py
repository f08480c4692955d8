"""The proof that tests bite is kept sharp: each mutant still finds the code it makes wrong, and its test."""

import pytest
from mutants import BACKEND, MUTANTS, ROOT, Mutant


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name.replace(" ", "-"))
def test_each_mutant_changes_code_and_has_a_test_that_are_there(mutant: Mutant) -> None:
    assert (ROOT / BACKEND / mutant.file).read_text().count(mutant.right) == 1
    file, _, test = mutant.killer.partition("::")
    assert f"def {test}(" in (ROOT / file).read_text()
