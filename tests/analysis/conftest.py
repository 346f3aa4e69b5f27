"""Shows what differs in the helpers' assertions too."""

import pytest

pytest.register_assert_rewrite("tests.analysis.golden")
