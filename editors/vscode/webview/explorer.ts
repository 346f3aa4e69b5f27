// The explorer's page: draws what the server computed, and says what the user moved.

import {
  CategoryScale,
  Chart,
  Filler,
  LinearScale,
  LineController,
  LineElement,
  PointElement,
  Tooltip,
} from "chart.js";
import type { Architecture, Curve, Explorer, FromPage, Override, ToPage } from "../src/protocol";

Chart.register(
  CategoryScale,
  Filler,
  LinearScale,
  LineController,
  LineElement,
  PointElement,
  Tooltip,
);

interface Host {
  postMessage(message: FromPage): void;
  getState(): { arch?: string } | undefined;
  setState(state: { arch?: string }): void;
}
declare function acquireVsCodeApi(): Host;

const host = acquireVsCodeApi();
const app = document.getElementById("app") as HTMLElement;

interface Axis {
  readonly key: "block" | "registers" | "dynamic_smem";
  readonly title: string;
  readonly unit: string;
  readonly min: number;
  readonly step: number;
  readonly max: (data: Architecture) => number;
  readonly curve: (data: Architecture) => Curve;
}

const AXES: readonly Axis[] = [
  {
    key: "block",
    title: "Threads per block",
    unit: "",
    min: 32,
    step: 32,
    max: () => 1024,
    curve: (data) => data.block_curve,
  },
  {
    key: "registers",
    title: "Registers per thread",
    unit: "",
    min: 16,
    step: 1,
    max: () => 255,
    curve: (data) => data.register_curve,
  },
  {
    key: "dynamic_smem",
    title: "Dynamic shared memory",
    unit: "B",
    min: 0,
    step: 1024,
    max: (data) => data.max_dynamic_smem,
    curve: (data) => data.smem_curve,
  },
];

let data: Explorer | undefined;
let override: Record<string, number> = {};
let arch = host.getState()?.arch;
const charts = new Map<string, Chart>();

window.addEventListener("message", ({ data: message }: MessageEvent<ToPage>) => {
  if (message.type === "empty") {
    app.replaceChildren(el("p", { id: "empty", role: "status" }, message.message));
    return destroy();
  }
  const same = data?.kernel === message.data.kernel && document.getElementById("charts") !== null;
  data = message.data;
  if (message.fresh) override = {};
  if (same) update();
  else render();
});
new MutationObserver(() => data && render()).observe(document.body, {
  attributes: true,
  attributeFilter: ["class"],
});
host.postMessage({ type: "ready" });

function shown(): Architecture | undefined {
  const all = data?.architectures ?? [];
  return all.find((one) => one.arch === arch) ?? all[0];
}

function render(): void {
  destroy();
  const current = shown();
  if (!data) return;
  if (!current) {
    const why = data.why ?? "No numbers yet.";
    app.replaceChildren(el("h1", {}, data.kernel), el("p", { id: "empty", role: "status" }, why));
    return;
  }
  app.replaceChildren(
    el("h1", { id: "kernel" }),
    el("div", { id: "archs", role: "group", "aria-label": "Architecture" }),
    el("p", { id: "figure", class: "figure", role: "status", "aria-live": "polite" }),
    el("p", { id: "source", class: "muted" }),
    el("div", { id: "charts", class: "charts" }, ...AXES.map((axis) => chartBox(axis, current))),
    el("h2", {}, "Limits"),
    el("table", { id: "limits" }),
    el("h2", {}, "What would move it"),
    el("ul", { id: "levers" }),
    el("div", { id: "fixes" }),
    el("div", { id: "whatif" }),
  );
  update();
}

function update(): void {
  const current = shown();
  if (!data || !current) return render();
  const { point } = current;
  const launch = data.launch_line === null ? "" : ` · launch in line ${data.launch_line}`;
  text("kernel", `${data.instance ?? data.kernel}${launch}`);
  const mark = current.estimated || moved() ? "est. " : current.stale ? "~" : "";
  const figure = `${mark}${percent(point.occupancy)} · ${point.blocks_per_sm} blocks per SM`;
  text("figure", `${figure} · limited by ${words(point.limiter)}`);
  text("source", point.reason ?? current.source);
  renderArchitectures(current);
  for (const axis of AXES) updateAxis(axis, current);
  renderLimits(current);
  list("levers", current.levers);
  renderFixes();
  renderWhatIf(current);
}

