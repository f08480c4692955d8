"""Where the config file is, and what it says."""

import os
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from jobdeck_tui.core.config import Config

CONFIG_BYTES_MAX = 1 << 20


def config_path() -> Path:
    """Give the file's place: ``JOBDECK_CONFIG``, or the platform's one for a user's configuration."""
    named = os.environ.get("JOBDECK_CONFIG")
    if named:
        return Path(named)
    from platformdirs import user_config_path

    return user_config_path("jobdeck") / "config.toml"


def load_config(path: Path) -> "Config":
    """Read the file. One that is missing says nothing; one that cannot be read says so, and nothing else."""
    import tomllib

    from jobdeck_tui.core.config import Config, read_config

    try:
        with path.open("rb") as file:
            text = file.read(CONFIG_BYTES_MAX).decode()
        return read_config(tomllib.loads(text))
    except FileNotFoundError:
        return Config()
    except OSError as error:
        return Config(problems=(f"{path} cannot be read ({error.strerror}): defaults hold.",))
    except ValueError as error:  # neither UTF-8 nor TOML
        return Config(problems=(f"{path} is no TOML ({error}): defaults hold.",))
