// Entry point: what the extension registers.

import * as vscode from "vscode";
import { Server } from "./client";
import * as commands from "./commands";
import { Explorer } from "./explorer";
import { Status } from "./status";

export async function activate(context: vscode.ExtensionContext): Promise<void> {
  const log = vscode.window.createOutputChannel("CUDA Occupancy", { log: true });
  const status = new Status();
  const server = new Server(context, log, status);
  const explorer = new Explorer(context, server);
  context.subscriptions.push(log, status, server, explorer);

  const register = (name: string, run: (...args: never[]) => unknown): void => {
    context.subscriptions.push(vscode.commands.registerCommand(name, run));
  };
  register("occlsp.restart", () => server.restart());
  register("occlsp.showLogs", () => log.show());
  register("occlsp.compileFile", () => commands.compileFile(server));
  register("occlsp.chooseArchitecture", () => commands.chooseArchitecture(server, status));
  register("occlsp.explorer", () => explorer.open());
  register("occlsp.whatIf", () => commands.whatIf(server));
  register("occlsp.report", () => commands.showReport(server));
  register("occlsp.clearReports", () => commands.clearCache(server));
  register("occlsp.debugInformation", () => commands.debugInformation(context, server, status));
  register("occlsp.installCompiler", () => commands.installCompiler(context, log, server));

  context.subscriptions.push(
    vscode.workspace.onDidGrantWorkspaceTrust(() => server.settingsChanged()),
    vscode.workspace.onDidChangeConfiguration((event) => {
      if (event.affectsConfiguration("occlsp.interpreter")) void server.restart();
      else if (event.affectsConfiguration("occlsp.server")) void server.restart();
      else if (event.affectsConfiguration("occlsp")) void server.settingsChanged();
    }),
  );

  // The editor must not wait for the first start, which may install the server.
  void server.start();
}
