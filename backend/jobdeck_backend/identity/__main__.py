"""``python -m jobdeck_backend.identity``: print a token of jobdeck's own, signed with its own secret."""

import click

from jobdeck_backend.clock import now
from jobdeck_backend.identity.keys import own_secret
from jobdeck_backend.identity.principal import Principal, Role
from jobdeck_backend.identity.tokens import make_token
from jobdeck_backend.starting import read_settings, run

HOUR_S = 3600.0


@click.command()
@click.argument("subject")
@click.option("--role", "roles", type=click.Choice([role.value for role in Role]), multiple=True)
@click.option("--hours", type=click.FloatRange(0, 24 * 366, min_open=True), default=12.0)
def command(subject: str, roles: tuple[str, ...], hours: float) -> None:
    """Print the token. The state directory and the secret are the environment's."""
    settings = read_settings()
    if not hours > 0:  # click takes what is no number for one within any range
        raise click.UsageError("--hours is to be a number")
    if settings.auth_keys is not None:
        raise click.UsageError("JOBDECK_AUTH_KEYS names another issuer: ask it for a token")
    principal = Principal(settings.auth_issuer, subject, frozenset(map(Role, roles)), now() + hours * HOUR_S)
    if (objection := principal.objection()) is not None:
        raise click.UsageError(f"nobody can be named so: {objection}")
    print(
        make_token(
            own_secret(settings),
            principal,
            audience=settings.auth_audience,
            roles_claim=settings.auth_roles_claim,
        )
    )


if __name__ == "__main__":
    run(command, "jobdeck token")
