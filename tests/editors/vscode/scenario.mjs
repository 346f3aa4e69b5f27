// What a user meets in VS Code, step by step, asserted on what is on the screen. Each step's outcome
// and picture are written to the scratch folder; a step that fails does not keep the rest from running.

import { execFileSync } from "node:child_process";
import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import {
  command,
  goTo,
  hoverAt,
  open,
  screenText,
  start,
  statusText,
  until,
  workspace,
  workspaceSettings,
} from "./workbench.mjs";

const { OCCLSP_VSIX: vsix, OCCLSP_SCRATCH: scratch, OCCLSP_EXAMPLE: example } = process.env;
const source = fs.readFileSync(example, "utf8").split("\n");

/** 1-based line of the first line of the example that holds `text`. */
function lineOf(text) {
  const index = source.findIndex((line) => line.includes(text));
  assert.notEqual(index, -1, `the example has no line with ${text}`);
  return index + 1;
}

// The contrast of a text with what is behind it, after WCAG 2; runs in the page.
const CONTRAST = (element) => {
  const numbers = (color) => (color.match(/[\d.]+/g) ?? []).map(Number);
  const luminance = ([red, green, blue]) => {
    const [r, g, b] = [red, green, blue].map((value) => {
      const share = value / 255;
      return share <= 0.03928 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  let behind = element;
  let back = numbers(getComputedStyle(behind).backgroundColor);
  while (back[3] === 0 && behind.parentElement) {
    behind = behind.parentElement;
    back = numbers(getComputedStyle(behind).backgroundColor);
  }
  if (back[3] === 0) {
    back = numbers(getComputedStyle(document.documentElement).getPropertyValue("--vscode-editor-background").replace(
      /^#(..)(..)(..).*/, (_, r, g, b) => [r, g, b].map((part) => parseInt(part, 16)).join(",")));
  }
  const [light, dark] = [luminance(numbers(getComputedStyle(element).color)), luminance(back)].sort((a, b) => b - a);
  return (light + 0.05) / (dark + 0.05);
};

const outcomes = [];

function runner(name, page) {
  return async (what, run) => {
    const began = Date.now();
    try {
      await run();
      outcomes.push({ step: `${name}: ${what}`, ok: true, ms: Date.now() - began });
    } catch (error) {
      outcomes.push({ step: `${name}: ${what}`, ok: false, error: String(error.stack ?? error) });
      await page.keyboard.press("Escape");
    }
    const picture = `${name}-${what}`.replaceAll(/[^a-z0-9]+/gi, "-").toLowerCase();
    await page.screenshot({ path: path.join(scratch, `${picture}.png`) });
  };
}

/** The text of the line of the editor that holds `text`, as it is drawn with its hints. */
async function drawn(page, text) {
  const lines = (await screenText(page)).split("\n");
  return lines.find((line) => line.includes(text)) ?? "";
}

async function hintAt(page, text, pattern, seconds = 90) {
  return until(async () => pattern.exec(await drawn(page, text)), `${text} with ${pattern}`, seconds);
}

async function trusted() {
  const folder = path.join(scratch, "trusted");
  const file = workspace(folder, example);
  const session = await start({ vsix, scratch: path.join(scratch, "vscode-trusted") });
  try {
    const page = await open(session, folder, file);
    const step = runner("trusted", page);

    await step("the status bar shows the architecture", async () => {
      await until(async () => /sm_90/.test(await statusText(page)), "sm_90 in the status bar", 180);
    });
    // Not before: an editor that still loads takes the focus away, and the keys go into the text.
    await until(async () => {
      if (!(await page.locator(".part.auxiliarybar").isVisible())) return true;
      await command(page, "View: Toggle Secondary Side Bar Visibility");
      await page.waitForTimeout(500);
      return false;
    }, "the secondary side bar is gone");
    assert.equal(fs.readFileSync(file, "utf8"), source.join("\n"), "nothing was typed yet");

    await step("a save compiles and hints stand at kernels and launches", async () => {
      await page.click(".monaco-editor .view-lines");
      await page.keyboard.press("Control+s");
      await goTo(page, lineOf("matmul_tiled(const"));
      await hintAt(page, "void matmul_tiled(", /\d+(\.\d+)?% · (warps|regs)/);
      await goTo(page, lineOf("accumulate<<<"));
      await hintAt(page, "stencil_spilling<<<", /% · regs · \d+ blk\/SM/);
    });

    await step("the hover holds the limits", async () => {
      const line = lineOf("void matmul_tiled(");
      const column = source[line - 1].indexOf("matmul") + 3;
      assert.match(await hoverAt(page, line, column, /registers[\s\S]*shared memory/i), /sm_90/);
    });
    await page.keyboard.press("Escape");

    await step("a launch that cannot run is underlined and in Problems", async () => {
      await goTo(page, lineOf("accumulate<<<"));
      await until(async () => (await page.locator(".squiggly-error").count()) > 0, "a red underline");
      await command(page, "View: Focus Problems");
      const row = page.locator(".markers-panel .monaco-list-row", { hasText: "0 blocks fit" });
      await until(async () => (await row.count()) > 0, "a row in Problems");
    });

    await step("the hover at a launch that cannot run says why", async () => {
      await command(page, "View: Hide Panel");
      const line = lineOf("accumulate<<<");
      const column = source[line - 1].indexOf("n / 1024") + 2;
      await hoverAt(page, line, column, /0 blocks fit[\s\S]*registers/);
      await page.screenshot({ path: path.join(scratch, "tour.png") });
    });
    await page.keyboard.press("Escape");

    await step("a quick fix by click changes the file and the numbers follow", async () => {
      await page.click(".monaco-editor .view-lines");
      const column = source[lineOf("accumulate<<<") - 1].indexOf("1024>>>") + 2;
      await goTo(page, lineOf("accumulate<<<"), column);
      await command(page, "Quick Fix...");
      const item = page.locator(".action-widget .monaco-list-row", { hasText: /Use \d+ threads/ }).first();
      await item.waitFor({ state: "visible", timeout: 15_000 });
      const title = await item.innerText();
      const [, threads, share] = /Use (\d+) threads per block: ([\d.]+) ?%/.exec(title);
      await item.click();
      const line = await until(async () => {
        const text = await drawn(page, "accumulate<<<");
        return text.includes(threads) && !text.includes("1024>>>") && text;
      }, "the edited launch");
      assert.match(line, new RegExp(`accumulate<<<.*${threads}`));
      await hintAt(page, "accumulate<<<", new RegExp(`${share.replace(".", "\\.")}%`));
    });

    await step("the explorer follows the cursor", async () => {
      await goTo(page, lineOf("scale<double, 16><<<"), 12);
      await command(page, "Occupancy: Open Occupancy Explorer");
      await command(page, "View: Close Primary Side Bar");
      const frame = await explorerFrame(page);
      await until(async () => /scale/.test(await frame.locator("#kernel").innerText()), "scale");
      await page.click(".monaco-editor .view-lines");
      await goTo(page, lineOf("void matmul_tiled("), 30);
      await until(async () => /matmul_tiled/.test(await frame.locator("#kernel").innerText()), "tiled");
      assert.match(await frame.locator("#figure").innerText(), /blocks per SM/);
      assert.match(await frame.locator("#limits").innerText(), /registers/);
      await page.click(".monaco-editor .view-lines");
      await goTo(page, lineOf("scale<double, 16><<<"), 12);
      await until(async () => /scale/.test(await frame.locator("#kernel").innerText()), "scale");
      await page.screenshot({ path: path.join(scratch, "explorer.png") });
    });

    await step("a slider of the explorer moves the point", async () => {
      const frame = await explorerFrame(page);
      const before = await frame.locator("#figure").innerText();
      const slider = frame.locator("#slider-block");
      await slider.focus();
      for (let presses = 0; presses < 12; presses++) await page.keyboard.press("ArrowLeft");
      await until(async () => (await frame.locator("#figure").innerText()) !== before, "another figure");
      assert.notEqual(await frame.locator("#value-block").innerText(), "1024");
    });

    await step("a click in the explorer applies a block size", async () => {
      await page.click(".monaco-editor .view-lines");
      await goTo(page, lineOf("accumulate<<<"), 12);
      const frame = await explorerFrame(page);
      await until(async () => /accumulate/.test(await frame.locator("#kernel").innerText()), "accumulate");
      await frame.locator("#slider-block").focus();
      for (let presses = 0; presses < 2; presses++) await page.keyboard.press("ArrowRight");
      const threads = await frame.locator("#value-block").innerText();
      const button = frame.locator("#fixes button", { hasText: `Use ${threads} threads` });
      await button.waitFor({ state: "visible", timeout: 15_000 });
      const before = await screenText(page);
      await button.click();
      await until(async () => (await screenText(page)) !== before, "an edit");
      await until(async () => (await drawn(page, "accumulate<<<")).includes(threads), threads);
    });

    await step("a quick fix by the keyboard alone", async () => {
      await page.click(".monaco-editor .view-lines");
      await goTo(page, lineOf("smooth<<<"), source[lineOf("smooth<<<") - 1].indexOf("<<<") + 2);
      await page.keyboard.press("Control+.");
      const item = page.locator(".action-widget .monaco-list-row", { hasText: /Opt .?smooth/ });
      await item.first().waitFor({ state: "visible", timeout: 15_000 });
      for (let row = 0; row < 12; row++) {
        const focused = page.locator(".action-widget .monaco-list-row.focused");
        if (/Opt .?smooth/.test(await focused.innerText())) break;
        await page.keyboard.press("ArrowDown");
      }
      await page.keyboard.press("Enter");
      await until(async () => /cudaFuncSetAttribute\(smooth/.test(await screenText(page)), "the call");
      await until(async () => (await page.locator(".squiggly-error").count()) === 0, "no error left");
    });

    await step("the explorer is readable in every theme", async () => {
      await page.click(".monaco-editor .view-lines");
      await goTo(page, lineOf("accumulate<<<"), 12);
      for (const theme of ["Default Light Modern", "Default High Contrast", "Default Dark Modern"]) {
        workspaceSettings(folder, { "workbench.colorTheme": theme });
        const frame = await explorerFrame(page);
        await page.waitForTimeout(1500);
        for (const selector of ["#figure", "#source", "#limits td"]) {
          const contrast = await frame.locator(selector).first().evaluate(CONTRAST);
          assert.ok(contrast >= 4.5, `${theme}, ${selector}: contrast ${contrast}`);
        }
        const picture = `theme-${theme.split(" ").slice(1).join("-").toLowerCase()}.png`;
        await page.screenshot({ path: path.join(scratch, picture) });
      }
    });

    await step("the architecture is switched from the status bar", async () => {
      await page.locator('[id^="occlsp."]').first().click();
      const input = page.locator(".quick-input-widget input").first();
      await input.waitFor({ state: "visible" });
      await input.fill("sm_80");
      await input.press("Enter", { timeout: 5000 });
      await until(async () => /sm_80/.test(await statusText(page)), "sm_80 in the status bar");
    });

    await step("logs are reachable", async () => {
      await command(page, "Occupancy: Show Logs");
      const output = page.locator(".output-view-container, .part.panel");
      await until(async () => /\[(info|warning|error)\]/.test(await output.first().innerText()), "the log", 20);
    });

    await step("it starts in under a second on top of the editor", async () => {
      await command(page, "Developer: Show Running Extensions");
      const row = page.locator(".runtime-extensions-editor .monaco-list-row", { hasText: "occlsp" });
      const text = await until(async () => /Activation: (\d+)ms/.exec(await row.first().innerText()), "a time");
      assert.ok(Number(text[1]) < 1000, text[0]);
    });

    await step("a killed server comes back", async () => {
      const before = serverPids();
      assert.ok(before.length > 0, "a server runs");
      execFileSync("kill", ["-9", ...before]);
      await until(() => serverPids().some((pid) => !before.includes(pid)), "another process");
      await until(async () => /sm_\d+/.test(await statusText(page)), "its status", 60);
    });

    await step("nobody was notified, and the workspace holds what it held", async () => {
      assert.equal(await page.locator(".notification-toast").count(), 0);
      assert.deepEqual(fs.readdirSync(folder).sort(), [".vscode", path.basename(example)]);
      assert.deepEqual(fs.readdirSync(path.join(folder, ".vscode")), ["settings.json"]);
    });
  } finally {
    await session.stop();
  }
}

async function untrusted() {
  const folder = path.join(scratch, "untrusted");
  const file = workspace(folder, example);
  // A compiler that would tell on us.
  const bin = path.join(scratch, "bin");
  const witness = path.join(scratch, "nvcc-ran");
  fs.mkdirSync(bin, { recursive: true });
  fs.writeFileSync(path.join(bin, "nvcc"), `#!/bin/sh\ntouch ${witness}\nexit 1\n`, { mode: 0o755 });
  const session = await start({
    vsix,
    scratch: path.join(scratch, "vscode-untrusted"),
    trust: true,
    env: { PATH: `${bin}:${process.env.PATH}` },
  });
  try {
    const page = await open(session, folder, file);
    const step = runner("untrusted", page);
    await step("no compiler runs, and the rest works", async () => {
      const bar = page.locator(".part.statusbar");
      await until(async () => /Restricted Mode/.test(await bar.innerText()), "restricted mode");
      await until(async () => /sm_\d+/.test(await statusText(page)), "the status", 180);
      await page.click(".monaco-editor .view-lines");
      await page.keyboard.press("Control+s");
      await command(page, "Occupancy: Compile This File");
      await page.waitForTimeout(3000);
      assert.equal(fs.existsSync(witness), false, "the compiler ran");
    });
    await step("a launch that must fail whatever the compiler says is told", async () => {
      await goTo(page, lineOf("smooth<<<"));
      await until(async () => (await page.locator(".squiggly-error").count()) > 0, "a red underline");
    });
  } finally {
    await session.stop();
  }
}

async function explorerFrame(page) {
  return until(async () => {
    for (const frame of page.frames()) {
      if ((await frame.locator("#app").count()) > 0) return frame;
    }
    return undefined;
  }, "the explorer's page");
}

// Of this editor: others may be at work on the machine.
function serverPids() {
  try {
    const out = execFileSync("pgrep", ["-f", "--", `${scratch}/.* -m occlsp serve`], { encoding: "utf8" });
    return out.trim().split("\n").filter(Boolean);
  } catch {
    return [];
  }
}

for (const scenario of [trusted, untrusted]) {
  try {
    await scenario();
  } catch (error) {
    outcomes.push({ step: scenario.name, ok: false, error: String(error.stack ?? error) });
  }
}
fs.writeFileSync(path.join(scratch, "outcomes.json"), JSON.stringify(outcomes, null, 2));
