import { spanAround } from "../near.ts";
import type { Check } from "../pattern-rule.ts";
import { isUntrusted, type Destinations } from "../destinations.ts";

const GIVES_SHELL =
  /(?:ba|z|da)?sh -i|\/bin\/(?:ba|z)?sh|cmd(?:\.exe)?\b|pty\.spawn|dup2|powershell|\bexec:|child_process|subprocess/i;

/** Shells that another machine is given. To a public address there is no honest one. */
export function reverseShells(
  destinations: Destinations,
): Readonly<Record<"shellDevice" | "shellOnLine" | "shellNearSocket", Check>> {
  const checkWithin = (lines: { before: number; after: number }): Check => {
    return (match, text) => {
      const near = spanAround(text, match.index, lines);
      if (!GIVES_SHELL.test(text.text.slice(near.start, near.end))) return null;
      const isOutside = destinations
        .near(text, near, true)
        .some(({ kind }) => kind === "address" || kind === "known_bad" || kind === "catch");
      return isOutside ? ({ severity: "critical", confidence: "high", blocks: true } as const) : {};
    };
  };
  return {
    shellDevice(match, text) {
      const host = match[1] ?? "";
      if (isUntrusted(destinations.of(host))) return { blocks: true, confidence: "high" };
      const isLocal = /^(?:localhost|127\.|redis|db|postgres)/i.test(host);
      if (isLocal) return { severity: "low" };
      if (!host.includes("$")) return {};
      return checkWithin({ before: 6, after: 1 })(match, text) ?? { severity: "low" };
    },
    shellOnLine: checkWithin({ before: 0, after: 0 }),
    shellNearSocket: checkWithin({ before: 2, after: 5 }),
  };
}
