// The explorer's panel: asks the server for the kernel at the cursor; the page only draws.

import { randomBytes } from "node:crypto";
import * as vscode from "vscode";
import type { Server } from "./client";
import type { Explorer as Data, FromPage, Override, ToPage } from "./protocol";

const FOLLOW_DELAY_MS = 120;
const HOLDS_CUDA = new Set(["cuda-cpp", "cuda", "cpp", "c"]);

export class Explorer implements vscode.Disposable {
  private panel: vscode.WebviewPanel | undefined;
  private place: { uri: vscode.Uri; position: vscode.Position } | undefined;
  private override: Override = {};
  private data: Data | undefined;
  private timer: NodeJS.Timeout | undefined;
  private turn = 0;
  private readonly subscriptions: vscode.Disposable[] = [];

  constructor(
    private readonly context: vscode.ExtensionContext,
    private readonly server: Server,
  ) {
    this.subscriptions.push(
      vscode.window.onDidChangeTextEditorSelection(({ textEditor }) => this.follow(textEditor)),
      vscode.window.onDidChangeActiveTextEditor((editor) => editor && this.follow(editor)),
      vscode.workspace.onDidChangeTextDocument(({ document }) => {
        if (document.uri.toString() === this.place?.uri.toString()) this.later();
      }),
    );
  }

  open(): void {
    const editor = vscode.window.activeTextEditor;
    if (editor) this.follow(editor);
    if (this.panel) {
      this.panel.reveal(undefined, true);
      return;
    }
    this.panel = vscode.window.createWebviewPanel(
      "occlsp.explorer",
      "Occupancy Explorer",
      { viewColumn: vscode.ViewColumn.Beside, preserveFocus: true },
      {
        enableScripts: true,
        retainContextWhenHidden: true,
        localResourceRoots: [vscode.Uri.joinPath(this.context.extensionUri, "dist")],
      },
    );
    this.panel.iconPath = vscode.Uri.joinPath(this.context.extensionUri, "media", "icon.png");
    this.panel.onDidDispose(() => (this.panel = undefined));
    this.panel.webview.onDidReceiveMessage((message: FromPage) => this.receive(message));
    this.panel.webview.html = this.html(this.panel.webview);
  }

  /** Asks again: numbers may have arrived. */
  refresh(): void {
    if (this.panel) this.later();
  }

  dispose(): void {
    clearTimeout(this.timer);
    this.panel?.dispose();
    for (const subscription of this.subscriptions) subscription.dispose();
  }

  private follow(editor: vscode.TextEditor): void {
    if (editor.document.uri.scheme !== "file" || !HOLDS_CUDA.has(editor.document.languageId)) return;
    const place = { uri: editor.document.uri, position: editor.selection.active };
    const moved =
      this.place?.uri.toString() !== place.uri.toString() ||
      this.place.position.line !== place.position.line;
    this.place = place;
    if (moved) {
      this.override = {};
      this.later();
    }
  }

  private later(): void {
    if (!this.panel) return;
    clearTimeout(this.timer);
    this.timer = setTimeout(() => void this.ask(), FOLLOW_DELAY_MS);
  }

  private async ask(): Promise<void> {
    const client = this.server.running;
    if (!this.panel || !this.place || !client) return;
    const turn = ++this.turn;
    const fresh = Object.keys(this.override).length === 0;
    try {
      const data = await client.sendRequest<Data | null>("occlsp/explorer", {
        textDocument: { uri: client.code2ProtocolConverter.asUri(this.place.uri) },
        position: client.code2ProtocolConverter.asPosition(this.place.position),
        override: this.override,
      });
      if (turn !== this.turn) return; // a newer question is under way
      // Between kernels the last one stays: the panel follows, it does not flicker.
      if (data) {
        this.data = data;
        this.post({ type: "show", data, fresh });
      } else if (!this.data) {
        this.post({ type: "empty", message: "Put the cursor on a kernel or a launch." });
      }
    } catch (error) {
      this.post({ type: "empty", message: String(error) });
    }
  }

  private post(message: ToPage): void {
    void this.panel?.webview.postMessage(message);
  }

  private async receive(message: FromPage): Promise<void> {
    if (message.type === "ready") return void this.ask();
    if (message.type === "override") {
      this.override = message.override;
      return void this.ask();
    }
    if (message.type === "whatif") return void vscode.commands.executeCommand("occlsp.whatIf");
    const fix = this.data?.fixes[message.fix];
    const client = this.server.running;
    if (!fix || fix.disabled || !client) return;
    const edit = await client.protocol2CodeConverter.asWorkspaceEdit(
      fix.edit as Parameters<typeof client.protocol2CodeConverter.asWorkspaceEdit>[0],
    );
    this.override = {};
    if (edit) await vscode.workspace.applyEdit(edit);
  }

  private html(webview: vscode.Webview): string {
    const nonce = randomBytes(16).toString("base64");
    const script = webview.asWebviewUri(
      vscode.Uri.joinPath(this.context.extensionUri, "dist", "explorer.js"),
    );
    const policy = `default-src 'none'; style-src 'nonce-${nonce}'; script-src 'nonce-${nonce}';`;
    return `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Occupancy Explorer</title>
<style nonce="${nonce}">${STYLE}</style>
</head>
<body>
<main id="app"><p id="empty" role="status">Put the cursor on a kernel or a launch.</p></main>
<script nonce="${nonce}" src="${script.toString()}"></script>
</body>
</html>`;
  }
}

const STYLE = `
body { color: var(--vscode-foreground); font: var(--vscode-font-size) var(--vscode-font-family);
  padding: 0 1rem 1rem; }
h1 { font-size: 1.2em; font-weight: 600; margin: .8em 0 .2em; overflow-wrap: anywhere; }
h2 { font-size: 1em; font-weight: 600; margin: 1.2em 0 .3em; }
.figure { font-size: 1.6em; margin: .2em 0; }
.muted { color: var(--vscode-descriptionForeground); }
.charts { display: grid; grid-template-columns: repeat(auto-fit, minmax(17rem, 1fr)); gap: 1rem; }
.chart { min-width: 0; }
.chart .box { position: relative; height: 11rem; }
label { display: flex; justify-content: space-between; gap: .5rem; }
input[type=range] { width: 100%; accent-color: var(--vscode-focusBorder); }
table { border-collapse: collapse; }
th, td { text-align: left; padding: .15rem .9rem .15rem 0; }
td.number { text-align: right; font-variant-numeric: tabular-nums; }
tr.binds td, tr.best td { font-weight: 600; }
button { color: var(--vscode-button-foreground); background: var(--vscode-button-background);
  border: 1px solid var(--vscode-button-border, transparent); padding: .3rem .7rem; margin: .15rem
  .3rem .15rem 0; cursor: pointer; font: inherit; text-align: left; }
button[aria-pressed=false], button.secondary { color: var(--vscode-button-secondaryForeground);
  background: var(--vscode-button-secondaryBackground); }
button:disabled { opacity: .5; cursor: default; }
button:focus-visible, input:focus-visible, canvas:focus-visible { outline: 2px solid
  var(--vscode-focusBorder); outline-offset: 1px; }
`;
