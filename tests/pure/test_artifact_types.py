"""Which files are kept: names that are safe to offer, bytes that are what they are called (R31)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jobdeck_backend.jobs.artifacts import FILENAME_CHARS_MAX, TYPES, lie, safe_filename, type_of

PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 16
TRUE = {
    "png": PNG,
    "jpg": b"\xff\xd8\xff\xe0",
    "jpeg": b"\xff\xd8\xff\xe0",
    "webp": b"RIFF\x10\0\0\0WEBPVP8 ",
    "pdf": b"%PDF-1.7\n",
    "csv": b"a,b\n1,2\n",
    "json": b'\n {"a": 1}',
    "ipynb": b'{"cells": []}',
    "md": b"<p align=center>\n# Title",
    "txt": b"\xef\xbb\xbfhello",
}


@pytest.mark.parametrize("extension", sorted(TYPES))
def test_what_a_file_is_called_is_what_it_must_be(extension: str) -> None:
    """Of each type its own bytes pass, and those of every type that looks different do not."""
    promised = TYPES[extension]
    assert lie(TRUE[extension], promised) is None
    for other, head in TRUE.items():
        if not TYPES[other].is_text and TYPES[other].media_type != promised.media_type:
            assert lie(head, promised), f"{other} passes for {extension}"
    if not promised.is_text:
        assert lie(b"just words", promised)


@pytest.mark.parametrize(
    "head", [b"<svg onload=x>", b" \n<!DOCTYPE html>", b"<html>", b"<?xml version='1'?>"]
)
@pytest.mark.parametrize("extension", ["txt", "csv", "json"])
def test_markup_does_not_pass_for_text(head: bytes, extension: str) -> None:
    assert "not" in str(lie(head, TYPES[extension]))


def test_text_that_speaks_of_a_format_is_no_file_of_it() -> None:
    for text in (b"Support WEBP images too", b"12345678WEBP"):
        assert lie(text, TYPES["txt"]) is None
        assert lie(text, TYPES["webp"])


@pytest.mark.parametrize("path", ["a.svg", "a.html", "a", "a.", ".png", "a.png/b", "a.png.exe", "a.csv "])
def test_files_of_other_types_have_no_promise(path: str) -> None:
    assert type_of(path) is None


@given(st.text(max_size=400), st.sampled_from(sorted(TYPES)))
def test_a_name_on_offer_is_one_safe_component_with_its_extension(stem: str, extension: str) -> None:
    name = safe_filename(f"{stem}.{extension}")
    assert type_of(name) == TYPES[extension]
    assert len(name) <= FILENAME_CHARS_MAX
    assert name.isprintable()
    assert not set(name) & set('/\\:*?"<>|\0')
    assert not name.startswith(".")