function renderArchitectures(current: Architecture): void {
  const all = data?.architectures ?? [];
  byId("archs").replaceChildren(
    ...(all.length < 2
      ? [el("span", { class: "muted" }, current.arch)]
      : all.map((one) => {
          const pressed = String(one.arch === current.arch);
          const button = el("button", { type: "button", "aria-pressed": pressed }, one.arch);
          button.addEventListener("click", () => {
            arch = one.arch;
            host.setState({ arch });
            update();
          });
          return button;
        })),
  );
}

function chartBox(axis: Axis, current: Architecture): HTMLElement {
  const slider = el("input", {
    type: "range",
    id: `slider-${axis.key}`,
    min: String(axis.min),
    step: String(axis.step),
    max: String(axis.max(current)),
  }) as HTMLInputElement;
  slider.addEventListener("input", () => {
    override = { ...override, [axis.key]: Number(slider.value) };
    text(`value-${axis.key}`, withUnit(axis, Number(slider.value)));
    host.postMessage({ type: "override", override: override as Override });
  });
  const canvas = el("canvas", { id: `chart-${axis.key}`, role: "img" }) as HTMLCanvasElement;
  const box = el("div", { class: "box" }, canvas);
  const output = el("output", { id: `value-${axis.key}`, for: slider.id });
  charts.set(axis.key, chart(canvas, axis));
  return el(
    "div",
    { class: "chart" },
    el("label", { for: slider.id }, el("span", {}, axis.title), output),
    box,
    slider,
  );
}

function chart(canvas: HTMLCanvasElement, axis: Axis): Chart {
  const style = getComputedStyle(document.body);
  const line = style.getPropertyValue("--vscode-charts-blue") || style.color;
  const mark = style.getPropertyValue("--vscode-editorWarning-foreground") || style.color;
  const grid = style.getPropertyValue("--vscode-editorIndentGuide-background") || "transparent";
  return new Chart(canvas, {
    type: "line",
    data: {
      datasets: [
        { data: [], stepped: "after", borderColor: line, borderWidth: 2, pointRadius: 0 },
        { data: [], borderColor: mark, backgroundColor: mark, pointRadius: 6, showLine: false },
      ],
    },
    options: {
      animation: false,
      responsive: true,
      maintainAspectRatio: false,
      parsing: false,
      interaction: { mode: "nearest", axis: "x", intersect: false },
      onClick: (event) => choose(axis, canvas, event.x),
      clip: false,
      scales: {
        x: {
          type: "linear",
          min: axis.min,
          ticks: { color: style.color, maxTicksLimit: 6 },
          grid: { color: grid },
        },
        y: { min: 0, max: 100, ticks: { color: style.color, stepSize: 25 }, grid: { color: grid } },
      },
      plugins: {
        tooltip: { callbacks: { label: (item) => `${item.parsed.x}: ${item.parsed.y ?? 0} %` } },
      },
    },
  });
}

// A click on the block curve moves the point there; the fix that makes it so is then offered.
function choose(axis: Axis, canvas: HTMLCanvasElement, x: number | null): void {
  const scale = charts.get(axis.key)?.scales.x;
  const slider = byId(`slider-${axis.key}`) as HTMLInputElement;
  if (!scale || x === null) return;
  const value = scale.getValueForPixel(x) ?? axis.min;
  slider.value = String(Math.round(value / axis.step) * axis.step);
  slider.dispatchEvent(new Event("input"));
  canvas.blur();
}

function updateAxis(axis: Axis, current: Architecture): void {
  const drawn = charts.get(axis.key);
  const value = current.point[axis.key];
  const at = percentage(current.point.occupancy);
  if (drawn) {
    const curve = axis.curve(current).map(([x, y]) => ({ x, y: percentage(y) }));
    drawn.data.datasets[0]!.data = curve;
    drawn.data.datasets[1]!.data = [{ x: value, y: at }];
    drawn.options.scales!["x"]!.max = Math.max(axis.max(current), axis.min + axis.step);
    drawn.update("none");
  }
  const slider = byId(`slider-${axis.key}`) as HTMLInputElement;
  slider.max = String(axis.max(current));
  if (document.activeElement !== slider || override[axis.key] === undefined) {
    slider.value = String(value);
  }
  slider.setAttribute("aria-valuetext", `${value} ${axis.unit}, ${at} percent occupancy`);
  if (slider.value === String(value)) text(`value-${axis.key}`, withUnit(axis, value));
  byId(`chart-${axis.key}`).setAttribute(
    "aria-label",
    `Occupancy against ${axis.title.toLowerCase()}: ${at} % at ${value}`,
  );
}

