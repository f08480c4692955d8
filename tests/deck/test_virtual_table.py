"""The list: what is under the cursor stays what the operator chose, and only what is seen costs anything."""

from collections.abc import Callable, Sequence
from time import perf_counter

import pytest
from jobdeck_tui.core.columns import Column
from jobdeck_tui.styles import SHEETS, VARIABLES
from jobdeck_tui.widgets.virtual_table import Cell, Columns, VirtualTable
from textual.app import App, ComposeResult
from textual.strip import Strip

from .deck_driver import in_a_deck


class TableApp(App[None]):
    CSS_PATH = SHEETS

    def __init__(self) -> None:
        super().__init__()
        self.drawn: list[str] = []
        self.said: dict[str, str] = {}
        self.seconds = 100.0

    def get_theme_variable_defaults(self) -> dict[str, str]:
        return VARIABLES

    def compose(self) -> ComposeResult:
        yield VirtualTable(lambda width: (Column("id", "ID", 12),), self.cells, clock=lambda: self.seconds)

    def cells(self, row_id: str, columns: Columns) -> Sequence[Cell]:
        self.drawn.append(row_id)
        return [Cell(self.said.get(row_id, row_id))]

    @property
    def table(self) -> VirtualTable:
        return self.query_one(VirtualTable)


def ids(count: int) -> list[str]:
    return [f"row-{number:06d}" for number in range(count)]


@in_a_deck
async def test_r37_the_cursor_stays_on_its_id_however_the_order_changes() -> None:
    async with TableApp().run_test(size=(60, 20)) as pilot:
        table = pilot.app.table
        table.set_rows(ids(50))
        table.move_to(7)
        table.set_rows(list(reversed(ids(50))))
        await pilot.pause()
        assert table.cursor_id == "row-000007"
        assert "row-000007" in table.visible_ids()


@in_a_deck
async def test_r37_a_row_that_slides_under_the_cursor_is_known_as_not_chosen() -> None:
    async with TableApp().run_test(size=(60, 20)) as pilot:
        app, table = pilot.app, pilot.app.table
        table.set_rows(ids(10))
        table.move_to(3)
        app.seconds += 60
        assert table.slid_seconds_ago > 1
        table.set_rows([row for row in ids(10) if row != "row-000003"])
        assert table.cursor_id == "row-000004"
        assert table.slid_seconds_ago == 0
        app.seconds += 5
        table.set_rows(ids(10))
        assert table.cursor_id == "row-000004"
        assert table.slid_seconds_ago == 5


@in_a_deck
async def test_a_change_out_of_view_draws_nothing_and_one_in_view_draws_its_line_only() -> None:
    async with TableApp().run_test(size=(60, 20)) as pilot:
        app, table = pilot.app, pilot.app.table
        table.set_rows(ids(1000))
        await pilot.pause()
        app.drawn.clear()
        table.refresh_rows({"row-000900"})
        await pilot.pause()
        assert app.drawn == []
        app.said = {"row-000005": "changed", "row-000900": "changed"}
        table.refresh_rows({"row-000005", "row-000900"})
        await pilot.pause()
        assert set(app.drawn) == {"row-000005"}
        assert "changed" in table.render_line(6).text
        table.move_to(900)
        assert "changed" in table.render_line(1 + 900 - table.scroll_offset.y).text


def test_a_row_is_drawn_again_only_where_a_cell_or_its_mark_changed(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[int] = []
    render_line = VirtualTable.render_line

    def noted(table: VirtualTable, y: int) -> Strip:
        drawn.append(y)
        return render_line(table, y)

    monkeypatch.setattr(VirtualTable, "render_line", noted)

    @in_a_deck
    async def go() -> None:
        async with TableApp().run_test(size=(60, 20)) as pilot:
            app, table = pilot.app, pilot.app.table

            async def lines_of(act: Callable[[], None]) -> list[int]:
                drawn.clear()
                act()
                await pilot.pause()
                return list(drawn)

            assert 5 in await lines_of(lambda: table.set_rows(ids(10)))
            assert await lines_of(lambda: table.set_rows(ids(10))) == []
            assert await lines_of(lambda: table.refresh_rows(ids(10))) == []
            assert await lines_of(lambda: table.set_marked(set())) == []
            app.said["row-000004"] = "changed"
            assert await lines_of(lambda: table.refresh_rows(ids(10))) == [5]
            assert "changed" in table.render_line(5).text
            marked = {"row-000002"}
            assert await lines_of(lambda: table.set_marked(marked)) == [3]
            assert "☑" in table.render_line(3).text
            assert await lines_of(lambda: table.set_marked(set())) == [3]
            assert "☑" not in table.render_line(3).text

    go()


@in_a_deck
async def test_a_hundred_thousand_rows_are_shown_without_drawing_them() -> None:
    async with TableApp().run_test(size=(60, 20)) as pilot:
        app, table = pilot.app, pilot.app.table
        rows = ids(100_000)
        began = perf_counter()
        table.set_rows(rows)
        await pilot.pause()
        table.move_to(99_999)
        await pilot.pause()
        assert perf_counter() - began < 1.5
        assert "row-099999" in table.visible_ids()
        assert len(app.drawn) < 200


@in_a_deck
async def test_an_untouched_list_rests_at_its_top() -> None:
    async with TableApp().run_test(size=(60, 20)) as pilot:
        table = pilot.app.table
        table.set_rows(ids(50))
        table.set_rows(list(reversed(ids(50))))
        assert table.cursor_id == "row-000049"
        assert table.scroll_offset.y == 0


@in_a_deck
async def test_the_scrollbar_comes_with_too_many_rows_and_goes_with_them_and_reaches_the_last() -> None:
    async with TableApp().run_test(size=(60, 20)) as pilot:
        table = pilot.app.table
        for count in (5, 50, 80, 5, 60):
            table.set_rows(ids(count))
            await pilot.pause()
            assert table.show_vertical_scrollbar is (count > 20)
            table.move_to(count - 1)
            await pilot.pause()
            assert table.visible_ids()[-1] == ids(count)[-1]
            if count > 20:
                assert table.vertical_scrollbar.window_virtual_size == count + 1
