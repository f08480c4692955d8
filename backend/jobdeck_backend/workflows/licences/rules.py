"""The phrases of law behind each obligation: the table that ``obligations`` reads.

Each phrase holds the word that binds ("must", "may not", "provided that"), so that a softened clause is not
taken for the original. For the notation see ``words.compiled``.
"""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Rule:
    """One obligation and the phrases any one of which states it."""

    code: str
    group: Literal["permission", "condition", "limitation"]
    text: str
    phrases: tuple[str, ...]


_BSD_GRANT = "redistribution and use in source and binary forms with or without modification are permitted"
_CC0_WAIVER = "affirmer hereby overtly .. waives abandons and surrenders all of affirmer's copyright"
_APACHE_GRANT = "copyright license to reproduce prepare derivative works of .. and distribute the work"
_MPL_GRANT = "to use reproduce make available modify display perform distribute and otherwise exploit"
_PSF_GRANT = (
    "license to reproduce analyze test perform and or display publicly prepare derivative works distribute"
)
_MIT_GRANT = "rights to use copy modify merge publish distribute"
_ISC_GRANT = "permission to use copy modify (and or|and) distribute this software"
_UNLICENSE_GRANT = "anyone is free to copy modify publish use compile sell or distribute this software"

PERMISSIONS = (
    Rule(
        "use",
        "permission",
        "Use and copy it for any purpose",
        (
            _MIT_GRANT,
            _BSD_GRANT,
            _ISC_GRANT,
            "permission is granted to anyone to use this software for any purpose",
            _UNLICENSE_GRANT,
            _CC0_WAIVER,
            _APACHE_GRANT,
            _MPL_GRANT,
            _PSF_GRANT,
            "act of running (the program|a program using the library) is not restricted",
            "affirms your unlimited permission to run the unmodified program",
        ),
    ),
    Rule(
        "modify",
        "permission",
        "Change it",
        (
            _MIT_GRANT,
            _BSD_GRANT,
            _ISC_GRANT,
            "to alter it and redistribute it freely",
            _UNLICENSE_GRANT,
            _CC0_WAIVER,
            _APACHE_GRANT,
            _MPL_GRANT,
            _PSF_GRANT,
            "you may modify your copy or copies of the (program|library)",
            "you may convey a work based on the program or the modifications to produce it",
            "then you may convey a copy of the modified version",
        ),
    ),
    Rule(
        "distribute",
        "permission",
        "Pass copies on",
        (
            _MIT_GRANT,
            _BSD_GRANT,
            _ISC_GRANT,
            "to alter it and redistribute it freely",
            _UNLICENSE_GRANT,
            _CC0_WAIVER,
            _APACHE_GRANT,
            _MPL_GRANT,
            _PSF_GRANT,
            "you may copy and distribute verbatim copies",
            "you may convey verbatim copies",
            "you may convey a (covered|combined) work under",
        ),
    ),
    Rule(
        "commercial-use",
        "permission",
        "Sell it or use it commercially",
        (
            "sublicense and or sell copies of the software",
            "for any purpose with or without fee is hereby granted",
            "for any purpose including commercial applications",
            "for any purpose commercial or non commercial",
            "for any purpose whatsoever including without limitation commercial",
            "you may charge a fee for the physical act of transferring a copy",
            "you may charge any price or no price",
        ),
    ),
    Rule(
        "sublicense",
        "permission",
        "Grant the rights on to others",
        (
            "publish distribute sublicense and or sell",
            "publicly perform sublicense and distribute the work",
            "or sublicense it under different terms",
        ),
    ),
    Rule(
        "secondary-licence",
        "permission",
        "Combine it with GNU licensed work under that licence",
        ("permits you to additionally distribute such covered software under the terms of such secondary",),
    ),
    Rule(
        "patent-grant",
        "permission",
        "Use the contributors' patents that it needs",
        (
            "irrevocable except as stated in this section patent license to make",
            "contributor grants you a .. patent license",
            "under patent claims of such contributor to make use sell",
        ),
    ),
)

