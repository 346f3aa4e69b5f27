// The status bar item: the architecture in force, and what the server does.

import * as vscode from "vscode";

/** What the server tells with `occlsp/status`. */
export interface ServerStatus {
  readonly state: "idle" | "scanning" | "compiling" | "error" | string;
  readonly message?: string | null;
  readonly architectures?: readonly string[];
  readonly architecture_origin?: string | null;
  readonly trusted?: boolean | null;
  readonly compiler?: string | null;
  readonly compiler_missing?: string | null;
  readonly known_architectures?: readonly string[];
  readonly gpu?: string | null;
}

type ClientState = "starting" | "running" | "stopped" | "failed";

export class Status implements vscode.Disposable {
  private readonly item: vscode.StatusBarItem;
  private client: ClientState = "starting";
  private detail = "";
  private server: ServerStatus | undefined;

  constructor() {
    this.item = vscode.window.createStatusBarItem("occlsp", vscode.StatusBarAlignment.Right, 90);
    this.item.name = "CUDA Occupancy";
    this.item.command = "occlsp.chooseArchitecture";
    this.render();
    this.item.show();
  }

  /** The last word of the server. */
  get last(): ServerStatus | undefined {
    return this.server;
  }

  setClient(state: ClientState, detail = ""): void {
    this.client = state;
    this.detail = detail;
    if (state !== "running") this.server = undefined;
    this.render();
  }

  setServer(status: ServerStatus): void {
    this.server = status;
    this.render();
  }

  dispose(): void {
    this.item.dispose();
  }

  private render(): void {
    const architectures = this.server?.architectures?.join(" ") ?? "";
    const failed = this.client === "failed" || this.client === "stopped";
    const busy =
      this.client === "starting" ||
      this.server?.state === "compiling" ||
      this.server?.state === "scanning";
    const icon = failed ? "$(error)" : busy ? "$(sync~spin)" : "$(circuit-board)";
    this.item.text = `${icon} ${architectures || "occlsp"}`;
    this.item.backgroundColor = failed
      ? new vscode.ThemeColor("statusBarItem.errorBackground")
      : undefined;
    this.item.accessibilityInformation = {
      label: `CUDA occupancy ${architectures}, ${this.words()}`,
    };
    this.item.tooltip = this.tooltip();
  }

  private words(): string {
    if (this.client !== "running") return this.detail || this.client;
    return this.server?.message || this.server?.state || "running";
  }

  private tooltip(): vscode.MarkdownString {
    const lines = [`**CUDA occupancy** · ${this.words()}`];
    const server = this.server;
    if (server?.architectures?.length) {
      const origin = server.architecture_origin ? ` (${server.architecture_origin})` : "";
      lines.push(`Architecture: ${server.architectures.join(", ")}${origin}`);
    }
    if (server) {
      lines.push(
        server.compiler
          ? `Compiler: ${server.compiler}`
          : `Compiler: ${server.compiler_missing ?? "none found"}`,
      );
      if (server.trusted === false) lines.push("Not trusted: reports are read, nothing is compiled.");
    }
    lines.push(
      "[Architecture](command:occlsp.chooseArchitecture) · [Explorer](command:occlsp.explorer) · " +
        "[Logs](command:occlsp.showLogs) · [Restart](command:occlsp.restart)",
    );
    const text = new vscode.MarkdownString(lines.join("\n\n"));
    text.isTrusted = {
      enabledCommands: [
        "occlsp.chooseArchitecture",
        "occlsp.explorer",
        "occlsp.showLogs",
        "occlsp.restart",
      ],
    };
    return text;
  }
}