function renderLimits(current: Architecture): void {
  const { point } = current;
  const rows = Object.entries(point.limits).map(([name, limit]) => {
    const binds = point.limiters.includes(name);
    return el(
      "tr",
      binds ? { class: "binds" } : {},
      el("td", {}, words(name)),
      el("td", { class: "number" }, limit === null ? "no limit" : `${limit} blocks`),
      el("td", {}, binds ? "binds" : ""),
    );
  });
  const allocated = Object.entries(point.allocated).map(([name, amount]) =>
    el(
      "tr",
      {},
      el("td", {}, words(name)),
      el("td", { class: "number" }, amount.toLocaleString("en")),
      el("td", {}, "allocated"),
    ),
  );
  byId("limits").replaceChildren(el("tbody", {}, ...rows, ...allocated));
}

function renderFixes(): void {
  const wanted = override["block"];
  const fixes = (data?.fixes ?? []).map((fix, index) => ({ fix, index }));
  const offered = fixes.filter(({ fix }) => wanted === undefined || fix.block === wanted);
  byId("fixes").replaceChildren(
    ...offered.map(({ fix, index }) => {
      const attributes = { type: "button", class: fix.is_preferred ? "" : "secondary" };
      const button = el("button", attributes, fix.title) as HTMLButtonElement;
      button.disabled = fix.disabled !== null;
      button.title = fix.disabled ?? "";
      button.addEventListener("click", () => host.postMessage({ type: "apply", fix: index }));
      return button;
    }),
  );
}

function renderWhatIf(current: Architecture): void {
  const place = byId("whatif");
  if (current.whatif.length === 0) {
    const button = el("button", { type: "button", class: "secondary" }, "Other launch bounds…");
    button.addEventListener("click", () => host.postMessage({ type: "whatif" }));
    place.replaceChildren(button);
    return;
  }
  const head = ["bounds", "registers", "spills", "blocks per SM", "occupancy", "limited by"];
  const rows = current.whatif.map((row) =>
    el(
      "tr",
      row.is_best ? { class: "best" } : {},
      ...[
        [row.max_threads, row.min_blocks].filter((part) => part !== null).join(", ") || "none",
        String(row.registers),
        `${row.spill_bytes} B`,
        String(row.blocks_per_sm),
        percent(row.occupancy),
        words(row.limiter) + (row.is_current ? " (now)" : ""),
      ].map((cell) => el("td", {}, cell)),
    ),
  );
  place.replaceChildren(
    el("h2", {}, "What the compiler would make of other launch bounds"),
    el(
      "table",
      {},
      el("thead", {}, el("tr", {}, ...head.map((name) => el("th", { scope: "col" }, name)))),
      el("tbody", {}, ...rows),
    ),
  );
}

function withUnit(axis: Axis, value: number): string {
  return axis.unit ? `${value} ${axis.unit}` : String(value);
}

function moved(): boolean {
  return override["registers"] !== undefined;
}

function destroy(): void {
  for (const drawn of charts.values()) drawn.destroy();
  charts.clear();
}

function percentage(share: number): number {
  return Math.round(share * 1000) / 10;
}

function percent(share: number): string {
  return `${percentage(share)}%`;
}

function words(name: string): string {
  return name.replaceAll("_", " ");
}

function byId(id: string): HTMLElement {
  return document.getElementById(id) as HTMLElement;
}

function text(id: string, content: string): void {
  byId(id).textContent = content;
}

function list(id: string, items: readonly string[]): void {
  byId(id).replaceChildren(...items.map((item) => el("li", {}, item)));
}

function el(
  name: string,
  attributes: Readonly<Record<string, string>>,
  ...children: (Node | string)[]
): HTMLElement {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...children);
  return element;
}
