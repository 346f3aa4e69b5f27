// The commands of the palette: each asks the server and shows what it says.

import * as os from "node:os";
import * as vscode from "vscode";
import type { Server } from "./client";
import { installCompiler as install } from "./python";
import type { Status } from "./status";

/** Commands of the server answer with words for people and, where they have it, data. */
interface Answer {
  readonly message?: string;
  readonly markdown?: string;
}

async function ask(server: Server, command: string, args: unknown[]): Promise<Answer> {
  const client = server.running;
  if (!client) return { message: "The server is not running: see the log (Occupancy: Show Logs)." };
  const result: unknown = await client.sendRequest("workspace/executeCommand", {
    command,
    arguments: args,
  });
  if (typeof result === "string") return { message: result };
  return (result as Answer | null) ?? {};
}

function activeUri(): string | undefined {
  return vscode.window.activeTextEditor?.document.uri.toString();
}

export async function compileFile(server: Server): Promise<void> {
  const uri = activeUri();
  if (!uri) return;
  const answer = await ask(server, "occlsp.compile", [uri]);
  if (answer.message) void vscode.window.setStatusBarMessage(answer.message, 8000);
}

export async function chooseArchitecture(server: Server, status: Status): Promise<void> {
  const client = server.running;
  if (!client) {
    await vscode.commands.executeCommand("occlsp.showLogs");
    return;
  }
  const current = new Set(status.last?.architectures ?? []);
  const known = status.last?.known_architectures ?? [];
  const items = [
    {
      label: "Automatic",
      description: "from the build's flags, the local GPU, the reports found",
      name: undefined,
    },
    ...known.map((name) => ({
      label: name,
      description: current.has(name) ? "current" : "",
      name: name as string | undefined,
    })),
  ];
  const choice = await vscode.window.showQuickPick(items, {
    title: "Architecture",
    placeHolder: "Occupancy is shown for…",
    matchOnDescription: true,
  });
  if (choice) await ask(server, "occlsp.setArch", choice.name ? [choice.name] : []);
}

export async function whatIf(server: Server): Promise<void> {
  const uri = activeUri();
  const editor = vscode.window.activeTextEditor;
  const client = server.running;
  if (!uri || !editor || !client) return;
  const at = await client.sendRequest<{ kernel?: string } | null>("occlsp/explorer", {
    textDocument: { uri },
    position: client.code2ProtocolConverter.asPosition(editor.selection.active),
  });
  if (!at?.kernel) {
    void vscode.window.setStatusBarMessage("No kernel at the cursor", 5000);
    return;
  }
  await showMarkdown(
    `What if: ${at.kernel}`,
    await ask(server, "occlsp.whatif", [uri, at.kernel]),
  );
}

export async function showReport(server: Server): Promise<void> {
  const uri = activeUri();
  if (uri) await showMarkdown("Resource report", await ask(server, "occlsp.showReport", [uri]));
}

export async function clearCache(server: Server): Promise<void> {
  const answer = await ask(server, "occlsp.clearCache", []);
  void vscode.window.setStatusBarMessage(answer.message ?? "Report cache cleared", 8000);
}

export async function debugInformation(
  context: vscode.ExtensionContext,
  server: Server,
  status: Status,
): Promise<void> {
  const manifest = context.extension.packageJSON as { version: string };
  const lines = [
    `occlsp ${manifest.version}, VS Code ${vscode.version}, ${os.platform()} ${os.arch()}`,
    `Server running: ${server.running !== undefined}`,
    `Workspace trusted: ${vscode.workspace.isTrusted}`,
    "```json",
    JSON.stringify(status.last ?? null, null, 2),
    JSON.stringify(server.running?.initializeResult ?? null, null, 2),
    "```",
  ];
  await showMarkdown("Debug information", { markdown: lines.join("\n\n") });
}

export async function installCompiler(
  context: vscode.ExtensionContext,
  log: vscode.LogOutputChannel,
  server: Server,
): Promise<void> {
  const location = vscode.ProgressLocation.Window;
  await vscode.window.withProgress(
    { location, title: "Installing the CUDA compiler from PyPI" },
    async () => {
      try {
        await install(context, log);
        await server.restart();
      } catch (error) {
        log.error(String(error));
        log.show();
      }
    },
  );
}

async function showMarkdown(title: string, answer: Answer): Promise<void> {
  const content = answer.markdown ?? answer.message ?? "Nothing to show.";
  const document = await vscode.workspace.openTextDocument({
    language: "markdown",
    content: `# ${title}\n\n${content}\n`,
  });
  await vscode.window.showTextDocument(document, {
    viewColumn: vscode.ViewColumn.Beside,
    preserveFocus: true,
    preview: true,
  });
}
