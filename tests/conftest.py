"""What holds for all tests: no deadline for an example, for a shared machine may be slow."""

from hypothesis import settings

settings.register_profile("equipoise", deadline=None)
settings.load_profile("equipoise")
