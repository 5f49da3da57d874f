import { spanAround } from "../near.ts";
import type { Check } from "../pattern-rule.ts";
import { isUntrusted, type Destinations } from "../destinations.ts";
import type { ScannedText } from "../scanned-text.ts";

const GIVES_SHELL =
  /(?:ba|z|da)?sh -i|\/bin\/(?:ba|z)?sh|cmd(?:\.exe)?\b|pty\.spawn|dup2|powershell|\bexec:|child_process|subprocess/i;

const BLOCKED = { blocks: true, confidence: "high" } as const;
const INTERACTIVE = /\b(?:ba|z|da)?sh\s{1,3}-i\b|0[<>]&|<&|exec\s{1,3}\d{1,3}<>/;

/** True for a shell whose input is the connection, unlike a check whether a port is open. */
function isInteractive(match: RegExpExecArray, text: ScannedText): boolean {
  const { start, end } = spanAround(text, match.index, { before: 0, after: 0 });
  return INTERACTIVE.test(text.text.slice(start, end));
}

/** True for a name that can be resolved, and is not for examples. */
function isSomewhere(host: string): boolean {
  return (
    /\.[a-z]{2,24}$/i.test(host) &&
    !/(?:^|\.)(?:example\.(?:com|org|net)|example|test|invalid|local|internal|localdomain)$/i.test(
      host,
    )
  );
}

/** Checks for shells that are given to another machine. To a public address no honest one exists. */
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
      if (!host.includes("$"))
        return isInteractive(match, text) && isSomewhere(host) ? BLOCKED : {};
      return checkWithin({ before: 6, after: 1 })(match, text) ?? { severity: "low" };
    },
    shellOnLine: checkWithin({ before: 0, after: 0 }),
    shellNearSocket: checkWithin({ before: 2, after: 5 }),
  };
}