CONDITIONS = (
    Rule(
        "keep-notices",
        "condition",
        "Keep the copyright and licence notices in every copy",
        (
            "above copyright notice and this permission notice shall be included in all copies",
            "redistributions of source code must retain the above copyright notice",
            "provided that the above copyright notice and this permission notice appear in all copies",
            "provided that the above copyright notice appears in all copies",
            "this notice may not be removed or altered from any source distribution",
            "you must retain .. all copyright patent trademark and attribution notices",
            "conspicuously and appropriately publish on each copy an appropriate copyright notice",
            "you may not remove or alter the substance of any license notices",
            "provided however that psf's license agreement and psf's notice of copyright ... are retained in",
            "include the copyright notice for the library among these notices",
        ),
    ),
    Rule(
        "notices-in-binaries",
        "condition",
        "Reproduce the notices in the documentation of binaries",
        ("redistributions in binary form must reproduce the above copyright notice",),
    ),
    Rule(
        "include-licence",
        "condition",
        "Pass a copy of the licence on with it",
        (
            "you must give any other recipients of the work or derivative works a copy of this license",
            "give any other recipients of the program a copy of this license",
            "give all recipients a copy of this license along with the program",
            "and distribute a copy of this license along with the library",
            "accompany the (combined work|object code) with a copy of the gnu gpl and this license document",
            "you must inform recipients that the source code form of the covered software is governed by",
        ),
    ),
    Rule(
        "name-library",
        "condition",
        "Say prominently that the library is used",
        ("give prominent notice with each copy of the (work|combined work) that the library is used",),
    ),
    Rule(
        "include-notice-file",
        "condition",
        "Pass on the attributions of its NOTICE file",
        ("must include a readable copy of the attribution notices contained within such notice file",),
    ),
    Rule(
        "state-changes",
        "condition",
        "Say what was changed",
        (
            "must cause (any|the) modified files to carry prominent notices stating that you changed",
            "must cause the files modified to carry prominent notices stating that you changed",
            "the work must carry prominent notices stating that you modified it",
            "altered source versions must be plainly marked as such",
            "agrees to include in any such work a brief summary of the changes",
        ),
    ),
    Rule(
        "no-misrepresentation",
        "condition",
        "Do not claim to have written the original",
        ("origin of this software must not be misrepresented",),
    ),
    Rule(
        "disclose-source",
        "condition",
        "Make the source available to those who get the program",
        (
            "provided that you .. accompany it with the complete corresponding machine readable source code",
            "provided that you also convey the machine readable corresponding source",
            "convey the minimal corresponding source under the terms of this license",
            "such covered software must also be made available in source code form",
        ),
    ),
    Rule(
        "network-source",
        "condition",
        "Offer the source to those who use it over a network",
        ("must prominently offer all users interacting with it remotely through a computer network",),
    ),
    Rule(
        "same-licence",
        "condition",
        "License the whole of a derived work under the same licence",
        (
            "must cause any work that you distribute or publish ... to be licensed as a whole at no charge",
            "you must license the entire work as a whole under this license",
        ),
    ),
    Rule(
        "same-licence-library",
        "condition",
        "Keep changes to the library itself under the same licence",
        (
            "you must cause the whole of the work to be licensed at no charge to all third parties",
            "convey a copy of the modified version (a under|under) this license provided that",
        ),
    ),
    Rule(
        "same-licence-files",
        "condition",
        "Keep its files, changed ones too, under the same licence",
        ("all distribution of covered software in source code form ... must be under the terms of this",),
    ),
    Rule(
        "allow-relinking",
        "condition",
        "Let users run the work with a changed version of the library",
        (
            "provided that the terms permit modification of the work for the customer's own use",
            "permit the user to recombine or relink the application with a modified version",
        ),
    ),
    Rule(
        "installation-information",
        "condition",
        "Give users of a device what they need to install a changed version",
        (
            "conveyed under this section must be accompanied by the installation information",
            "provide installation information but only if you would otherwise be required",
        ),
    ),
    Rule(
        "no-further-restrictions",
        "condition",
        "Put no further restrictions on those who get it",
        (
            "you may not impose any further restrictions on the",
            "you may not attempt to alter or restrict the recipients' rights",
            "you may not attempt to alter or restrict the recipients rights",
        ),
    ),
    Rule(
        "incorporates-gpl",
        "condition",
        "Follow the GNU GPL version 3 as well, which it incorporates",
        ("incorporates the terms and conditions of version 3 of the gnu general public license",),
    ),
    Rule(
        "advertising",
        "condition",
        "Name the authors in advertising",
        ("all advertising materials mentioning features or use of this software must display",),
    ),
)

LIMITATIONS = (
    Rule(
        "no-endorsement",
        "limitation",
        "Their names may not be used to promote what you make of it",
        (
            "neither the (name|names) .. may be used to endorse or promote products",
            "(name|names) .. may not be used to endorse or promote products",
            "not be used in advertising or publicity pertaining to distribution of the software without",
        ),
    ),
    Rule(
        "no-trademark",
        "limitation",
        "No right to use the trademarks",
        (
            "does not grant permission to use the trade names trademarks service marks",
            "does not grant any rights in the trademarks service marks or logos",
            "does not grant permission to use psf trademarks or trade name",
            "no trademark or patent rights held by affirmer are waived",
        ),
    ),
    Rule(
        "no-patent-grant",
        "limitation",
        "No patent rights are given",
        ("no trademark or patent rights held by affirmer are waived",),
    ),
    Rule(
        "patent-retaliation",
        "limitation",
        "Who sues over patents loses the grant or breaks the licence",
        (
            "any patent licenses granted to you under this license for that work shall terminate",
            "a contributor version .. infringes any patent then the rights granted to you ... shall",
            "you may not initiate litigation ... alleging that any patent claim is infringed",
        ),
    ),
    Rule(
        "termination",
        "limitation",
        "The rights end when its terms are broken",
        (
            "will automatically terminate your rights under this license",
            "will terminate automatically if you fail to comply with any of its terms",
            "will automatically terminate upon a material breach",
        ),
    ),
    Rule(
        "no-warranty",
        "limitation",
        "No warranty",
        (
            "without (warranty|warranties|warranties or conditions|warranty or condition) of any kind",
            "any express or implied warranties ... are disclaimed",
            "disclaims? all warranties with regard to this software",
            "without any express or implied warranty",
            "makes? no representations or warranties",
            "there is no warranty for the (program|library)",
        ),
    ),
    Rule(
        "no-liability",
        "limitation",
        "No liability for damages",
        (
            "in no event (shall|will) ... be (held liable|liable) for any",
            "shall not be liable to licensee or any other users",
            "in no event and under no legal theory ... shall any contributor be liable to you",
            "under no circumstances and under no legal theory ... shall any contributor ... be liable to you",
            "in no event unless required by applicable law ... be liable to you for damages",
            "disclaims liability for damages",
        ),
    ),
)

RULES: tuple[Rule, ...] = (*PERMISSIONS, *CONDITIONS, *LIMITATIONS)
