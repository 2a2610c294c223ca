"""DescribeConfigs (key 32): the settings of topics and nodes, and where each value comes from (KIP-919).

Versions 1 to 4: as at a broker.
"""

from __future__ import annotations

from kraft.api.describe_configs import error as error
from kraft.api.describe_configs import handle as handle
