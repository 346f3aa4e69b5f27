"""`textDocument/codeAction`: quick fixes, and the source action that compiles."""

from __future__ import annotations

from collections.abc import Sequence

from lsprotocol import types

from occlsp.analysis.fixes import fixes
from occlsp.analysis.results import Fix
from occlsp.server.server import Server
from occlsp.server.view import View

SOURCE_COMPILE = "source.occlsp.compile"


def code_action(
    ls: Server, params: types.CodeActionParams
) -> list[types.CodeAction | types.Command] | None:
    """The fixes for a range, those that are asked for by kind."""
    view = ls.session.view(params.text_document.uri)
    if view is None or not ls.client.code_action_literals:
        return None
    found: list[types.CodeAction | types.Command] = []
    if _wanted(params.context.only, types.CodeActionKind.QuickFix) or _wanted(
        params.context.only, types.CodeActionKind.RefactorRewrite
    ):
        for fix in fixes(view.snapshot, view.path, view.span(params.range)):
            action = _action(ls, view, fix, params.context.diagnostics)
            if action is not None and _wanted(params.context.only, fix.kind):
                found.append(action)
    if params.context.only and _wanted(params.context.only, SOURCE_COMPILE):
        found.append(_compile(view))
    return found


def _wanted(only: Sequence[types.CodeActionKind | str] | None, kind: str) -> bool:
    """Kinds are hierarchies of names: "refactor" asks for "refactor.rewrite" too."""
    return not only or any(kind == wanted or kind.startswith(f"{wanted}.") for wanted in only)


def _action(
    ls: Server, view: View, fix: Fix, diagnostics: Sequence[types.Diagnostic]
) -> types.CodeAction | None:
    if fix.disabled is not None and not ls.client.disabled_actions:
        return None
    edit = None
    if fix.disabled is None:
        edit = view.converter.workspace_edit(fix.edits, ls.session.version)
        if edit is None:
            return None
    return types.CodeAction(
        title=fix.title,
        kind=fix.kind,
        edit=edit,
        diagnostics=[d for d in diagnostics if d.code in fix.codes] or None,
        is_preferred=True if fix.is_preferred and ls.client.preferred_actions else None,
        disabled=types.CodeActionDisabled(fix.disabled) if fix.disabled is not None else None,
    )


def _compile(view: View) -> types.CodeAction:
    title = "Compile this file for its occupancy"
    return types.CodeAction(
        title=title,
        kind=SOURCE_COMPILE,
        command=types.Command(title=title, command="occlsp.compile", arguments=[view.document.uri]),
    )
