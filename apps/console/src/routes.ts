import type { Operation } from "@switchyard/client/client";
import type { ComponentType } from "preact";

/** A view: where it is, and what brings it. `{names}` are its parameters. */
export interface View {
  readonly path: string;
  /** In the navigation; missing: it is reached from another one. */
  readonly title?: string;
  readonly group?: "work" | "build" | "govern";
  /** Without this right it is not in the navigation. */
  readonly needs?: Operation;
  readonly load: () => Promise<ComponentType<{ params: Readonly<Record<string, string>> }>>;
}

export const views: readonly View[] = [
  { path: "/", load: async () => (await import("./pages/runs.tsx")).Runs },
  {
    path: "/runs",
    title: "Runs",
    group: "work",
    needs: "GET /runs",
    load: async () => (await import("./pages/runs.tsx")).Runs,
  },
  { path: "/runs/{runId}", load: async () => (await import("./run/run-page.tsx")).RunPage },
];
