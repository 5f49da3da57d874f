import { hash } from "node:crypto";
import type { ScanFinding } from "@switchyard/contracts/skill-importer/skill-scan";
import type { Indicators } from "../indicators.ts";
import { spanAround } from "../near.ts";
import type { Check } from "../pattern-rule.ts";
import type { Destinations } from "../destinations.ts";
import type { ScanFile } from "../read-scan-files.ts";
import { findingOf } from "../rule.ts";

const REACHES =
  /\b(?:curl|wget|nc|ncat|ssh|scp|ping|iwr|irm|git clone|telnet|connect|fetch|socket)\b|\/dev\/tcp/i;

/** Matches words that send a reader to the host, and a line that consists of the host alone. */
const INVITES =
  /\b(?:visit|go to|open|download|install(?:ed)?|get it|set ?up|available)\b|访问|前往|打开|下载|安装|设置|設置|^\W{0,6}[a-z][\w.-]{3,60}\/?\W{0,6}$/i;

/** To go to a destination of attackers blocks; a text that only names one is a finding. */
export function leadsToKnownBad(destinations: Destinations): Check {
  return (match, text) => {
    const line = spanAround(text, match.index, { before: 0, after: 0 });
    const written = text.text.slice(line.start, line.end);
    const isReached = REACHES.test(written) || (/^[a-z]/i.test(match[0]) && INVITES.test(written));
    const destination = destinations
      .near(text, line, isReached)
      .find(({ kind }) => kind === "known_bad");
    if (destination === undefined) return {};
    const message = `leads to a place of known attackers: ${destination.reason ?? destination.host}`;
    return { severity: "critical", confidence: "high", blocks: true, message };
  };
}

/** Finds files with a known bad digest, whatever their names. */
export function knownBadFiles(
  indicators: Indicators,
): (files: readonly ScanFile[]) => ScanFinding[] {
  const reasons = new Map(indicators.files.map(({ sha256, reason }) => [sha256, reason]));
  if (reasons.size === 0) return () => [];
  return (files) =>
    files.flatMap(({ path, content }) => {
      const reason = reasons.get(hash("sha256", content));
      return reason === undefined ? [] : [finding(path, reason)];
    });
}

function finding(file: string, reason: string): ScanFinding {
  return findingOf(file, {
    code: "known_bad_file",
    owasp: "AST01",
    severity: "critical",
    confidence: "high",
    blocks: true,
    message: `is a file of known attackers: ${reason}`,
    advice: "do not use the skill, and report it",
  });
}
