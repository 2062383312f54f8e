"""No network in these tests: what the hosts send home is switched off here, for tests alone."""

import os

# Read by Haystack when it is first imported, so before any test module imports it.
os.environ["HAYSTACK_TELEMETRY_ENABLED"] = "false"
for name in ("LANGSMITH_TRACING", "LANGSMITH_TRACING_V2", "LANGCHAIN_TRACING_V2"):
    os.environ.pop(name, None)
