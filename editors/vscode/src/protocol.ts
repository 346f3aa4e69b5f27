// What the server answers to `occlsp/explorer`, for any client: see occlsp/analysis/results.py.

export interface Point {
  readonly block: number;
  readonly registers: number;
  readonly static_smem: number;
  readonly dynamic_smem: number;
  readonly blocks_per_sm: number;
  readonly active_warps: number;
  readonly max_warps: number;
  readonly occupancy: number;
  readonly limiter: string;
  readonly limiters: readonly string[];
  readonly limits: Readonly<Record<string, number | null>>;
  readonly allocated: Readonly<Record<string, number>>;
  readonly reason: string | null;
}

export type Curve = readonly (readonly [number, number])[];

export interface WhatIf {
  readonly max_threads: number | null;
  readonly min_blocks: number | null;
  readonly registers: number;
  readonly spill_bytes: number;
  readonly blocks_per_sm: number;
  readonly occupancy: number;
  readonly limiter: string;
  readonly is_current: boolean;
  readonly is_best: boolean;
}

export interface Architecture {
  readonly arch: string;
  readonly point: Point;
  readonly block_curve: Curve;
  readonly register_curve: Curve;
  readonly smem_curve: Curve;
  readonly max_dynamic_smem: number;
  readonly levers: readonly string[];
  readonly source: string;
  readonly stale: boolean;
  readonly estimated: boolean;
  readonly whatif: readonly WhatIf[];
}

export interface Fix {
  readonly block: number;
  readonly title: string;
  readonly edit: unknown;
  readonly disabled: string | null;
  readonly is_preferred: boolean;
}

export interface Explorer {
  readonly kernel: string;
  readonly instance: string | null;
  readonly launch_line: number | null;
  readonly architectures: readonly Architecture[];
  readonly fixes: readonly Fix[];
  readonly why: string | null;
}

/** What the sliders set; absent: as in the source and the report. */
export interface Override {
  readonly block?: number;
  readonly registers?: number;
  readonly dynamic_smem?: number;
}

/** From the page to the extension. */
export type FromPage =
  | { readonly type: "ready" }
  | { readonly type: "override"; readonly override: Override }
  | { readonly type: "apply"; readonly fix: number }
  | { readonly type: "whatif" };

/** From the extension to the page. */
export type ToPage =
  | { readonly type: "show"; readonly data: Explorer; readonly fresh: boolean }
  | { readonly type: "empty"; readonly message: string };
