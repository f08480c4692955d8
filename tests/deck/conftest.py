"""A backend for the tests of the deck that need a real one."""

import gc
from collections.abc import Iterator

import pytest

from .processes import backend


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of the module's own, with two workers."""
    with backend(tmp_path_factory.mktemp("deck") / "state") as instance:
        yield instance.url


@pytest.fixture(scope="module", autouse=True)
def what_a_module_leaves() -> Iterator[None]:
    """Each deck looks through all that is not frozen when it has listed: not through other modules' things."""
    yield
    gc.collect()
    gc.freeze()
