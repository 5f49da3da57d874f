import { defineConfig } from "vite";

const SHARED =
  /console\/src\/(core\/(?!files-diff|stored-draft|run-|saved-views)|ui\/(?!markdown|chart|schema-form|form-schema|data-table|patch|split-panels|stop-form))/;

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
    rolldownOptions: {
      output: {
        codeSplitting: {
          // Parts that nearly every view needs: one file packs better than twenty small ones.
          groups: [{ name: "shared", test: SHARED }],
        },
      },
    },
  },
});
