"""Reports for people who decide: HTML, PPTX and XLSX.

``dlsched.report(found, path)`` is a public call, but importing this package puts the module in that place. So the
module can be called too.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dlsched.report.memo import Memo


class _CallableModule(ModuleType):
    def __call__(self, *args: Any, **kwargs: Any) -> Memo:
        from dlsched.report.public import report

        return report(*args, **kwargs)


sys.modules[__name__].__class__ = _CallableModule
