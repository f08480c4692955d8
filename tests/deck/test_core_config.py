"""What a config file says, what is wrong with it in words, and which keys it can give."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jobdeck_tui.config_file import load_config
from jobdeck_tui.core.config import read_config
from jobdeck_tui.core.key_names import Place, binding_id, keymap
from jobdeck_tui.core.view_state import DamagedError, ViewState, view_state
from jobdeck_tui.view_file import ViewFile

FULL = """
profile = "prod"
grace_seconds = 5
mouse = false

[profiles.prod]
url = "https://deck.example:8443"
environment = "prod"
read_only = true
grace_seconds = 0

[profiles.here]

[keys]
"act.cancel" = "X"

[views.late]
filter = "left<60s state:unfinished"
sort = "left"
columns = ["state", "note"]
"""

PLACES = [
    Place("Jobs", [("c", "act.cancel"), ("e", "act.expire"), ("q", "leave_program")]),
    Place("Job", [("v", "v")]),
]


def test_a_whole_file_is_read(tmp_path):
    path = tmp_path / "config.toml"
    path.write_text(FULL)
    config = load_config(path)
    assert config.problems == ()
    assert (config.profile, config.grace_seconds, config.mouse, config.theme) == ("prod", 5, False, "")
    prod, here = config.profiles["prod"], config.profiles["here"]
    assert (prod.url, prod.guarded, prod.read_only, prod.grace_seconds) == (
        "https://deck.example:8443",
        True,
        True,
        0,
    )
    assert (here.url, here.guarded, here.grace_seconds) == (None, False, None)
    assert config.keys == {"act.cancel": "X"}
    assert config.views["late"].columns == ("state", "note")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("grace_seconds = 'soon'", "grace_seconds must be a number"),
        ("grace_seconds = 1000", "grace_seconds must be seconds from 0 to 60"),
        ("mouse = 1", "mouse must be true or false"),
        ("colour = 'red'", "colour is not known here"),
        ("profile = 'nowhere'", "there is no profile nowhere"),
        ("[profiles.a]\ntoken = 'x'", "profiles.a.token is ignored: secrets come from the environment"),
        ("[profiles]\na = 3", "profiles.a must be a table"),
        ("[views.a]\nfilter = 'colour:red'", "views.a.filter: There is no field colour"),
        ("[views.a]\nsort = 'beauty'", "views.a.sort must be one of risk"),
        ("[views.a]\ncolumns = ['beauty']", "views.a.columns must be columns of"),
        ("[keys]\nx = 3", "keys.x must be a key"),
        ("= broken", "is no TOML"),
        ("\x00", "is no TOML"),
    ],
)
def test_a_mistake_costs_only_itself_and_is_told(tmp_path, text, said):
    path = tmp_path / "config.toml"
    path.write_text(text)
    config = load_config(path)
    assert said in " ".join(config.problems)
    assert config.grace_seconds == 3.0


def test_a_missing_file_says_nothing_and_an_unreadable_one_says_so(tmp_path):
    assert load_config(tmp_path / "none.toml").problems == ()
    assert "cannot be read" in load_config(tmp_path).problems[0]


@given(
    st.dictionaries(
        st.text(max_size=5),
        st.recursive(
            st.none() | st.booleans() | st.floats() | st.text(max_size=5),
            lambda inner: (
                st.lists(inner, max_size=3)
                | st.dictionaries(
                    st.sampled_from(["a", "url", "filter", "columns", "sort"]), inner, max_size=3
                )
            ),
            max_leaves=6,
        ),
    )
)
def test_any_table_is_a_config(table):
    for place in ("profiles", "views", "keys"):
        read_config({place: table, "mouse": table})


@pytest.mark.parametrize(
    ("action", "name"),
    [
        ("act('cancel')", "act.cancel"),
        ("move(-1)", "move.minus1"),
        ("app.my_acts", "my_acts"),
        ("top", "top"),
    ],
)
def test_keys_have_names_one_can_write(action, name):
    assert binding_id(action) == name


@pytest.mark.parametrize(
    ("wanted", "given_keys", "said"),
    [
        ({"act.cancel": "X"}, {"act.cancel": "X"}, ""),
        ({"act.cancel": "e", "act.expire": "c"}, {"act.cancel": "e", "act.expire": "c"}, ""),
        ({"act.cancel": "v"}, {"act.cancel": "v"}, ""),
        ({"act.cancel": "e"}, {}, "e is the key of act.expire on Jobs; act.cancel keeps its own"),
        ({"act.cancel": "x", "act.expire": "x"}, {"act.cancel": "x"}, "x is the key of act.cancel on Jobs"),
        ({"act.cancel": "e", "act.expire": "q"}, {}, "q is the key of leave_program"),
        ({"act.destroy": "x"}, {}, "nothing is named act.destroy"),
        ({"act.cancel": "x,escape"}, {}, "act.cancel cannot have the key x,escape"),
        ({"act.cancel": ""}, {}, "act.cancel cannot have the key nothing"),
    ],
)
def test_a_key_does_one_thing_on_a_screen_whatever_is_wanted(wanted, given_keys, said):
    checked = keymap(wanted, PLACES)
    assert checked.keys == given_keys
    assert said in " ".join(checked.problems)
    assert bool(checked.problems) is bool(said)


def test_a_view_is_kept_for_its_owner_alone_and_read_again(tmp_path):
    state = ViewState(
        "left", True, ("id", "note"), "try>1", "light", ages=True, silent=True, histories={"jobs": ("a", "b")}
    )
    file = ViewFile(tmp_path, "https://deck.example:8443/../x")
    file.keep(state)
    assert file.path.is_relative_to(tmp_path / "deck")
    assert file.path.stat().st_mode & 0o777 == 0o600
    assert ViewFile(tmp_path, "https://deck.example:8443/../x").load() == (state, "")
    assert ViewFile(tmp_path, "other").load() == (ViewState(), "")


@pytest.mark.parametrize(
    "content",
    ["", "{", "[]", '{"sort": "beauty"}', '{"histories": {"jobs": 3}}', '{"filter": 1}', '{"silent": 1}'],
)
def test_a_damaged_view_is_one_sentence_and_defaults(tmp_path, content):
    file = ViewFile(tmp_path, "prod")
    file.path.parent.mkdir(parents=True)
    file.path.write_text(content)
    state, trouble = file.load()
    assert state == ViewState()
    assert "begins with defaults" in trouble


@given(
    st.recursive(
        st.none() | st.integers() | st.text(max_size=5),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(["sort", "columns", "filter", "ages", "histories", "jobs"]), inner, max_size=4
            )
        ),
        max_leaves=6,
    )
)
def test_any_record_is_a_view_or_damaged(record):
    with suppress(DamagedError):
        view_state(record)
