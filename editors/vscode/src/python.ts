// Finds a Python for the server, and makes the server's own environment where it has none.

import { execFile } from "node:child_process";
import * as fs from "node:fs/promises";
import * as path from "node:path";
import { promisify } from "node:util";
import * as vscode from "vscode";

const run = promisify(execFile);

/** A command that starts the server, and where it came from. */
export interface ServerCommand {
  readonly command: string;
  readonly args: readonly string[];
  readonly origin: string;
}

interface PythonExtension {
  readonly environments: {
    getActiveEnvironmentPath(resource?: vscode.Uri): { readonly path: string };
    resolveEnvironment(
      environment: { readonly path: string },
    ): Promise<{ readonly executable: { readonly uri?: vscode.Uri } } | undefined>;
  };
}

const MINIMUM = [3, 10] as const;

/**
 * The server to start: the setting, else an installed occlsp of this version in the interpreter
 * that is found (setting, Python extension, PATH), else the extension's own environment, made at
 * the first start from the bundled wheel. `progress` hears what takes long.
 */
export async function serverCommand(
  context: vscode.ExtensionContext,
  log: vscode.LogOutputChannel,
  progress: (what: string) => void,
): Promise<ServerCommand> {
  const settings = vscode.workspace.getConfiguration("occlsp");
  const configured = settings.get<string[] | null>("server.command");
  const [executable, ...rest] = configured ?? [];
  if (executable) {
    return { command: executable, args: rest, origin: "the setting occlsp.server.command" };
  }
  const version = (context.extension.packageJSON as { version: string }).version;
  const own = ownPython(context, version);
  if (await isReady(own, version)) {
    return { command: own, args: SERVE, origin: "the extension's environment" };
  }
  const interpreters = await findInterpreters(log);
  for (const { python, origin } of interpreters) {
    if (await isReady(python, version)) {
      return { command: python, args: SERVE, origin: `occlsp in ${python} (${origin})` };
    }
  }
  const base = interpreters[0];
  if (!base) {
    throw new Error(
      "No Python 3.10 or later was found. Install one, or set occlsp.interpreter to its path.",
    );
  }
  log.info(`Making the server's environment with ${base.python} (${base.origin})`);
  progress("installing the server");
  await makeEnvironment(context, base.python, version, log);
  return { command: own, args: SERVE, origin: `the extension's environment, by ${base.python}` };
}

/** Installs the CUDA compiler from PyPI into the extension's environment: the user asked. */
export async function installCompiler(
  context: vscode.ExtensionContext,
  log: vscode.LogOutputChannel,
): Promise<void> {
  const version = (context.extension.packageJSON as { version: string }).version;
  const own = ownPython(context, version);
  if (!(await isReady(own, version))) {
    const base = (await findInterpreters(log))[0];
    if (!base) throw new Error("No Python 3.10 or later was found.");
    await makeEnvironment(context, base.python, version, log);
  }
  await pip(own, [`${await bundledWheel(context)}[nvcc]`], log);
}

const SERVE = ["-m", "occlsp", "serve"];

function ownPython(context: vscode.ExtensionContext, version: string): string {
  const folder = path.join(context.globalStorageUri.fsPath, `server-${version}`);
  return process.platform === "win32"
    ? path.join(folder, "Scripts", "python.exe")
    : path.join(folder, "bin", "python");
}

async function findInterpreters(
  log: vscode.LogOutputChannel,
): Promise<{ python: string; origin: string }[]> {
  const candidates: { python: string; origin: string }[] = [];
  const setting = vscode.workspace.getConfiguration("occlsp").get<string | null>("interpreter");
  if (setting) candidates.push({ python: setting, origin: "setting" });
  // An untrusted workspace may hold the environment that the Python extension chose.
  if (vscode.workspace.isTrusted) {
    const chosen = await fromPythonExtension();
    if (chosen) candidates.push({ python: chosen, origin: "Python extension" });
  }
  const names = process.platform === "win32" ? ["python", "py"] : ["python3", "python"];
  candidates.push(...names.map((python) => ({ python, origin: "PATH" })));
  const usable: { python: string; origin: string }[] = [];
  for (const candidate of candidates) {
    const problem = await unusable(candidate.python);
    if (problem) log.info(`${candidate.python} (${candidate.origin}): ${problem}`);
    else usable.push(candidate);
  }
  return usable;
}

async function fromPythonExtension(): Promise<string | undefined> {
  const extension = vscode.extensions.getExtension<PythonExtension>("ms-python.python");
  if (!extension) return undefined;
  try {
    const api = await extension.activate();
    const active = api.environments.getActiveEnvironmentPath(
      vscode.workspace.workspaceFolders?.[0]?.uri,
    );
    const resolved = await api.environments.resolveEnvironment(active);
    return resolved?.executable.uri?.fsPath;
  } catch {
    return undefined;
  }
}

async function unusable(python: string): Promise<string | undefined> {
  try {
    const { stdout } = await run(
      python,
      ["-c", "import sys, venv, ensurepip; print(*sys.version_info[:2])"],
      OUTSIDE,
    );
    const [major = 0, minor = 0] = stdout.trim().split(" ").map(Number);
    const old = major < MINIMUM[0] || (major === MINIMUM[0] && minor < MINIMUM[1]);
    return old ? `Python ${major}.${minor} is older than ${MINIMUM.join(".")}` : undefined;
  } catch (error) {
    return error instanceof Error ? (error.message.split("\n")[0] ?? "not usable") : String(error);
  }
}

// The folder that `-c` would import from must not be the workspace's.
const OUTSIDE = { cwd: path.parse(process.execPath).root, timeout: 20_000 };

async function isReady(python: string, version: string): Promise<boolean> {
  const check = "import occlsp; print(occlsp.__version__)";
  try {
    const { stdout } = await run(python, ["-c", check], OUTSIDE);
    return stdout.trim() === version;
  } catch {
    return false;
  }
}

async function makeEnvironment(
  context: vscode.ExtensionContext,
  python: string,
  version: string,
  log: vscode.LogOutputChannel,
): Promise<void> {
  const own = ownPython(context, version);
  const folder = path.dirname(path.dirname(own));
  await fs.mkdir(path.dirname(folder), { recursive: true });
  await run(python, ["-m", "venv", "--clear", folder], { ...OUTSIDE, timeout: 120_000 });
  await pip(own, [await bundledWheel(context)], log);
}

async function bundledWheel(context: vscode.ExtensionContext): Promise<string> {
  const folder = context.asAbsolutePath("bundled");
  const wheel = (await fs.readdir(folder)).find((name) => name.endsWith(".whl"));
  if (!wheel) throw new Error(`The extension holds no server (${folder} is empty): reinstall it.`);
  return path.join(folder, wheel);
}

async function pip(
  python: string,
  packages: readonly string[],
  log: vscode.LogOutputChannel,
): Promise<void> {
  const args = ["-m", "pip", "install", "--disable-pip-version-check", "--no-input", ...packages];
  try {
    const { stdout } = await run(python, args, {
      ...OUTSIDE,
      timeout: 900_000,
      maxBuffer: 1 << 24,
    });
    log.info(stdout.trimEnd());
  } catch (error) {
    const detail = (error as { stderr?: string }).stderr ?? String(error);
    log.error(detail);
    throw new Error(
      "The server could not be installed (see the log). Without a network, install the Python " +
        "package occlsp yourself and set occlsp.interpreter.",
    );
  }
}
