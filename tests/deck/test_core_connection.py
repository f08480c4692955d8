"""R37: the deck never lies about freshness."""

from jobdeck_tui.core.connection import Connection, Link

WALL = 1_800_000_000.0


def test_r37_live_turns_stale_by_itself_when_frames_stop():
    connection = Connection()
    assert connection.truth(0.0).link is Link.CONNECTING
    connection.frame(10.0, WALL)
    assert connection.truth(10.4).text == "✔ LIVE 0.4s"
    assert connection.truth(12.4).live
    stale = connection.truth(19.0)
    assert stale.text == "⚠ STALE 9.0s"
    assert not stale.live
    assert stale.banner == "Data as of 08:00:00. Actions are off until reconnected."
    connection.frame(20.0, WALL + 10)
    assert connection.truth(20.0).live
    assert connection.truth(20.0).banner is None


def test_a_lost_feed_counts_its_attempts_then_says_since_when_it_is_offline():
    connection = Connection()
    connection.frame(0.0, WALL)
    connection.lost(1.0, WALL + 1, "refused", 2.0)
    assert connection.truth(1.0).text == "↻ RETRY 1 in 2s"
    connection.lost(3.0, WALL + 3, "refused", 4.0)
    assert connection.truth(4.0).text == "↻ RETRY 2 in 3s"
    assert connection.truth(11.0).text == "✖ OFFLINE since 08:00:01"
    connection.frame(12.0, WALL + 12)
    assert connection.truth(12.0).live


def test_a_denied_deck_says_so_until_it_is_let_in():
    connection = Connection()
    connection.denied(0.0, WALL, 401, "The token has expired.")
    assert connection.truth(60.0).text == "✖ DENIED 401"
    assert connection.truth(60.0).banner == "Nothing received yet. Actions are off until connected."
    assert connection.reason == (
        "The token has expired; JOBDECK_TOKEN, or a profile's token_file, says who you are"
    )
    connection.frame(61.0, WALL)
    assert connection.truth(61.0).live


def test_an_open_connection_without_a_frame_is_not_called_live():
    connection = Connection()
    connection.lost(0.0, WALL, "refused", 0.2)
    assert not connection.truth(0.3).live
