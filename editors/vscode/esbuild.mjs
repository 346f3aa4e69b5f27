// Bundles the extension (Node) and the explorer's page (browser), each into one file.
import { build } from "esbuild";

const production = process.argv.includes("--production");
const common = {
  bundle: true,
  minify: production,
  sourcemap: production ? false : "inline",
  legalComments: "none",
  logLevel: "warning",
};

await build({
  ...common,
  entryPoints: ["src/extension.ts"],
  outfile: "dist/extension.js",
  platform: "node",
  format: "cjs",
  target: "node20",
  external: ["vscode"],
});

await build({
  ...common,
  entryPoints: ["webview/explorer.ts"],
  outfile: "dist/explorer.js",
  platform: "browser",
  format: "iife",
  target: "es2022",
});
