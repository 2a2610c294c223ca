"""The ``kraft`` command: one thin module per subcommand, imported when the subcommand runs."""

from __future__ import annotations
