"""Where attempts failed"""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """An attempt that failed keeps its traceback."""
    op.add_column("attempts", sa.Column("traceback", sa.Text(), nullable=True))
