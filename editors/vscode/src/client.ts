// The language client: starts and stops the server, and passes settings and trust on.

import * as vscode from "vscode";
import {
  type ClientCapabilities,
  CloseAction,
  type ErrorHandler,
  ErrorAction,
  type FeatureState,
  LanguageClient,
  type LanguageClientOptions,
  RevealOutputChannelOn,
  State,
  type StaticFeature,
} from "vscode-languageclient/node";
import { serverCommand } from "./python";
import type { ServerStatus, Status } from "./status";

// Says that the editor has a use for `occlsp/status`.
class StatusFeature implements StaticFeature {
  fillClientCapabilities(capabilities: ClientCapabilities): void {
    const experimental = capabilities.experimental as Record<string, unknown> | undefined;
    capabilities.experimental = { ...experimental, occlspStatus: true };
  }

  initialize(): void {}

  getState(): FeatureState {
    return { kind: "static" };
  }

  clear(): void {}
}

const RESTARTS = 4;
const RESTART_WINDOW_MS = 180_000;

export class Server implements vscode.Disposable {
  private client: LanguageClient | undefined;

  constructor(
    private readonly context: vscode.ExtensionContext,
    private readonly log: vscode.LogOutputChannel,
    private readonly status: Status,
  ) {}

  /** The running client; undefined while there is none. */
  get running(): LanguageClient | undefined {
    return this.client?.state === State.Running ? this.client : undefined;
  }

  async start(): Promise<void> {
    this.status.setClient("starting");
    try {
      const command = await serverCommand(this.context, this.log, (what) =>
        this.status.setClient("starting", what),
      );
      this.log.info(`Server: ${command.command} ${command.args.join(" ")} (${command.origin})`);
      this.client = new LanguageClient(
        "occlsp",
        "CUDA Occupancy",
        {
          command: command.command,
          args: [...command.args],
          options: { env: { ...process.env, PYTHONSAFEPATH: "1" } },
        },
        this.options(),
      );
      this.client.registerFeature(new StatusFeature());
      this.client.onNotification("occlsp/status", (status: ServerStatus) =>
        this.status.setServer(status),
      );
      this.client.onDidChangeState(({ newState }) => {
        if (newState === State.Running) this.status.setClient("running");
        if (newState === State.Starting) this.status.setClient("starting");
      });
      await this.client.start();
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      this.log.error(message);
      this.status.setClient("failed", message);
    }
  }

  async stop(): Promise<void> {
    const client = this.client;
    this.client = undefined;
    await client?.dispose().catch((error: unknown) => this.log.warn(String(error)));
  }

  async restart(): Promise<void> {
    await this.stop();
    await this.start();
  }

  /** Tells the server that settings or trust are other than they were. */
  async settingsChanged(): Promise<void> {
    await this.running?.sendNotification("workspace/didChangeConfiguration", {
      settings: { occlsp: this.settings() },
    });
  }

  dispose(): void {
    void this.stop();
  }

  private settings(resource?: vscode.Uri): Record<string, unknown> {
    const section = vscode.workspace.getConfiguration("occlsp", resource);
    const all = JSON.parse(JSON.stringify(section)) as Record<string, unknown>;
    for (const own of ["interpreter", "server", "trace"]) delete all[own];
    return { ...all, trusted: vscode.workspace.isTrusted };
  }

  private options(): LanguageClientOptions {
    return {
      documentSelector: [
        { scheme: "file", language: "cuda-cpp" },
        { scheme: "file", language: "cuda" },
        { scheme: "file", language: "cpp" },
        { scheme: "file", language: "c" },
        { scheme: "file", pattern: "**/*.{cu,cuh}" },
      ],
      outputChannel: this.log,
      revealOutputChannelOn: RevealOutputChannelOn.Never,
      initializationOptions: this.settings(),
      errorHandler: this.errorHandler(),
      middleware: {
        workspace: {
          configuration: async (params, token, next) => {
            const answers = await next(params, token);
            if (!Array.isArray(answers)) return answers;
            return params.items.map((item, index) =>
              item.section === "occlsp"
                ? this.settings(item.scopeUri ? vscode.Uri.parse(item.scopeUri) : undefined)
                : (answers[index] as unknown),
            );
          },
        },
      },
    };
  }

  // The library's own handler speaks in notifications; ours in the status bar and the log.
  private errorHandler(): ErrorHandler {
    const crashes: number[] = [];
    return {
      error: () => ({ action: ErrorAction.Continue, handled: true }),
      closed: () => {
        const now = Date.now();
        crashes.push(now);
        while ((crashes[0] ?? now) < now - RESTART_WINDOW_MS) crashes.shift();
        if (crashes.length <= RESTARTS) {
          this.log.warn(`The server stopped; restart ${crashes.length} of ${RESTARTS}`);
          this.status.setClient("starting", "restarting");
          return { action: CloseAction.Restart, handled: true };
        }
        this.log.error(`The server stopped ${crashes.length} times in three minutes: not restarted`);
        this.status.setClient("failed", "the server keeps stopping: see the log");
        return { action: CloseAction.DoNotRestart, handled: true };
      },
    };
  }
}
