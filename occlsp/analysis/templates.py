"""Whether anything in view can instantiate a template: a kernel, or what a launch is in.

A template that nobody instantiates is never compiled, so that nothing in it can fail. Its name
has to stand somewhere else than at its definition: in its own file, or in one that includes it.
"""

from __future__ import annotations

import re

from occlsp.analysis.sources import AttributeSite, KernelSite, LaunchSite, SourceFile, Sources
from occlsp.source.facts import Launch
from occlsp.source.text import Span

MOST_READ = 200
"""Including files that are looked into; with more, one is taken to name the template."""
_FUNCTION_TEMPLATE = re.compile(rb"template\s*<")


_PASTED = re.compile(rb"\w+(?:\s*##\s*\w+)+")
_FRAGMENT = re.compile(rb"\w{4,}")
"""Part of a pasted name that is not in many names."""


def is_unused(sources: Sources, site: KernelSite) -> bool:
    """Whether a kernel is a template that nothing in view can instantiate: no launch, no mention
    of its name, and no macro that may paste it together."""
    kernel = site.kernel
    if not kernel.is_template or kernel.instantiations or kernel.template_arguments is not None:
        return False
    if sources.launches_by_name.get(kernel.name):
        return False
    file = sources.file(site.path)
    if file is None:
        return False
    name = kernel.name.encode()
    pasted = (part for use in _PASTED.findall(file.masked) for part in _FRAGMENT.findall(use))
    if any(part in name for part in pasted):
        return False
    return not _is_named(sources, site.path, file, kernel.name, kernel.span)


def may_run(sources: Sources, site: LaunchSite | AttributeSite) -> bool:
    """False where the launch, or the call that sets an attribute, is in a function or class
    template that nothing names."""
    fact = site.launch if isinstance(site, LaunchSite) else site.attribute
    if isinstance(fact, Launch) and fact.in_uninstantiated_template:
        return False
    file = sources.file(site.path)
    span = fact.function_span
    if file is None or span is None or fact.function is None:
        return True
    *scopes, function = fact.function.split("::")
    if _FUNCTION_TEMPLATE.match(file.masked, span.start):
        return _is_named(sources, site.path, file, function, span)
    for scope in scopes:
        head = _class_template(file, scope)
        if head is not None:
            return _is_named(sources, site.path, file, scope, head)
    return True


def _class_template(file: SourceFile, name: str) -> Span | None:
    """The head of a class template."""
    pattern = rb"template\s*<[^;{}]*?>\s*(?:struct|class)\s+(?:\w+\s+)*?" + re.escape(name.encode())
    match = re.search(pattern + rb"\b", file.masked)
    return Span(*match.span()) if match is not None else None


def _is_named(sources: Sources, path: str, own: SourceFile, name: str, definition: Span) -> bool:
    word = re.compile(rb"(?<!\w)" + re.escape(name.encode()) + rb"(?!\w)")
    if any(
        not definition.start <= match.start() < definition.end
        for match in word.finditer(own.masked)
    ):
        return True
    includers = sources.includers(path) - {path}
    if len(includers) > MOST_READ:
        return True
    files = map(sources.file, includers)
    return any(file is None or word.search(file.masked) for file in files)
