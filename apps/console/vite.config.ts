import { defineConfig } from "vite";

// oxlint-disable-next-line import/no-default-export -- Vite reads it from there
export default defineConfig({
  oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
  build: {
    target: "es2023",
    // A polyfill would be an inline script, which the page's policy forbids.
    modulePreload: { polyfill: false },
    assetsInlineLimit: 0,
    manifest: true,
    reportCompressedSize: false,
  },
});
