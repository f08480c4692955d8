"""The licences jobdeck knows, by the phrases that make them.

A family's confidence is the weight of its phrases that a document holds. ``requires`` must be there at all,
and a family ``replaces`` those whose text it contains (a three-clause BSD licence is no two-clause one).
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Family:
    """One licence: its SPDX identifier, its name, its phrases with their weights."""

    id: str
    name: str
    phrases: tuple[tuple[int, str], ...]
    requires: str | None = None
    replaces: tuple[str, ...] = ()


_BSD = (
    (3, "redistribution and use in source and binary forms with or without modification are permitted"),
    (2, "redistributions of source code must retain"),
    (2, "redistributions in binary form must reproduce"),
    (
        2,
        "in no event shall .. be liable for any direct indirect incidental special exemplary",
    ),
)
_BSD_NAMES = "(neither the names?|the names?|names) .. (may|may not) be used to endorse or promote"
_ISC = (
    (
        3,
        "permission to use copy modify (and or|and) distribute this software for any purpose",
    ),
    (2, "author disclaims all warranties with regard to this software"),
    (1, "in no event shall the author be liable for any special direct indirect or consequential damages"),
)
_HPND = (
    (3, "permission to use copy modify and distribute this software and its documentation"),
    (2, "not be used in advertising or publicity pertaining to distribution of the software"),
)
_GPL_3 = (
    (2, "gnu .. general public license version 3 (29 june|19 november) 2007"),
    (2, "to convey a work means any kind of propagation"),
    (3, "you must license the entire work as a whole under this license"),
    (2, "no covered work shall be deemed part of an effective technological measure"),
)

FAMILIES: tuple[Family, ...] = (
    Family(
        "MIT",
        "MIT License",
        (
            (
                3,
                "permission is hereby granted free of charge to any person obtaining a copy of this software",
            ),
            (
                3,
                "without limitation the rights to use copy modify merge publish distribute sublicense",
            ),
            (2, "above copyright notice and this permission notice shall be included in all copies"),
            (1, "is provided as is without warranty of any kind"),
        ),
        requires="permission is hereby granted free of charge to any person obtaining a copy",
    ),
    Family(
        "HPND",
        "Historical Permission Notice and Disclaimer",
        _HPND,
    ),
    Family(
        "MIT-CMU",
        "CMU License",
        ((2, "by obtaining using and or copying this software"), *_HPND),
        requires="by obtaining using and or copying this software",
        replaces=("HPND",),
    ),
    Family("BSD-2-Clause", 'BSD 2-Clause "Simplified" License', _BSD),
    Family(
        "BSD-3-Clause",
        'BSD 3-Clause "New" License',
        (*_BSD, (3, _BSD_NAMES)),
        requires=_BSD_NAMES,
        replaces=("BSD-2-Clause",),
    ),
    Family(
        "BSD-4-Clause",
        'BSD 4-Clause "Original" License',
        (*_BSD, (3, "all advertising materials mentioning features or use of this software must display")),
        requires="all advertising materials mentioning features or use of this software must display",
        replaces=("BSD-2-Clause", "BSD-3-Clause"),
    ),
    Family("0BSD", "BSD Zero Clause License", _ISC),
    Family(
        "ISC",
        "ISC License",
        (*_ISC, (2, "above copyright notice and this permission notice appear in all copies")),
        requires="above copyright notice and this permission notice appear in all copies",
        replaces=("0BSD",),
    ),
    Family(
        "Zlib",
        "zlib License",
        (
            (3, "permission is granted to anyone to use this software for any purpose"),
            (2, "origin of this software must not be misrepresented"),
            (2, "altered source versions must be plainly marked as such"),
            (2, "this notice may not be removed or altered from any source distribution"),
        ),
    ),
    Family(
        "Unlicense",
        "The Unlicense",
        (
            (3, "free and unencumbered software released into the public domain"),
            (2, "anyone is free to copy modify publish use compile sell or distribute this software"),
            (2, "dedicate any and all copyright interest in the software to the public domain"),
        ),
    ),
    Family(
        "CC0-1.0",
        "Creative Commons Zero 1.0 Universal",
        (
            (2, "cc0 1 0 universal"),
            (3, "affirmer hereby overtly fully permanently irrevocably and unconditionally waives"),
            (2, "affirmer hereby grants to each affected person a royalty free"),
            (1, "no trademark or patent rights held by affirmer are waived"),
        ),
    ),
    Family(
        "Apache-2.0",
        "Apache License 2.0",
        (
            (2, "apache license version 2 0 january 2004"),
            (2, "perpetual worldwide non exclusive no charge royalty free irrevocable copyright license"),
            (
                2,
                "patent license to make have made use offer to sell sell import and otherwise transfer",
            ),
            (
                2,
                "you must cause any modified files to carry prominent notices stating that you changed",
            ),
            (1, "does not grant permission to use the trade names trademarks service marks or product names"),
        ),
    ),
    Family(
        "MPL-2.0",
        "Mozilla Public License 2.0",
        (
            (2, "mozilla public license version 2 0"),
            (2, "each contributor hereby grants you a world wide royalty free non exclusive license"),
            (3, "all distribution of covered software in source code form"),
            (2, "incompatible with secondary licenses"),
        ),
    ),
    Family(
        "GPL-2.0",
        "GNU General Public License 2",
        (
            (2, "gnu general public license version 2 june 1991"),
            (2, "you may modify your copy or copies of the program or any portion of it"),
            (
                3,
                "distribute or publish that in whole or in part contains or is derived from the program",
            ),
            (
                2,
                "each time you redistribute the program or any work based on the program the recipient",
            ),
        ),
    ),
    Family("GPL-3.0", "GNU General Public License 3", _GPL_3),
    Family(
        "AGPL-3.0",
        "GNU Affero General Public License 3",
        (
            *_GPL_3,
            (3, "must prominently offer all users interacting with it remotely through a computer network"),
        ),
        requires="must prominently offer all users interacting with it remotely through a computer network",
        replaces=("GPL-3.0",),
    ),
    Family(
        "LGPL-2.1",
        "GNU Lesser General Public License 2.1",
        (
            (2, "gnu lesser general public license version 2 1 february 1999"),
            (2, "you may modify your copy or copies of the library or any portion of it"),
            (2, "a program that contains no derivative of any portion of the library"),
            (2, "you must give prominent notice with each copy of the work that the library is used in it"),
        ),
    ),
    Family(
        "LGPL-3.0",
        "GNU Lesser General Public License 3",
        (
            (2, "gnu lesser general public license version 3 29 june 2007"),
            (3, "terms and conditions of version 3 of the gnu general public license supplemented by"),
            (2, "you may convey a combined work under terms of your choice"),
            (1, "the minimal corresponding source for a combined work"),
        ),
    ),
    Family(
        "PSF-2.0",
        "Python Software Foundation License 2",
        (
            (2, "agreement is between the python software foundation psf and the individual or organization"),
            (3, "psf hereby grants licensee a nonexclusive royalty free world wide license"),
            (2, "include in any such work a brief summary of the changes made"),
            (1, "psf is making .. available to licensee on an as is basis"),
        ),
    ),
)

MENTIONS: tuple[tuple[str, str], ...] = (
    ("Apache-2.0", "apache license|license apache|apache 2 0|apache software license"),
    ("BSD", "bsd license|license bsd|bsd 2 clause|bsd 3 clause|bsd style"),
    ("MIT", "mit license|license mit"),
    ("MPL", "mozilla public license|mpl 2 0|mpl 1 1"),
    ("LGPL", "lesser general public license|library general public license|lgpl"),
    ("GPL", "gnu general public license|gpl"),
    ("GFDL", "gnu free documentation license"),
    ("Artistic", "artistic license"),
)
